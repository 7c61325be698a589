"""Points, brushes and pivot tables on the shipped runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.catalog import Catalog
from planner.explore import (
    Category,
    Question,
    chosen_runs,
    facts_of,
    fits_of,
    inside,
    marked,
    pivot_of,
    points_of,
    titled,
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


MOST = 100
ALL = Question(x="global_batch_size", y="samples_per_s", colour="software", log_x=True, log_y=True)


@pytest.fixture
def few_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart of at most `MOST` markers."""
    monkeypatch.setattr("planner.explore.points.MOST_DRAWN", MOST)


@pytest.mark.usefixtures("few_markers")
def test_of_many_points_a_sample_is_drawn_and_the_outermost_are_in_it() -> None:
    points = points_of(RUNS, ALL, chosen_runs(RUNS, {}))
    assert points.n > MOST
    assert points.drawn.size == MOST
    assert np.unique(points.drawn).size == MOST
    for values in (points.x, points.y):
        assert values[points.drawn].min() == values.min()
        assert values[points.drawn].max() == values.max()
    shown = points.colour
    assert shown is not None
    assert {*shown.codes[points.drawn]} == {*shown.codes}


@pytest.mark.usefixtures("few_markers")
def test_lines_of_many_points_stay_whole() -> None:
    points = points_of(RUNS, replace(ALL, marks="lines"), chosen_runs(RUNS, {}))
    drawn = points.case[points.drawn]
    assert 0 < drawn.size <= MOST < points.n
    assert all(
        (points.case == case).sum() == (drawn == case).sum() for case in np.unique(drawn)[:9]
    )


def test_a_hidden_colour_does_not_count_in_a_marked_area() -> None:
    area = replace(ALL, brush=(1.0, 1.0, 1e4, 1e9))
    points = points_of(RUNS, area, chosen_runs(RUNS, {}))
    assert points.colour is not None
    hidden = points.colour.labels[0]
    left = marked(points, replace(area, hidden=(hidden, "not stated")))
    assert left.sum() == (points.brushed & (points.colour.codes > 0)).sum()
    assert 0 < left.sum() < points.brushed.sum()


def test_only_the_runs_within_an_area_are_drawn() -> None:
    area = (1.0, 1.0, 64.0, 1000.0)
    inner = points_of(RUNS, replace(ALL, within=area), chosen_runs(RUNS, {}))
    every = points_of(RUNS, replace(ALL, brush=area), chosen_runs(RUNS, {}))
    assert inner.n == every.brushed.sum()
    assert inner.x.max() <= 64.0


def test_a_title_that_names_its_unit_does_not_repeat_it() -> None:
    assert titled("Devices", "devices") == "Devices"
    assert titled("Number of nodes", "nodes") == "Number of nodes"
    assert titled("Step time", "s") == "Step time (s)"
    assert titled("MFU", "") == "MFU"
