"""One question of the back-test on published tables, the product's answer, and the figures.

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
    """A question with its truth and the product's interval; NaN for a refusal.

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
        """Relative error, |predicted/measured - 1|."""
        return abs(self.value / self.truth - 1.0)

    @property
    def held(self) -> bool:
        """Whether the truth lies inside the interval."""
        return self.low <= self.truth <= self.high

    @property
    def width(self) -> float:
        """Relative width, (high - low)/value."""
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
    """Figures of one task in per cent; None if nothing was answered."""

    asked: int
    answered: int
    median: float | None = None
    mean: float | None = None
    held: float | None = None
    width: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """Number of pairs, and how many were answered, decided, and decided correctly."""

    asked: int
    answered: int
    decided: int
    right: int


def answer_of(
    of: tuple[str, str], truth: float, estimate: Estimate | Refusal, *, inverse: bool = False
) -> Answer:
    """Return the answer for a source and name; `inverse` turns a speed into a time."""
    source, name = of
    if isinstance(estimate, Refusal):
        return Answer(source=source, name=name, truth=truth, why=estimate.reason)
    value, low, high = (float(part) for part in (estimate.value, estimate.low, estimate.high))
    if inverse:
        value, low, high = 1.0 / value, 1.0 / high, 1.0 / low
    return Answer(source=source, name=name, truth=truth, value=value, low=low, high=high)


def scored(answers: Sequence[Answer]) -> Score:
    """Return the figures of a task; every question counts the same."""
    answered = [answer for answer in answers if answer.answered]
    if not answered:
        return Score(asked=len(answers), answered=0)
    errors = np.array([answer.error for answer in answered])
    return Score(
        asked=len(answers),
        answered=len(answered),
        median=_per_cent(float(np.median(errors))),
        mean=_per_cent(float(errors.mean())),
        held=_per_cent(sum(answer.held for answer in answered) / len(answered)),
        width=_per_cent(float(np.median([answer.width for answer in answered]))),
    )


def pairs_scored(pairs: Sequence[Pair]) -> PairScore:
    """Return how many pairs were decided, and how many correctly."""
    return PairScore(
        asked=len(pairs),
        answered=sum(pair.answered for pair in pairs),
        decided=sum(pair.decided for pair in pairs),
        right=sum(pair.right for pair in pairs),
    )


def _per_cent(share: float) -> float | None:
    return float(f"{100.0 * share:.4g}") if math.isfinite(share) else None
