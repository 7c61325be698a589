"""Pictures of formulas: what is drawn is what the planner answers, wherever the sliders stand."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from pages.method.formula import Formula
from pages.method.formulas import FORMULAS, SLIDERS
from planner.convergence import fit_convergence
from planner.core import Estimate, percent
from planner.figures.frame import LIGHT_THEME
from planner.throughput import fit_throughput
from planner.time_to_target import best_batch

each = pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
SIZES = np.array([8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0])


def _values(formula: Formula, **changed: float) -> dict[str, float]:
    return {s.name: s.default for s in formula.sliders} | changed


def _said(name: str, **changed: float) -> str:
    formula = FORMULAS[name]
    return " ".join(formula.picture(_values(formula, **changed), LIGHT_THEME).sentences)


@each
def test_wherever_the_sliders_stand_there_is_a_picture_or_a_reason(formula: Formula) -> None:
    places = list(product(*(s.options for s in formula.sliders)))
    for place in random.Random(4).sample(places, min(12, len(places))):
        picture = formula.picture(
            dict(zip((s.name for s in formula.sliders), place, strict=True)), LIGHT_THEME
        )
        assert all(picture.sentences)
        if picture.figure is not None:
            go.Figure(picture.figure)  # raises ValueError on any wrong part


@each
def test_every_default_is_offered_and_has_a_picture(formula: Formula) -> None:
    assert all(s.default in s.options for s in formula.sliders)
    assert formula.picture(_values(formula), LIGHT_THEME).figure is not None


def test_a_name_in_the_link_means_one_slider_on_the_whole_page() -> None:
    for formula in FORMULAS.values():
        for slider in formula.sliders:
            assert SLIDERS[slider.name] is slider
            assert len(slider.texts) == len(slider.options)


def test_half_of_v0_is_reached_at_v0_t() -> None:
    assert "Half of v0 is reached at batch 410" in _said("throughput", v0=4096, t=0.1)


def test_a_bend_that_no_line_follows_is_refused_with_its_scatter() -> None:
    formula = FORMULAS["throughput"]
    picture = formula.picture(_values(formula, bend=30, t=1, v0=64), LIGHT_THEME)
    said = " ".join(picture.sentences)
    assert picture.figure is not None or "scatter" in said


def test_more_epochs_seen_make_the_interval_of_the_session_narrower() -> None:
    def width(seen: float) -> float:
        picture = FORMULAS["epochs"].picture(_values(FORMULAS["epochs"], seen=seen), LIGHT_THEME)
        figure: Any = go.Figure(picture.figure)
        same = [t for t in figure.data if t.name == "the measured session" and t.hovertemplate]
        return max(float(np.max(t.y)) for t in same)

    assert width(20) < width(5) < width(2)


def test_epochs_that_scatter_by_more_than_a_fifth_are_not_drawn_as_if_they_were_fine() -> None:
    assert "% in another." in _said("epochs", scatter=10)


def test_best_batch_is_the_planners() -> None:
    speed = fit_throughput(SIZES, 0.1 + SIZES / 4096)
    law = fit_convergence(SIZES, 1000 * (SIZES + 256))
    best = best_batch(speed, law)
    assert isinstance(best, Estimate)
    assert f"The best batch is {float(best.value):,.0f} (90 %: " in _said("best-batch")


def test_a_largest_batch_far_below_the_critical_one_shows_no_limit() -> None:
    assert "No limit seen up to B=16" in _said("steps", largest=16, bcrit=16384)


def test_without_a_second_node_the_link_between_nodes_is_said_to_be_assumed() -> None:
    assert "From 16 devices on the link between nodes is assumed" in _said("devices", devices=8)
    assert "assumed" not in _said("devices", devices=16)


def test_links_that_cost_nothing_scale_perfectly() -> None:
    formula = FORMULAS["devices"]
    free = _values(formula, a1=0, a2=0, c1=0, c2=0)
    figure: Any = go.Figure(formula.picture(free, LIGHT_THEME).figure)
    [measured] = [t for t in figure.data if t.mode == "markers" and not t.showlegend]
    np.testing.assert_allclose(measured.y, 100.0, rtol=1e-6)


def test_the_more_is_known_the_firmer_the_rung() -> None:
    assert "“data sheet of the card” answers" in _said("cards", benchmarks=0, cards=7)
    assert "“workload on other cards” answers" in _said("cards", benchmarks=3, cards=2)
    assert "“measured” answers" in _said("cards", runs=2)


@pytest.mark.parametrize(("times", "flag"), [(1.5, "Unlike its neighbours"), (60, "Unit slip")])
def test_an_odd_run_is_flagged_by_name(times: float, flag: str) -> None:
    assert flag in _said("suspects", times=times)


def test_a_healthy_run_is_not_flagged() -> None:
    assert "The odd run is not flagged" in _said("suspects", times=1)
    assert "No healthy run is flagged." in _said("suspects", times=1)


def test_fewer_validated_images_make_an_epoch_look_cheaper_than_an_image() -> None:
    said = _said("factors", validated=64)
    assert "a processed image 1.1" in said
    assert "not the same work" in said
    assert "not the same work" not in _said("factors", validated=10000)


def test_two_systems_cross_where_the_formula_says() -> None:
    said = _said("crossover", v0=4096, t=0.1, v0b=1024, tb=0.01, largest=1024)
    expected = (0.1 - 0.01) / (1 / 1024 - 1 / 4096)
    assert f"batch {expected:,.0f}." in said


def test_a_system_that_has_both_is_faster_everywhere() -> None:
    said = _said("crossover", v0=4096, t=0.01, v0b=1024, tb=0.1)
    assert "system A is at least as fast at every batch" in said


def test_the_share_of_the_peak_is_operations_times_speed_over_the_peak() -> None:
    said = _said("utilisation", v0=4096, t=0, gflop=24, peak=312, largest=1024)
    assert percent(24e9 * 4096 / 312e12, 1) in said.replace("\u00a0", " ")


def test_a_run_faster_than_its_peak_is_not_drawn() -> None:
    formula = FORMULAS["utilisation"]
    picture = formula.picture(_values(formula, v0=65536, t=0, gflop=1000, peak=5), LIGHT_THEME)
    assert picture.figure is None
    assert "The machine was slower during the matrix product" in " ".join(picture.sentences)


def test_buying_pays_off_from_the_use_on_that_the_formula_says() -> None:
    year = 20000 / 4  # at no interest, the price is spread evenly
    share = year / (8760 * (2 - 0.8 * 0.2))
    assert f"from {100 * share:.0f} % of the time on" in _said("money", rate=0)
    assert "never pays off" in _said("money", rent=0.1)


def test_one_device_gives_itself_and_every_doubling_costs() -> None:
    assert "1 devices give 1 times one device" in _said("several", count=1)
    eight = 8 * np.exp(-0.3)
    assert f"8 devices give {eight:.3g} times one device" in _said("several", count=8, node=8)
