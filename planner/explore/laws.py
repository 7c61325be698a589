"""Fitted curves on a chart: throughput and step time against batch size, by the product's own law.

One curve a case (workload, system, input pattern and software), fitted to the points that are
drawn. Nothing else has a law here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from planner.core import Estimate, Floats, Refusal, or_refusal
from planner.explore.points import CASE, Points, Question
from planner.throughput import ThroughputCurve, fit_throughput

BATCH: Final = "global_batch_size"
_SPEEDS: Final = frozenset({"samples_per_s", "throughput"})
_STEPS: Final = frozenset({"step_time_s", "step_s"})
MOST_CURVES: Final = 12
LEAST_BATCHES: Final = 3
"""Batch sizes that a case needs for a curve."""
_GRID: Final = 61
_BEYOND: Final = 2.0
"""How far beyond the measured batches a curve is drawn [factor]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A fitted curve with its 90 % band; `place` is one of its points, for colour and panel."""

    label: str
    place: int
    batch: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float
    points: int
    curve: ThroughputCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The curves of a chart, and how many cases have too few batches, or a refused fit."""

    curves: tuple[Fitted, ...]
    few: int
    refused: int
    beyond: int


def has_law(question: Question) -> bool:
    """Return whether a law of the product applies to these axes."""
    return question.x == BATCH and question.y in _SPEEDS | _STEPS


def fits_of(runs: pa.Table, points: Points) -> Fits:
    """Return a curve for each case with enough batch sizes, those with most batches first."""
    is_speed = points.question.y in _SPEEDS
    ended = np.array([s == "ok" for s in runs["status"].take(points.rows).to_pylist()], dtype=bool)
    good = ended & (points.x > 0) & (points.y > 0)
    groups = [np.flatnonzero(good & (points.case == case)) for case in np.unique(points.case[good])]
    sizes = [np.unique(points.x[group]).size for group in groups]
    enough = [g for g, n in zip(groups, sizes, strict=True) if n >= LEAST_BATCHES]
    enough.sort(key=lambda group: -np.unique(points.x[group]).size)
    labels = _labels(runs, points, enough[:MOST_CURVES])
    fits = [
        _fitted(points, group, label, is_speed=is_speed)
        for group, label in zip(enough[:MOST_CURVES], labels, strict=True)
    ]
    curves = tuple(f for f in fits if isinstance(f, Fitted))
    return Fits(
        curves=curves,
        few=len(groups) - len(enough),
        refused=len(fits) - len(curves),
        beyond=max(len(enough) - MOST_CURVES, 0),
    )


def _fitted(points: Points, group: np.ndarray, label: str, *, is_speed: bool) -> Fitted | Refusal:
    batch, y = points.x[group], points.y[group]
    steps = batch / y if is_speed else y
    order = np.argsort(batch, kind="stable")
    curve = or_refusal(label, lambda: fit_throughput(batch[order], steps[order]))
    if isinstance(curve, Refusal):
        return curve
    smallest, largest = float(batch.min()), float(batch.max())
    end = min(float(curve.answers_up_to_batch), _BEYOND * largest)
    grid = np.unique(np.r_[np.geomspace(smallest / _BEYOND, end, _GRID), smallest, largest])
    answer = curve.throughput(grid) if is_speed else curve.step_time(grid)
    if not isinstance(answer, Estimate):
        return answer
    value, low, high = (np.asarray(v, dtype=np.float64)
                        for v in (answer.value, answer.low, answer.high))  # fmt: skip
    return Fitted(
        label=label, place=int(group[0]), batch=grid, value=value, low=low, high=high,
        smallest=smallest, largest=largest, points=int(group.size), curve=curve,
    )  # fmt: skip


def _labels(runs: pa.Table, points: Points, groups: Sequence[np.ndarray]) -> list[str]:
    """Return the name of each case: the parts in which the cases differ."""
    first = points.rows[[int(group[0]) for group in groups]] if groups else np.zeros(0, np.int64)
    parts = [runs[name].take(first).to_pylist() for name in CASE]
    different = [part for part in parts if len(set(part)) > 1] or parts[1:2]
    return [" · ".join(names) for names in zip(*different, strict=True)] if groups else []
