"""The efficiency of a described workload once one step of it was timed somewhere.

What two runs of a workload share is known by the sds of `Efficiency.shared`: the workload's
software, and, where they are alike, the maker, the generation and the accelerator. A timed step
moves the estimate by the shared part of its surprise and takes that part out of the variance:

    gain = shared / (variance there + noise)
    ln e = ln e before + gain * ln(timed / expected there)
    variance = variance before - gain * shared

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

from planner.mfu.generations import generation_of
from planner.mfu.model import Efficiency, efficiency_of, most_of
from planner.mfu.questions import Question

REPEAT_SD: Final = 0.06
COUNT_SD: Final = 0.085
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
    common = math.fsum(found.shared[x] * there.shared[x] for x in shared_by(question, timed))
    doublings = abs(math.log2(question.devices / timed.devices))
    noise = REPEAT_SD**2 + COUNT_SD**2 * doublings
    gain = common / (there.sd**2 + noise)
    value = found.value * (share / there.value) ** gain
    sd = math.sqrt(found.sd**2 - gain * common)
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
    common = math.fsum(found.shared[x] ** 2 for x in alike)
    return math.sqrt(found.sd**2 - common**2 / (found.sd**2 + REPEAT_SD**2))


def shared_by(question: Question, timed: Question) -> frozenset[str]:
    """Return what two runs of one workload share, by the keys of `Efficiency.shared`."""
    own, there = question.accelerator, timed.accelerator
    if own.id == there.id:
        return EVERYTHING
    if own.maker != there.maker:
        return frozenset({"workload"})
    generation = generation_of(own)
    if generation and generation == generation_of(there):
        return frozenset({"workload", "maker", "generation"})
    return frozenset({"workload", "maker"})


def _scaled(parts: Mapping[str, float], by: float) -> Mapping[str, float]:
    return MappingProxyType({name: sd * by for name, sd in parts.items()})
