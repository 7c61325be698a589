"""A ratio in words that are right whichever side is ahead: "24.3x faster", "16.3x slower".

    times(24.28)                24.3x
    ahead(24.28)                24.3x faster
    ahead(0.0614)               16.3x slower
    ahead(1.001)                equally fast
    ahead(1e-21)                more than a million times slower
    ahead_between(0.98, 1.04)   1.02x slower to 1.04x faster

A ratio is the other side over this one, so above 1 this side is ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from planner.core._estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of one quantity: better, worse and level."""

    better: str
    worse: str
    level: str


SPEED: Final = Words(better="faster", worse="slower", level="equally fast")
COST: Final = Words(better="cheaper", worse="more expensive", level="equally expensive")
UNKNOWN: Final = "–"
MOST: Final = 1e6
"""A larger ratio means that the two are not comparable."""


def times(ratio: float) -> str:
    """Return a ratio as people write it: 24.3x, 1.04x, 120x; above a million only that."""
    if ratio > MOST:
        return "more than a million times"
    for digits, below in ((2, 10.0), (1, 100.0)):
        if round(ratio, digits) < below:
            return f"{ratio:.{digits}f}x"
    return f"{ratio:,.0f}x"


def ahead(ratio: float, words: Words = SPEED) -> str:
    """Return the ratio in words; a dash where it is not above 0."""
    if not 0.0 < ratio < math.inf:
        return UNKNOWN
    factor = times(max(ratio, 1.0 / ratio))
    if factor == times(1.0):
        return words.level
    return f"{factor} {words.better if ratio > 1.0 else words.worse}"


def ahead_between(low: float, high: float, words: Words = SPEED) -> str:
    """Return an interval of ratios in words, from the worse end."""
    if not 0.0 < low <= high < math.inf:
        return "not known"
    first, last = ahead(low, words), ahead(high, words)
    if first == last:
        return first
    for side in (words.better, words.worse):
        if first.endswith(side) and last.endswith(side):
            return f"{first.removesuffix(side).rstrip()} to {last}"
    return f"{first} to {last}"


def ahead_of(estimate: Estimate | None, words: Words = SPEED) -> str:
    """Return `ahead` of a ratio's value; a dash where there is none."""
    return UNKNOWN if estimate is None else ahead(float(estimate.value), words)
