"""Promises of time to target S(B)*T(B) and of the best batch sqrt(Bcrit*v0*t)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.convergence import ConvergenceCurve, fit_convergence
from planner.throughput import ThroughputCurve, fit_throughput, published_curve
from planner.time_to_target import best_batch, minimum_time, time_to_target
from planner.time_to_target.goodput import goodput
from tests.planner.asking import answer, ends, refusal

if TYPE_CHECKING:
    from planner.core import Floats

SWEEP = np.array([8.0, 32, 128, 512, 2048])
NOISE = np.array([0.03, -0.02, 0.01, -0.03, 0.02])
V0, T, SMIN, BCRIT = 258.1, 0.54, 900.0, 700.0


def system(
    v0: float = V0, t: float = T, batch: Floats = SWEEP, level: float = 0.9
) -> ThroughputCurve:
    noise = np.resize(NOISE, batch.size)
    curve = fit_throughput(batch, (t + batch / v0) * (1 + noise), level)
    assert isinstance(curve, ThroughputCurve)
    return curve


def workload(
    bcrit: float = BCRIT, batch: Floats = SWEEP, smin: float = SMIN, level: float = 0.9
) -> ConvergenceCurve:
    noise = -np.resize(NOISE, batch.size)
    curve = fit_convergence(batch, smin * (batch + bcrit) * (1 + noise), level)
    assert isinstance(curve, ConvergenceCurve)
    return curve


# -- the best batch ------------------------------------------------------------------------------


def test_the_best_batch_is_the_geometric_mean_of_both_half_efficient_batches() -> None:
    curve, law = system(), workload()
    half, critical = curve.half_saturation_batch.value, law.critical_batch_size.value
    best = answer(best_batch(curve, law))
    assert_allclose(best.value, np.sqrt(float(half) * float(critical)))
    assert best.basis == "interpolated"
    assert best.reasons == ()


@given(
    v0=st.floats(100, 3000),
    t=st.floats(0.05, 1.0),
    bcrit=st.floats(50, 2000),
    smin=st.floats(1, 1e5),
)
@settings(max_examples=40, deadline=None)
def test_no_other_batch_reaches_the_target_sooner(
    v0: float, t: float, bcrit: float, smin: float
) -> None:
    curve, law = system(v0, t), workload(bcrit, smin=smin)
    best = float(answer(best_batch(curve, law)).value)
    grid = np.geomspace(SWEEP[0], SWEEP[-1], 2001)
    times = np.asarray(answer(time_to_target(curve, law, grid)).value)
    assert float(answer(time_to_target(curve, law, best)).value) <= times.min() * (1 + 1e-12)
    assert_allclose(best, grid[times.argmin()], rtol=0.01)


def test_the_least_time_is_the_closed_form() -> None:
    curve, law = system(), workload()
    t, v0 = float(curve.overhead_s.value), float(curve.asymptotic_throughput.value)
    smin, critical = float(law.min_steps.value), float(law.critical_batch_size.value)
    least = smin * (np.sqrt(t) + np.sqrt(critical / v0)) ** 2
    assert_allclose(answer(minimum_time(curve, law)).value, least)


@given(times=st.sampled_from([0.25, 0.5, 2.0, 4.0]))
def test_twice_or_half_the_best_batch_costs_at_most_an_eighth(times: float) -> None:
    curve, law = system(), workload()
    best = float(answer(best_batch(curve, law)).value)
    least = float(answer(minimum_time(curve, law)).value)
    longer = float(answer(time_to_target(curve, law, times * best)).value) / least
    assert 1.0 < longer <= 1 + (np.sqrt(times) - 1 / np.sqrt(times)) ** 2 / 4


def test_log_half_widths_of_both_batches_add_in_quadrature_and_are_halved() -> None:
    curve, law = system(), workload()
    best = answer(best_batch(curve, law))
    result = (curve.half_saturation_batch, law.critical_batch_size, best)
    widths = [np.log(float(e.high) / float(e.value)) for e in result]
    assert_allclose(widths[2], np.hypot(*widths[:2]) / 2)


def test_the_interval_of_the_best_batch_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, truth, held = np.random.default_rng(11), np.sqrt(BCRIT * V0 * T), 0
    for _ in range(300):
        scatter = np.exp(0.05 * rng.standard_normal((2, SWEEP.size)))
        curve = fit_throughput(SWEEP, (T + SWEEP / V0) * scatter[0])
        law = fit_convergence(SWEEP, SMIN * (SWEEP + BCRIT) * scatter[1])
        result = answer(best_batch(curve, law))
        held += bool(result.low <= truth <= result.high)
    assert 0.87 <= held / 300 <= 0.99


def test_memory_clips_the_best_batch_and_says_what_that_costs() -> None:
    curve, law = system(), workload()
    result = answer(best_batch(curve, law, max_batch=64))
    assert (result.value, result.high) == (64.0, 64.0)
    longer = float(answer(time_to_target(curve, law, 64)).value)
    longer /= float(answer(minimum_time(curve, law)).value)
    assert result.reasons[0] == (
        "The optimum of the two laws is batch 314, but the largest batch allowed is 64: by these "
        f"laws that takes {100 * (longer - 1):.2g} % longer."
    )
    assert best_batch(curve, law, max_batch=1e6) == best_batch(curve, law)


def test_a_memory_below_what_was_measured_is_the_answer_where_both_curves_allow_it() -> None:
    result = answer(best_batch(system(), workload(), max_batch=4))
    assert (result.value, result.low, result.high, result.basis) == (4.0, 4.0, 4.0, "extrapolated")
    near = np.array([64.0, 128])
    refused = refusal(best_batch(system(batch=near), workload(), max_batch=4))
    assert "where the curve of step time answers" in refused.reason


def test_a_search_never_leaves_what_was_measured_for_both() -> None:
    small, large = SWEEP[:3], SWEEP[2:] * 4
    result = answer(best_batch(system(batch=small), workload()))
    assert result.value == 128.0
    assert "but both curves were measured up to 128 only" in result.reasons[0]
    result = answer(best_batch(system(), workload(batch=large)))
    assert result.value == 512.0
    assert "but both curves were measured from 512 on only" in result.reasons[0]
    refused = refusal(best_batch(system(batch=small), workload(batch=large)))
    assert "step times cover 8 to 128, steps to target 512 to 8192" in refused.reason


def test_a_search_stops_where_the_throughput_falls() -> None:
    batch = 2.0 ** np.arange(4, 11)
    step_s = T + batch / V0
    step_s[-1] *= 1.3
    curve = fit_throughput(batch, step_s)
    assert isinstance(curve, ThroughputCurve)
    assert curve.trusted_up_to_batch == 512.0
    assert answer(best_batch(curve, workload(20_000.0))).value == 512.0


def test_a_search_stops_below_a_batch_that_did_not_reach_the_target() -> None:
    samples = SMIN * (SWEEP + BCRIT)
    law = fit_convergence(SWEEP, np.where(SWEEP > 128, np.nan, samples))
    result = answer(best_batch(system(), law))
    assert result.value == 128.0
    assert any("did not reach the target: batch 512, 2,048." in reason for reason in result.reasons)


def test_a_best_batch_beside_one_that_fell_short_says_so_and_that_one_is_none() -> None:
    law = fit_convergence(SWEEP, np.where(SWEEP == 512, np.nan, SMIN * (SWEEP + BCRIT)))
    result = answer(best_batch(system(), law))
    assert 128.0 < float(result.value) < 512.0
    assert any(r.startswith("Batch 512 did not reach the target: an") for r in result.reasons)
    far = fit_convergence(SWEEP, np.where(SWEEP == 512, np.nan, SMIN * (SWEEP + 1e5)))
    refused = refusal(best_batch(system(batch=SWEEP[:4]), far))
    assert refused.reason.startswith("Batch 512 did not reach the target")


def test_time_to_target_and_goodput_know_of_a_batch_that_fell_short() -> None:
    law = fit_convergence(SWEEP, np.where(SWEEP == 512, np.nan, SMIN * (SWEEP + BCRIT)))
    for ask in (time_to_target, goodput):
        assert refusal(ask(system(), law, 512)).reason.startswith("Batch 512 did not reach")
        result = answer(ask(system(), law, 300))
        assert any("Batch 512 did not reach the target: an answer" in r for r in result.reasons)
        assert list(np.isnan(answer(ask(system(), law, [128.0, 512.0])).value)) == [False, True]


def test_without_a_limit_the_best_batch_has_no_end_far_below_what_was_measured() -> None:
    batch = np.array([64.0, 256, 1024, 4096])
    law = fit_convergence(batch, [100_000, 100_100, 99_900, 100_050])
    result = answer(best_batch(system(batch=batch), law))
    assert (result.value, result.high) == (4096.0, 4096.0)
    assert float(result.low) > 1000.0


def test_without_a_limit_the_largest_batch_is_best() -> None:
    endless = fit_convergence(SWEEP, np.full(SWEEP.size, 1e6))
    result = answer(best_batch(system(), endless))
    assert result.value == 2048.0
    assert result.reasons[0] == (
        "Time to target falls as the batch grows; both curves were measured up to 2048 only."
    )
    assert "Steps to target: No limit seen up to B=2,048" in result.reasons[1]


def test_without_an_overhead_the_smallest_batch_is_best() -> None:
    result = answer(best_batch(fit_throughput(SWEEP, SWEEP / V0), workload()))
    assert result.value == 8.0
    assert result.reasons[0].startswith("Time to target falls as the batch shrinks")


def test_curves_that_do_not_turn_have_no_best_batch() -> None:
    endless = fit_convergence(SWEEP, np.full(SWEEP.size, 1e6))
    refused = refusal(best_batch(fit_throughput(SWEEP, SWEEP / V0), endless))
    assert "every batch takes the same time" in refused.reason
    assert "below 8 and at one above 2048" in refused.measure_next


def test_a_published_throughput_has_a_best_batch_without_interval() -> None:
    result = answer(best_batch(published_curve(V0, T), workload(level=0.8)))
    assert_allclose(result.value, np.sqrt(BCRIT * V0 * T), rtol=0.1)
    assert result.basis == "published"
    assert np.isnan(ends(result)[1:]).all()
    assert result.reasons[0].startswith("Step time: Published parameters")


def test_a_curve_that_was_refused_is_the_refusal() -> None:
    refused = refusal(fit_throughput([64, 64], [1.0, 1.1]))
    unreached = refusal(fit_convergence([64], [np.nan]))
    for ask in (best_batch, minimum_time):
        assert ask(refused, workload()) is refused
        assert ask(system(), unreached) is unreached
    for at in (time_to_target, goodput):
        assert at(refused, workload(), 64) is refused
        assert at(system(), unreached, 64) is unreached


@given(seconds=st.sampled_from([1e-3, 60.0]), samples=st.sampled_from([1e-3, 512.0]))
@settings(max_examples=4, deadline=None)
def test_units_of_time_and_samples_change_nothing_but_units(seconds: float, samples: float) -> None:
    step_s, needed = (T + SWEEP / V0) * (1 + NOISE), SMIN * (SWEEP + BCRIT) * (1 - NOISE)
    curve = fit_throughput(SWEEP * samples, step_s / seconds)
    law = fit_convergence(SWEEP * samples, needed * samples)
    assert_allclose(
        ends(answer(best_batch(curve, law))) / samples,
        ends(answer(best_batch(system(), workload()))),
        rtol=1e-9,
    )
    assert_allclose(
        ends(answer(minimum_time(curve, law))) * seconds,
        ends(answer(minimum_time(system(), workload()))),
        rtol=1e-9,
    )


@pytest.mark.parametrize("batch", [0.0, -8.0, np.nan, 0.5])
def test_a_memory_without_room_for_one_sample_is_an_error(batch: float) -> None:
    with pytest.raises(
        ValueError, match=r"whole samples, at least 1\. Give the largest batch that"
    ):
        best_batch(system(), workload(), batch)


@pytest.mark.parametrize("batch", [10**400, "8", [8.0, 16.0], 1j])
def test_a_largest_batch_that_is_no_number_is_an_error(batch: float) -> None:
    with pytest.raises(ValueError, match=r"max_batch (is|holds|cannot).*Give (the|\w+) largest"):
        best_batch(system(), workload(), max_batch=batch)


def test_curves_of_different_levels_are_not_combined() -> None:
    for ask in (best_batch, minimum_time):
        with pytest.raises(
            ValueError, match=r"levels 0.9 and 0.8\. Fit both curves with one level"
        ):
            ask(system(), workload(level=0.8))


# -- time to target and goodput ------------------------------------------------------------------


def test_time_to_target_is_steps_times_step_time_with_widths_in_quadrature() -> None:
    curve, law = system(), workload()
    step, steps = answer(curve.law.step_time(100)), answer(law.steps(100))
    result = answer(time_to_target(curve, law, 100))
    assert_allclose(result.value, float(step.value) * float(steps.value))
    for side in ("low", "high"):
        widths = [np.log(getattr(e, side) / float(e.value)) for e in (step, steps, result)]
        assert_allclose(abs(widths[2]), np.hypot(*widths[:2]))


def test_goodput_is_the_least_number_of_samples_over_the_time_to_target() -> None:
    curve, law = system(), workload()
    useful = answer(goodput(curve, law, [16.0, 300.0, 2000.0]))
    times = answer(time_to_target(curve, law, [16.0, 300.0, 2000.0]))
    assert_allclose(useful.value, float(law.min_samples.value) / np.asarray(times.value))


def test_goodput_is_highest_at_the_best_batch() -> None:
    curve, law = system(), workload()
    grid = np.geomspace(8, 2048, 500)
    highest = grid[np.asarray(answer(goodput(curve, law, grid)).value).argmax()]
    assert_allclose(highest, float(answer(best_batch(curve, law)).value), rtol=0.02)


def test_an_array_of_batches_is_answered_as_its_scalars() -> None:
    curve, law = system(), workload()
    for ask in (time_to_target, goodput):
        many = answer(ask(curve, law, [16.0, 4000.0]))
        for i, batch in enumerate((16.0, 4000.0)):
            one = answer(ask(curve, law, batch))
            assert isinstance(one.value, float)
            assert_allclose(
                [np.asarray(p)[i] for p in (many.value, many.low, many.high)], ends(one)
            )


def test_what_one_curve_refuses_the_product_refuses() -> None:
    refused = refusal(time_to_target(system(), workload(batch=SWEEP[:3]), 600))
    assert "outside 0 to 512" in refused.reason
    result = answer(time_to_target(system(), workload(batch=SWEEP[:3]), [100.0, 600.0]))
    assert list(np.isnan(result.value)) == [False, True]
    assert result.reasons[0].startswith("Steps to target: ")


def test_the_weaker_basis_speaks_for_the_product() -> None:
    assert answer(time_to_target(system(), workload(batch=SWEEP[:3]), 300)).basis == "extrapolated"
    assert answer(time_to_target(system(), workload(), 128)).basis == "measured"
    assert answer(goodput(published_curve(V0, T), workload(), 128)).basis == "published"


def test_without_perfect_scaling_nothing_of_the_throughput_is_useful_yet_some_may_be() -> None:
    law = fit_convergence(SWEEP, SWEEP * SMIN)
    result = answer(goodput(system(), law, 128))
    assert (result.value, result.low) == (0.0, 0.0)
    assert 0.0 < float(result.high) < np.inf
