"""Points, brushes and pivot tables on the shipped runs."""

from __future__ import annotations

import numpy as np

from planner.catalog import Catalog
from planner.explore import (
    Category,
    Question,
    chosen_runs,
    facts_of,
    fits_of,
    inside,
    pivot_of,
    points_of,
    with_derived,
)
from planner.store import queries
from tests.shipped import store

RUNS = with_derived(queries.all_runs(store()), Catalog(), {})


def test_every_point_is_a_run_with_both_numbers() -> None:
    asked = Question(x="global_batch_size", y="samples_per_s", colour="accelerator")
    points = points_of(RUNS, asked, chosen_runs(RUNS, {}))
    stated = [r for r in RUNS.to_pylist() if r["global_batch_size"] and r["samples_per_s"]]
    assert points.n == len(stated)
    assert points.filtered == len(RUNS)
    assert points.filtered - points.without == points.n


def test_a_box_and_a_polygon_hold_the_points_within_their_edges() -> None:
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])
    assert inside(x, y, (0.5, 0.5, 1.0, 3.0)).tolist() == [False, True, False]
    assert inside(x, y, (0.5, 0.0, 1.5, 0.0, 1.5, 3.0, 0.5, 3.0)).tolist() == [False, True, False]


def test_a_pivot_table_has_the_statistic_of_each_pair() -> None:
    rows = Category(codes=np.array([0, 0, 1, -1]), labels=("a", "b"))
    table = pivot_of(rows, None, np.array([1.0, 3.0, 5.0, 9.0]), np.ones(4, np.bool_), "mean")
    assert table.rows == ("a", "b")
    assert table.cells.tolist() == [[2.0], [5.0]]
    assert (table.runs, table.left_out, table.of_all) == (3, 1, 3.0)


def test_runs_side_by_side_say_what_differs() -> None:
    rows = [{"global_batch_size": 100, "precision": "float32"},
            {"global_batch_size": 150, "precision": "float32"}]  # fmt: skip
    facts = {fact.title: fact.difference for fact in facts_of(rows)}
    assert facts == {"Batch size": "+50 %", "Precision": "same"}


def test_curves_are_those_of_the_throughput_law() -> None:
    asked = Question(x="global_batch_size", y="samples_per_s")
    fits = fits_of(RUNS, points_of(RUNS, asked, chosen_runs(RUNS, {})))
    assert fits.curves
    first = fits.curves[0]
    assert np.all(first.low <= first.value)
    assert np.all(first.value <= first.high)
