"""The charts of the page Compare hardware."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import figures
from planner.core import Basis
from planner.figures import _compare
from planner.figures._compare import Box, Cross, Screen, places
from planner.figures.frame import DARK_THEME, LIGHT_THEME, Theme
from tests.planner import charts

H100 = figures.Spot(
    label="Rent 1 x H100 <b>", short="Rent 1 x H100", slot=0, basis="measured",
    time=(50_000.0, 42_000.0, 59_000.0), cost=(35.0, 29.0, 41.0), front=True, note="2.49 USD/h",
)  # fmt: skip
OWN = replace(H100, label="Own V100", short="Own V100", slot=1,
              basis="transferred from another GPU",
              time=(250_000.0, 230_000.0, 270_000.0), cost=(20.0, 15.0, 25.0))  # fmt: skip
DEAR = replace(H100, label="Rent TPU", short="Rent TPU", slot=2, basis="extrapolated",
               time=(90_000.0, 88_000.0, 92_000.0), cost=(114.0, 90.0, 139.0), front=False,
               late=True)  # fmt: skip
ALL = [H100, OWN, DEAR]
BOTH = figures.Bounds(deadline_s=72 * 3600.0, cost=100.0)
RUNS = np.array([1.0, 5.0, 10.0])
RENTED = figures.UseLine(label="Rent", short="Rent", slot=0, way="rent", x=RUNS, value=35 * RUNS,
                         low=29 * RUNS, high=41 * RUNS)  # fmt: skip
BOUGHT = replace(RENTED, label="Buy", short="Buy", slot=1, way="buy", value=300 + 5 * RUNS,
                 low=250 + 4 * RUNS, high=400 + 6 * RUNS)  # fmt: skip
AXES = figures.UseAxes(x_title="runs a month", y_title="cost of a month (USD)", request=4.0,
                       request_words="4 asked", pays_off=(9.0, 7.0, 12.0))  # fmt: skip
BARS = [figures.TornadoBar(label="Time on <H100>", low=-10.0, high=8.0),
        figures.TornadoBar(label="Price", low=1.0, high=3.0)]  # fmt: skip


def _all(theme: Theme) -> list[go.Figure]:
    use = replace(AXES, per_cent=True, log=True, pays_off=None)
    return [
        charts.time_cost(ALL, BOTH, "USD", theme),
        charts.time_cost([H100], figures.Bounds(), "EUR", theme, "2000 epochs"),
        charts.time_cost([replace(H100, cost=(0.0, 0.0, 0.0))], BOTH, "USD", theme),
        charts.time_cost([], figures.Bounds(), "USD", theme),
        charts.rent_or_buy([RENTED, BOUGHT], AXES, theme),
        charts.rent_or_buy([replace(RENTED, x=RUNS / 10)], use, theme),
        charts.tornado(BARS, 2.0, "USD", theme, compared=True),
        charts.tornado([], 0.0, "USD", theme, compared=False),
    ]


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME], ids=["light", "dark"])
def test_plotly_accepts_every_part_of_every_chart(theme: Theme) -> None:
    for figure in _all(theme):
        go.Figure(figure.to_dict())  # raises ValueError on any wrong part


def _notes(figure: go.Figure) -> list[str]:
    return [str(note.text) for note in figure.layout.annotations]


def _markers(figure: go.Figure) -> dict[str, Any]:
    return {t.name: t for t in figure.data if t.mode == "markers"}


# -- time and cost -----------------------------------------------------------------------------


def test_a_marker_stands_at_time_and_cost_with_bars_to_the_ends_of_both_intervals() -> None:
    shown = _markers(charts.time_cost([H100], figures.Bounds(), "USD", LIGHT_THEME))
    marker = shown["Rent 1 x H100 &lt;b&gt;"]
    assert marker.x[0] == pytest.approx(50_000 / 3600)
    assert marker.error_x.array[0] == pytest.approx(9_000 / 3600)
    assert marker.error_x.arrayminus[0] == pytest.approx(8_000 / 3600)
    assert marker.y[0] == 35.0
    assert (marker.error_y.array[0], marker.error_y.arrayminus[0]) == (6.0, 6.0)


def test_under_the_pointer_a_time_has_one_unit_and_no_number_an_exponent() -> None:
    years = replace(H100, time=(8.5e7, 2.3e7, 2.9e8), cost=(12_345.0, 9_876.5, 1.5e6))
    chart = charts.time_cost([years], figures.Bounds(), "USD", LIGHT_THEME)
    spot = next(t.hovertemplate for t in chart.data if t.hovertemplate)
    assert "2.7 years (90 %: 0.7 to 9.2 years)" in spot
    assert "12,340 USD (9,876 to 1,500,000)" in spot


def test_the_shape_reports_the_basis_and_the_legend_names_the_shapes_in_use() -> None:
    figure = charts.time_cost(ALL, figures.Bounds(), "USD", LIGHT_THEME)
    shapes = {name: t.marker.symbol for name, t in _markers(figure).items()}
    assert shapes == {"Rent 1 x H100 &lt;b&gt;": "circle", "Own V100": "diamond-open",
                      "Rent TPU": "triangle-up"}  # fmt: skip
    legend = {name: look[0] for name, look in figure.layout.meta.items() if look[0]}
    assert legend == {"measured": "circle", "extrapolated": "triangle-up",
                      "transferred from another GPU": "diamond-open"}  # fmt: skip


def test_every_basis_has_a_shape_of_its_own() -> None:
    assert set(figures.BASIS_SYMBOLS) == set(Basis.__args__)  # type: ignore[attr-defined]
    assert len(set(figures.BASIS_SYMBOLS.values())) == len(figures.BASIS_SYMBOLS)


def test_the_frontier_joins_what_nothing_beats_in_order_of_time() -> None:
    figure = charts.time_cost([OWN, DEAR, H100], figures.Bounds(), "USD", LIGHT_THEME)
    (front,) = [t for t in figure.data if t.mode == "lines" and t.line.dash == "dash"]
    assert list(front.y) == [35.0, 20.0]


def test_deadline_and_budget_shade_what_misses_them_to_the_edges() -> None:
    figure = charts.time_cost(ALL, BOTH, "USD", LIGHT_THEME)
    late, dear = [t for t in figure.data if t.fill == "toself"]
    assert min(late.x) == pytest.approx(72.0)
    assert max(late.x) == pytest.approx(10 ** figure.layout.xaxis.range[1])
    assert min(dear.y) == 100.0
    assert not [note for note in _notes(figure) if "grey" in note]
    assert figures.grey_words(BOTH) == "too late or too dear"
    assert figures.grey_words(figures.Bounds()) == ""
    assert _markers(figure)["Rent TPU"].marker.color == LIGHT_THEME.quiet


def test_a_deadline_beyond_the_chart_shades_nothing() -> None:
    bounds = figures.Bounds(deadline_s=1e9)
    figure = charts.time_cost(ALL, bounds, "USD", LIGHT_THEME)
    assert not [t for t in figure.data if t.fill == "toself"]


# -- names -------------------------------------------------------------------------------------

WIDTH, HEIGHT = 400.0, 350.0
_SPOT = st.tuples(*(st.floats(0.0, 1.0) for _ in range(6)))


def _cross(x: float, y: float, *reach: float) -> Cross:
    left, right, low, high = (60.0 * r for r in reach)
    return Cross(x=WIDTH * x, y=HEIGHT * y, left=WIDTH * x - left, right=WIDTH * x + right,
                 low=HEIGHT * y - low, high=HEIGHT * y + high)  # fmt: skip


def _screen(*crosses: Cross, wider: float = 1.0) -> Screen:
    wide = [replace(c, x=wider * c.x, left=wider * c.left, right=wider * c.right) for c in crosses]
    return Screen(width=wider * WIDTH, height=HEIGHT, crosses=wide)


@given(st.lists(_SPOT, max_size=12))
def test_no_name_lies_on_a_bar_a_marker_or_another_name(spots: list[tuple[float, ...]]) -> None:
    crosses = [_cross(*spot) for spot in spots]
    names = [f"Rent {n} x Card" for n in range(len(spots))]
    found = places(names, [_screen(*crosses)])
    boxes = [
        _compare._box(name, cross, place)
        for name, cross, place in zip(names, crosses, found, strict=True)
        if place is not None
    ]
    bars = [box for cross in crosses for box in cross.boxes()]
    assert not any(a.meets(b) for a in boxes for b in bars)
    assert not any(a.meets(b) for a in boxes for b in boxes if a is not b)


def test_one_alone_always_finds_room_in_the_middle() -> None:
    assert places(["Rent 1 x H100"], [_screen(_cross(0.5, 0.5, 1, 1, 1, 1))]) != [None]


def test_a_name_that_finds_no_room_is_left_out() -> None:
    assert places(["x" * 100], [_screen(_cross(0.5, 0.5, 1, 1, 1, 1))]) == [None]


def test_a_name_is_free_on_a_wide_screen_too_where_its_neighbours_are_elsewhere() -> None:
    crosses = _cross(0.1, 0.5, 1, 1, 1, 1), _cross(0.2, 0.55, 0, 0, 1, 1)
    narrow, wide = _screen(*crosses), _screen(*crosses, wider=2.5)
    name = "Rent 1 x"
    [first, _] = places([name, name], [narrow, wide])
    assert first is not None
    for screen in (narrow, wide):
        taken = [box for cross in screen.crosses for box in cross.boxes()]
        box = _compare._box(name, screen.crosses[0], first)
        assert not any(box.meets(t) for t in taken)


def test_boxes_that_only_touch_do_not_meet() -> None:
    one = Box(left=0, right=1, low=0, high=1)
    assert not one.meets(replace(one, left=1, right=2))
    assert one.meets(replace(one, left=0.5, right=2))


# -- rent or buy, tornado ----------------------------------------------------------------------


def test_what_is_rented_is_solid_what_is_bought_dashed_and_the_question_is_marked() -> None:
    figure = charts.rent_or_buy([RENTED, BOUGHT], AXES, LIGHT_THEME)
    dashes = {t.name: t.line.dash for t in figure.data if t.mode == "lines" and t.hovertemplate}
    assert dashes == {"Rent": "solid", "Buy": "dash"}
    assert {"4 asked", "Rent", "Buy"} <= set(_notes(figure))


def test_the_zone_goes_from_where_buying_may_pay_to_where_it_does_but_not_off_the_chart() -> None:
    figure = charts.rent_or_buy([RENTED, BOUGHT], AXES, LIGHT_THEME)
    (zone,) = [s for s in figure.layout.shapes if s.type == "rect"]
    assert (zone.x0, zone.x1) == (7.0, 10.0)


def test_each_bar_of_the_tornado_has_two_ends_and_the_widest_is_on_top() -> None:
    figure = charts.tornado(BARS, 2.0, "USD", LIGHT_THEME, compared=True)
    bars = [(t.name, list(t.x), t.y[0]) for t in figure.data if t.name != "middle"]
    assert bars == [
        ("Time on &lt;H100&gt;", [2.0, -10.0], 1), ("Time on &lt;H100&gt;", [2.0, 8.0], 1),
        ("Price", [2.0, 1.0], 0), ("Price", [2.0, 3.0], 0),
    ]  # fmt: skip
    assert "cost the same" in _notes(figure)
    reversed_words = "beyond it the ranking reverses"
    assert reversed_words in figure.layout.meta
    alone = charts.tornado(BARS, 2.0, "USD", LIGHT_THEME, compared=False)
    assert "cost the same" not in _notes(alone)
    assert reversed_words not in alone.layout.meta
