"""One question of the back-test on published tables, what the product says, and the figures.

`Answer` is a number with its truth, `Pair` a choice between two accelerators. Errors are
|predicted/measured - 1| and every question counts the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.core import Estimate, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question with its truth and the product's interval; NaN where it refuses.

    `source` is the table, `name` the row or series in words, `why` the reason of a refusal.
    """

    source: str
    name: str
    truth: float
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: str = ""

    @property
    def answered(self) -> bool:
        """Whether the product answers."""
        return math.isfinite(self.value)

    @property
    def error(self) -> float:
        """|predicted/measured - 1|."""
        return abs(self.value / self.truth - 1.0)

    @property
    def held(self) -> bool:
        """Whether the truth lies inside the interval."""
        return self.low <= self.truth <= self.high

    @property
    def width(self) -> float:
        """(high - low)/value."""
        return (self.high - self.low) / self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Which of two accelerators is faster: `decided` by the product, and `right` if so."""

    source: str
    name: str
    answered: bool
    decided: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Figures of one task in per cent; None where nothing was answered."""

    asked: int
    answered: int
    median: float | None = None
    mean: float | None = None
    held: float | None = None
    width: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """Pairs that were asked about, answered, decided, and decided rightly."""

    asked: int
    answered: int
    decided: int
    right: int


def answer_of(
    of: tuple[str, str], truth: float, found: Estimate | Refusal, *, inverse: bool = False
) -> Answer:
    """Return an answer of source and name; `inverse` turns a speed into the time of one unit."""
    source, name = of
    if isinstance(found, Refusal):
        return Answer(source=source, name=name, truth=truth, why=found.reason)
    value, low, high = (float(part) for part in (found.value, found.low, found.high))
    if inverse:
        value, low, high = 1.0 / value, 1.0 / high, 1.0 / low
    return Answer(source=source, name=name, truth=truth, value=value, low=low, high=high)


def scored(answers: Sequence[Answer]) -> Score:
    """Return the figures of a task, every question counting the same."""
    found = [one for one in answers if one.answered]
    if not found:
        return Score(asked=len(answers), answered=0)
    errors = np.array([one.error for one in found])
    return Score(
        asked=len(answers),
        answered=len(found),
        median=_per_cent(float(np.median(errors))),
        mean=_per_cent(float(errors.mean())),
        held=_per_cent(sum(one.held for one in found) / len(found)),
        width=_per_cent(float(np.median([one.width for one in found]))),
    )


def pairs_scored(pairs: Sequence[Pair]) -> PairScore:
    """Return how many pairs were decided, and how many of them rightly."""
    return PairScore(
        asked=len(pairs),
        answered=sum(one.answered for one in pairs),
        decided=sum(one.decided for one in pairs),
        right=sum(one.right for one in pairs),
    )


def _per_cent(share: float) -> float | None:
    return float(f"{100.0 * share:.4g}") if math.isfinite(share) else None
