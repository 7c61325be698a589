"""A fitted scaling curve at one number of devices is a throughput law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.convergence import ConvergenceCurve, fit_convergence
from planner.core import Estimate, Refusal
from planner.scaling import (
    CountCurve,
    Launched,
    ScalingCurve,
    at_count,
    at_place,
    crossover,
    fit_scaling,
    step_parts,
)
from planner.throughput import ThroughputCurve, fit_throughput
from planner.time_to_target import best_batch, minimum_time, time_to_target
from planner.time_to_target.goodput import goodput
from tests.planner.scaling.test_scaling import (
    BATCH,
    STEP_S,
    V0,
    T,
    curve_of,
    law,
    noisy,
    some,
)


def count(devices: int, nodes: int) -> CountCurve:
    found = at_count(curve_of(), devices, nodes)
    assert isinstance(found, CountCurve)
    return found


def steps_law(bcrit: float = 2000.0) -> ConvergenceCurve:
    batches = np.array([8.0, 64.0, 512.0, 4096.0])
    found = fit_convergence(batches, 100.0 * (batches + bcrit))
    assert isinstance(found, ConvergenceCurve)
    return found


@pytest.mark.parametrize(("devices", "nodes"), [(1, 1), (4, 1), (8, 2), (16, 4)])
def test_half_of_the_throughput_is_reached_at_n_v0_times_the_whole_overhead(
    devices: int, nodes: int
) -> None:
    fixed_s = float(law(0.0, devices, nodes))
    assert_allclose(count(devices, nodes).half_saturation_batch.value, devices * V0 * fixed_s)


def test_step_times_are_those_of_the_scaling_curve_at_the_batch_per_device() -> None:
    there = count(4, 2)
    result = there.step_time(np.array([64.0, 256.0]))
    assert isinstance(result, Estimate)
    assert_allclose(result.value, law(np.array([16.0, 64.0]), 4, 2), rtol=1e-6)
    fast = there.throughput(64.0)
    assert isinstance(fast, Estimate)
    assert_allclose(fast.value, 64.0 / law(16.0, 4, 2), rtol=1e-6)


def test_on_one_device_the_best_batch_is_that_of_the_throughput_curve() -> None:
    alone = fit_throughput([8.0, 32.0, 128.0], law(np.array([8.0, 32.0, 128.0]), 1, 1))
    assert isinstance(alone, ThroughputCurve)
    steps = steps_law()
    for ask in (best_batch, minimum_time):
        here, there = ask(alone, steps), ask(count(1, 1), steps)
        assert isinstance(here, Estimate)
        assert isinstance(there, Estimate)
        assert_allclose(there.value, here.value, rtol=1e-6)


def test_the_best_batch_is_the_root_of_bcrit_and_half_saturation() -> None:
    best = best_batch(count(8, 2), steps_law(bcrit=300.0))
    assert isinstance(best, Estimate)
    expected = np.sqrt(300.0 * 8 * V0 * float(law(0.0, 8, 2)))
    assert_allclose(best.value, expected, rtol=1e-3)
    assert best.low < best.value < best.high


def test_its_batches_are_the_measured_ones_times_the_devices() -> None:
    there = count(4, 1)
    assert_allclose(there.batch, 4 * np.unique(BATCH))
    assert there.trusted_up_to_batch == 4 * BATCH.max()
    assert there.answers_from_batch == 4.0  # one sample a device
    assert there.answers_up_to_batch == 4 * 4 * BATCH.max()
    assert "here on 4 devices" in there.limit


def test_beyond_twice_the_measured_devices_the_interval_widens_and_it_is_a_guess() -> None:
    near, far = (at_count(noisy(), n, 2) for n in (8, 32))
    assert isinstance(near, CountCurve)
    assert isinstance(far, CountCurve)
    halves = [c.half_saturation_batch for c in (near, far)]
    widths = [float(h.high) / float(h.low) for h in halves]
    assert widths[1] > widths[0]
    assert any(
        r.startswith("Low confidence: 32 devices over several nodes") for r in halves[1].reasons
    )
    best = best_batch(far, steps_law())
    assert isinstance(best, Estimate)
    assert any("Low confidence: 32 devices" in r for r in best.reasons)


def test_half_saturation_on_a_link_that_was_never_measured_is_that_of_the_measured_one() -> None:
    one_node = some(np.asarray(np.arange(BATCH.size) < 9))  # 1, 2 and 4 devices of one node
    crossed, within = at_count(one_node, 8, 2), at_count(one_node, 8, 1)
    assert isinstance(crossed, CountCurve)
    assert isinstance(within, CountCurve)
    halves = [c.half_saturation_batch for c in (crossed, within)]
    assert_allclose(halves[0].value, halves[1].value)
    assert float(halves[0].high) > float(halves[1].high)
    assert halves[0].reasons[0].startswith("The link between nodes was not measured")
    assert step_parts(crossed, 256.0) is None
    refused = crossover(within, crossed)
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith("Nothing was measured on several nodes")


def test_a_launch_mode_has_its_own_overhead_and_an_unknown_one_is_refused() -> None:
    modes = ["driver", "workers"] * (BATCH.size // 2)
    slower = STEP_S + np.where(np.array(modes) == "workers", 0.1, 0.0)
    curve = curve_of(slower, launch=modes)
    driver, workers = (at_count(curve, 2, 1, m) for m in ("driver", "workers"))
    assert isinstance(driver, CountCurve)
    assert isinstance(workers, CountCurve)
    more = workers.half_saturation_batch.value - driver.half_saturation_batch.value
    assert_allclose(more, 2 * V0 * 0.1, rtol=1e-3)
    assert isinstance(at_count(curve, 2, 1, "unknown"), Refusal)


def test_a_link_that_costs_nothing_leaves_the_overhead_of_one_device() -> None:
    free = T + BATCH / V0
    found = at_count(curve_of(free), 4, 1)
    assert isinstance(found, CountCurve)
    assert_allclose(found.half_saturation_batch.value, 4 * V0 * T, rtol=1e-6)


def test_steps_that_do_not_grow_have_no_half_saturation() -> None:
    found = at_count(curve_of(np.full(BATCH.size, 0.1)), 2, 1)
    assert isinstance(found, CountCurve)
    assert np.isinf(found.half_saturation_batch.value)


def test_for_a_search_devices_fill_up_their_nodes() -> None:
    times = Launched(curve=curve_of(), launch=None, devices_per_node=4)
    found = times.step_time_s(np.array([[256.0]]), np.array([[2.0], [4.0], [8.0]]))
    expected = [law(256 / n, n, k) for n, k in ((2, 1), (4, 1), (8, 2))]
    assert_allclose(found.ravel(), expected, rtol=1e-6)


# -- a scaling curve where a curve of one place is asked -----------------------------------------


def launched() -> ScalingCurve:
    modes = ["driver", "workers"] * (BATCH.size // 2)
    slower = STEP_S + np.where(np.array(modes) == "workers", 0.1, 0.0)
    return curve_of(slower, launch=modes)


def value(result: Estimate | Refusal) -> float:
    assert isinstance(result, Estimate)
    return float(result.value)


def test_whatever_takes_a_throughput_curve_takes_a_scaling_curve_at_a_place() -> None:
    steps, curve, there = steps_law(), curve_of(), count(8, 2)
    for ask in (best_batch, minimum_time):
        assert ask(curve, steps, 100.0, devices=8, nodes=2) == ask(there, steps, 100.0)
    for at in (time_to_target, goodput):
        assert at(curve, steps, 64.0, devices=8, nodes=2) == at(there, steps, 64.0)


def test_devices_fill_up_their_nodes_without_a_stated_count() -> None:
    steps = steps_law()
    assert best_batch(curve_of(), steps, devices=8) == best_batch(count(8, 2), steps)
    assert best_batch(curve_of(), steps, devices=4) == best_batch(count(4, 1), steps)


def test_without_a_number_of_devices_it_is_the_most_measured_and_says_so() -> None:
    steps = steps_law()
    result, there = best_batch(curve_of(), steps), best_batch(count(8, 2), steps)
    assert isinstance(result, Estimate)
    assert value(result) == value(there)
    assert result.reasons[0] == (
        "Step time: On 8 devices over 2 nodes, the largest measured count; choose another one "
        "if needed."
    )
    for least in (minimum_time(curve_of(), steps), goodput(curve_of(), steps, 64.0)):
        assert isinstance(least, Estimate)
        assert "On 8 devices over 2 nodes, the largest" in least.reasons[0]


def test_one_of_several_launch_modes_must_be_named_and_the_refusal_lists_them() -> None:
    refused = best_batch(launched(), steps_law(), devices=4)
    assert isinstance(refused, Refusal)
    assert "Measured: driver, workers." in refused.reason
    fast, slow = (best_batch(launched(), steps_law(), devices=4, launch=m)
                  for m in ("driver", "workers"))  # fmt: skip
    assert value(slow) > value(fast)
    assert isinstance(best_batch(launched(), steps_law()), Refusal)


def test_the_best_batch_says_that_its_link_was_never_measured() -> None:
    one_node = some(np.asarray(np.arange(BATCH.size) < 9))
    found = best_batch(one_node, steps_law(), devices=8, nodes=2)
    assert isinstance(found, Estimate)
    assert found.reasons[0].startswith("Step time: The link between nodes was not measured")


@pytest.mark.parametrize("devices", [0, -2, 1.5])
def test_devices_that_cannot_be_are_named(devices: int) -> None:
    with pytest.raises(ValueError, match="Devices are counted 1, 2, 3"):
        best_batch(curve_of(), steps_law(), devices=devices)


def test_nodes_need_devices_and_one_place_needs_none() -> None:
    with pytest.raises(ValueError, match="devices is missing"):
        best_batch(curve_of(), steps_law(), nodes=2)
    with pytest.raises(ValueError, match="do not apply to step times of one device count"):
        at_place(count(4, 1), 8)
    why = Refusal(reason="No.", measure_next="Measure.")
    assert at_place(why, 8, 2) is why


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_no_fit_of_odd_runs_warns_of_arithmetic(seed: int) -> None:
    """Warnings are errors here: few runs, exact ones and absent terms are answered quietly."""
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 25)
    batch, devices = 2.0 ** rng.integers(0, 10, size), 2.0 ** rng.integers(0, 7, size)
    nodes = np.minimum(devices, 2.0 ** rng.integers(0, 4, size))
    step_s = 1e-4 + rng.uniform(0, 0.1) * (seed % 2) + np.where(devices > 1, rng.uniform(0, 0.1), 0)
    step_s = step_s + batch / rng.uniform(10, 1e4) * (rng.random() < 0.7)
    step_s *= np.exp(rng.normal(0, (0.0, 0.05, 0.2)[seed % 3], size))
    curve = fit_scaling(batch, devices, nodes, step_s)
    if isinstance(curve, ScalingCurve):
        shares = curve.terms.questions(curve.runs) * curve.terms.value / curve.step_s[:, None]
        assert not ((shares.max(axis=0) > 0.0) & (shares.max(axis=0) < 1e-12)).any()
        for n, k in ((1, 1), (4, 1), (64, 8)):
            at_count(curve, n, k)
            for ask in (curve.throughput, curve.shares, curve.weak_scaling, curve.strong_scaling):
                ask([64.0, 4096.0], n, k)
