"""The runs that would narrow a transferred estimate most.

Three kinds of runs narrow an interval: the workload itself on the card; a library workload on that
card (often published already); the workload on another card. The expected interval of each is
calibrated on the library with the same cards and benchmarks and one more. Its width is that of a
cell of typical difficulty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.transfer._conformal import calibrate
from planner.transfer._prediction import Evidence
from planner.transfer._records import Library, NextRun, Rung
from planner.transfer._rungs import (
    PREDICTS,
    Answer,
    ladder,
    measured_half_width,
)


def runs_that_narrow(library: Library, answer: Answer, level: float) -> tuple[NextRun, ...]:
    """Return runs after which a narrower interval is expected, the narrowest first.

    Args:
        library: the table.
        answer: the present one.
        level: coverage of its interval [share].
    """
    evidence, (row, column) = answer.evidence, answer.cell
    itself = measured_half_width(1, 0.0, level)
    runs = [_run(library, answer.cell, "measured", itself)]
    for benchmark in _rows_to_run(library, evidence, row):
        more = replace(evidence, benchmarks=np.append(evidence.benchmarks, benchmark))
        runs += _expected(library, more, (benchmark, column), level)
    for card in _cards_to_run(library, evidence, column):
        more = replace(evidence, cards=evidence.cards | (np.arange(evidence.cards.size) == card))
        runs += _expected(library, more, (row, card), level)
    runs.sort(key=lambda run: run.factor)
    return tuple(run for run in runs if run.factor < np.exp(answer.half_width))


def _expected(
    library: Library, evidence: Evidence, cell: tuple[int, int], level: float
) -> Iterator[NextRun]:
    """Yield the run of that cell, if the library can check the rung it would allow."""
    rung = ladder(evidence)[0]
    calibration = calibrate(library, PREDICTS[rung](library, evidence), level)
    if calibration.checked:
        yield _run(library, cell, rung, calibration.half_width(calibration.typical_difficulty))


def _run(library: Library, cell: tuple[int, int], rung: Rung, half_width: float) -> NextRun:
    return NextRun(run=library.cell(*cell), rung=rung, factor=float(np.exp(half_width)))


def _rows_to_run(library: Library, evidence: Evidence, row: int) -> list[int]:
    """Return library workloads of another name and the same precision not run on the card."""
    fresh = ~library.same_name[row] & library.same_precision[row]
    fresh[evidence.benchmarks] = False
    rows: list[int] = np.flatnonzero(fresh).tolist()
    return rows


def _cards_to_run(library: Library, evidence: Evidence, column: int) -> list[int]:
    """Return cards without the workload that share a benchmark with the target card."""
    there = library.measured[evidence.benchmarks].any(axis=0) & ~evidence.cards
    there[column] = False
    columns: list[int] = np.flatnonzero(there).tolist()
    return columns
