"""The efficiency of a described workload, given one timed step.

The common uncertainty of two runs of a workload is that of `Efficiency.shared`: the workload's
software and the maker and, if equal, the generation and the accelerator. A timed step moves the
estimate by the shared part of its residual and removes that part from the variance:

    gain = shared / (variance there + noise)
    ln e = ln e before + gain * ln(timed / expected there)
    sd   = WIDER * sqrt(variance before - gain * shared), at most the sd before

A step on another maker's accelerators is not used: on held-out sources it increased the median
error of language models. docs/efficiency.md has the table.

    WIDER      1.25   for a coverage of about 90 % on held-out sources
    REPEAT_SD  0.06   of ln(speed) between two runs of one configuration: published submitters of
                      one accelerator, count and batch differ by 0.03 to 0.07
    COUNT_SD   0.085  of ln(speed per accelerator) for a doubling of their number, as a root
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from planner.catalog import Accelerator
from planner.mfu._generations import generation_of
from planner.mfu._model import Efficiency, efficiency_of, most_of
from planner.mfu._questions import Question

REPEAT_SD: Final = 0.06
COUNT_SD: Final = 0.085
WIDER: Final = 1.25
EVERYTHING: Final = frozenset({"workload", "maker", "generation", "accelerator"})
"""Keys of the uncertainty in common of two runs on one accelerator."""


def after_step(question: Question, timed: Question, share: float) -> Efficiency | None:
    """Return the efficiency of a question, given that of a timed step.

    Args:
        question: the workload on hardware.
        timed: the same workload where its step was timed.
        share: of the half-precision peak that the step reached there [1], above 0.

    Returns:
        None where `efficiency_of` has none for either.
    """
    prior, there = efficiency_of(question), efficiency_of(timed)
    if prior is None or there is None:
        return None
    alike = shared_by(question.accelerator, timed.accelerator)
    gain, common = gain_of(
        prior.shared, there.shared, alike, abs(math.log2(question.devices / timed.devices))
    )
    value = prior.value * (share / there.value) ** gain
    sd = sd_left(prior.sd, gain, common)
    most = most_of(question)
    return replace(
        prior,
        value=value if most is None else min(value, most),
        sd=sd,
        parts=_scaled(prior.parts, sd / prior.sd),
        shared=_scaled(prior.shared, sd / prior.sd),
        capped=most is not None and value > most,
    )


def sd_after(efficiency: Efficiency, alike: Collection[str]) -> float:
    """Return the sd of ln(efficiency) after a timed step with this common uncertainty."""
    gain, common = gain_of(efficiency.shared, efficiency.shared, alike, 0.0)
    return sd_left(efficiency.sd, gain, common)


def sd_left(sd: float, gain: float, common: float) -> float:
    """Return the sd of ln after a step, from that before and the two numbers of `gain_of`."""
    return min(sd, WIDER * math.sqrt(sd**2 - gain * common))


def gain_of(
    shared: Mapping[str, float],
    there: Mapping[str, float],
    alike: Collection[str],
    doublings: float,
) -> tuple[float, float]:
    """Return the gain of a timed step, and the variance of ln that it shares with the answer.

    Args:
        shared: sds of the answer by whom they are shared with, as `Efficiency.shared`.
        there: the same where the step was timed.
        alike: the keys of both that they have in common.
        doublings: of the device count between the two, without a sign [log2].
    """
    common = math.fsum(shared[x] * there[x] for x in alike)
    noise = REPEAT_SD**2 + COUNT_SD**2 * doublings
    return common / (math.fsum(sd**2 for sd in there.values()) + noise), common


def shared_by(own: Accelerator, there: Accelerator) -> frozenset[str]:
    """Return the common uncertainty of two runs of one workload, by `Efficiency.shared`."""
    if own.id == there.id:
        return EVERYTHING
    if own.maker != there.maker:
        return frozenset()
    generation = generation_of(own)
    if generation and generation == generation_of(there):
        return frozenset({"workload", "maker", "generation"})
    return frozenset({"workload", "maker"})


def _scaled(parts: Mapping[str, float], by: float) -> Mapping[str, float]:
    return MappingProxyType({name: sd * by for name, sd in parts.items()})
