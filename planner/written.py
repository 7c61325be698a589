"""Why this file exists: one way to write a number that a person reads: never with an exponent.

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
from decimal import Decimal
from typing import Final

GROUPED_FROM: Final = 10_000
"""From here on the digits of a count are set apart by thousands."""
_LARGE: Final = ((1e12, "trillion"), (1e9, "billion"))


def plain(value: float, digits: int = 10) -> str:
    """Rounded to so many digits, thousands apart: 3,620, 0.00001; `nan` and `inf` as they are."""
    told = f"{value:.{digits}g}"
    return f"{Decimal(told):,f}" if math.isfinite(value) else told


def large(value: float, digits: int = 4) -> str:
    """With a word for billions and trillions; `plain` below a billion."""
    for size, word in _LARGE:
        if value >= size:
            return f"{plain(value / size, digits)} {word}"
    return plain(value, digits)


def counted(count: int) -> str:
    """A whole number inside a sentence: '2000', '1,000,000'."""
    return f"{count:,}" if abs(count) >= GROUPED_FROM else str(count)
