"""Two totals beside each other: the speed-up, and whether the gap exceeds their intervals."""

from __future__ import annotations

from planner.core import Estimate, Refusal
from planner.epochs.projection import SESSION_SD, session_half_width
from planner.fits import excludes_one, ratio


def speed_up(against: Estimate | Refusal, total: Estimate | Refusal) -> Estimate | None:
    """Return how many times faster `total` is than `against`; below 1 it is slower.

    Two runs are two sessions: their ratio has the spread between sessions in it. A total beside
    itself is exactly as fast; None where one of them is refused.
    """
    if isinstance(against, Refusal) or isinstance(total, Refusal):
        return None
    return ratio_of_times(against, total)


def ratio_of_times(slow: Estimate, fast: Estimate, session_sd: float = SESSION_SD) -> Estimate:
    """Return the time of one run over that of another [1], both as `speed_up`."""
    if slow is fast:
        return Estimate(value=1.0, low=1.0, high=1.0, level=fast.level, basis=fast.basis)
    return ratio(slow, fast, half_width=session_half_width(fast.level, session_sd))


def apart(a: Estimate | Refusal, b: Estimate | Refusal) -> bool:
    """Return whether two totals differ by more than their joint interval; refusals always do."""
    speed_ratio = speed_up(a, b)
    return speed_ratio is None or excludes_one(speed_ratio)
