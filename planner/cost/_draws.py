"""Draws of uncertain prices, the same for every question.

Each uncertain quantity has a key. Its draws are the `draws` quantiles at (k + 1/2)/draws of its
distribution, so its median, mean and ends are exact to 1/draws. Their order depends on seed and key
only, not on other quantities; two of one key are one quantity. Orders of different keys are
independent (Latin hypercube with the middles of
the strata: McKay, Beckman & Conover 1979, Technometrics 21:239).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.cost._quantities import Amount, Range, likely
from planner.cost._records import Owned, Rental, ranges_of

DRAWS: Final = 4096
SEED: Final = 20260301

Record = TypeVar("Record", Rental, Owned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How draws are made: `draws` of each quantity, at least 1, ordered by `seed`, at least 0.

    Raises:
        ValueError: one of them is below that.
    """

    seed: int = SEED
    draws: int = DRAWS

    def __post_init__(self) -> None:
        if self.seed < 0 or self.draws < 1:
            raise ValueError(
                f"seed is {self.seed}, draws is {self.draws}. A seed is a whole number from 0, and "
                "there is at least one draw. Leave both out for 4,096 that are always the same."
            )


ONCE: Final = Drawing()


@lru_cache(maxsize=16)
def middles(draws: int) -> Floats:
    """Return probabilities at the middles of equal strata, rising [share]; read-only."""
    shares = np.asarray((np.arange(draws) + 0.5) / draws)
    shares.setflags(write=False)
    return shares


@lru_cache(maxsize=512)
def order(key: str, drawing: Drawing = ONCE) -> NDArray[np.unsignedinteger]:
    """Return the order of a quantity's strata, shape (draws,), by seed and key.

    Sorting 16 random bits per draw takes half the time of a shuffle, and Philox with a key needs no
    seeding; of 4,096 draws about 120 pairs are ties and keep their order. Cached (4 MB at most) for
    later questions with the same options; read-only.
    """
    digest = hashlib.sha256(f"{drawing.seed}: {key}".encode()).digest()
    words = np.random.Philox(key=int.from_bytes(digest[:16])).random_raw(-(-drawing.draws // 4))
    places = words.view(np.uint16)[: drawing.draws].argsort(kind="stable")  # a radix sort
    compact = places.astype(np.min_scalar_type(drawing.draws))
    compact.setflags(write=False)
    return compact


def draw_range(amount: Range, key: str, drawing: Drawing = ONCE) -> Floats:
    """Return draws of a triangular range, shape (draws,), by its name or else by `key`.

    The quantile at p is low + sqrt(p*(high - low)*(likely - low)) up to the likely value and
    high - sqrt((1 - p)*(high - low)*(high - likely)) above it.
    """
    share, width = middles(drawing.draws), amount.high - amount.low
    peak = np.searchsorted(share * width, amount.likely - amount.low, side="right")
    quantile = np.empty(drawing.draws)
    quantile[:peak] = np.sqrt(share[:peak] * (width * (amount.likely - amount.low))) + amount.low
    quantile[peak:] = np.sqrt((1.0 - share[peak:]) * (width * (amount.high - amount.likely)))
    np.subtract(amount.high, quantile[peak:], out=quantile[peak:])
    np.clip(quantile, amount.low, amount.high, out=quantile)  # rounding never leaves the range
    return np.asarray(quantile[order(amount.name or key, drawing)])


def draw_amount(amount: Amount, key: str, drawing: Drawing = ONCE) -> Floats:
    """Return draws of a range, shape (draws,); numbers and arrays are unchanged."""
    if isinstance(amount, Range):
        return draw_range(amount, key, drawing)
    return likely(amount)


def draw_record(record: Record, key: str, drawing: Drawing = ONCE) -> Record:
    """Return the record with an array of draws, shape (draws,), for every range.

    Args:
        record: rented or owned machine; numbers are unchanged.
        key: of the option, such as its name; a range without a name is drawn as "key.field".
        drawing: seed and number of draws.
    """
    drawn = {
        name: draw_range(amount, f"{key}.{name}", drawing)
        for name, amount in ranges_of(record).items()
    }
    return replace(record, **drawn) if drawn else record
