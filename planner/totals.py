"""Two totals beside each other: how many times faster, and whether the gap is more than doubt."""

from __future__ import annotations

import math

from planner.estimate import Estimate, Refusal
from planner.projection import session_half_width


def speed_up(against: Estimate | Refusal, total: Estimate | Refusal) -> Estimate | None:
    """How many times faster than the baseline: two runs are two sessions, independent in logs."""
    if isinstance(against, Refusal) or isinstance(total, Refusal):
        return None
    ratio = float(against.value) / float(total.value)
    q = 0.0 if against is total else _joint(against, total)
    return Estimate(
        value=ratio,
        low=ratio * math.exp(-q),
        high=ratio * math.exp(q),
        level=total.level,
        basis=total.basis,
    )


def apart(a: Estimate | Refusal, b: Estimate | Refusal) -> bool:
    """Whether two totals differ by more than their joint interval; refusals always do."""
    if isinstance(a, Refusal) or isinstance(b, Refusal):
        return True
    gap = abs(math.log(float(a.value) / float(b.value)))
    return gap > _joint(a, b)


def _joint(a: Estimate, b: Estimate) -> float:
    """Half-width of a ratio of two totals in the logarithm, as `planner.ratios` takes it."""
    return math.hypot(_log_width(a), _log_width(b), session_half_width(a.level))


def _log_width(e: Estimate) -> float:
    return math.log(float(e.high) / float(e.value))
