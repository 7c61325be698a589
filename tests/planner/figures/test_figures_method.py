"""The charts of the Method page: dots with whiskers, and small pictures of formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from planner import figures
from planner.figures._method import number
from planner.figures.frame import (
    DARK_THEME,
    LIGHT_THEME,
    Theme,
    rgba,
)
from tests.planner import charts

OURS = figures.Dot(label="ours: <b>", slot=0, value=3.7, low=3.7, high=14.8, strong=True,
                   note="5 points\nheld 90 %")  # fmt: skip
RIVAL = replace(OURS, label="power law", slot=4, value=8.2, low=8.2, high=24.0, strong=False)
NONE = replace(RIVAL, label="exact", slot=2, value=0.0, low=np.nan, high=np.nan, faint=True)
SCALE = figures.Scale(title="error (%)", unit="%", least=0.1)
GRID = np.array([1.0, 2.0, 4.0, 8.0])
SHARE = figures.ShareLine(label="weak", short="weak", slot=0, x=GRID, largest=2.0,
                          value=np.r_[100, 90, 80, np.nan], low=np.r_[100, 80, 60, np.nan],
                          high=np.r_[100, 100, 99, np.nan])  # fmt: skip


def _all(theme: Theme) -> list[go.Figure]:
    return [
        charts.dots([OURS, RIVAL, NONE], SCALE, theme),
        charts.dots([replace(OURS, group="A"), replace(OURS, group="B")], SCALE, theme),
        charts.dots([OURS], replace(SCALE, compare=1.0, compared="true"), theme),
        charts.dots([], SCALE, theme),
        charts.dots([replace(OURS, value=np.nan)], SCALE, theme),
        charts.interval_of_epochs([SHARE], 4, theme),
        charts.efficiency([SHARE], theme),
        charts.efficiency([], theme),
        charts.unlike_neighbours(GRID * 64, np.array([0.1, -90.0, 3.0, 20.0]), 3, 10.0, theme),
    ]


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME], ids=["light", "dark"])
def test_plotly_accepts_every_part_of_every_chart(theme: Theme) -> None:
    for figure in _all(theme):
        go.Figure(figure.to_dict())  # raises ValueError on any wrong part


def _markers(figure: go.Figure) -> list[Any]:
    return [t for t in figure.data if t.mode == "markers"]


def _labels(figure: go.Figure) -> list[str]:
    return [str(note.text) for note in figure.layout.annotations]


def test_ours_is_larger_and_each_whisker_ends_where_its_numbers_end() -> None:
    figure = charts.dots([OURS, RIVAL], SCALE, LIGHT_THEME)
    first, second = _markers(figure)
    assert first.marker.size > second.marker.size
    whiskers = [tuple(t.x) for t in figure.data if t.mode == "lines"]
    assert whiskers == [(3.7, 14.8), (8.2, 24.0)]
    assert [t.line.color for t in figure.data if t.mode == "lines"] == [
        LIGHT_THEME.colours[0], LIGHT_THEME.colours[4],
    ]  # fmt: skip


def test_rows_stand_from_top_to_bottom_with_name_and_number_above_them() -> None:
    figure = charts.dots([OURS, RIVAL], SCALE, LIGHT_THEME)
    heights = [float(t.y[0]) for t in _markers(figure)]
    assert heights == sorted(heights, reverse=True)
    assert _labels(figure) == ["ours: &lt;b&gt; \u00b7 3.7 %", "power law \u00b7 8.2 %"]


def test_a_group_has_one_heading_and_more_rows_make_a_taller_chart() -> None:
    rows = [replace(d, group=g) for g in "AB" for d in (OURS, RIVAL) * 4]
    figure = charts.dots(rows, SCALE, LIGHT_THEME)
    assert [t for t in _labels(figure) if t in {"A", "B"}] == ["A", "B"]
    assert figure.layout.height > charts.dots([OURS], SCALE, LIGHT_THEME).layout.height


def test_what_is_below_the_least_stands_at_it_and_points_left() -> None:
    figure = charts.dots([OURS, NONE], SCALE, LIGHT_THEME)
    low = _markers(figure)[1]
    assert float(low.x[0]) == SCALE.least
    assert low.marker.symbol == "triangle-left-open"
    assert figure.layout.xaxis.ticktext[0] == "≤ 0.1"


def test_a_ratio_has_two_decimals_and_a_line_to_compare_with() -> None:
    scale = figures.Scale(title="ratio", unit="", least=1e-3, compare=1.0, compared="true")
    figure = charts.dots([replace(OURS, value=1.1, low=1.0, high=1.2)], scale, LIGHT_THEME)
    assert "ours: &lt;b&gt; \u00b7 1.10" in _labels(figure)
    assert "true" in _labels(figure)
    assert [s.x0 for s in figure.layout.shapes] == [1.0]


def test_nothing_is_drawn_outside_the_axis() -> None:
    for figure in _all(LIGHT_THEME)[:4]:
        low, high = figure.layout.xaxis.range
        for trace in figure.data:
            assert (np.log10(np.asarray(trace.x, dtype=float)) >= low).all()
            assert (np.log10(np.asarray(trace.x, dtype=float)) <= high).all()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.54, "0.54"), (2.98, "3.0"), (12.2, "12"), (1179.0, "1,179")],
)
def test_two_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_beyond_the_measured_devices_the_line_is_grey_and_dashed_and_bands_are_its_colour() -> None:
    figure = charts.efficiency([SHARE], LIGHT_THEME)
    beyond = [t for t in figure.data if t.mode == "lines" and t.line.dash == "dash"]
    assert [t.line.color for t in beyond] == [LIGHT_THEME.quiet]
    assert min(beyond[0].x) == SHARE.largest
    [fill] = [t.fillcolor for t in figure.data if t.fillcolor]
    assert fill == rgba(LIGHT_THEME.colours[0], 0.18)
    assert all(t & (t - 1) == 0 for t in figure.layout.xaxis.tickvals)


def test_the_legend_names_the_marks_that_are_drawn() -> None:
    scale = replace(SCALE, marker="median", whisker="to the worst", faint="refused")
    assert list(charts.dots([OURS], scale, LIGHT_THEME).layout.meta) == [
        "median", "refused", "to the worst",
    ]  # fmt: skip
    assert not charts.dots([OURS], SCALE, LIGHT_THEME).layout.meta
    epochs = charts.interval_of_epochs([SHARE], 4, LIGHT_THEME)
    assert set(epochs.layout.meta) == {"last measured epoch", "90 % interval"}
    far = set(charts.efficiency([SHARE], LIGHT_THEME).layout.meta)
    near = set(charts.efficiency([replace(SHARE, largest=8.0)], LIGHT_THEME).layout.meta)
    assert far - near == {"beyond the measurements"}


def test_a_flagged_run_is_open_and_one_beyond_the_chart_stands_at_its_border() -> None:
    z = np.array([0.1, -90.0, 3.0, 20.0])
    figure = charts.unlike_neighbours(GRID * 64, z, 3, 10.0, LIGHT_THEME)
    others, odd = _markers(figure)
    assert odd.marker.symbol == "circle-open"
    assert figure.layout.meta["the odd run, flagged"] == ("circle-open", None)
    assert min(others.y) == -40.0
    assert min(others.customdata) == -90.0
    calm = charts.unlike_neighbours(GRID * 64, 0.1 * z, 3, 10.0, LIGHT_THEME)
    assert _markers(calm)[1].marker.symbol == "circle"
    assert "the odd run" in calm.layout.meta
