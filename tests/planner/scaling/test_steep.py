"""Runs whose link costs the same for each further device are fitted with growth in proportion."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core import LEVEL, Estimate
from planner.scaling import FADING, ScalingCurve, fit_scaling, growth
from planner.scaling._terms import Growing, StepPlaces, fit_terms
from planner.scaling.fit import STEEP, STEEP_LINK, STEEP_SPARE

BATCHES = [4.0, 8, 16, 24, 32, 64]


def curve(fading: float, *, scatter: float = 0.05, batches: int = 6, seed: int = 0) -> ScalingCurve:
    """Return the curve of runs on 1 to 4 devices whose link grows by `fading`."""
    each, n = (x.ravel() for x in np.meshgrid(BATCHES[:batches], [1.0, 2, 3, 4]))
    noise = np.random.default_rng(seed).normal(0.0, scatter, n.size)
    step = (0.2 + 0.001 * each + 0.1 * growth(n, fading)) * np.exp(noise)
    found = fit_scaling(each, n, np.ones(n.size), step)
    assert isinstance(found, ScalingCurve)
    return found


def test_growth_in_proportion_is_the_number_of_further_devices() -> None:
    assert growth([1.0, 2, 4, 16], STEEP) == pytest.approx([0, 1, 3, 15])


def test_a_link_in_proportion_is_recognised_and_named() -> None:
    found = curve(STEEP, scatter=0.01)
    answer = found.step_time(32.0, 16, 1)
    assert isinstance(answer, Estimate)
    assert answer.value == pytest.approx(0.2 + 0.032 + 1.5, rel=0.1)
    assert STEEP_LINK[True] in answer.reasons


@pytest.mark.parametrize("fading", [0.5, FADING, 1.0])
def test_noise_does_not_look_like_a_link_in_proportion(fading: float) -> None:
    taken = [curve(fading, seed=seed).terms.growing.fading for seed in range(60)]
    assert taken.count(STEEP) <= 1


def test_runs_without_scatter_keep_their_form() -> None:
    assert curve(FADING, scatter=0.0).terms.growing.fading == FADING


def test_few_runs_show_no_link_in_proportion() -> None:
    few = curve(STEEP, scatter=0.0, batches=3)
    assert few.n - few.terms.fit.value.size < STEEP_SPARE
    assert few.terms.growing.fading == FADING


def over_nodes(grown: str, *, scatter: float = 0.02) -> ScalingCurve:
    """Return the curve of runs over 1 to 4 nodes, whose link grows by the devices that count."""
    places = [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (4, 2), (3, 3), (4, 4)]
    each, place = (x.ravel() for x in np.meshgrid(BATCHES, np.arange(len(places))))
    n, nodes = np.array(places, dtype=np.float64)[place.astype(int)].T
    counted = {"all": n, "node": np.ceil(n / nodes)}[grown]
    noise = np.random.default_rng(0).normal(0.0, scatter, n.size)
    link = 0.1 * (counted - 1.0) + 0.05 * (nodes > 1.0)
    found = fit_scaling(each, n, nodes, (0.2 + 0.001 * each + link) * np.exp(noise))
    assert isinstance(found, ScalingCurve)
    return found


@pytest.mark.parametrize(("grown", "counted"), [("node", 8), ("all", 32)])
def test_the_devices_of_a_node_count_unless_all_clearly_do(grown: str, counted: int) -> None:
    found = over_nodes(grown)
    answer = found.step_time(32.0, 32, 4)
    assert isinstance(answer, Estimate)
    assert answer.value == pytest.approx(0.2 + 0.032 + 0.05 + 0.1 * (counted - 1), rel=0.1)
    assert STEEP_LINK[grown == "node"] in answer.reasons


def test_one_device_a_node_is_a_link_without_growth() -> None:
    places = StepPlaces(
        batch=np.full(3, 8.0), devices=np.array([1.0, 2, 3]), nodes=np.array([1.0, 2, 3]),
        mode=np.zeros(3, dtype=np.int64),
    )  # fmt: skip
    in_node = Growing(fading=STEEP, in_node=True)
    assert places.grown(in_node) == pytest.approx([0, 0, 0])
    terms = fit_terms(places, np.array([0.2, 0.3, 0.3]), 1, in_node, LEVEL)
    assert terms.questions(places) @ terms.value == pytest.approx([0.2, 0.3, 0.3])
