"""Promises of the published scaling law, which continues from the largest measured count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.core import Floats, Refusal, t_quantile
from planner.fits import SD0
from planner.scaling import DOF, ScalingCurve, fit_scaling
from planner.scaling._terms import CROSSED_SD, PUBLISHED, SHORT_S, StepPlaces
from planner.scaling.answers import UNCROSSED
from tests.planner.asking import answer

STRONG = ([64.0, 32.0, 16.0], [8, 16, 32], [1, 2, 4], [0.40, 0.24, 0.15])
"""One global batch of 512 on 8 to 32 devices: a published series has one batch per count."""


def curve() -> ScalingCurve:
    found = fit_scaling(*STRONG)
    assert isinstance(found, ScalingCurve)
    return found


def factor(doublings: float, halvings: float, step_s: float = 0.15) -> float:
    """A device's speed over that of the largest measured count."""
    arrays = (np.array([value]) for value in (step_s, doublings, halvings))
    return float(np.exp(PUBLISHED.log_factor(*arrays))[0])


@pytest.mark.parametrize(("batch", "devices"), [(8.0, 64), (4.0, 128), (16.0, 256), (64.0, 64)])
def test_a_series_of_one_batch_per_count_continues_from_its_largest_count(
    batch: float, devices: int
) -> None:
    found = answer(curve().step_time(batch, devices, devices // 8))
    reached = factor(math.log2(devices / 32), math.log2(16.0 / batch))
    assert_allclose(float(found.value), 0.15 * batch / 16.0 / reached)
    assert found.basis == "similar workload"
    assert found.reasons[0].startswith("Published scaling law, starting from the run on 32 devices")


def test_what_the_runs_determine_is_still_answered_by_them() -> None:
    found = answer(curve().step_time(16.0, 32, 4))
    assert_allclose(found.value, 0.15, rtol=1e-6)
    assert found.basis == "measured"
    assert not any("Published" in reason for reason in found.reasons)


def test_a_larger_batch_per_device_is_credited_as_a_smaller_one_is_charged() -> None:
    assert factor(0.0, -1.0) > 1.0 > factor(0.0, 1.0)
    there_and_back = factor(0.0, 1.0) * factor(0.0, -1.0, 0.075)
    assert_allclose(there_and_back, 1.0, rtol=1e-9)


def test_a_halving_costs_more_the_shorter_the_step_is() -> None:
    shares = [factor(0.0, 1.0, step_s) for step_s in (10.0, 1.0, 0.1, 0.01)]
    assert shares == sorted(shares, reverse=True)


def test_two_halvings_at_once_are_one_after_the_other() -> None:
    one_by_one = factor(0.0, 1.0) * factor(0.0, 1.0, 0.075)
    assert_allclose(factor(0.0, 2.0), one_by_one, rtol=1e-9)


def test_the_interval_grows_with_doublings_and_halvings() -> None:
    def half(batch: float, devices: int) -> float:
        found = answer(curve().step_time(batch, devices, devices // 8))
        q = math.log(float(found.high) / float(found.value))
        assert_allclose(math.log(float(found.value) / float(found.low)), q)
        return q / float(t_quantile(0.9, DOF))

    assert_allclose(half(8.0, 64), PUBLISHED.spread * 0.15**-0.25 * math.sqrt(2.0))
    assert half(8.0, 64) < half(4.0, 128) < half(1.0, 512)
    near = PUBLISHED.sd(np.array([5.0]), np.array([0.01]), np.array([0.0]))
    assert near[0] == SD0
    sds = [PUBLISHED.sd(np.array([s]), np.ones(1), np.ones(1))[0] for s in (0.001, SHORT_S)]
    assert sds[0] == sds[1]


def test_speed_ups_are_answered_by_it_too_and_shares_are_not() -> None:
    strong = curve().strong_scaling(512.0, 64, 8)
    assert not isinstance(strong, Refusal)
    assert strong.speed_up.basis == "similar workload"
    assert isinstance(curve().shares(8.0, 64, 8), Refusal)


def test_a_search_over_a_grid_does_not_rest_on_it() -> None:
    assert np.isnan(curve().step_time_s([512.0], [64], 8)).all()


def test_a_single_device_that_no_sweep_measured_is_still_refused() -> None:
    batch, devices = np.tile([8.0, 32.0, 128.0], 2), np.repeat([2.0, 4.0], 3)
    found = fit_scaling(batch, devices, np.ones(6), 0.05 + batch / 258 + 0.02)
    assert isinstance(found, ScalingCurve)
    assert isinstance(found.step_time(32.0, 1, 1), Refusal)


def test_a_series_on_one_node_says_what_to_measure_before_it_crosses_nodes() -> None:
    found = fit_scaling([64.0, 32.0, 16.0], [2, 4, 8], [1, 1, 1], [0.40, 0.24, 0.15])
    assert isinstance(found, ScalingCurve)
    crossed, inside = (answer(found.step_time(8.0, 16, nodes)) for nodes in (2, 1))
    assert crossed.reasons[-2:] == UNCROSSED
    assert UNCROSSED[0] not in inside.reasons
    half = [math.log(float(e.high) / float(e.value)) for e in (crossed, inside)]
    assert_allclose(half[0], math.hypot(half[1], CROSSED_SD * float(t_quantile(0.9, DOF))))


SHARES = st.floats(0.0, 0.4)


def nodes_of(devices: Floats) -> Floats:
    """The nodes of eight devices that they fill."""
    return np.ceil(devices / 8)


@given(st.lists(st.tuples(st.integers(1, 3), SHARES), min_size=2, max_size=5), st.floats(-2, 1))
def test_weak_scaling_never_falls_and_has_no_step_where_the_law_takes_over(
    rises: list[tuple[int, float]], log_s: float
) -> None:
    """Steps of a series at one batch that never fall: nor does any answer between and beyond."""
    devices = 256 * np.cumprod([1, *(2**doublings for doublings, _ in rises)])
    steps = 10.0**log_s * np.exp(np.cumsum([0.0, *(rise for _, rise in rises)]))
    nodes = devices // 8
    found = fit_scaling(np.full(devices.size, 32.0), devices, nodes, steps)
    assert isinstance(found, ScalingCurve)
    asked = np.unique(np.concatenate([np.rint(np.geomspace(64, 4 * devices[-1], 300)),
                                      *(devices + i for i in (-1, 0, 1))]))  # fmt: skip
    for batch in (32.0, 8.0, 128.0):
        value = np.log(np.asarray(answer(found.step_time(batch, asked, nodes_of(asked))).value))
        rise = np.diff(value)
        assert (rise > -1e-12).all()
        assert (rise < 0.5 * np.diff(np.log2(asked)) + 1e-9).all()  # runs rise 0.4 a doubling
    at_runs = answer(found.step_time(np.full(devices.size, 32.0), devices, nodes))
    assert_allclose(at_runs.value, steps)
    assert at_runs.basis == "measured"


@given(
    st.lists(st.tuples(st.floats(-1.0, 1.0), st.floats(-0.2, 0.2)), min_size=2, max_size=5),
    st.floats(3.0, 512.0),
)
def test_any_series_with_one_batch_at_each_count_is_continuous_over_devices_and_batches(
    places: list[tuple[float, float]], batch: float
) -> None:
    """No step where runs end: to the next device or batch it changes as little as the runs do."""
    devices = 1024 * 2 ** np.arange(len(places))
    batches = 64.0 * 2.0 ** np.array([halvings for halvings, _ in places])
    steps = batches / 500.0 * np.exp([change for _, change in places])
    found = fit_scaling(batches, devices, devices // 8, steps)
    assert isinstance(found, ScalingCurve)
    near = np.concatenate([devices + i for i in (-1, 0, 1)])
    asked = np.unique([*near, *(near // 2), *(near * 2)])
    both = np.stack([asked, asked + 1])
    for size in (batch, *batches):
        value = np.log(np.asarray(answer(found.step_time(size, both, nodes_of(both))).value))
        assert np.abs(np.diff(value, axis=0)).max() < 0.01
        other = np.log(
            np.asarray(answer(found.step_time(1.0001 * size, both, nodes_of(both))).value)
        )
        assert np.abs(other - value).max() < 0.001


def test_a_step_trend_of_weak_scaling_counts_half_beside_the_law() -> None:
    """Cards without links of their own: 1, 2 and 4 of them take 1, 1.5 and 2 s a step."""
    found = fit_scaling([32.0, 32, 32], [1, 2, 4], [1, 1, 1], [1.0, 1.5, 2.0])
    assert isinstance(found, ScalingCurve)
    own = found.terms.questions(
        StepPlaces(batch=np.array([32.0, 32.0]), devices=np.array([4.0, 8.0]),
                   nodes=np.ones(2), mode=np.zeros(2, dtype=np.int64))
    ) @ found.terms.value  # fmt: skip
    expected = 2.0 * math.sqrt(own[1] / own[0] * math.exp(PUBLISHED.loss))
    assert_allclose(answer(found.step_time(32.0, 8, 1)).value, expected)


def test_a_scattered_series_of_one_batch_per_count_is_answered_by_the_law_alone() -> None:
    found = fit_scaling(
        [64.0, 32, 16, 8, 4, 2], [8, 16, 32, 64, 128, 256], [1, 2, 4, 8, 16, 32],
        [0.9, 0.1, 0.8, 0.1, 0.7, 0.15],
    )  # fmt: skip
    assert isinstance(found, ScalingCurve)
    far = answer(found.step_time(1.0, 512, 64))
    assert far.basis == "similar workload"
    there = factor(1.0, 1.0)
    assert_allclose(far.value, 0.15 / 2.0 / there)


def test_of_several_launch_modes_it_says_nothing() -> None:
    found = fit_scaling([64.0, 32, 16], [8, 16, 32], [1, 2, 4], [0.4, 0.24, 0.15], ["a", "b", "b"])
    assert isinstance(found, ScalingCurve)
    assert found.published is None


def test_a_batch_that_no_run_on_its_link_had_is_not_read_off_the_cost_of_that_link() -> None:
    """The steps of MPT-30B on H100 (LLM Foundry): 63 samples a device on one node, else 8 to 42."""
    steps = (64.45, 27.15, 37.27, 7.451, 7.628, 7.747)
    devices, nodes = (8, 16, 32, 128, 256, 512), (1, 2, 4, 16, 32, 64)
    found = fit_scaling((63, 30, 42, 8, 8, 8), devices, nodes, steps)
    assert isinstance(found, ScalingCurve)
    small, large = answer(found.step_time(8, 8, 1)), answer(found.step_time(8, 512, 64))
    assert small.basis == "similar workload"
    assert 0.8 < small.value / large.value < 1.0
    assert answer(found.step_time(63, 8, 1)).basis == "measured"
