"""Promises of the step time on several devices."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from planner.core import Estimate, Floats, Refusal, t_quantile
from planner.fits import KAPPA as KAPPA_BATCH
from planner.fits import SD0
from planner.scaling import DOF, FADING, KAPPA, DeviceSpeedUp, ScalingCurve, fit_scaling, growth
from planner.scaling._terms import CROSSED_LOSS, CROSSED_SD, GROWING
from planner.scaling.answers import GROWTH_SD, Shares
from planner.throughput import ThroughputCurve, fit_throughput
from tests.each import each
from tests.planner.asking import answer, refusal

PLACES = ((1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (8, 2))
"""Devices and nodes of the usual sweep."""
BATCH = np.tile([8.0, 32.0, 128.0], len(PLACES))
DEVICES = np.repeat([float(n) for n, _ in PLACES], 3)
NODES = np.repeat([float(k) for _, k in PLACES], 3)
NOISE = np.random.default_rng(7).normal(0.0, 0.03, BATCH.size)
T, V0, A1, A2, C1, C2 = 0.054, 258.1, 0.02, 0.01, 0.06, 0.03


def law(
    b: Floats | float, n: Floats | float, nodes: Floats | float, fading: float = FADING
) -> Floats:
    """The form with the six terms above."""
    n, nodes = np.asarray(n), np.asarray(nodes)
    link = np.where(nodes > 1, C1 + C2 * growth(n, fading), A1 + A2 * growth(n, fading))
    return np.asarray(T + b / V0 + np.where(n > 1, link, 0.0), dtype=np.float64)


STEP_S = law(BATCH, DEVICES, NODES)


def curve_of(
    step_s: Floats = STEP_S,
    batch: Floats = BATCH,
    devices: Floats = DEVICES,
    nodes: Floats = NODES,
    *,
    launch: list[str] | None = None,
    fading: float = FADING,
) -> ScalingCurve:
    curve = fit_scaling(batch, devices, nodes, step_s, launch, fading=fading)
    assert isinstance(curve, ScalingCurve)
    return curve


def some(chosen: NDArray[np.bool_], step_s: Floats = STEP_S) -> ScalingCurve:
    return curve_of(step_s[chosen], BATCH[chosen], DEVICES[chosen], NODES[chosen])


def noisy() -> ScalingCurve:
    return curve_of(STEP_S * (1.0 + NOISE))


def value(result: Estimate | Refusal | None) -> float:
    return float(np.asarray(answer(result).value))


def speed_up(result: DeviceSpeedUp | Refusal) -> DeviceSpeedUp:
    assert isinstance(result, DeviceSpeedUp)
    return result


def shares(result: Shares | Refusal) -> Shares:
    assert isinstance(result, Shares)
    return result


# -- the form ------------------------------------------------------------------------------------


def test_exact_steps_give_back_all_six_terms() -> None:
    curve = curve_of()
    assert_allclose(value(curve.overhead_s), T)
    assert_allclose(value(curve.asymptotic_throughput), V0)
    assert curve.one_node is not None
    assert curve.several_nodes is not None
    assert_allclose([value(curve.one_node.constant_s), value(curve.one_node.growth_s)], [A1, A2])
    parts = curve.several_nodes.constant_s, curve.several_nodes.growth_s
    assert_allclose([value(part) for part in parts], [C1, C2])
    assert (curve.one_node.fewest_devices, curve.one_node.most_devices) == (2, 4)
    assert_allclose(curve.residuals, 0.0, atol=1e-12)
    assert curve.launch_extra_s == ()


def test_growth_is_a_tree_at_one_a_ring_at_a_half_and_fades_between() -> None:
    n = np.array([1.0, 2, 4, 8, 64])
    assert_allclose(growth(n, 1.0), [0, 1, 2, 3, 6])
    assert_allclose(growth(n, 0.5), 2 * (n - 1) / n)
    steps = np.diff(growth(2.0 ** np.arange(6), 0.85))
    assert_allclose(steps[1:] / steps[:-1], 0.85)
    assert_allclose(growth(n, 1.0 - 1e-9), growth(n, 1.0), rtol=1e-6)


def test_the_plain_form_with_log2_is_the_one_without_fading() -> None:
    curve = curve_of(law(BATCH, DEVICES, NODES, 1.0), fading=1.0)
    assert_allclose(value(curve.step_time(64, 32, 4)), T + 64 / V0 + C1 + C2 * 5)


def test_one_device_is_the_throughput_law() -> None:
    alone = DEVICES == 1
    line = fit_throughput(BATCH[alone], STEP_S[alone])
    assert isinstance(line, ThroughputCurve)
    batch = [8.0, 60.0, 300.0]
    ours, theirs = curve_of().step_time(batch, 1, 1), line.step_time(batch)
    assert_allclose(answer(ours).value, answer(theirs).value)


def test_what_was_never_slower_costs_nothing_and_says_so() -> None:
    curve = curve_of(T + BATCH / V0)
    assert curve.one_node is not None
    result = answer(curve.one_node.growth_s)
    assert (result.value, result.low) == (0.0, 0.0)
    assert result.reasons == ("None was seen: held at 0.",)


def test_steps_that_do_not_grow_with_the_batch_have_no_limit() -> None:
    curve = curve_of(np.where(DEVICES > 1, T + A1, T))
    assert curve.terms.value[1] == 0.0  # not a rounding error of one
    result = answer(curve.asymptotic_throughput)
    assert result.value == np.inf
    assert "unknown" in result.reasons[0]


@given(fading=st.floats(0.5, 1.0), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_no_term_is_negative_and_no_answer_is_not_positive(fading: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    terms = np.exp(rng.normal(-3, 2, 6)) * (rng.random(6) < 0.7)
    step_s = law(BATCH, DEVICES, NODES) * np.exp(rng.normal(0, 0.2, BATCH.size)) + terms[0]
    step_s += terms[1] * (DEVICES > 1) + terms[2] * (NODES > 1) + terms[3] * BATCH
    curve = curve_of(step_s, fading=fading)
    assert (curve.terms.value >= 0.0).all()
    result = answer(curve.step_time(BATCH, DEVICES * 4, NODES * 4))
    low, high = np.asarray(result.low), np.asarray(result.high)
    answered = np.isfinite(low)
    assert answered.all() or curve.rough
    assert (low[answered] > 0.0).all()
    assert (low[answered] < high[answered]).all()


# -- invariances ---------------------------------------------------------------------------------


@given(order=st.permutations(range(BATCH.size)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_runs_does_not_matter(order: list[int]) -> None:
    step_s = STEP_S * (1.0 + NOISE)
    shuffled = curve_of(step_s[order], BATCH[order], DEVICES[order], NODES[order])
    assert_allclose(shuffled.terms.value, noisy().terms.value, rtol=1e-9)
    assert_allclose(shuffled.step_s, noisy().step_s)


@given(seconds=st.sampled_from([1e-3, 1.0, 60.0]), samples=st.sampled_from([1e-3, 1.0, 7.0]))
@settings(max_examples=9, deadline=None)
def test_units_of_time_and_batch_change_nothing_but_units(seconds: float, samples: float) -> None:
    step_s = STEP_S * (1.0 + NOISE)
    plain, scaled = noisy(), curve_of(step_s / seconds, BATCH * samples)
    one, other = plain.step_time(64, 16, 2), scaled.step_time(64 * samples, 16, 2)
    for part in ("value", "low", "high"):
        assert_allclose(getattr(other, part) * seconds, getattr(one, part), rtol=1e-9)


def test_every_run_twice_changes_no_term() -> None:
    step_s = STEP_S * (1.0 + NOISE)
    twice = curve_of(np.tile(step_s, 2), np.tile(BATCH, 2), np.tile(DEVICES, 2), np.tile(NODES, 2))
    assert_allclose(twice.terms.value, noisy().terms.value, rtol=1e-9)


# -- intervals and reasons -----------------------------------------------------------------------


def test_the_interval_widens_with_devices_and_batches_outside_what_was_measured() -> None:
    curve = curve_of()

    def q(b: float, n: float, nodes: float) -> float:
        result = answer(curve.step_time(b, n, nodes))
        assert_allclose(float(result.high) / value(result), value(result) / float(result.low))
        return float(np.log(float(result.high) / value(result)) / t_quantile(0.9, DOF))

    assert_allclose(q(64, 4, 1), SD0)
    assert_allclose(q(64, 16, 2), np.hypot(SD0, KAPPA))
    assert_allclose(q(64, 16, 1), np.hypot(SD0, 2 * KAPPA))
    assert_allclose(q(256, 32, 2), np.sqrt(SD0**2 + (2 * KAPPA) ** 2 + KAPPA_BATCH**2))
    assert_allclose(q(4, 8, 2), np.hypot(SD0, KAPPA_BATCH))


def test_the_scatter_of_the_runs_is_believed_above_the_least() -> None:
    loose = curve_of(STEP_S * (1.0 + 3 * NOISE))
    assert SD0 < loose.scatter < 0.2
    one, other = answer(loose.step_time(64, 4, 1)), answer(curve_of().step_time(64, 4, 1))
    assert float(one.high) / value(one) > float(other.high) / value(other)


def test_the_interval_has_the_growth_of_a_link_that_was_timed_with_one_count() -> None:
    """Gradients of VGG-16 over PCI Express: 2 devices add 43 %, 8 add 430 % (RTX 3090)."""
    sizes, counts = np.array([64.0, 128.0, 64.0, 128.0]), np.array([1.0, 1.0, 2.0, 2.0])
    slow = answer(fitted(sizes, counts, link_s=0.06).step_time(64, [2, 8], 1))
    fast = answer(fitted(sizes, counts, link_s=0.0).step_time(64, [2, 8], 1))
    wide, narrow = (np.log(a.high / a.value) / t_quantile(a.level, DOF) for a in (slow, fast))
    assert_allclose(wide[0], narrow[0])
    share = 0.06 * (1.0 + growth(8, FADING)) / 2.0 / slow.arrays[0][1]
    two_doublings = np.sqrt(2.0) * GROWTH_SD
    assert_allclose(wide[1], np.hypot(narrow[1], two_doublings * share), rtol=1e-6)


def test_the_interval_holds_a_link_that_costs_eight_times_as_much_after_two_doublings() -> None:
    """RTX 3090 cards on PCI Express: 8 spend 6 to 12 times the time of 2 on the gradients."""
    sizes, counts = np.array([64.0, 128.0, 64.0, 128.0]), np.array([1.0, 1.0, 2.0, 2.0])
    at_8 = answer(fitted(sizes, counts, link_s=0.06).step_time(64, 8, 1))
    assert float(at_8.high) > 0.01 + 0.002 * 64 + 8 * 0.06


def fitted(batch: Floats, devices: Floats, link_s: float) -> ScalingCurve:
    step_s = 0.01 + 0.002 * batch + np.where(devices > 1, link_s, 0.0)
    curve = fit_scaling(batch, devices, np.ones(batch.size), step_s)
    assert isinstance(curve, ScalingCurve)
    return curve


def test_every_answer_says_how_it_is_known() -> None:
    curve = curve_of()
    asked = ((32, 4, 1), (50, 4, 1), (32, 3, 1), (32, 8, 1), (500, 4, 1))
    bases = [answer(curve.step_time(*place)).basis for place in asked]
    assert bases == ["measured", "interpolated", "interpolated", "extrapolated", "extrapolated"]
    assert answer(curve.step_time([32, 50], 4, 1)).basis == "interpolated"


def test_beyond_twice_the_measured_devices_it_is_a_guess() -> None:
    curve = curve_of()
    near, far = answer(curve.step_time(32, 16, 2)), answer(curve.step_time(32, 17, 3))
    assert near.reasons == ("Above the measured range: at most 8 devices over several nodes.",)
    assert far.reasons[0].startswith(
        "Low confidence: 17 devices over several nodes are more than twice"
    )
    assert "Measure one run at that count." in far.reasons[0]
    assert far.basis == "extrapolated"
    one = answer(curve.step_time(32, 9, 1)).reasons[0]
    assert one.startswith(
        "Low confidence: 9 devices in one node are more than twice the 4 measured"
    )


def test_fewer_devices_and_other_batches_than_measured_are_reported_too() -> None:
    result = answer(some(DEVICES != 2).step_time([4.0, 200.0], 2, 2)).reasons
    assert result == (
        "Below the measured range: at least 4 devices over several nodes.",
        "Above the measured range: the largest batch per device was 128.",
        "Below the measured range: the smallest batch per device was 8.",
    )


def test_runs_that_scatter_around_the_form_are_warned_of() -> None:
    result = answer(scattered(0.15).step_time(32, 4, 1))
    assert "another factor changes" in result.reasons[0]


def scattered(by: float) -> ScalingCurve:
    return curve_of(STEP_S * np.where(np.arange(BATCH.size) % 2, 1.0 + by, 1.0 - by))


def test_an_answer_of_a_badly_scattering_fit_is_never_called_measured() -> None:
    assert answer(scattered(0.02).step_time(32, 4, 1)).basis == "measured"
    assert answer(scattered(0.15).step_time(32, 4, 1)).basis == "interpolated"


WILD: Final = STEP_S * np.where(np.arange(BATCH.size) % 2, 1.6, 0.4)
"""Steps that no form describes."""


def test_runs_that_scatter_beyond_any_public_workload_have_no_terms_and_the_law_answers() -> None:
    curve = curve_of(WILD)
    missing = refusal(curve.overhead_s)
    assert re.match(r"The runs scatter \d\d % around this form; 15 public", missing.reason)
    assert "again in a fresh process; it fits worst" in missing.measure_next
    assert curve.asymptotic_throughput == missing
    assert refusal(curve.shares(32, 4, 1)) == missing
    assert np.isnan(curve.step_time_s(128.0, 4)).all()
    found = answer(curve.step_time(32, 16, 2))
    assert found.basis == "similar workload"
    assert "another factor changes" in found.reasons[0]
    assert np.log(float(found.high) / float(found.low)) > 2 * t_quantile(0.9, DOF) * curve.scatter
    assert not curve_of(STEP_S * (1 + 3 * NOISE)).has_no_form


def test_runs_that_scatter_under_several_launch_modes_have_no_curve() -> None:
    modes = ["a", "b"] * (BATCH.size // 2)
    wild = STEP_S * np.where(np.arange(BATCH.size) % 4 < 2, 1.6, 0.4)
    assert "around this form" in refusal(fit_scaling(BATCH, DEVICES, NODES, wild, modes)).reason


def test_the_run_that_fits_worst_is_the_one_to_measure_again() -> None:
    curve = curve_of(np.where(np.arange(BATCH.size) == 16, 0.05, STEP_S))
    missing = refusal(curve.overhead_s)
    assert "Measure batch 32 per device on 8 devices over 2 nodes again" in missing.measure_next


def test_as_many_terms_as_runs_leave_nothing_to_check() -> None:
    curve = curve_of(np.array([0.1, 0.2, 0.15]), np.array([8.0, 32, 8]), np.array([1.0, 1, 2]),
                     np.ones(3))  # fmt: skip
    assert np.isnan(curve.scatter)
    assert "nothing checks this fit" in answer(curve.step_time(8, 2, 1)).reasons[0]


def test_a_vector_is_answered_as_its_scalars() -> None:
    curve = noisy()
    b, n, nodes = np.array([8.0, 50, 300]), np.array([1.0, 4, 20]), np.array([1.0, 1, 3])
    for ask in (curve.step_time, curve.throughput):
        many = answer(ask(b, n, nodes))
        for i in range(3):
            one = answer(ask(b[i], n[i], nodes[i]))
            assert isinstance(one.value, float)
            for part in ("value", "low", "high"):
                assert_allclose(getattr(many, part)[i], getattr(one, part))


def test_throughput_is_all_samples_over_the_step_time() -> None:
    curve = noisy()
    step, speed = answer(curve.step_time(32, 8, 2)), answer(curve.throughput(32, 8, 2))
    assert_allclose(value(speed), 256 / value(step))
    assert_allclose(
        [float(speed.low), float(speed.high)], [256 / float(step.high), 256 / float(step.low)]
    )


def test_a_higher_level_is_a_wider_interval() -> None:
    wide = fit_scaling(BATCH, DEVICES, NODES, STEP_S, level=0.99)
    assert isinstance(wide, ScalingCurve)
    one, other = answer(wide.step_time(32, 4, 1)), answer(curve_of().step_time(32, 4, 1))
    assert one.level == 0.99
    assert float(one.high) > float(other.high)


def test_the_terms_have_intervals_that_hold_them() -> None:
    curve = noisy()
    assert curve.several_nodes is not None
    for result, true in (
        (curve.overhead_s, T),
        (curve.asymptotic_throughput, V0),
        (curve.several_nodes.constant_s, C1),
        (curve.several_nodes.growth_s, C2),
    ):
        part = answer(result)
        assert 0.0 <= float(part.low) < true < float(part.high)


# -- what is refused -----------------------------------------------------------------------------


def test_one_device_count_shows_no_scaling() -> None:
    result = refusal(fit_scaling([8, 32], [4, 4], [1, 1], [0.1, 0.2]))
    assert result.reason.startswith("Every run had 4 devices")
    assert result.measure_next.endswith("8 devices and a single one.")
    alone = refusal(fit_scaling([8, 32], [1, 1], [1, 1], [0.1, 0.2]))
    assert "1 device," in alone.reason
    assert alone.measure_next.endswith("on 2 devices.")


def test_a_link_that_was_never_crossed_is_assumed_to_cost_what_the_measured_one_does() -> None:
    curve = some(NODES == 1)
    crossed, within = (answer(curve.step_time(32, 8, nodes)) for nodes in (2, 1))
    assert_allclose(crossed.value, float(within.value) * np.exp(CROSSED_LOSS), rtol=1e-6)
    assert crossed.basis == "similar workload"
    assert crossed.reasons[0].startswith("The link between nodes was not measured")
    assert crossed.reasons[1].startswith("Measure two nodes")
    halves = [np.log(float(e.high) / float(e.value)) / t_quantile(0.9, DOF)
              for e in (crossed, within)]  # fmt: skip
    assert_allclose(halves[0], np.hypot(halves[1], CROSSED_SD))
    assert curve.several_nodes is None
    assert "Nothing was measured on several nodes" in refusal(curve.shares(32, 8, 2)).reason
    other = some((NODES == 2) | (DEVICES == 1))
    inside = answer(other.step_time(32, 4, 1))
    assert_allclose(inside.value, value(other.step_time(32, 4, 2)))
    assert inside.reasons[0].startswith("The link in a node was not measured")
    alone = refusal(some(DEVICES > 1).step_time(32, 1, 1))
    assert (alone.measure_next, "one device" in alone.reason) == ("Measure a single device.", True)


def test_in_an_array_a_refused_place_is_nan_and_a_reason_says_why() -> None:
    result = answer(some(DEVICES > 1).step_time([32, 32, 5000], [2, 1, 2], [1, 1, 1]))
    assert np.isnan(np.asarray(result.value)).tolist() == [False, True, True]
    assert np.isnan(np.asarray(result.high)).tolist() == [False, True, True]
    assert all(reason.startswith("Not available everywhere: ") for reason in result.reasons)
    assert any("Nothing was measured on one device" in reason for reason in result.reasons)
    assert result.basis == "measured"


def test_batches_are_refused_as_the_throughput_law_refuses_them() -> None:
    result = refusal(curve_of().step_time(513, 4, 1))
    assert "Batch 513 per device is outside 0 to 512" in result.reason
    assert answer(curve_of().step_time(512, 4, 1)).basis == "extrapolated"
    close = (BATCH < 100) & (BATCH > 0)
    narrow = curve_of(STEP_S[close], np.where(BATCH == 8, 20.0, BATCH)[close], DEVICES[close],
                      NODES[close])  # fmt: skip
    assert (narrow.answers_from_batch, narrow.answers_up_to_batch) == (10.0, 64.0)
    assert "twice away" in refusal(narrow.step_time(70, 4, 1)).reason


def test_one_batch_size_scales_weakly_and_not_otherwise() -> None:
    curve = some(BATCH == 32)
    assert_allclose(value(curve.step_time(32, 16, 2)), law(32.0, 16.0, 2.0))
    assert_allclose(value(speed_up(curve.weak_scaling(32, 4, 1)).efficiency),
                    law(32.0, 1.0, 1.0) / law(32.0, 4.0, 1.0))  # fmt: skip
    assert answer(curve.step_time(33, 4, 1)).basis == "similar workload"
    assert speed_up(curve.strong_scaling(32, 4, 1)).speed_up.basis == "similar workload"
    assert "one size shows no curve" in curve.limit
    assert "cannot separate this term" in refusal(curve.overhead_s).reason
    assert "second batch size" in refusal(curve.asymptotic_throughput).measure_next


def test_batch_and_devices_that_changed_together_determine_little() -> None:
    """Strong scaling of one global batch: three runs cannot tell batch, link and growth apart."""
    curve = curve_of(np.array([0.5, 0.3, 0.2]), np.array([64.0, 32, 16]), np.array([1.0, 2, 4]),
                     np.ones(3))  # fmt: skip
    assert_allclose(value(curve.step_time(32, 2, 1)), 0.3)
    assert answer(curve.step_time(8, 8, 1)).basis == "similar workload"
    assert "changed together" in refusal(curve.shares(8, 8, 1)).reason
    assert_allclose(curve.step_time_s([64.0, 64.0], [2, 8], 8), [0.3, np.nan])


def test_one_device_count_on_a_link_is_taken_to_grow_by_half() -> None:
    curve = some((NODES == 1) | (DEVICES == 4))
    cost = law(0.0, 4.0, 2.0) - T
    assert curve.several_nodes is not None
    constant = answer(curve.several_nodes.constant_s)
    assert_allclose(value(constant), (1 - GROWING) * cost)
    assert "assumed to grow" in constant.reasons[-1]
    result = answer(curve.step_time(32, 8, 2))
    grown = cost * (1 - GROWING + GROWING * growth(8, FADING) / growth(4, FADING))
    assert_allclose(result.value, T + 32 / V0 + grown)
    assert "the growth of that cost" in result.reasons[-1]
    assert_allclose(value(curve.step_time(32, 4, 2)), law(32.0, 4.0, 2.0))


# -- launch modes --------------------------------------------------------------------------------

LAUNCH = ["driver"] * BATCH.size + ["workers"] * BATCH.size


def launched(names: list[str] = LAUNCH) -> ScalingCurve:
    step_s = np.concatenate([STEP_S, STEP_S + 0.04])
    batch, devices, nodes = (np.tile(part, 2) for part in (BATCH, DEVICES, NODES))
    return curve_of(step_s, batch, devices, nodes, launch=names)


def test_a_slower_launch_mode_costs_a_constant_beyond_the_fastest() -> None:
    curve = launched()
    assert_allclose(value(curve.overhead_s), T)
    extra = dict(curve.launch_extra_s)
    assert_allclose([value(extra[mode]) for mode in ("driver", "workers")], [0.0, 0.04], atol=1e-12)
    steps = [value(curve.step_time(32, 4, 1, mode)) for mode in ("driver", "workers")]
    assert_allclose(np.diff(steps), 0.04)
    assert {curve.modes[i] for i in curve.runs.mode} == {"driver", "workers"}


def test_the_names_of_launch_modes_do_not_matter() -> None:
    curve = launched([{"driver": "z", "workers": "a"}[mode] for mode in LAUNCH])
    there = launched().step_time(32, 4, 1, "workers")
    assert_allclose(value(curve.step_time(32, 4, 1, "a")), value(there))
    assert_allclose(value(curve.overhead_s), T)


def test_an_unseen_or_unnamed_launch_mode_is_refused() -> None:
    result = refusal(launched().step_time(32, 4, 1, "mpirun"))
    assert "Launch mpirun was not measured" in result.reason
    assert "driver, workers" in result.reason
    assert "one run with mpirun" in result.measure_next
    assert "No launch mode was named" in refusal(launched().weak_scaling(32, 4, 1)).reason
    assert "(without a name)" in refusal(curve_of().shares(32, 4, 1, "driver")).reason
    with pytest.raises(ValueError, match=r"Launch mpirun was not measured.*one run with mpirun"):
        launched().step_time_s(64, 4, launch="mpirun")


def test_one_named_mode_need_not_be_named_again() -> None:
    curve = curve_of(launch=["driver"] * BATCH.size)
    assert_allclose(value(curve.step_time(32, 4, 1)), value(curve.step_time(32, 4, 1, "driver")))
    assert dict(curve.launch_extra_s).keys() == {"driver"}


def test_a_launch_mode_that_came_with_its_own_link_cannot_be_reported_from_it() -> None:
    several = NODES > 1
    curve = curve_of(launch=["workers" if one else "driver" for one in several])
    assert_allclose(value(curve.step_time(32, 8, 2, "workers")), law(32.0, 8.0, 2.0))
    assert "changed together" in refusal(curve.step_time(32, 8, 2, "driver")).reason
    assert "changed together" in refusal(dict(curve.launch_extra_s)["workers"]).reason
    assert "single device" in refusal(curve.shares(32, 8, 2, "workers")).measure_next


# -- shares and speed-ups ------------------------------------------------------------------------


def test_shares_of_a_step_sum_to_one_and_are_its_parts() -> None:
    result = shares(curve_of().shares(32, 8, 2))
    step = law(32.0, 8.0, 2.0)
    parts = [T + 32 / V0, C1, C2 * growth(8, FADING)]
    found = [value(part) for part in (result.compute, result.link, result.growth)]
    assert_allclose(found, np.array(parts) / step)
    assert_allclose(sum(found), 1.0)
    assert result.compute.basis == "measured"


def test_one_device_computes_only_and_is_sure_of_it() -> None:
    result = shares(noisy().shares(32, 1, 1))
    assert (result.compute.value, result.link.value, result.growth.value) == (1.0, 0.0, 0.0)
    assert result.compute.low == pytest.approx(1.0)
    assert result.link.high == pytest.approx(0.0)


def test_shares_stay_shares_and_arrays_are_answered_as_scalars() -> None:
    n = np.array([1.0, 2, 4, 8, 64])
    many = shares(noisy().shares(32, n, np.where(n > 2, 2, 1)))
    total = sum(np.asarray(part.value) for part in (many.compute, many.link, many.growth))
    assert_allclose(total, 1.0)
    for part in (many.compute, many.link, many.growth):
        assert (np.asarray(part.low) >= 0.0).all()
        assert (np.asarray(part.high) <= 1.0).all()
    assert_allclose(np.asarray(many.link.value)[3], value(shares(noisy().shares(32, 8, 2)).link))


def test_without_a_single_device_the_link_is_not_reported_from_the_overhead() -> None:
    curve = some(DEVICES > 1)
    assert_allclose(value(curve.step_time(32, 4, 1)), law(32.0, 4.0, 1.0))
    result = refusal(curve.shares(32, 4, 1))
    assert result.measure_next == "Measure a single device."
    many = shares(curve.shares([32, 32], 4, 1))
    assert np.isnan(np.asarray(many.link.value)).all()


def test_weak_scaling_keeps_the_batch_per_device() -> None:
    result = speed_up(curve_of().weak_scaling(32, 8, 2))
    gain = 8 * law(32.0, 1.0, 1.0) / law(32.0, 8.0, 2.0)
    assert result.kind == "weak"
    assert_allclose(value(result.speed_up), gain)
    assert_allclose(value(result.efficiency), gain / 8)


def test_strong_scaling_keeps_the_global_batch() -> None:
    result = speed_up(curve_of().strong_scaling(256, 8, 2))
    gain = law(256.0, 1.0, 1.0) / law(32.0, 8.0, 2.0)
    assert result.kind == "strong"
    assert_allclose(value(result.speed_up), gain)
    assert_allclose(value(result.efficiency), gain / 8)
    assert result.speed_up.basis == "extrapolated"
    assert "largest batch per device was 128" in result.speed_up.reasons[0]


def test_strong_scaling_is_a_ratio_of_throughputs_too() -> None:
    curve = noisy()
    result = speed_up(curve.strong_scaling([64.0, 256.0], [4, 8], [1, 2]))
    one, many = (
        curve.throughput([64.0, 256.0], 1, 1),
        curve.throughput([16.0, 32.0], [4, 8], [1, 2]),
    )
    ratio = np.asarray(answer(many).value) / np.asarray(answer(one).value)
    assert_allclose(result.speed_up.value, ratio)


def test_one_device_is_exactly_as_fast_as_itself() -> None:
    for result in (noisy().weak_scaling(32, 1, 1), noisy().strong_scaling(32, 1, 1)):
        gain = speed_up(result).speed_up
        assert (gain.value, gain.low, gain.high) == (1.0, 1.0, 1.0)


def test_a_speed_up_is_as_unsure_as_two_measurements() -> None:
    result = speed_up(curve_of().weak_scaling(32, 4, 1)).speed_up
    q = float(np.log(float(result.high) / value(result)))
    assert_allclose(q, t_quantile(0.9, DOF) * SD0 * np.sqrt(2))


def test_a_speed_up_without_a_single_device_is_refused() -> None:
    assert "one device" in refusal(some(DEVICES > 1).weak_scaling(32, 4, 1)).reason
    whole = refusal(curve_of().strong_scaling(1024, 8, 2))
    assert "Batch 1,024 per device is outside" in whole.reason


# -- the grid ------------------------------------------------------------------------------------


def test_a_grid_of_global_batches_is_answered_as_step_times() -> None:
    curve = noisy()
    batch, devices = np.array([[64.0], [256.0]]), np.array([1.0, 2, 4, 8, 16])
    seconds = curve.step_time_s(batch, devices)
    assert curve.devices_per_node == 4
    for (i, j), found in np.ndenumerate(seconds):
        n, b = devices[j], batch[i, 0] / devices[j]
        assert_allclose(found, value(curve.step_time(b, n, np.ceil(n / 4))))


def test_a_grid_is_nan_where_there_is_no_answer() -> None:
    curve = some(NODES == 1)
    seconds = curve.step_time_s([[64.0], [4096.0]], [1, 4, 8])
    assert np.isnan(seconds).tolist() == [[False, False, False], [True, True, False]]
    assert_allclose(seconds[:, 2], np.asarray(answer(curve.step_time([8, 512], 8, 2)).value))
    assert_allclose(curve.step_time_s(64.0, 8, devices_per_node=8),
                    value(curve.step_time(8, 8, 1)))  # fmt: skip


def test_a_node_has_at_least_one_device() -> None:
    with pytest.raises(ValueError, match="devices_per_node is 0"):
        curve_of().step_time_s(64.0, 2, devices_per_node=0)


# -- errors --------------------------------------------------------------------------------------


@each(
    ("columns", "result"),
    [
        (([8], [1, 2], [1], [0.1]), "per_device_batch_size, devices, nodes and step_s have shapes"),
        (([], [], [], []), "at least 1"),
        (([8, -1], [1, 2], [1, 1], [0.1, 0.2]), "per_device_batch_size: value 2 of 2 is -1"),
        (([8, 8], [1, 2.5], [1, 1], [0.1, 0.2]), "devices: value 2 of 2 is 2.5"),
        (([8, 8], [1, 2], [1, 3], [0.1, 0.2]), "nodes: value 2 of 2 is 3"),
        (([8, 8], [0, 2], [0, 1], [0.1, np.nan]), "step_s: value 2 of 2 is nan"),
        (([1e90, 8], [1, 2], [1, 1], [1e-90, 1]), "per_device_batch_size/step_s: value 1 of 2"),
    ],
)
def test_bad_runs_are_named(
    columns: tuple[list[float], list[float], list[float], list[float]], result: str
) -> None:
    with pytest.raises(ValueError, match=result):
        fit_scaling(*columns)


def test_all_that_is_wrong_is_reported_at_once() -> None:
    with pytest.raises(ValueError, match="devices: value 1") as raised:
        fit_scaling([8, 8], [0, 2], [1, 5], [0.1, -1.0], ["a", ""])
    result = str(raised.value).splitlines()
    assert [line.split(":")[0] for line in result] == ["devices", "nodes", "step_s", "launch"]
    assert "value 2 of 2 is empty" in result[-1]


def test_launch_needs_one_name_per_run() -> None:
    with pytest.raises(ValueError, match="launch have shapes"):
        fit_scaling([8, 8], [1, 2], [1, 1], [0.1, 0.2], ["a"])


@pytest.mark.parametrize("fading", [0.0, 1.1, np.nan])
def test_fading_is_a_share(fading: float) -> None:
    with pytest.raises(ValueError, match="fading is"):
        fit_scaling(BATCH, DEVICES, NODES, STEP_S, fading=fading)


def test_a_question_must_be_possible_too() -> None:
    with pytest.raises(ValueError, match="nodes: value 1 of 1 is 3"):
        curve_of().step_time(32, 2, 3)
    with pytest.raises(ValueError, match="devices: value 1 of 1 is 0"):
        curve_of().strong_scaling(32, 0, 1)
    with pytest.raises(ValueError, match="not 90"):
        fit_scaling(BATCH, DEVICES, NODES, STEP_S, level=90)
