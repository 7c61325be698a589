"""One figure of the accuracy table, and how errors become it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import Ints
from planner.core import Floats

MEAN: Final = "mean of the data sets"
REFUSED: Final = "ours, where it refuses"
"""What our form would have said there, had it not been refused."""
UNREFUSED: Final = "ours, were nothing refused"
"""The two together: all that was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How wrong one method was about one task on one data set.

    `asked` counts the points that were asked about. `curves` and `points` count what was scored:
    the points that the product answers, the same for every method, and `answered` is their share
    of all that was asked [0..1]. Errors are |predicted/measured - 1| over these points, every curve
    (sweep, workload or run) counting the same however many points it has: `median_error`,
    `mean_error` and `p90_error`. `coverage` is the share of points inside the nominal 90 %
    interval, `median_width` that interval's (high - low)/value; NaN where the method has none.
    Where the product answers nothing it has a row without points, whose figures are NaN.
    """

    question: str
    task: str
    method: str
    data_set: str
    curves: int
    asked: int
    points: int
    answered: float
    median_error: float
    mean_error: float
    p90_error: float
    coverage: float
    median_width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a method says about points, shape (asked,); NaN where it says nothing."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The truth, the curve each point belongs to, and what the product answers; (asked,)."""

    truth: Floats
    curve: Ints
    answered: NDArray[np.bool_]


NUMBERS: Final = (
    "answered", "median_error", "mean_error", "p90_error", "coverage", "median_width",
)  # fmt: skip
"""Fields that are shares, averaged over data sets."""


def scored(name: tuple[str, str, str], told: Mapping[str, Prediction], asked: Asked) -> list[Row]:
    """A row per method; `name` is question, task and data set, `told` has ours first.

    Points that the product refuses make a row of their own, about ours, and so do all together.
    Ours is there where it answers nothing too: that it does not is a figure.
    """
    ours, everywhere = next(iter(told.values())), np.ones(asked.truth.shape, dtype=np.bool_)
    rows = [_row(name, method, t, asked, asked.answered) for method, t in told.items()]
    rows.append(_row(name, REFUSED, ours, asked, ~asked.answered))
    rows.append(_row(name, UNREFUSED, ours, asked, everywhere))
    return [r for i, r in enumerate(rows) if r.points or (i == 0 and r.asked)]


def _row(
    name: tuple[str, str, str],
    method: str,
    told: Prediction,
    asked: Asked,
    where: NDArray[np.bool_],
) -> Row:
    answered = rounded(float(where.mean())) if where.size else np.nan
    where = where & np.isfinite(told.value)
    truth, value, low, high = (v[where] for v in (asked.truth, told.value, told.low, told.high))
    weight = curve_weights(asked.curve[where])
    bounded = ~np.isnan(low) & ~np.isnan(high)
    error = np.abs(value / truth - 1.0)
    with np.errstate(invalid="ignore"):
        held = ((low <= truth) & (truth <= high)).astype(np.float64)
        width = (high - low) / value
    return Row(
        question=name[0],
        task=name[1],
        method=method,
        data_set=name[2],
        curves=int(np.unique(asked.curve[where]).size),
        asked=asked.truth.size,
        points=int(where.sum()),
        answered=answered,
        median_error=_quantile(error, weight, 0.5),
        mean_error=_mean(error, weight),
        p90_error=_quantile(error, weight, 0.9),
        coverage=_mean(held[bounded], weight[bounded]),
        median_width=_quantile(width[bounded], weight[bounded], 0.5),
    )


def mean_row(rows: Sequence[Row], name: str = MEAN) -> Row:
    """The mean over data sets of rows of one task and method."""
    first, scored_on = rows[0], [r for r in rows if r.points]
    means = {n: rounded(float(np.mean([getattr(r, n) for r in scored_on]))) for n in NUMBERS}
    means["answered"] = rounded(float(np.mean([r.answered for r in rows])))
    return Row(
        question=first.question,
        task=first.task,
        method=first.method,
        data_set=name,
        curves=sum(r.curves for r in rows),
        asked=sum(r.asked for r in rows),
        points=sum(r.points for r in rows),
        **means,
    )


def with_means(rows: Sequence[Row], data_sets: Sequence[str], name: str = MEAN) -> list[Row]:
    """The rows and, for every task and method with answers on several of these, their mean."""
    found = list(rows)
    for task, method in dict.fromkeys((r.task, r.method) for r in rows):
        same = [r for r in rows if (r.task, r.method) == (task, method)]
        counted = [r for r in same if r.data_set in data_sets]
        if sum(r.points > 0 for r in counted) > 1 and method != REFUSED:
            found.append(mean_row(counted, name))
    return found


def columns_of(rows: Sequence[Row]) -> Mapping[str, list[object]]:
    """The rows as columns, in the order of the fields."""
    return {f.name: [getattr(r, f.name) for r in rows] for f in fields(Row)}


def rounded(value: float) -> float:
    """Six significant digits: the last ones of a sum depend on the machine."""
    return float(f"{value:.6g}")


def curve_weights(curve: Ints) -> Floats:
    """Weights of points by which every curve weighs 1."""
    _, where, count = np.unique(curve, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[where])


def _mean(values: Floats, weight: Floats) -> float:
    return rounded(float(values @ weight / weight.sum())) if values.size else np.nan


def _quantile(values: Floats, weight: Floats, share: float) -> float:
    """The value that this share of the weight lies below; the mean of two on the border."""
    if not values.size:
        return np.nan
    order = np.argsort(values, kind="stable")
    reached, values = np.cumsum(weight[order]), values[order]
    wanted, last = share * reached[-1], values.size - 1
    left = int(np.searchsorted(reached, wanted * (1.0 - 1e-9)))
    right = int(np.searchsorted(reached, wanted * (1.0 + 1e-9)))
    return rounded(float(0.5 * (values[min(left, last)] + values[min(right, last)])))
