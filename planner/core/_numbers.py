"""One way to write a number that a person reads: never with an exponent.

`f"{3620:.3g}"` is 3.62e+03, and a typed number of a million is 1e+06 with `:g`.

    plain(3621.4, 3)   3,620
    plain(1e6)         1,000,000
    plain(1e-05)       0.00001
    large(7e10)        70 billion
    counted(2000)      2000, as it was typed: below 10,000 there is nothing to tell apart
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
    """Rounded to so many digits, thousands apart: 3,620, 0.00001; `nan` and `inf` as they are."""
    told = f"{value:.{digits}g}"
    return f"{Decimal(told):,f}" if math.isfinite(value) else told


LEAST_DIGITS: Final = 2
"""Of any estimate, however little is known of it."""


def digits_of(value: float, low: float, high: float, most: int = 5) -> int:
    """Digits of a value that its interval allows, from `LEAST_DIGITS` to `most`.

    The last digit is no finer than needed: as few as make it worth no more than the interval's
    half-width. An interval of no width allows them all.
    """
    if not all(map(math.isfinite, (value, low, high))) or value == 0.0:
        return LEAST_DIGITS
    half = 0.5 * abs(high - low)
    if half == 0.0:
        return most
    places = math.floor(math.log10(abs(value)) + 1e-12) + 1
    return min(max(places - math.floor(math.log10(half) + 1e-12), LEAST_DIGITS), most)


def rounded(value: float, digits: int) -> float:
    """Rounded half up to so many digits."""
    if value == 0.0 or not math.isfinite(value):
        return value
    step = Decimal(1).scaleb(math.floor(math.log10(abs(value)) + 1e-12) - digits + 1)
    return float((Decimal(repr(value)) / step).quantize(Decimal(1), ROUND_HALF_UP) * step)


def rounded_ends(
    value: float, low: float, high: float, most: int = 5
) -> tuple[float, float, float]:
    """A value and both ends of its interval, rounded to what the interval allows.

    2.93 (0.89 to 11.2) becomes 2.9 (0.9 to 11): no end has more decimals than the value, and no end
    above 0 becomes 0.
    """
    digits = digits_of(value, low, high, most)
    told = rounded(value, digits)
    if told == 0.0 or not math.isfinite(told):
        return told, rounded(low, digits), rounded(high, digits)
    finest = 10.0 ** (math.floor(math.log10(abs(told)) + 1e-12) - digits + 1)
    first, last = (_end(end, digits, finest) for end in (low, high))
    return told, first, last


def _end(end: float, digits: int, finest: float) -> float:
    """An end of an interval to so many digits, in steps that are not finer than the value's."""
    told = rounded(end, digits)
    if told == 0.0 or not math.isfinite(told) or 10.0 ** math.floor(math.log10(abs(told))) < finest:
        return rounded(end, 1)
    places = math.floor(math.log10(abs(told)) + 1e-12) - math.floor(math.log10(finest) + 1e-12) + 1
    return rounded(end, min(digits, places))


def large(value: float, digits: int = 4, *, millions: bool = False) -> str:
    """With a word for billions and trillions, and millions if wanted; `plain` below."""
    for size, word in (*_LARGE, *((_MILLION,) if millions else ())):
        if value >= size:
            return f"{plain(value / size, digits)} {word}"
    return plain(value, digits)


def counted(count: int) -> str:
    """A whole number inside a sentence: '2000', '1,000,000'."""
    return f"{count:,}" if abs(count) >= GROUPED_FROM else str(count)
