"""The most useful part of an uncertain answer is the run that ends it.

Three kinds of runs would narrow an interval: the workload itself on the card; a library workload
on that card (often published by somebody already); the workload on another card. What each would
leave of the interval is not guessed: the rung that would then answer is calibrated on the library
as if the run had been made, on the same cards and benchmarks and one more, and the width is that
of a cell of typical difficulty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.transfer._conformal import calibrate
from planner.transfer._prediction import Known
from planner.transfer._records import Library, NextRun, Rung
from planner.transfer._rungs import (
    PREDICTS,
    Answer,
    ladder,
    measured_half_width,
)


def runs_that_narrow(library: Library, answer: Answer, level: float) -> tuple[NextRun, ...]:
    """Runs after which a narrower interval is expected, the narrowest first.

    Args:
        library: the table.
        answer: what is said now, without them.
        level: coverage of its interval [share].
    """
    known, (row, column) = answer.known, answer.cell
    itself = measured_half_width(1, 0.0, level)
    runs = [_run(library, answer.cell, "measured", itself)]
    for benchmark in _rows_to_run(library, known, row):
        more = replace(known, benchmarks=np.append(known.benchmarks, benchmark))
        runs += _expected(library, more, (benchmark, column), level)
    for card in _cards_to_run(library, known, column):
        more = replace(known, cards=known.cards | (np.arange(known.cards.size) == card))
        runs += _expected(library, more, (row, card), level)
    runs.sort(key=lambda run: run.factor)
    return tuple(run for run in runs if run.factor < np.exp(answer.half_width))


def _expected(
    library: Library, known: Known, cell: tuple[int, int], level: float
) -> Iterator[NextRun]:
    """The run of that cell, where the library can check the rung that it would lead to."""
    rung = ladder(known)[0]
    calibration = calibrate(library, PREDICTS[rung](library, known), level)
    if calibration.checked:
        yield _run(library, cell, rung, calibration.half_width(calibration.typical_difficulty))


def _run(library: Library, cell: tuple[int, int], rung: Rung, half_width: float) -> NextRun:
    return NextRun(run=library.cell(*cell), rung=rung, factor=float(np.exp(half_width)))


def _rows_to_run(library: Library, known: Known, row: int) -> list[int]:
    """Library workloads of another name that were not run on the card; the wanted precision."""
    fresh = ~library.same_name[row] & library.same_precision[row]
    fresh[known.benchmarks] = False
    rows: list[int] = np.flatnonzero(fresh).tolist()
    return rows


def _cards_to_run(library: Library, known: Known, column: int) -> list[int]:
    """Cards on which the workload was not run, but something that was run on the wanted card."""
    there = library.measured[known.benchmarks].any(axis=0) & ~known.cards
    there[column] = False
    columns: list[int] = np.flatnonzero(there).tolist()
    return columns
