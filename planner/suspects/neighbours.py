"""Deviation of a run from its neighbours.

Neighbours are the runs of one workload in a table of configurations (system, devices, software,
batch) by input patterns. Median polish (Tukey 1977) of the logarithms of the epoch times removes
both effects; z is the residual over 1.4826 times its median absolute value, or over QUIET in a
table so small or smooth that this vanishes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.epochs import NORMAL, SAME, SESSION_SD
from planner.runs import CheckedRun, configuration_of, grouped, is_positive, numbered

FEWEST: Final = 3
"""Least cells of each row and column: of two it is unknown which is odd."""
QUIET: Final = SESSION_SD
"""Scatter of a table of neighbours is at least that of two sessions of one case [share]."""
SWEEPS: Final = 20
SETTLED: Final = 1e-6
"""Most passes of the median polish, and the change of a logarithm at which it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Deviations of runs from their neighbours; shape (runs,), NaN without neighbours.

    `ratio` is measured over expected epoch time, `z` its logarithm in robust deviations.
    """

    ratio: Floats
    z: Floats


def neighbours(runs: Sequence[CheckedRun]) -> Neighbours:
    """Return each run's later epochs against its row and column, by median polish in logarithms.

    Repeats share a cell, which is their median. Rows and columns with fewer than 3 cells are left
    out: their runs have NaN.
    """
    left, z = np.full(len(runs), np.nan), np.full(len(runs), np.nan)
    timed = [i for i, run in enumerate(runs) if is_positive(run.later_epoch_mean_s)]
    for members in grouped(timed, lambda i: runs[i].workload):
        log = np.log(_times([runs[i] for i in members]))
        row = numbered([configuration_of(runs[i]) for i in members])
        column = numbered([runs[i].pattern for i in members])
        fit, scale = _expected(log, row, column)
        left[members] = log - fit[row, column]
        z[members] = left[members] / scale
    return Neighbours(ratio=np.exp(left), z=z)


def _times(runs: Sequence[CheckedRun]) -> Floats:
    """Return the epoch times [s], per sample where all sizes are stated and differ.

    Only those compare.
    """
    times = np.array([run.later_epoch_mean_s or np.nan for run in runs])
    sizes = np.array([run.samples_per_epoch or np.nan for run in runs], dtype=np.float64)
    differ = np.isfinite(sizes).all() and sizes.min() < (1.0 - SAME) * sizes.max()
    return times / sizes if differ else times


def _expected(log: Floats, row: list[int], column: list[int]) -> tuple[Floats, float]:
    """Return the prediction by row and column, shape (rows, columns), or NaN, and the scatter."""
    table = np.full((max(row) + 1, max(column) + 1), np.nan)
    for repeats in grouped(range(log.size), lambda i: (row[i], column[i])):
        table[row[repeats[0]], column[repeats[0]]] = np.median(log[repeats])
    rows, columns = _well_filled(np.isfinite(table))
    if not rows.size:
        return np.full(table.shape, np.nan), QUIET
    core = np.ix_(rows, columns)
    rest = _polished(table[core])
    table, measured = np.full(table.shape, np.nan), table
    table[core] = measured[core] - rest
    return table, max(NORMAL * float(np.nanmedian(np.abs(rest))), QUIET)


def _well_filled(cells: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns that keep `FEWEST` cells each, once those that do not are gone."""
    rows, columns = np.arange(cells.shape[0]), np.arange(cells.shape[1])
    while True:
        inside = cells[np.ix_(rows, columns)]
        keep_rows, keep_columns = inside.sum(axis=1) >= FEWEST, inside.sum(axis=0) >= FEWEST
        if keep_rows.all() and keep_columns.all():
            return rows, columns
        rows, columns = rows[keep_rows], columns[keep_columns]


def _polished(table: Floats) -> Floats:
    """Return the residuals of median polish of a table with gaps."""
    rest = table.copy()
    for _ in range(SWEEPS):
        before = rest.copy()
        for axis in (1, 0):
            rest -= np.nanmedian(rest, axis=axis, keepdims=True)
        if np.nanmax(np.abs(rest - before)) < SETTLED:
            break
    return rest
