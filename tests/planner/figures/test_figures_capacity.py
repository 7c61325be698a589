"""The charts of a plan of machines say in their legends what their marks mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from planner import figures
from planner.figures.frame import DARK_THEME, LABEL_GAP, LIGHT_THEME, Theme
from tests.each import each

MONTHS = np.arange(13.0)
MONEY = figures.MoneyLine(
    label="This fleet", short="fleet", slot=0, month=MONTHS, value=1000.0 * MONTHS,
    low=900.0 * MONTHS, high=1200.0 * MONTHS,
)  # fmt: skip
EXACT = replace(MONEY, low=MONEY.value, high=MONEY.value)
LONG = replace(MONEY, short="8 x H100 SXM5 80GB, bought")
WAIT = figures.WaitRow(
    label="Nightly", edges_s=np.geomspace(60.0, 36_000.0, 9), shares=np.full(8, 0.1), at_once=0.2,
    median_s=600.0, allowed_s=7200.0, late="3 %",
)  # fmt: skip
USE = np.linspace(0.05, 1.0, 20)
HOUR = figures.HourLine(label="H100, bought", short="H100", slot=0, value=2.0 / USE)
BAND = "90 % interval"


def _legend(chart: figures.ChartSpec) -> list[str]:
    return [str(t["name"]) for t in chart["data"] if t.get("showlegend")]


def _by_use(theme: Theme, where: tuple[float, float, float] | None) -> figures.ChartSpec:
    return figures.cost_by_use(USE, [HOUR], "USD", theme, now=0.3, break_even=where)


def _all(theme: Theme) -> list[figures.ChartSpec]:
    return [
        figures.money_lines([MONEY, LONG], "USD", theme, (6.0, 4.0, 9.0)),
        figures.money_lines([], "USD", theme),
        figures.waiting_times([WAIT, replace(WAIT, allowed_s=None)], theme),
        _by_use(theme, (0.6, 0.4, 0.9)),
    ]


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME], ids=["light", "dark"])
def test_plotly_accepts_every_part_of_every_chart(theme: Theme) -> None:
    for chart in _all(theme):
        assert go.Figure(chart).to_dict()["layout"]


@each(
    ("line", "words"),
    [(MONEY, [BAND]), (EXACT, []), (LONG, ["This fleet", BAND])],
)
def test_a_band_is_named_and_a_line_where_its_end_has_no_room(line: Any, words: list[str]) -> None:  # noqa: ANN401
    assert _legend(figures.money_lines([line], "USD", LIGHT_THEME)) == words


def test_the_legend_of_waiting_times_names_the_curve_and_both_ticks() -> None:
    allowed = "longest wait of a median run that ends in time"
    alone = replace(WAIT, allowed_s=None)
    drawn = ["median wait", "share of runs"]
    assert _legend(figures.waiting_times([alone], LIGHT_THEME)) == drawn
    at_once = replace(alone, median_s=0.0)
    assert _legend(figures.waiting_times([at_once], LIGHT_THEME)) == ["share of runs"]
    with_limit = figures.waiting_times([WAIT], LIGHT_THEME)
    assert set(_legend(with_limit)) == {*drawn, allowed}
    ticks = {t.get("name"): t["line"].get("color") for t in with_limit["data"] if "line" in t}
    assert {ticks[allowed], ticks[f"Nightly: {allowed}"]} == {LIGHT_THEME.colours[1]}


def test_the_interval_of_a_break_even_is_named_where_it_is_drawn() -> None:
    assert _legend(_by_use(LIGHT_THEME, (0.6, 0.4, 0.9))) == ["90 % interval of the break-even"]
    assert _legend(_by_use(LIGHT_THEME, None)) == []


def test_the_name_of_a_break_even_has_room_for_its_two_lines() -> None:
    chart = figures.money_lines([MONEY], "USD", LIGHT_THEME, (6.0, 4.0, 9.0))
    [note] = [n["text"] for n in chart["layout"]["annotations"] if "month" in n["text"]]
    assert note == "cheaper than renting<br>from month 6 (4–9)"
    alone = figures.money_lines([MONEY], "USD", LIGHT_THEME)
    more = chart["layout"]["margin"]["t"] - alone["layout"]["margin"]["t"]
    assert more == 2.0 * LABEL_GAP
