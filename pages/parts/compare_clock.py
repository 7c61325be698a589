"""Times of the page Compare hardware as its table tells them, with their interval."""

from __future__ import annotations

from typing import Final

from planner.durations import hms

HOUR_S: Final = 3600.0
MINUTE_S: Final = 60.0
_IN_SECONDS_S: Final = 10.0


def clocked(time: tuple[float, float, float], clock: str) -> str:
    """'14:02:11 (12 to 17.2 h)'; without an interval where its ends read the same.

    Args:
        time: value, low and high [s].
        clock: "hms", or "hours" for hours with decimals.
    """
    shown = _time(time[0], clock)
    size, unit = (HOUR_S, "h") if clock == "hours" else _unit(time[0])
    low, high = (digits(end / size) for end in time[1:])
    return shown if low == high else f"{shown} ({low} to {high} {unit})"


def digits(value: float) -> str:
    """Three digits, never as a power of ten: 0.0123, 12.3, 1,920."""
    return f"{value:,.3g}" if value < 999.5 else f"{float(f'{value:.3g}'):,.0f}"


def _time(seconds: float, clock: str) -> str:
    if clock == "hms" and seconds >= _IN_SECONDS_S:
        return hms(seconds)
    return f"{digits(seconds / HOUR_S)} h" if clock == "hours" else f"{seconds:.3g} s"


def _unit(seconds: float) -> tuple[float, str]:
    """In what the ends of an interval are told [s]: three digits are enough of them."""
    if seconds >= HOUR_S:
        return HOUR_S, "h"
    return (MINUTE_S, "min") if seconds >= MINUTE_S else (1.0, "s")
