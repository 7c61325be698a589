"""A quantity of money or power is a number, a range, or draws of a range.

Every `Amount` is checked where a record is made, every argument of a formula here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Floats, listed

HOURS_PER_YEAR: Final = 8760.0
HOURS_PER_MONTH: Final = HOURS_PER_YEAR / 12.0
SECONDS_PER_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Range:
    """An uncertain price or quantity: triangular between `low` and `high`, most often `likely`.

    All three are finite and low <= likely <= high; all equal is an exact number. Ranges of one
    `name` are one quantity (the tariff of one building with two machines) with the same draws. A
    range without a name is drawn independently.

    Raises:
        ValueError: names all problems.
    """

    low: float
    likely: float
    high: float
    name: str = ""

    def __post_init__(self) -> None:
        ends = (self.low, self.likely, self.high)
        if np.isfinite(ends).all() and self.low <= self.likely <= self.high:
            return
        values = ", ".join(f"{end:g}" for end in ends)
        raise ValueError(
            f"{self.name or 'A range'} goes {values}. A range is three finite numbers in "
            "rising order: the least, the likely and the largest value."
        )


Amount = float | Range | Floats
"""A number, a range, or an array of draws [unit of its field]."""


def likely(amount: Amount) -> Floats:
    """Return the value for formulas: a range at its likely value, others unchanged."""
    return np.asarray(amount.likely if isinstance(amount, Range) else amount, dtype=np.float64)


def checked(name: str, values: ArrayLike, *, most: float = np.inf) -> Floats:
    """Return an argument of a formula as an array; infinity is allowed where `most` is.

    Raises:
        ValueError: a value is below 0, above `most` or not a number; it names them.
    """
    array = np.asarray(values, dtype=np.float64)
    good = (array >= 0.0) & (array <= most)
    if good.all():
        return array
    to = "or more" if np.isinf(most) else f"to {most:g}"
    raise ValueError(
        f"{name}: {listed(array, good)}. It is a number from 0 {to}. Correct these values."
    )


def product(first: Floats, second: Floats) -> Floats:
    """Return a product in which 0 times infinity is 0; both at least 0."""
    left, right = np.broadcast_arrays(first, second)
    both = (left > 0.0) & (right > 0.0)
    return np.asarray(np.multiply(left, right, out=np.zeros(left.shape), where=both))


def of_hours(work_s: ArrayLike, hourly: Floats) -> Floats:
    """Return the cost of `work_s` seconds at `hourly` per hour; infinite work is never free.

    Raises:
        ValueError: a time is negative or not a number.
    """
    hours = checked("work_s", work_s) / SECONDS_PER_HOUR
    return np.where(np.isinf(hours), np.inf, product(hours, hourly))
