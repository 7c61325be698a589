"""Promises of time and cost to target over devices and batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from planner.convergence import ConvergenceCurve, fit_convergence
from planner.core import Estimate, Refusal
from planner.scaling import CountCurve, ScalingCurve, at_count
from planner.throughput import ThroughputCurve, fit_throughput
from planner.time_to_target import Frontier, best_batch, time_to_target
from planner.time_to_target.frontier import OneDeviceCount, StepTimes, frontier
from tests.each import each
from tests.planner.scaling.test_scaling import BATCH, STEP_S, curve_of

if TYPE_CHECKING:
    from planner.core import Floats

SWEEP = np.array([8.0, 32, 128, 512, 2048])
V0, T, SMIN, BCRIT = 258.1, 0.54, 900.0, 700.0
COUNTS, SIZES = np.array([1.0, 2, 4, 8, 16]), np.geomspace(16, 8192, 10)


@dataclass(frozen=True)
class Cluster:
    """v0 grows with the devices, and so does what their link costs."""

    link_s: float = 0.05

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """T = t + b/(n*v0) + link*log2(n)."""
        return np.asarray(T + batch / (devices * V0) + self.link_s * np.log2(devices))


@dataclass(frozen=True)
class Table:
    """Step times as given, whatever was asked."""

    step_s: Floats

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """A table as wide as the grid."""
        return np.broadcast_to(self.step_s, np.broadcast_shapes(batch.shape, devices.shape))


def system() -> ThroughputCurve:
    curve = fit_throughput(SWEEP, (T + SWEEP / V0) * [1.02, 0.98, 1.01, 0.99, 1.0])
    assert isinstance(curve, ThroughputCurve)
    return curve


def workload() -> ConvergenceCurve:
    curve = fit_convergence(SWEEP, SMIN * (SWEEP + BCRIT) * [0.98, 1.02, 0.99, 1.01, 1.0])
    assert isinstance(curve, ConvergenceCurve)
    return curve


def grid(
    scaling: ThroughputCurve | StepTimes, counts: object = COUNTS, price: object = 1.0
) -> Frontier:
    found = frontier(scaling, workload(), np.asarray(counts), SIZES, np.asarray(price))
    assert isinstance(found, Frontier)
    return found


def dominated(found: Frontier, i: int, j: int) -> bool:
    """Whether any point of the grid beats this one, the slow way."""
    time_s, cost = found.time_s[i, j], found.cost[i, j]
    no_worse = (found.time_s <= time_s) & (found.cost <= cost)
    return bool((no_worse & ((found.time_s < time_s) | (found.cost < cost))).any())


def test_time_is_steps_times_step_time_and_cost_is_device_hours() -> None:
    found = grid(Cluster())
    steps = workload().steps(SIZES)
    assert isinstance(steps, Estimate)
    step_s = Cluster().step_time_s(SIZES[None, :], COUNTS[:, None])
    result = found.batch >= found.devices[:, None]
    assert_allclose(found.time_s[result], (steps.value * step_s)[result])
    assert_allclose(found.cost, found.time_s * COUNTS[:, None] / 3600)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_point_is_on_the_frontier_exactly_where_no_other_beats_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    step_s = np.round(rng.uniform(0.1, 0.3, (5, 10)), 2)
    step_s[rng.random((5, 10)) < 0.2] = np.nan
    price = rng.uniform(0.5, 2.0, 5)
    found = frontier(Table(step_s), workload(), COUNTS, SIZES, price)
    assert isinstance(found, Frontier)
    for (i, j), flagged in np.ndenumerate(found.non_dominated):
        finite = bool(np.isfinite(found.time_s[i, j]))
        assert flagged == (finite and not dominated(found, i, j))


def test_equal_points_share_the_frontier() -> None:
    law = fit_convergence(SWEEP, np.full(5, 1e6))
    found = frontier(Table(SWEEP / V0), law, [1.0, 2.0], SWEEP, [2.0, 1.0])
    assert isinstance(found, Frontier)
    assert_allclose(found.time_s, found.time_s[0, 0])
    assert found.non_dominated.sum() >= 2
    assert not any(dominated(found, i, j) for i, j in np.argwhere(found.non_dominated))


def test_choices_run_from_the_fastest_to_the_cheapest() -> None:
    found = grid(Cluster())
    choices = found.choices
    assert len(choices) == found.non_dominated.sum() > 1
    assert (np.diff([c.time_s for c in choices]) > 0).all()
    assert (np.diff([c.cost for c in choices]) < 0).all()
    assert choices[0].time_s == np.nanmin(found.time_s)
    assert choices[-1].cost == np.nanmin(found.cost)


def test_at_one_price_the_cheaper_choice_has_fewer_devices() -> None:
    devices = [c.devices for c in grid(Cluster()).choices]
    assert devices == sorted(devices, reverse=True)


def test_at_a_given_number_of_devices_cost_and_time_have_the_same_best_batch() -> None:
    found = grid(Cluster())
    assert_array_equal(np.nanargmin(found.time_s, axis=1), np.nanargmin(found.cost, axis=1))


def test_price_is_per_device_hour_and_may_differ_with_the_devices() -> None:
    plain, priced = grid(Cluster()), grid(Cluster(), price=[1.0, 1, 2, 2, 3])
    assert_allclose(priced.cost, plain.cost * np.array([1, 1, 2, 2, 3])[:, None])
    assert_array_equal(priced.time_s, plain.time_s)


def test_doubling_the_price_doubles_the_cost_and_moves_no_choice() -> None:
    once, twice = grid(Cluster(), price=1.5), grid(Cluster(), price=3.0)
    assert_allclose(twice.cost, 2 * once.cost)
    assert_array_equal(twice.non_dominated, once.non_dominated)


def test_devices_that_cost_nothing_leave_only_the_fastest_choice() -> None:
    found = grid(Cluster(), price=0.0)
    assert found.non_dominated.sum() == 1
    assert found.choices[0].time_s == np.nanmin(found.time_s)


def test_a_device_without_a_sample_is_no_choice() -> None:
    found = grid(Cluster(link_s=0.0), counts=[1, 16, 32])
    assert_array_equal(np.isnan(found.time_s[:, 0]), [False, False, True])
    assert not found.non_dominated[2, 0]


def test_what_a_curve_refuses_is_no_choice() -> None:
    found = frontier(Cluster(), workload(), COUNTS, [64.0, 8192.0, 8193.0])
    assert isinstance(found, Frontier)
    assert_array_equal(np.isnan(found.time_s[0]), [False, False, True])
    assert "Not answered outside 0 to 8,192" in found.reasons[-1]


def test_a_throughput_curve_is_a_frontier_of_its_own_number_of_devices() -> None:
    found = grid(system(), counts=4)
    result = time_to_target(system(), workload(), SIZES)
    assert isinstance(result, Estimate)
    assert_allclose(found.time_s[0], np.asarray(result.value))
    assert_allclose(found.cost, 4 * found.time_s / 3600)
    best = best_batch(system(), workload())
    assert isinstance(best, Estimate)
    assert abs(np.log(found.choices[0].batch / float(best.value))) < np.log(SIZES[1] / SIZES[0])


def test_a_throughput_curve_knows_one_number_of_devices() -> None:
    with pytest.raises(ValueError, match="has one device count; 5 were requested"):
        frontier(system(), workload(), COUNTS, SIZES)
    seconds = OneDeviceCount(curve=system(), devices=2).step_time_s(SIZES[None, :], COUNTS[:, None])
    assert seconds.shape == (5, 10)
    assert_array_equal(np.isfinite(seconds).any(axis=1), COUNTS == 2)


def test_refusals_pass_through_and_an_empty_grid_is_one() -> None:
    refused = fit_throughput([64, 64], [1.0, 1.1])
    assert frontier(refused, workload(), 1, SIZES) is refused
    unreached = fit_convergence([64], [np.nan])
    assert isinstance(unreached, Refusal)
    assert frontier(Cluster(), unreached, COUNTS, SIZES) is unreached
    result = frontier(Cluster(), workload(), [1, 2], [1e6, 2e6])
    assert isinstance(result, Refusal)
    assert "2 device counts from 1 to 2, batches from 1e+06 to 2e+06" in result.reason


@each(
    ("devices", "batches", "price", "result"),
    [
        ([1, 1.5], [8], 1.0, "devices: value 2 of 2 is 1.5"),
        ([0], [8, -1], -1.0, "devices: .* 0; batches: .* -1; price_per_device_hour: .* -1"),
        ([[1]], [8], 1.0, r"devices has shape \(1, 1\)"),
        ([1], [], 1.0, r"batches has shape \(0,\)"),
        ([1, 2], [8], [1, 2, 3], "there are 3 prices for 2 device counts"),
        ([np.inf], [8], 1.0, "devices: value 1 of 1 is inf"),
    ],
)
def test_impossible_grids_are_named(
    devices: list[float], batches: list[float], price: float, result: str
) -> None:
    with pytest.raises(ValueError, match=result):
        frontier(Cluster(), workload(), devices, batches, price)


# -- fitted to several numbers of devices --------------------------------------------------------


def launched() -> ScalingCurve:
    modes = ["driver", "workers"] * (BATCH.size // 2)
    slower = STEP_S + np.where(np.array(modes) == "workers", 0.1, 0.0)
    return curve_of(slower, launch=modes)


def test_a_scaling_curve_is_searched_as_it_answers() -> None:
    found = frontier(curve_of(), workload(), [1, 4, 8], SIZES)
    assert isinstance(found, Frontier)
    result = time_to_target(curve_of(), workload(), SIZES, devices=8)
    assert isinstance(result, Estimate)
    assert_allclose(found.time_s[2], np.where(SIZES < 8, np.nan, np.asarray(result.value)))


def test_a_launch_mode_can_be_named() -> None:
    fast, slow = (frontier(launched(), workload(), 4, SIZES, launch=mode)
                  for mode in ("driver", "workers"))  # fmt: skip
    assert isinstance(fast, Frontier)
    assert isinstance(slow, Frontier)
    known = np.isfinite(fast.time_s)
    assert known.any()
    assert (slow.time_s[known] > fast.time_s[known]).all()
    with pytest.raises(ValueError, match="Measured: driver, workers"):
        frontier(launched(), workload(), 4, SIZES)
    with pytest.raises(ValueError, match="these step times have no launch modes"):
        frontier(system(), workload(), 1, SIZES, launch="driver")


def test_the_curve_of_one_count_answers_for_that_count() -> None:
    there = at_count(curve_of(), 4, 1)
    assert isinstance(there, CountCurve)
    found = frontier(there, workload(), [2, 4], [64.0])
    assert isinstance(found, Frontier)
    assert np.isnan(found.time_s[0, 0])
    result = time_to_target(there, workload(), 64.0)
    assert isinstance(result, Estimate)
    assert_allclose(found.time_s[1, 0], result.value)
