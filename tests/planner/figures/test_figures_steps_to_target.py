"""The charts of steps and of time to a target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from planner import figures
from planner.figures.frame import (
    DARK_THEME,
    LIGHT_THEME,
    Theme,
    rgba,
)
from tests.planner import charts

BATCH = np.array([4.0, 8.0, 64.0, 512.0, 1024.0])
STEPS = 100 * (1 + 64 / BATCH)
INSIDE = slice(1, 4)
LINE = figures.StepsLine(
    label="SGD <b>", short="SGD <b>", slot=2, seed_batch=np.repeat(BATCH[INSIDE], 2),
    seed_steps=np.r_[700.0, 900.0, 190.0, 210.0, 110.0, np.inf],
    measured_batch=BATCH[INSIDE], measured=STEPS[INSIDE], batch=BATCH, value=STEPS,
    low=0.9 * STEPS, high=1.1 * STEPS, smallest=8.0, largest=512.0, min_samples=6400.0,
)  # fmt: skip
NEVER = replace(
    LINE, slot=3, measured=np.array([800.0, np.inf, np.inf]), seed_steps=np.full(6, np.inf),
    batch=np.empty(0), value=np.empty(0), low=np.empty(0), high=np.empty(0), min_samples=np.nan,
)  # fmt: skip
BORDERS = figures.Borders(perfect_up_to=(7.0, 6.0, 8.0), maximal_from=(576.0, 500.0, np.inf))
TIME = figures.TargetTimeLine(
    label="SGD <b>", short="SGD <b>", slot=2, batch=BATCH, value=STEPS * (0.1 + BATCH / 1000),
    low=0.8 * STEPS * (0.1 + BATCH / 1000), high=1.2 * STEPS * (0.1 + BATCH / 1000),
    smallest=8.0, largest=512.0, best_batch=80.0, least_s=32.4,
)  # fmt: skip


def _all(theme: Theme) -> list[go.Figure]:
    return [
        charts.steps_to_target([LINE, NEVER], theme, borders=BORDERS, best_batch=80.0),
        charts.steps_to_target([NEVER], theme),
        charts.steps_to_target([], theme),
        charts.time_to_target([TIME, replace(TIME, best_batch=np.nan, least_s=np.nan)], theme),
        charts.time_to_target([], theme),
    ]


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME], ids=["light", "dark"])
def test_plotly_accepts_every_part_of_every_chart(theme: Theme) -> None:
    for figure in _all(theme):
        go.Figure(figure.to_dict())  # raises ValueError on any wrong part


def test_both_axes_of_steps_are_logarithmic_and_batches_stand_at_powers_of_two() -> None:
    layout = charts.steps_to_target([LINE], LIGHT_THEME).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")
    assert all(t & (t - 1) == 0 for t in layout.xaxis.tickvals)


def test_seeds_are_small_markers_beside_the_large_ones_of_their_median() -> None:
    drawn = charts.steps_to_target([LINE], LIGHT_THEME).data
    small, large = (t for t in drawn if t.mode == "markers")
    assert small.marker.size < large.marker.size
    assert len(small.x) == 5  # the seed that never got there has no place
    assert len(large.x) == 3


def test_perfect_scaling_falls_as_one_over_the_batch_in_thin_dashes() -> None:
    drawn = charts.steps_to_target([LINE], LIGHT_THEME).data
    [line] = [t for t in drawn if t.mode == "lines" and t.line.width == 1]
    assert line.line.dash == "dash"
    assert line.line.color == LIGHT_THEME.colours[2]
    np.testing.assert_allclose(np.asarray(line.x) * np.asarray(line.y), 6400.0)


def test_outside_the_measured_batches_the_law_is_grey_and_dashed() -> None:
    drawn = charts.steps_to_target([LINE], LIGHT_THEME).data
    beyond = [t for t in drawn if t.mode == "lines" and t.line.color == LIGHT_THEME.quiet]
    assert {(min(t.x), max(t.x)) for t in beyond} == {(4, 8), (512, 1024)}
    assert {t.line.dash for t in beyond} == {"dash"}


def test_the_borders_are_as_wide_as_their_interval_and_stop_at_the_chart() -> None:
    assert zones(BORDERS)[3:] == [(6.0, 8.0), (500.0, 1024.0)]


def test_the_three_regimes_are_shaded_from_border_to_border_each_darker() -> None:
    assert zones(BORDERS)[:3] == [(4.0, 7.0), (7.0, 576.0), (576.0, 1024.0)]
    figure = charts.steps_to_target([LINE], LIGHT_THEME, borders=BORDERS)
    shades = [s.fillcolor for s in figure.layout.shapes if s.type == "rect"][:3]
    assert shades == [rgba(LIGHT_THEME.quiet, strength) for strength in (0.03, 0.08, 0.13)]


def test_all_three_regimes_are_named_the_middle_one_in_a_row_below() -> None:
    names = regime_names(BORDERS)
    assert {n: a.yshift for n, a in names.items()} == {
        "perfect": 0, "diminishing": -16, "maximal": 0,
    }  # fmt: skip
    assert (names["maximal"].xanchor, names["perfect"].xanchor) == ("right", "left")


def test_a_regime_outside_the_chart_is_named_at_the_edge_and_an_unseen_one_not_at_all() -> None:
    far = figures.Borders(perfect_up_to=(1.0, 0.5, 2.0), maximal_from=(1e5, 1e4, 1e6))
    assert list(regime_names(far)) == ["← perfect", "diminishing", "maximal →"]
    assert zones(far) == [(4.0, 1024.0)]
    none = figures.Borders(perfect_up_to=(0.0, 0.0, 2.0), maximal_from=(np.inf, 1e6, np.inf))
    assert list(regime_names(none)) == ["diminishing"]


def zones(borders: figures.Borders) -> list[tuple[float, float]]:
    figure = charts.steps_to_target([LINE], LIGHT_THEME, borders=borders)
    return [(s.x0, s.x1) for s in figure.layout.shapes if s.type == "rect"]


def regime_names(borders: figures.Borders) -> dict[str, Any]:
    figure = charts.steps_to_target([LINE], LIGHT_THEME, borders=borders)
    return {a.text: a for a in figure.layout.annotations if a.yanchor == "top"}


def test_the_best_batch_is_marked_with_its_size() -> None:
    figure = charts.steps_to_target([LINE], LIGHT_THEME, best_batch=80.0)
    assert "best batch 80" in [a.text for a in figure.layout.annotations]
    away = charts.steps_to_target([LINE], LIGHT_THEME, best_batch=1e6)
    assert not [a for a in away.layout.annotations if a.text.startswith("best batch")]


def test_bcrit_and_the_noise_scale_are_marked_by_name_each_in_its_row() -> None:
    borders = replace(BORDERS, critical=64.0)
    figure = charts.steps_to_target(
        [LINE], LIGHT_THEME, borders=borders, best_batch=80.0, noise_scale=60.0
    )
    rows = {a.text: a.yshift for a in figure.layout.annotations if a.yanchor == "bottom"}
    assert set(rows) == {"best batch 80", "Bcrit 64", "noise scale 60"}
    assert len(set(rows.values())) == 3
    assert figure.layout.margin.t > charts.steps_to_target([LINE], LIGHT_THEME).layout.margin.t


def test_an_optimiser_without_a_law_still_shows_its_points() -> None:
    drawn = charts.steps_to_target([NEVER], LIGHT_THEME).data
    assert [t.mode for t in drawn] == ["markers"]
    assert list(drawn[0].x) == [8.0]


def test_time_has_the_unit_people_say_and_a_star_at_each_best_batch() -> None:
    figure = charts.time_to_target([TIME], LIGHT_THEME)
    assert figure.layout.yaxis.title.text == "time to target (minutes)"
    [star] = [t for t in figure.data if t.mode == "markers"]
    assert (star.marker.symbol, list(star.x), list(star.y)) == ("star", [80.0], [32.4 / 60])
    fast = replace(TIME, value=TIME.value / 10, low=TIME.low / 10, high=TIME.high / 10)
    title = charts.time_to_target([fast], LIGHT_THEME).layout.yaxis.title.text
    assert title == "time to target (seconds)"


def test_bands_have_the_colour_of_their_line() -> None:
    for figure in (
        charts.steps_to_target([LINE], DARK_THEME),
        charts.time_to_target([TIME], DARK_THEME),
    ):
        assert {t.fillcolor for t in figure.data if t.fill} == {rgba(DARK_THEME.colours[2], 0.18)}


def test_names_from_data_are_not_markup() -> None:
    for figure in (
        charts.steps_to_target([LINE], LIGHT_THEME),
        charts.time_to_target([TIME], LIGHT_THEME),
    ):
        assert "<b>" not in "".join(a.text for a in figure.layout.annotations)
        assert not any("<b>" in (t.name or "") for t in figure.data if t.hoverinfo != "skip")
