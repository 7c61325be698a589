"""The efficiency of a described workload once one step of it was timed somewhere.

What two runs of a workload share is known by the sds of `Efficiency.shared`: the workload's
software and the maker, and, where they are alike, the generation and the accelerator. A timed step
moves the estimate by the shared part of its surprise and takes that part out of the variance:

    gain = shared / (variance there + noise)
    ln e = ln e before + gain * ln(timed / expected there)
    sd   = WIDER * sqrt(variance before - gain * shared), at most the sd before

Nothing is taken from a step on another maker's accelerators: on hidden sources the median error of
language models grew with it. docs/efficiency.md has the table.

    WIDER      1.25   so that intervals hold about 90 % of hidden sources
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
"""What two runs on one accelerator share."""


def after_step(question: Question, timed: Question, share: float) -> Efficiency | None:
    """Return the efficiency of a question, given what a timed step reached.

    Args:
        question: the workload on hardware.
        timed: the same workload where its step was timed.
        share: of the half-precision peak that the step reached there [1], above 0.

    Returns:
        None where `efficiency_of` knows either not.
    """
    found, there = efficiency_of(question), efficiency_of(timed)
    if found is None or there is None:
        return None
    alike = shared_by(question.accelerator, timed.accelerator)
    gain, common = gain_of(
        found.shared, there.shared, alike, abs(math.log2(question.devices / timed.devices))
    )
    value = found.value * (share / there.value) ** gain
    sd = sd_left(found.sd, gain, common)
    most = most_of(question)
    return replace(
        found,
        value=value if most is None else min(value, most),
        sd=sd,
        parts=_scaled(found.parts, sd / found.sd),
        shared=_scaled(found.shared, sd / found.sd),
        capped=most is not None and value > most,
    )


def sd_after(found: Efficiency, alike: Collection[str]) -> float:
    """Return the sd of ln(efficiency) that a step leaves where so much is shared with it."""
    gain, common = gain_of(found.shared, found.shared, alike, 0.0)
    return sd_left(found.sd, gain, common)


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
    """Return what two runs of one workload share, by the keys of `Efficiency.shared`."""
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
