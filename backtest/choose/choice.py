"""Which constants would we choose, had we not seen one of the data sets?

What is minimised is the interval score of Gneiting & Raftery 2007 on the logarithm: the width of
the nominal interval plus 2/(1 - level) times how far the truth lies outside. It rewards narrow
intervals that hold and cannot be fooled by wide ones. A choice that moves the answer itself (a
rule, a share) minimises the mean error. Every curve counts the same within a task and a data set,
every task and data set the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from planner.core import LEVEL, Floats

NOTHING: Final = "none of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One candidate: what it says in words, and the constants it sets, by their name in the code.

    Names are those of `backtest.choose.constants_table`.
    """

    words: str
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the other data sets choose where one is left out."""

    use: str
    left_out: str
    chosen: str
    ships: str
    values: Mapping[str, float] = field(default_factory=dict)


def chosen(
    use: str, settings: Sequence[Setting], scores: Floats, names: Sequence[str], ships: str
) -> list[Choice]:
    """What all data sets choose, and what they choose without each.

    Args:
        use: what it is for.
        settings: the candidates.
        scores: the smaller the better, shape (candidates, questions).
        names: the data set of each question.
        ships: the setting of the product, in words.
    """
    return [
        Choice(
            use=use, left_out=name, chosen=settings[i].words, ships=ships, values=settings[i].values
        )
        for name, i in _left_out(scores, names).items()
    ]


def interval_score(low: Floats, high: Floats, truth: Floats, level: float = LEVEL) -> Floats:
    """Width plus the punished misses, on the logarithm; the smaller the better."""
    log_low, log_high, log_truth = np.log(low), np.log(high), np.log(truth)
    missed = np.maximum(log_low - log_truth, 0.0) + np.maximum(log_truth - log_high, 0.0)
    return np.asarray(log_high - log_low + 2.0 / (1.0 - level) * missed)


def mean_over(values: Floats, weight: Floats) -> float:
    """The weighted mean."""
    return float(values @ weight / weight.sum())


def _left_out(scores: Floats, names: Sequence[str]) -> dict[str, int]:
    """The candidate with the least mean score over the other data sets; scores (candidates, q).

    Nothing is chosen from no data set, and nothing left out of a single one.
    """
    sets = list(dict.fromkeys(names))
    if not sets:
        return {}
    where = np.array([sets.index(name) for name in names])
    means = np.stack([scores[:, where == i].mean(axis=1) for i in range(len(sets))])
    best = {NOTHING: int(means.mean(axis=0).argmin())}
    for i, name in enumerate(sets if len(sets) > 1 else ()):
        best[name] = int(np.delete(means, i, axis=0).mean(axis=0).argmin())
    return best
