"""Numbers in text, without exponents.

`f"{3620:.3g}"` is 3.62e+03, and `:g` writes a million as 1e+06.

    plain(3621.4, 3)   3,620
    plain(1e6)         1,000,000
    plain(1e-05)       0.00001
    large(7e10)        70 billion
    counted(2000)      2000: no separator below 10,000
    counted(1e6)       1,000,000
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

GROUPED_FROM: Final = 10_000
"""From here on the digits of a count are set apart by thousands."""
_LARGE: Final = ((1e12, "trillion"), (1e9, "billion"))
_MILLION: Final = (1e6, "million")


def plain(value: float, digits: int = 10) -> str:
    """Return a number rounded to `digits`: 3,620, 0.00001; `nan` and `inf` unchanged."""
    number = f"{value:.{digits}g}"
    return f"{Decimal(number):,f}" if math.isfinite(value) else number


LEAST_DIGITS: Final = 2
"""Of any estimate, however wide its interval."""


def digits_of(value: float, low: float, high: float, most: int = 5) -> int:
    """Return the digits of a value that its interval allows, from `LEAST_DIGITS` to `most`.

    The last digit is at most worth the interval's half-width. An interval without width allows all.
    """
    if not all(map(math.isfinite, (value, low, high))) or value == 0.0:
        return LEAST_DIGITS
    half = 0.5 * abs(high - low)
    if half == 0.0:
        return most
    places = math.floor(math.log10(abs(value)) + 1e-12) + 1
    return min(max(places - math.floor(math.log10(half) + 1e-12), LEAST_DIGITS), most)


def rounded(value: float, digits: int) -> float:
    """Return a number rounded half up to `digits`."""
    if value == 0.0 or not math.isfinite(value):
        return value
    step = Decimal(1).scaleb(math.floor(math.log10(abs(value)) + 1e-12) - digits + 1)
    return float((Decimal(repr(value)) / step).quantize(Decimal(1), ROUND_HALF_UP) * step)


def rounded_ends(
    value: float, low: float, high: float, most: int = 5
) -> tuple[float, float, float]:
    """Return a value and both ends of its interval, rounded to its precision.

    2.93 (0.89 to 11.2) becomes 2.9 (0.9 to 11): no end has more decimals than the value, and no end
    above 0 becomes 0.
    """
    digits = digits_of(value, low, high, most)
    middle = rounded(value, digits)
    if middle == 0.0 or not math.isfinite(middle):
        return middle, rounded(low, digits), rounded(high, digits)
    finest = 10.0 ** (math.floor(math.log10(abs(middle)) + 1e-12) - digits + 1)
    first, last = (_end(end, digits, finest) for end in (low, high))
    return middle, first, last


def _end(end: float, digits: int, finest: float) -> float:
    """Return an end of an interval, in steps not finer than the value's."""
    rounded_end = rounded(end, digits)
    if (
        rounded_end == 0.0
        or not math.isfinite(rounded_end)
        or 10.0 ** math.floor(math.log10(abs(rounded_end))) < finest
    ):
        return rounded(end, 1)
    places = (
        math.floor(math.log10(abs(rounded_end)) + 1e-12)
        - math.floor(math.log10(finest) + 1e-12)
        + 1
    )
    return rounded(end, min(digits, places))


def large(value: float, digits: int = 4, *, millions: bool = False) -> str:
    """Return a number with a word for billions and more, optionally millions; else `plain`."""
    for size, word in (*_LARGE, *((_MILLION,) if millions else ())):
        if value >= size:
            return f"{plain(value / size, digits)} {word}"
    return plain(value, digits)


def counted(count: int) -> str:
    """Return a whole number inside a sentence: '2000', '1,000,000'."""
    return f"{count:,}" if abs(count) >= GROUPED_FROM else str(count)
