"""Cases: curves split into shown and hidden points, in flat arrays."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats

TextRows = Sequence[Mapping[str, str]]
Read = Callable[[str], TextRows]
"""Returns the rows of a CSV file by its path in the folder of data sets; none if missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCurve:
    """Measurements over the batch: ascending `batch` and `value`, shape (n,).

    `value` is seconds per step, or samples to a target.
    """

    name: str
    batch: Floats
    value: Floats


CurveSets = Mapping[str, Sequence[MeasuredCurve]]
"""Curves by the name of their data set."""


def curves_of(
    points: Mapping[str, Sequence[tuple[float, float]]], least: int
) -> list[MeasuredCurve]:
    """Return one curve per name with `least` batches; repeats of a batch are averaged."""
    curves = []
    for name, pairs in points.items():
        batch, value = np.array(pairs).T
        distinct, where, count = np.unique(batch, return_inverse=True, return_counts=True)
        if distinct.size >= least:
            mean = np.bincount(where, value) / count
            curves.append(MeasuredCurve(name=name, batch=distinct, value=mean))
    return curves


Ints = NDArray[np.int64]
Split = tuple[Ints, Ints]
"""Indices of the batches that are shown, and of those that are hidden."""
Splits = Callable[[Floats], Iterator[Split]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Points shown to fits, and hidden points to predict; a case is one fit.

    `shown_case`, `shown_batch` and `shown_value` have shape (shown,). `hidden_case`,
    `hidden_batch`, `hidden_value` (the truth) and `hidden_curve` (the index of the curve) have
    shape (hidden,).
    """

    shown_case: Ints
    shown_batch: Floats
    shown_value: Floats
    hidden_case: Ints
    hidden_batch: Floats
    hidden_value: Floats
    hidden_curve: Ints


def one_left_out(batch: Floats) -> Iterator[Split]:
    """Yield every batch but the first and the last in turn, from all others; 4 or more."""
    places = np.arange(batch.size)
    for i in range(1, batch.size - 1 if batch.size >= 4 else 0):
        yield np.delete(places, i), places[[i]]


def both_ends(batch: Floats) -> Iterator[Split]:
    """Yield all batches between, from the smallest and the largest."""
    places = np.arange(batch.size)
    if batch.size >= 3:
        yield places[[0, -1]], places[1:-1]


def ends_and_middle(batch: Floats) -> Iterator[Split]:
    """Yield the rest, from the smallest, the largest and the geometric middle."""
    if batch.size < 4:
        return
    places = np.arange(batch.size)
    middle = np.log(batch[[0, -1]]).mean()
    distance = np.abs(np.log(batch[1:-1]) - middle)
    nearest = 1 + int(np.round(distance, 9).argmin())  # of two as near the smaller one
    shown = places[[0, nearest, -1]]
    yield shown, np.delete(places, shown)


def largest_from(factor: float) -> Splits:
    """Return a split: the largest batch from three or more at most a `factor`-th of it."""

    def splits(batch: Floats) -> Iterator[Split]:
        places = np.arange(batch.size)
        shown = places[batch * factor <= 1.05 * batch[-1]]  # some sweeps add 1 to a batch
        if shown.size >= 3:
            yield shown, places[[-1]]

    return splits


TASKS: Final[Mapping[str, Splits]] = {
    "one batch left out between others": one_left_out,
    "3 batches (ends, middle), the rest": ends_and_middle,
    "2 batches (ends), those between": both_ends,
    "twice the largest": largest_from(2.0),
    "four times the largest": largest_from(4.0),
}


def cases_of(curves: Sequence[MeasuredCurve], splits: Splits) -> Cases:
    """Return all cases of all curves; curves with too few batches give none."""
    cut = [(c, curve, *split) for c, curve in enumerate(curves) for split in splits(curve.batch)]
    sizes = [(shown.size, hidden.size) for _, _, shown, hidden in cut]
    shown_n, hidden_n = np.array(sizes, dtype=np.int64).reshape(-1, 2).T
    number = np.arange(len(cut))
    return Cases(
        shown_case=np.repeat(number, shown_n),
        shown_batch=_joined([curve.batch[shown] for _, curve, shown, _ in cut]),
        shown_value=_joined([curve.value[shown] for _, curve, shown, _ in cut]),
        hidden_case=np.repeat(number, hidden_n),
        hidden_batch=_joined([curve.batch[hidden] for _, curve, _, hidden in cut]),
        hidden_value=_joined([curve.value[hidden] for _, curve, _, hidden in cut]),
        hidden_curve=np.repeat(np.array([c for c, *_ in cut], dtype=np.int64), hidden_n),
    )


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])
