"""One figure of the accuracy table, and how it follows from errors.

Time each method from outside, as the back-test itself reads no clock.

Figures are the same on every machine, seconds are not, so they are separate. A watch gets the
method and its questions before each start; `backtest.accuracy.public_data` has one with a clock.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import Ints, Read
from planner.core import Estimate, Floats

MEAN: Final = "mean of the data sets"
REFUSED: Final = "ours, where it refuses"
"""Our form on the points that the product refuses."""
UNREFUSED: Final = "ours, were nothing refused"
"""Our form on all points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """Errors of one method on one task and data set.

    `hidden` counts all hidden points. `curves` and `points` count the scored ones: the points that
    the product answers, the same for every method; `answered` is their share [0..1]. Errors are
    |predicted/measured - 1| over these points, where every curve (sweep, workload or run) counts
    the same: `median_error`, `mean_error` and `p90_error`. `coverage` is the share of points inside
    the nominal 90 % interval, `median_width` that interval's (high - low)/value; NaN without
    intervals. If the product answers nothing, it has a row without points, with NaN figures.
    """

    question: str
    task: str
    method: str
    data_set: str
    curves: int
    hidden: int
    points: int
    answered: float
    median_error: float
    mean_error: float
    p90_error: float
    coverage: float
    median_width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predictions of a method, shape (hidden,); NaN where it has none."""

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, estimate: Estimate) -> "Prediction":
        """Return an estimate of arrays as predictions."""
        value, low, high = estimate.arrays
        return cls(value=value, low=low, high=high)

    @classmethod
    def bare(cls, value: Floats) -> "Prediction":
        """Return predictions without intervals."""
        nothing = np.full(value.shape, np.nan)
        return cls(value=value, low=nothing, high=nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPoints:
    """The truth, the curve of each point, and which ones the product answers; (hidden,)."""

    truth: Floats
    curve: Ints
    answered: NDArray[np.bool_]


NUMBERS: Final = (
    "answered", "median_error", "mean_error", "p90_error", "coverage", "median_width",
)  # fmt: skip
"""Fields that are shares, averaged over data sets."""


def scored(
    name: tuple[str, str, str], predictions: Mapping[str, Prediction], hidden: HiddenPoints
) -> list[FigureRow]:
    """Return a row per method; `name` is question, task and data set, ours comes first.

    Two further rows are about ours: on the points that the product refuses, and on all points. Ours
    has a row even without answers, as that is a result.
    """
    ours, everywhere = next(iter(predictions.values())), np.ones(hidden.truth.shape, dtype=np.bool_)
    rows = [_row(name, method, t, hidden, hidden.answered) for method, t in predictions.items()]
    rows.append(_row(name, REFUSED, ours, hidden, ~hidden.answered))
    rows.append(_row(name, UNREFUSED, ours, hidden, everywhere))
    return [r for i, r in enumerate(rows) if r.points or (i == 0 and r.hidden)]


def _row(
    name: tuple[str, str, str],
    method: str,
    prediction: Prediction,
    hidden: HiddenPoints,
    where: NDArray[np.bool_],
) -> FigureRow:
    answered = rounded(float(where.mean())) if where.size else np.nan
    where = where & np.isfinite(prediction.value)
    truth, value, low, high = (
        v[where] for v in (hidden.truth, prediction.value, prediction.low, prediction.high)
    )
    weight = curve_weights(hidden.curve[where])
    bounded = ~np.isnan(low) & ~np.isnan(high)
    error = np.abs(value / truth - 1.0)
    with np.errstate(invalid="ignore"):
        held = ((low <= truth) & (truth <= high)).astype(np.float64)
        width = (high - low) / value
    return FigureRow(
        question=name[0],
        task=name[1],
        method=method,
        data_set=name[2],
        curves=int(np.unique(hidden.curve[where]).size),
        hidden=hidden.truth.size,
        points=int(where.sum()),
        answered=answered,
        median_error=_quantile(error, weight, 0.5),
        mean_error=_mean(error, weight),
        p90_error=_quantile(error, weight, 0.9),
        coverage=_mean(held[bounded], weight[bounded]),
        median_width=_quantile(width[bounded], weight[bounded], 0.5),
    )


def mean_row(rows: Sequence[FigureRow], name: str = MEAN) -> FigureRow:
    """Return the mean over data sets of rows of one task and method."""
    first, scored_on = rows[0], [r for r in rows if r.points]
    means = {n: rounded(float(np.mean([getattr(r, n) for r in scored_on]))) for n in NUMBERS}
    means["answered"] = rounded(float(np.mean([r.answered for r in rows])))
    return FigureRow(
        question=first.question,
        task=first.task,
        method=first.method,
        data_set=name,
        curves=sum(r.curves for r in rows),
        hidden=sum(r.hidden for r in rows),
        points=sum(r.points for r in rows),
        **means,
    )


def with_means(
    rows: Sequence[FigureRow], data_sets: Sequence[str], name: str = MEAN
) -> list[FigureRow]:
    """Return the rows, plus means for tasks and methods with answers on several data sets."""
    table = list(rows)
    for task, method in dict.fromkeys((r.task, r.method) for r in rows):
        same = [r for r in rows if (r.task, r.method) == (task, method)]
        counted = [r for r in same if r.data_set in data_sets]
        if sum(r.points > 0 for r in counted) > 1 and method != REFUSED:
            table.append(mean_row(counted, name))
    return table


def columns_of(rows: Sequence[FigureRow]) -> Mapping[str, list[object]]:
    """Return the rows as columns, in the order of the fields."""
    return {f.name: [getattr(r, f.name) for r in rows] for f in fields(FigureRow)}


def rounded(value: float) -> float:
    """Return six significant digits: later ones depend on the machine."""
    return float(f"{value:.6g}")


def curve_weights(curve: Ints) -> Floats:
    """Return weights of points that give every curve weight 1."""
    _, where, count = np.unique(curve, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[where])


def _mean(values: Floats, weight: Floats) -> float:
    return rounded(float(values @ weight / weight.sum())) if values.size else np.nan


def _quantile(values: Floats, weight: Floats, share: float) -> float:
    """Return the weighted quantile; the mean of two values at the border."""
    if not values.size:
        return np.nan
    order = np.argsort(values, kind="stable")
    reached, values = np.cumsum(weight[order]), values[order]
    goal, last = share * reached[-1], values.size - 1
    left = int(np.searchsorted(reached, goal * (1.0 - 1e-9)))
    right = int(np.searchsorted(reached, goal * (1.0 + 1e-9)))
    return rounded(float(0.5 * (values[min(left, last)] + values[min(right, last)])))


Place = tuple[str, str, str]
"""Question, task and data set, as in a row."""


class Watch(Protocol):
    """Context manager around a method that fits and predicts some points."""

    def __call__(self, place: Place, method: str, points: int) -> AbstractContextManager[None]:
        """Return the context for the fit and the predictions."""
        ...


def unwatched(place: Place, method: str, points: int) -> AbstractContextManager[None]:  # noqa: ARG001
    """Return a context that does nothing."""
    return nullcontext()


class FigureQuestion(Protocol):
    """Makes the rows of one question from measurements."""

    def __call__(self, read: Read, watch: Watch = unwatched) -> list[FigureRow]:
        """Return a row for every task, method and data set; none without data."""
        ...


def predictions_of(
    methods: Mapping[str, Callable[[], Prediction]], place: Place, points: int, watch: Watch
) -> dict[str, Prediction]:
    """Return the predictions of every method, each one timed by the watch."""
    predictions = {}
    for method, answer in methods.items():
        with watch(place, method, points):
            predictions[method] = answer()
    return predictions
