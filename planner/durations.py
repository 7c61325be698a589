"""Why this file exists: one way to write a duration, on every page and in every table.

Seconds are floats; rounding is half up and carries, so 59.6 s is 0:01:00 and never 0:00:60.
"""

from __future__ import annotations

import math
import re
from typing import Final

from planner.written import plain, rounded_ends

UNKNOWN: Final = "not known"
ENDLESS: Final = "no limit"
HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0
YEAR_S: Final = 8_760.0 * HOUR_S
IN_DAYS_S: Final = 48.0 * HOUR_S
"""Above it an estimate is counted in days."""
IN_YEARS_S: Final = 2.0 * YEAR_S
DIGITS: Final = 4
"""Of an estimate at most: sessions of one machine differ by more than the next one."""
LEAST_OF_A_UNIT: Final = 0.1
"""An end of an interval is not told in a unit of which it is a smaller part."""
_UNITS: Final = (
    (IN_YEARS_S, YEAR_S, "years"), (IN_DAYS_S * (1.0 + 1e-12), DAY_S, "d"), (HOUR_S, HOUR_S, "h"),
    (60.0, 60.0, "min"), (1.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs"),
)  # fmt: skip
"""From how many seconds on [s], seconds of the unit, its name."""
CLOCK: Final = re.compile(r"(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")


def hms(seconds: float) -> str:
    """Clock form h:mm:ss with unbounded hours, to the second: 91300.6 -> '25:21:41'.

    NaN is 'not known', infinity 'no limit'; a negative difference keeps its sign.
    """
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    whole = _half_up(abs(seconds))
    return f"{_sign(seconds, whole)}{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def in_words(seconds: float) -> str:
    """Two units a person would say, with their own rounding.

    '54 ms' below 1 s, '45.6 s' below a minute, '16 min 52 s' below an hour, '12,666 h 42 min'
    above; below 10 ms two digits that mean something ('0.82 ms', '75 µs'), down to 0.01 µs. NaN and
    infinity as `hms`; a negative difference keeps its sign.
    """
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    size = abs(seconds)
    millis, tenths, whole = _half_up(1e3 * size), _half_up(10.0 * size), _half_up(size)
    if size < 0.01:
        return _short(seconds)
    if millis < 1000:
        return f"{_sign(seconds, millis)}{millis} ms"
    sign = _sign(seconds, whole)
    if tenths < 600:
        return f"{sign}{tenths / 10:g} s"
    if whole < 3600:
        return f"{sign}{whole // 60} min {whole % 60} s"
    minutes = _half_up(size / 60.0)
    return f"{sign}{minutes // 60:,} h {minutes % 60} min"


def with_ends(value_s: float, low_s: float, high_s: float) -> tuple[str, str, str]:
    """An estimate and both ends of its interval in one unit: 2.9 h, 0.9 h, 11 h.

    The unit is the one that a person would use for the estimate (years from two on, days above 48
    hours), or the next smaller one where the lower end would be less than `LEAST_OF_A_UNIT` of it;
    the digits are those that the interval allows (`planner.written.rounded_ends`). Without an
    interval, up to 48 hours, as `in_words`.
    """
    if value_s == low_s == high_s and value_s <= IN_DAYS_S:
        said = in_words(value_s)
        return said, said, said
    size, unit = _unit(value_s, low_s)
    ends = rounded_ends(value_s / size, low_s / size, high_s / size, DIGITS)
    first, second, third = (
        f"{plain(end)} {unit}" if math.isfinite(end) else _not_finite(end) for end in ends
    )
    return first, second, third


def interval(value_s: float, low_s: float, high_s: float) -> str:
    """An estimate with its interval, the unit once: '2.9 h (0.9 to 11 h)'; without one '2.9 h'."""
    value, low, high = with_ends(value_s, low_s, high_s)
    return value if low == high else f"{value} ({between(low, high)})"


def between(low: str, high: str) -> str:
    """Two ends of `with_ends` with their unit once: '0.9 to 11 h'."""
    unit = low.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}') if high.endswith(f' {unit}') else low} to {high}"


def about(value_s: float, low_s: float, high_s: float) -> str:
    """An estimate without its interval, rounded to what that allows: 'about 2.9 h'."""
    value, low, high = with_ends(value_s, low_s, high_s)
    return value if low == high else f"about {value}"


def _unit(value_s: float, low_s: float) -> tuple[float, str]:
    """What an estimate is counted in: seconds of the unit, and its name."""
    known = [(size, unit) for least, size, unit in _UNITS if value_s >= least] or [(1e-6, "µs")]
    size, unit = known[0]
    if 0.0 < low_s < LEAST_OF_A_UNIT * size and len(known) > 1:
        return known[1]
    return size, unit


def in_days(seconds: float) -> str:
    """The same duration for those who count days: 2223000.0 -> '25.7 days'."""
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    tenths = _half_up(abs(seconds) / DAY_S * 10.0)
    return f"{_sign(seconds, tenths)}{tenths / 10:,.1f} {'day' if tenths == 10 else 'days'}"


def parse_hms(text: str) -> float:
    """Seconds of a clock form h:mm:ss (hours unbounded, seconds may have decimals).

    Raises:
        ValueError: the text has another form; '16:52' could be hours or minutes, so it is refused.
    """
    match = CLOCK.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text!r} is no duration of the form h:mm:ss. Minutes and seconds have two digits "
            "and stay below 60. Write 0:16:52 for 16 minutes and 52 seconds."
        )
    hours, minutes, seconds = match.groups()
    return 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds)


def _short(seconds: float) -> str:
    """Below 10 ms: whole milliseconds would make a time and both ends of its interval one."""
    scale, unit = (1e3, "ms") if abs(seconds) >= 1e-4 else (1e6, "µs")
    rounded = float(f"{scale * seconds:.2g}")
    return f"{rounded:g} {unit}" if abs(rounded) >= 0.01 else "0 s"


def _half_up(value: float) -> int:
    return math.floor(value + 0.5)


def _sign(seconds: float, rounded: int) -> str:
    """A minus sign, but none before a rounded zero."""
    return "-" if seconds < 0.0 and rounded else ""


def _not_finite(seconds: float) -> str:
    if math.isnan(seconds):
        return UNKNOWN
    return ENDLESS if seconds > 0.0 else f"-{ENDLESS}"
