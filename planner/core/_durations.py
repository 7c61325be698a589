"""One way to write a duration, on every page and in every table.

Seconds are floats; rounding is half up and carries, so 59.6 s is 0:01:00 and never 0:00:60.
"""

import math
from typing import Final

from planner.core._numbers import MOST_DIGITS, plain, rounded_ends, written_ends
from planner.core._text import Text

UNKNOWN: Final = Text("not known")
ENDLESS: Final = Text("no limit")
HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0
YEAR_S: Final = 8_760.0 * HOUR_S
IN_DAYS_S: Final = 48.0 * HOUR_S
"""Above it an estimate is counted in days."""
IN_YEARS_S: Final = 2.0 * YEAR_S
DIGITS: Final = 4
"""Of an estimate at most: sessions of one machine differ by more than the next one."""
LEAST_OF_A_UNIT: Final = 0.1
"""A smaller end of an interval is written as "< 0.1" of the unit."""
MOST_OF_A_UNIT: Final = 1e6
"""From here on an end of an interval has a unit of its own; years end here."""
ENDLESS_S: Final = MOST_OF_A_UNIT * YEAR_S
"""From here on a duration is only 'more than a million years'."""
AGES: Final = Text("more than a million {unit}", unit="years")
LEAST_CLOCK_S: Final = 10.0
"""Below it the clock form would round by more than 5 %."""
_UNITS: Final = (
    (IN_YEARS_S, YEAR_S, "years"), (IN_DAYS_S * (1.0 + 1e-12), DAY_S, "d"), (HOUR_S, HOUR_S, "h"),
    (60.0, 60.0, "min"), (1.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs"),
)  # fmt: skip
"""From how many seconds on [s], seconds of the unit, its name."""


def hms(seconds: float) -> str:
    """Return the clock form h:mm:ss with unbounded hours, to the second: 91300.6 -> '25:21:41'.

    NaN is 'not known', infinity 'no limit'; a negative difference keeps its sign.
    """
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    whole = _half_up(abs(seconds))
    return f"{_sign(seconds, whole)}{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def in_words(seconds: float) -> str:
    """Return a duration in two usual units.

    '54 ms' below 1 s, '45.6 s' below a minute, '16 min 52 s' below an hour, '12,666 h 42 min'
    above, '9.5 years' from two years on; below 10 ms two significant digits ('0.82 ms',
    '75 µs'), down to 0.01 µs. NaN and infinity as `hms`; a negative difference keeps its sign.
    """
    if not abs(seconds) < IN_YEARS_S:
        return _years(seconds)
    size = abs(seconds)
    millis, tenths, whole = _half_up(1e3 * size), _half_up(10.0 * size), _half_up(size)
    if size < 0.01:
        return _short(seconds)
    if millis < 1000:
        return _one_unit(f"{_sign(seconds, millis)}{millis}", "ms")
    sign = _sign(seconds, whole)
    if tenths < 600:
        return _one_unit(f"{sign}{tenths / 10:g}", "s")
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return Text("{minutes} min {seconds} s", minutes=f"{sign}{minutes}", seconds=rest)
    hours, minutes = divmod(_half_up(size / 60.0), 60)
    return Text("{hours} h {minutes} min", hours=f"{sign}{hours:,}", minutes=minutes)


def clock(seconds: float) -> str:
    """Return the clock form h:mm:ss from 10 s to two years, and `in_words` outside."""
    return hms(seconds) if LEAST_CLOCK_S <= abs(seconds) < IN_YEARS_S else in_words(seconds)


def with_ends(value_s: float, low_s: float, high_s: float) -> tuple[str, str, str]:
    """Return an estimate and both ends of its interval in one unit: 2.9 h, 0.9 h, 11 h.

    The unit is the one that a person would use for the estimate (years from two on, days above 48
    hours); a lower end below `LEAST_OF_A_UNIT` is '< 0.1 h', and an upper end of a million units
    has its own. The digits are those that the interval allows
    (`planner.core._numbers.rounded_ends`), and
    as many as show it. Without an interval, up to 48 hours, as `in_words`.
    """
    if value_s == low_s == high_s and value_s <= IN_DAYS_S:
        middle = in_words(value_s)
        return middle, middle, middle
    return _in_unit((value_s, low_s, high_s), *_unit(value_s if value_s > 0.0 else high_s))


def ends_in_hours(value_s: float, low_s: float, high_s: float) -> tuple[str, str, str]:
    """Return `with_ends` in hours at any size: 0.05 h, 0.04 h, 0.07 h."""
    return _in_unit((value_s, low_s, high_s), HOUR_S, "h")


def interval(value_s: float, low_s: float, high_s: float) -> str:
    """Return an estimate with its interval, the unit once: '2.9 h (0.9 to 11 h)'.

    Without one '2.9 h'.
    """
    return _with_interval(*with_ends(value_s, low_s, high_s))


def between(low: str, high: str) -> str:
    """Return the two ends of `with_ends` or `in_words` with their unit once: '0.9 to 11 h'.

    Ends of two units stay whole: '24 h 43 min to 26 h 1 min'.
    """
    number, unit = split_unit(low)
    same = isinstance(high, Text) and high.parameters.get("unit") == unit
    low_end = number if unit and same else low
    return Text("{low} to {high}", low=low_end, high=high)


def in_one_unit(seconds: float, digits: int = DIGITS) -> str:
    """Return an exact duration in the unit of `with_ends`: '1 h', '1.5 h', '3 d'."""
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    size, unit = _unit(seconds)
    return _number(float(plain(seconds / size, digits).replace(",", "")), size, unit, 0.0)


def split_unit(text: str) -> tuple[str, str]:
    """Return number and unit of a duration of one unit: '2.9 h' -> ('2.9', 'h').

    One of two units is returned whole: '25 h 22 min' -> ('25 h 22 min', '').
    """
    if isinstance(text, Text) and "number" in text.parameters:
        return str(text.parameters["number"]), str(text.parameters["unit"])
    return text, ""


def _one_unit(number: str, unit: str) -> Text:
    """Return a duration of one unit, for `between` and `split_unit`."""
    return Text("{number} {unit}", number=number, unit=unit)


def about(value_s: float, low_s: float, high_s: float) -> str:
    """Return an estimate without its interval, rounded to its precision: 'about 2.9 h'."""
    value, low, high = with_ends(value_s, low_s, high_s)
    return value if low == high else Text("about {duration}", duration=value)


def _with_interval(value: str, low: str, high: str) -> str:
    return value if low == high else f"{value} ({between(low, high)})"


def _unit(seconds: float) -> tuple[float, str]:
    for least, size, unit in _UNITS:
        if seconds >= least:
            return size, unit
    return 1e-6, "µs"


def _in_unit(times_s: tuple[float, float, float], size: float, unit: str) -> tuple[str, str, str]:
    """Return value, low and high in a unit, with enough digits to separate the ends."""
    value, low, high = (time / size for time in times_s)
    for digits in range(DIGITS, MOST_DIGITS + 1):
        first, second, third = rounded_ends(value, low, high, digits)
        if second != third or not low < high:
            break
    least = _least(first)
    texts = written_ends(value, low, high, digits)
    return (
        _number(first, size, unit, 0.0, texts[0]),
        _number(second, size, unit, least, texts[1]),
        _number(third, size, unit, 0.0, texts[2]),
    )


def _least(value: float) -> float:
    """Return the smallest lower end that is written out beside a value, in the value's unit."""
    if not 0.0 < value < 1.0:
        return LEAST_OF_A_UNIT
    return float(10.0 ** (math.floor(math.log10(value) + 1e-12) - 1))


def _number(number: float, size: float, unit: str, least: float, text: str = "") -> str:
    """Return a rounded number, or its `text`, with its unit; words if too small or too large."""
    if not math.isfinite(number):
        return _not_finite(number)
    if number * size >= ENDLESS_S:
        return AGES
    if 0.0 < number < least:
        return _one_unit(f"< {plain(least)}", unit)
    if number >= MOST_OF_A_UNIT:
        own, name = _unit(number * size)
        return _one_unit(plain(number * size / own, DIGITS), name)
    return _one_unit(text or plain(number), unit)


def _short(seconds: float) -> str:
    """Return a duration below 10 ms, where whole milliseconds would hide the interval."""
    scale, unit = (1e3, "ms") if abs(seconds) >= 1e-4 else (1e6, "µs")
    rounded = float(f"{scale * seconds:.2g}")
    return _one_unit(f"{rounded:g}", unit) if abs(rounded) >= 0.01 else _one_unit("0", "s")


def _years(seconds: float) -> str:
    """Return a duration of two years or more, or one that is not finite."""
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    size, minus = abs(seconds), "-" if seconds < 0.0 else ""
    if size >= ENDLESS_S:
        return f"-{AGES}" if minus else AGES
    return _one_unit(f"{minus}{plain(size / YEAR_S, DIGITS)}", "years")


def _half_up(value: float) -> int:
    return math.floor(value + 0.5)


def _sign(seconds: float, rounded: int) -> str:
    """Return a minus sign, but none before a rounded zero."""
    return "-" if seconds < 0.0 and rounded else ""


def _not_finite(seconds: float) -> str:
    if math.isnan(seconds):
        return UNKNOWN
    return ENDLESS if seconds > 0.0 else f"-{ENDLESS}"
