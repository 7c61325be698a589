"""Times of the page Compare hardware as its table shows them, with their interval."""

from __future__ import annotations

from typing import Final

from planner.durations import DIGITS, interval
from planner.written import plain, rounded_ends

HOUR_S: Final = 3600.0


def clocked(time: tuple[float, float, float], clock: str) -> str:
    """'14 h (12 to 17 h)'; without an interval where its ends read the same.

    Args:
        time: value, low and high [s].
        clock: "unit" for the unit that suits the time, or "hours".
    """
    if clock != "hours":
        return interval(*time)
    first, second, third = (end / HOUR_S for end in time)
    value, low, high = (plain(end) for end in rounded_ends(first, second, third, DIGITS))
    return f"{value} h" if low == high else f"{value} h ({low} to {high} h)"
