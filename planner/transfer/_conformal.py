"""Interval of a transferred throughput, from leave-out errors.

The rung also predicts every measured cell of the library without its own data (its whole card for
the data sheet, all of its workload's name for the others). Each error is the logarithm of predicted
over measured, divided by the cell's difficulty.
If the target cell is like those of the library, its error is equally likely to fall into any of
the n + 1 gaps between the n errors. So the ceil((n + 1)*level)-th smallest absolute error covers it
with probability `level` (split conformal prediction; Vovk, Gammerman, Shafer 2005; errors divided
by difficulty: Papadopoulos et al. 2002). With n = 9 errors that is the largest at 90 %; with fewer
there is no such error. Errors of one card or workload are correlated, so at least `GROUPS` of both
are required, and the coverage is measured (see `planner.transfer`).

A smaller library gets a stated fallback, t*FALLBACK_SD with FALLBACK_DOF degrees of
freedom (0.3: errors from one card or one sheet on public tables were 0.2 to 0.3), or the largest
error if wider.

    constant      value  unit                meaning
    GROUPS        3      cards, workloads    behind the errors, at least
    FALLBACK_SD   0.3    relative sd         of an answer that could not be checked
    FALLBACK_DOF  4      degrees of freedom  of its Student t: at 90 % a factor 1.9 up or down
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import Floats, t_quantile
from planner.transfer._prediction import Prediction
from planner.transfer._records import Library

GROUPS: Final = 3
FALLBACK_SD: Final = 0.3
FALLBACK_DOF: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Leave-out errors of a rung: `quantile` of |error|/difficulty and its sample.

    `typical_difficulty` is the median over its cells. Where `checked` is false the library is too
    small and `quantile` is the stated fallback, for a difficulty of 1.
    """

    quantile: float
    typical_difficulty: float
    residuals: int
    cards: int
    workloads: int
    checked: bool

    def half_width(self, difficulty: float) -> float:
        """Return half-width of the interval in the logarithm for a cell of that difficulty."""
        return self.quantile * (difficulty if self.checked else 1.0)


def calibrate(library: Library, prediction: Prediction, level: float) -> Calibration:
    """Return the calibration of a rung from its errors on all measured cells.

    Args:
        library: the table.
        prediction: of every cell, each without its own measurement.
        level: coverage of the interval [share].

    Raises:
        ValueError: level is not strictly between 0 and 1.
    """
    error = np.abs(prediction.log_samples_per_s - library.log_samples_per_s)
    row, column = np.nonzero(np.isfinite(error))
    difficulty = prediction.difficulty[row, column]
    fallback = float(t_quantile(level, FALLBACK_DOF)) * FALLBACK_SD
    groups = len({library.workloads[i][0] for i in row}), len({*column.tolist()})
    rank = rank_of(level, row.size)
    checked = rank <= row.size and min(groups) >= GROUPS
    return Calibration(
        quantile=_smallest(error[row, column] / difficulty, rank)
        if checked
        else max([fallback, *error[row, column]]),
        typical_difficulty=float(np.median(difficulty)) if checked else 1.0,
        residuals=int(row.size),
        cards=groups[1],
        workloads=groups[0],
        checked=checked,
    )


def rank_of(level: float, n: int) -> int:
    """Return the rank of the error (rising) that bounds the next with probability `level`."""
    return math.ceil(round((n + 1) * level, 9))


def _smallest(errors: Floats, rank: int) -> float:
    return float(np.partition(errors, rank - 1)[rank - 1])
