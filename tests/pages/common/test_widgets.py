"""The pieces that several pages draw."""

from __future__ import annotations

import json

import numpy as np
import plotly.io
from plotly.tools import return_figure_from_figure_or_data

from pages.common.widgets import columns_of, large_columns
from planner import figures
from planner.figures.frame import LIGHT_THEME, Drawing


def test_columns_stand_in_the_order_in_which_rows_first_name_them() -> None:
    table = columns_of([{"b": 1, "a": "x"}, {"c": 2.5, "a": None}])
    assert table.column_names == ["b", "a", "c"]
    assert table.to_pylist() == [{"b": 1, "a": "x", "c": None}, {"b": None, "a": None, "c": 2.5}]


def test_what_is_not_a_number_is_not_known() -> None:
    assert columns_of([{"a": float("nan")}, {"a": 1.0}])["a"].to_pylist() == [None, 1.0]


def test_a_column_of_several_kinds_is_one_of_texts() -> None:
    assert columns_of([{"a": 1}, {"a": "many"}, {"a": None}])["a"].to_pylist() == [
        "1", "many", None,
    ]  # fmt: skip


def test_no_rows_are_an_empty_table() -> None:
    assert columns_of([]).num_rows == 0


def test_a_chart_is_sent_as_it_was_specified() -> None:
    drawing = Drawing(LIGHT_THEME)
    drawing.line(np.array([1.0, 2.0]), np.array([0.1, np.nan]))
    chart = drawing.figure()
    sent = return_figure_from_figure_or_data(figures.UncheckedFigure(chart), validate_figure=True)
    assert sent is chart
    read = json.loads(plotly.io.to_json(sent, validate=False))
    [line] = read["data"]
    assert line["x"] == [1.0, 2.0]
    assert line["y"] == [0.1, None]  # a gap in the line


def test_numbers_from_1_000_on_get_separators_where_no_digit_is_lost() -> None:
    table = columns_of(
        [{"runs": 1240, "batch": 4.0, "error": 12.5, "loss": 2000.0, "name": "1240"},
         {"runs": None, "batch": 4096.0, "error": 999.0, "loss": 0.0002, "name": "9"}]
    )  # fmt: skip
    assert list(large_columns(table)) == ["runs", "batch"]
