"""Constants chosen again with one data set left out.

The interval score of Gneiting & Raftery 2007 on the logarithm is minimised: the width of the
nominal interval plus 2/(1 - level) times the distance of the truth outside. It rewards narrow
intervals with good coverage and cannot be fooled by wide ones. A choice that moves the estimate
itself (a rule, a share) minimises the mean error. Every curve counts the same within a task and
data set, every task and data set the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from planner.core import LEVEL, Floats

NOTHING: Final = "none of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One candidate: its words, and the constants it sets, by their name in the code.

    Names are those of `backtest.choose.constants`.
    """

    words: str
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantChoice:
    """The setting that the other data sets choose if one is left out."""

    use: str
    left_out: str
    chosen: str
    ships: str
    values: Mapping[str, float] = field(default_factory=dict)


def chosen(
    use: str, settings: Sequence[Setting], scores: Floats, names: Sequence[str], ships: str
) -> list[ConstantChoice]:
    """Return the choice of all data sets, and the choice without each.

    Args:
        use: purpose of the constants.
        settings: the candidates.
        scores: the smaller the better, shape (candidates, questions).
        names: the data set of each question.
        ships: the setting of the product, in words.
    """
    return [
        ConstantChoice(
            use=use, left_out=name, chosen=settings[i].words, ships=ships, values=settings[i].values
        )
        for name, i in _left_out(scores, names).items()
    ]


def interval_score(low: Floats, high: Floats, truth: Floats) -> Floats:
    """Return the width plus penalised misses, on the logarithm; smaller is better."""
    log_low, log_high, log_truth = np.log(low), np.log(high), np.log(truth)
    missed = np.maximum(log_low - log_truth, 0.0) + np.maximum(log_truth - log_high, 0.0)
    return np.asarray(log_high - log_low + 2.0 / (1.0 - LEVEL) * missed)


def mean_over(values: Floats, weight: Floats) -> float:
    """Return the weighted mean."""
    return float(values @ weight / weight.sum())


def _left_out(scores: Floats, names: Sequence[str]) -> dict[str, int]:
    """Return the best candidate over the other data sets; scores (candidates, questions).

    Empty without data sets; a single data set is not left out.
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
