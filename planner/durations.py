"""Why this file exists: one way to write a duration, on every page and in every table.

Seconds are floats; rounding is half up and carries, so 59.6 s is 0:01:00 and never 0:00:60.
"""

from __future__ import annotations

import math
import re
from typing import Final

UNKNOWN: Final = "not known"
ENDLESS: Final = "no limit"
HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0
YEAR_S: Final = 8_760.0 * HOUR_S
IN_HOURS_S: Final = 10.0 * HOUR_S
"""From here on nobody counts the minutes of an estimate."""
IN_YEARS_S: Final = 2.0 * YEAR_S
"""From here on nobody counts its hours."""
LEAST_OF_A_UNIT: Final = 0.1
"""An end of an interval is not told in a unit of which it is a smaller part."""
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
    """An estimate and both ends of its interval in one unit: 2.7 years, 0.73 years, 9.2 years.

    Hours from `IN_HOURS_S` on and years from `IN_YEARS_S` on, as the estimate asks for it and the
    lower end allows it (`LEAST_OF_A_UNIT`); otherwise each as `in_words`, as is every end that is
    not finite.
    """
    told = (value_s, low_s, high_s)
    for least, unit_s, unit in ((IN_YEARS_S, YEAR_S, "years"), (IN_HOURS_S, HOUR_S, "h")):
        if value_s >= least and not low_s < LEAST_OF_A_UNIT * unit_s:
            first, second, third = (_in_unit(seconds, unit_s, unit) for seconds in told)
            return first, second, third
    first, second, third = (in_words(seconds) for seconds in told)
    return first, second, third


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


def _in_unit(seconds: float, unit_s: float, unit: str) -> str:
    """Whole units, two digits below ten of them."""
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    count = seconds / unit_s
    return f"{count:.2g} {unit}" if abs(count) < 9.95 else f"{_half_up(count):,} {unit}"


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
