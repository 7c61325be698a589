"""Measured points: rows of text by path, and curves made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.core import Floats

TextRows = Sequence[Mapping[str, str]]
Read = Callable[[str], TextRows]
"""Returns the rows of a CSV file by its path in the folder of data sets; none if missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Measurements over the batch: ascending `batch` and `value`, shape (n,).

    `value` is seconds per step, or samples to a target.
    """

    name: str
    batch: Floats
    value: Floats


CurveSets = Mapping[str, Sequence[Curve]]
"""Curves by the name of their data set."""


def curves_of(points: Mapping[str, Sequence[tuple[float, float]]], least: int) -> list[Curve]:
    """Return one curve per name with `least` batches; repeats of a batch are averaged."""
    curves = []
    for name, pairs in points.items():
        batch, value = np.array(pairs).T
        distinct, where, count = np.unique(batch, return_inverse=True, return_counts=True)
        if distinct.size >= least:
            mean = np.bincount(where, value) / count
            curves.append(Curve(name=name, batch=distinct, value=mean))
    return curves
