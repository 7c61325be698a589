"""Times to a target of shipped MLPerf runs: each hidden in turn, and each count from the others.

`pytest -s tests/planner/job/test_stated_public.py` prints the figures that docs/constants.md and
docs/decisions/0043 quote.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from planner.convergence import targets_of
from planner.core import Estimate
from planner.job import StatedTime
from planner.job._stated import SUBMITTERS_SD, stated_interval, stated_on, stated_times
from planner.store import Folder, Store, queries
from planner.store.catalog import read_catalog

ROOT = Path(__file__).resolve().parents[3]


@cache
def tables() -> tuple[tuple[StatedTime, ...], ...]:
    """The cells of each benchmark and target of the shipped published runs."""
    store = Store((Folder(path=ROOT / "data" / "results", label="shipped", kind="shipped"),))
    store.refresh()
    catalog = read_catalog(ROOT / "data" / "catalog").catalog
    cells_of_each = (
        stated_times(catalog, rows, target)
        for of in queries.trial_sets(store)
        if (rows := queries.target_times(store, of))
        for target in targets_of(queries.trials(store, of))
    )
    return tuple(cells for cells in cells_of_each if cells)


def inside(estimate: Estimate, truth: float) -> bool:
    return float(estimate.low) <= truth <= float(estimate.high)


def hidden_runs() -> Iterator[tuple[int, bool, float]]:
    """Yield, for each run of a cell with others: the others, whether it is inside, and ln ratio."""
    for cells in tables():
        for at, cell in enumerate(cells):
            for i, truth in enumerate(cell.seconds) if len(cell.seconds) > 1 else ():
                rest = replace(cell, seconds=cell.seconds[:i] + cell.seconds[i + 1 :])
                others = (*cells[:at], rest, *cells[at + 1 :])
                answer = stated_interval(rest, others)
                ratio = math.log(float(answer.value) / truth)
                yield len(rest.seconds), inside(answer, truth), ratio


def hidden_counts() -> Iterator[tuple[bool, float]]:
    """Yield, for each cell whose accelerator has another count: inside or not, and the error."""
    for cells in tables():
        for cell in cells:
            others = [c for c in cells if c is not cell]
            rest = [c for c in others if c.hardware.count != cell.hardware.count]
            answer = stated_on(rest, cell.hardware)
            if answer is not None and cell.hardware.accelerator is not None:
                value = float(answer.total.value) / cell.median_s
                yield inside(answer.total, cell.median_s), abs(value - 1.0)


def test_a_hidden_run_is_inside_the_interval_of_the_others_in_its_cell() -> None:
    runs = list(hidden_runs())
    held = statistics.fmean(ok for _, ok, _ in runs)
    pairs = [ok for others, ok, _ in runs if others == 1]
    print(f"\nhidden runs: {len(runs):,}, {held:.0%} inside")
    print(f"with one other run in the cell: {len(pairs):,}, {statistics.fmean(pairs):.0%} inside")
    assert len(runs) > 500
    assert 0.9 <= held <= 0.99
    assert statistics.fmean(pairs) >= 0.88


def test_the_spread_between_submitters_is_the_one_that_ships() -> None:
    cells = [c for table in tables() for c in table if len(c.seconds) > 1]
    sds = [float(np.std(np.log(c.seconds), ddof=1)) for c in cells]
    dof = sum(len(c.seconds) - 1 for c in cells)
    squares = sum(sd**2 * (len(c.seconds) - 1) for sd, c in zip(sds, cells, strict=True))
    pooled = math.sqrt(squares / dof)
    print(f"\nsd of ln between runs of {len(cells):,} cells, {dof:,} degrees of freedom: "
          f"{pooled:.3f}; the median cell has {statistics.median(sds):.3f}")  # fmt: skip
    assert abs(pooled - SUBMITTERS_SD) < 0.03


def test_another_count_of_an_accelerator_is_inside_the_scaled_interval() -> None:
    counts = list(hidden_counts())
    held = statistics.fmean(ok for ok, _ in counts)
    error = statistics.median(e for _, e in counts)
    print(f"\nhidden counts: {len(counts):,}, {held:.0%} inside, median error {error:.0%}")
    assert len(counts) > 300
    assert held >= 0.87
    assert error < 0.2
