"""Times of the page Compare hardware as its table shows them, with their interval."""

from __future__ import annotations

from planner.durations import in_hours, interval


def clocked(time: tuple[float, float, float], clock: str) -> str:
    """'14 h (12 to 17 h)'; without an interval where its ends read the same.

    Args:
        time: value, low and high [s].
        clock: "unit" for the unit that suits the time, or "hours".
    """
    return in_hours(*time) if clock == "hours" else interval(*time)
