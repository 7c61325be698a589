"""Where measured points come from: rows of text by path, and curves made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.core import Floats

TextRows = Sequence[Mapping[str, str]]
Read = Callable[[str], TextRows]
"""The rows of a CSV file by its path below the folder of data sets; none where it is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What was measured over the batch: `batch` in rising order and `value`, shape (n,).

    `value` is the seconds of a step, or the samples to a target.
    """

    name: str
    batch: Floats
    value: Floats


CurveSets = Mapping[str, Sequence[Curve]]
"""Curves by the name of their data set."""


def curves_of(points: Mapping[str, Sequence[tuple[float, float]]], least: int) -> list[Curve]:
    """One curve a name; repeats of a batch are averaged, and curves of fewer batches left out."""
    found = []
    for name, pairs in points.items():
        batch, value = np.array(pairs).T
        distinct, where, count = np.unique(batch, return_inverse=True, return_counts=True)
        if distinct.size >= least:
            mean = np.bincount(where, value) / count
            found.append(Curve(name=name, batch=distinct, value=mean))
    return found
