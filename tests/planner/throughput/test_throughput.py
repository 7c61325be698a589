"""Promises of the throughput law v(b) = b/(b/v0 + t)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.core import Estimate, Refusal
from planner.fits import WIDER
from planner.throughput import (
    ThroughputCurve,
    fit_in_throughput_space,
    fit_throughput,
    published_curve,
)
from tests.each import each
from tests.planner.asking import answer, ends, refusal

if TYPE_CHECKING:
    from planner.core import Floats

SWEEP = np.array([8.0, 16, 32, 64, 128, 256])
NOISE = np.array([0.03, -0.02, 0.01, -0.03, 0.02, -0.01])


def law(batch: Floats, v0: float = 258.1, t: float = 0.054) -> Floats:
    return t + batch / v0


def curve_of(batch: object, step_s: object) -> ThroughputCurve:
    curve = fit_throughput(np.asarray(batch, float), np.asarray(step_s, float))
    assert isinstance(curve, ThroughputCurve)
    return curve


def noisy(v0: float = 258.1, t: float = 0.054) -> ThroughputCurve:
    return curve_of(SWEEP, law(SWEEP, v0, t) * (1 + NOISE))


def test_exact_steps_give_back_v0_and_t() -> None:
    curve = curve_of(SWEEP, law(SWEEP))
    assert_allclose(curve.asymptotic_throughput.value, 258.1)
    assert_allclose(curve.overhead_s.value, 0.054)
    assert_allclose(curve.residuals, 0.0, atol=1e-12)


def test_half_of_v0_is_reached_at_batch_v0_t() -> None:
    curve = noisy()
    v0, half = curve.asymptotic_throughput.value, curve.half_saturation_batch.value
    assert_allclose(answer(curve.law.throughput(half)).value, v0 / 2)
    assert_allclose(curve.batch_for(0.5).value, half)


def test_nine_tenths_of_v0_are_reached_at_nine_v0_t() -> None:
    curve = noisy()
    b90 = curve.batch_for(0.9)
    assert_allclose(b90.value, 9 * curve.half_saturation_batch.value)
    v90 = answer(curve.law.throughput(b90.value)).value
    assert_allclose(v90, 0.9 * np.asarray(curve.asymptotic_throughput.value))


def test_small_batches_pay_the_overhead_only() -> None:
    curve = published_curve(258.1, 0.054)
    assert_allclose(answer(curve.throughput(1e-6)).value, 1e-6 / 0.054, rtol=1e-6)


def test_huge_batches_approach_v0() -> None:
    assert_allclose(answer(published_curve(258.1, 0.054).throughput(1e9)).value, 258.1, rtol=1e-6)


def test_the_article_on_one_and_two_gpus_is_reproduced() -> None:
    one, two = published_curve(258.1, 0.054), published_curve(513.8, 0.15)
    assert [round(float(c.batch_for(0.9).value)) for c in (one, two)] == [125, 694]
    assert round(513.8 / 258.1, 2) == 1.99
    assert round(0.15 / 0.054, 1) == 2.8


def test_a_vector_is_answered_as_its_scalars() -> None:
    curve = noisy()
    many = answer(curve.throughput([4.0, 64.0, 100.0, 600.0]))
    for i, batch in enumerate([4.0, 64.0, 100.0, 600.0]):
        single = answer(curve.throughput(batch))
        for part in ("value", "low", "high"):
            assert_allclose(getattr(many, part)[i], getattr(single, part))


def test_throughput_is_batch_over_step_time_with_the_interval_turned_round() -> None:
    curve = noisy()
    step, speed = answer(curve.step_time(100)), answer(curve.throughput(100))
    assert_allclose(ends(speed), 100 / ends(step)[[0, 2, 1]])


def test_the_interval_of_v0_is_the_inverse_of_the_slopes() -> None:
    v0 = noisy().asymptotic_throughput
    value, high, low = 1 / ends(v0)
    assert_allclose(value - low, high - value)


def test_predictive_bands_are_wider_than_what_the_parameters_leave_open() -> None:
    curve = noisy()
    band, v0 = answer(curve.throughput(256)), curve.asymptotic_throughput
    assert np.log(band.high / band.low) > np.log(v0.high / v0.low)


def test_repeats_of_one_batch_are_welcome() -> None:
    twice = curve_of(np.tile(SWEEP, 2), np.concatenate([law(SWEEP) * 1.02, law(SWEEP) * 0.98]))
    assert twice.n == 12
    assert list(twice.batch[:3]) == [8.0, 8.0, 16.0]
    assert_allclose(twice.asymptotic_throughput.value, 258.1, rtol=0.01)


@given(seconds=st.sampled_from([1e-3, 1.0, 60.0]), samples=st.sampled_from([1e-3, 1.0, 7.0]))
@settings(max_examples=9, deadline=None)
def test_units_of_time_and_batch_change_nothing_but_units(seconds: float, samples: float) -> None:
    steps = law(SWEEP) * (1 + NOISE)
    plain, scaled = curve_of(SWEEP, steps), curve_of(SWEEP * samples, steps / seconds)
    for part in ("value", "low", "high"):
        assert_allclose(
            getattr(scaled.asymptotic_throughput, part) / samples / seconds,
            getattr(plain.asymptotic_throughput, part),
            rtol=1e-10,
        )
        assert_allclose(
            getattr(scaled.overhead_s, part) * seconds, getattr(plain.overhead_s, part), rtol=1e-10
        )


@given(order=st.permutations(range(6)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_measurements_does_not_matter(order: list[int]) -> None:
    steps = law(SWEEP) * (1 + NOISE)
    shuffled = curve_of(SWEEP[order], steps[order])
    assert_allclose(
        shuffled.asymptotic_throughput.value, noisy().asymptotic_throughput.value, rtol=1e-10
    )
    assert list(shuffled.batch) == list(SWEEP)


def test_every_batch_says_how_it_is_known() -> None:
    curve = noisy()
    assert [curve.basis(b) for b in (64, 100, 300)] == ["measured", "interpolated", "extrapolated"]
    assert answer(curve.throughput([64, 100])).basis == "interpolated"
    assert answer(curve.step_time([64, 300])).basis == "extrapolated"


def test_one_batch_size_is_no_curve() -> None:
    refused = refusal(fit_throughput([64, 64], [1.0, 1.1]))
    assert "32 to 137 %" in refused.reason
    assert "at most 16 or at least 256" in refused.measure_next


def test_two_close_batches_carry_to_twice_away_and_no_farther() -> None:
    curve = curve_of([64, 128], [1.0, 1.5])
    assert answer(curve.throughput(256)).basis == "extrapolated"
    for batch in (257, 31):
        refused = refusal(curve.throughput(batch))
        assert "22 to 80 %" in refused.reason
        assert f"Measure batch {batch}" in refused.measure_next


def test_two_distant_batches_carry_to_four_times_the_largest() -> None:
    curve = curve_of([16, 256], law(np.array([16.0, 256])))
    assert answer(curve.throughput(1024)).basis == "extrapolated"
    assert any("Measure a third" in output for output in curve.warnings)


def test_beyond_twice_the_largest_batch_the_answer_is_wide_and_says_so() -> None:
    far = answer(noisy().throughput(513))
    assert far.basis == "extrapolated"
    assert "more than twice the largest measured one (256)" in far.reasons[0]
    near = answer(noisy().throughput(256))
    assert far.high / far.low > near.high / near.low


def test_beyond_four_times_the_largest_batch_there_is_no_answer() -> None:
    assert isinstance(noisy().throughput(1024), Estimate)
    refused = refusal(noisy().throughput(1025))
    assert "15 %" in refused.reason
    assert "Measure batch 1,025" in refused.measure_next


def test_refused_elements_of_an_array_are_nan_with_one_reason() -> None:
    output = answer(noisy().throughput([64, 2000, 3000]))
    assert list(np.isnan(output.value)) == [False, True, True]
    assert sum("Not answered outside 0 to 1,024" in reason for reason in output.reasons) == 1


def test_an_array_of_refused_batches_only_is_all_nan() -> None:
    assert np.isnan(answer(noisy().step_time([2000, 3000])).high).all()


def test_a_falling_throughput_is_warned_about_and_ends_the_search() -> None:
    steps = law(SWEEP)
    steps[-1] *= 1.2
    curve = curve_of(SWEEP, steps)
    assert "Something changed at b=256" in curve.warnings[0]
    assert curve.trusted_up_to_batch == 128
    assert curve.warnings[0] in answer(curve.throughput(256)).reasons


def test_a_sane_sweep_has_no_warnings_and_is_trusted_throughout() -> None:
    assert noisy().warnings == ()
    assert noisy().trusted_up_to_batch == noisy().largest_measured == 256


def test_points_that_do_not_follow_the_law_are_refused() -> None:
    refused = refusal(fit_throughput([64, 128, 256], [0.77, 1.5, 6.0]))
    assert "healthy sweeps scatter 2 to 9 %" in refused.reason
    assert "Something changed at b=256" in refused.reason
    assert "Measure batch 256 again" in refused.measure_next


def test_b90_beyond_the_largest_batch_says_so() -> None:
    batch = np.array([8.0, 16, 32])
    b90 = curve_of(batch, law(batch)).batch_for(0.9)
    assert b90.basis == "extrapolated"
    assert "Above the measured range" in b90.reasons[0]


def test_v0_says_how_much_of_it_was_seen() -> None:
    batch = np.array([2.0, 4, 8])
    v0 = curve_of(batch, law(batch)).asymptotic_throughput
    assert v0.basis == "extrapolated"
    assert "reaches 36 % of it" in v0.reasons[-1]


def test_a_step_that_does_not_grow_means_no_batch_effect_seen() -> None:
    curve = curve_of([16, 64, 128], [1.0, 1.01, 0.99])
    v0 = curve.asymptotic_throughput
    assert (v0.value, v0.high) == (np.inf, np.inf)
    assert 0 < float(v0.low) < np.inf
    assert "No batch effect seen" in v0.reasons[0]
    assert_allclose(answer(curve.throughput(64)).value, 64.0, rtol=0.01)


def test_a_slope_that_may_be_zero_leaves_v0_without_upper_end() -> None:
    v0 = curve_of([16, 32], [1.0, 1.02]).asymptotic_throughput
    assert v0.high == np.inf
    assert "No upper limit" in v0.reasons[0]


def test_steps_in_proportion_to_the_batch_mean_no_overhead_seen() -> None:
    curve = curve_of([1, 2, 4, 8], [1.0, 2.0, 4.0, 8.0])
    assert (curve.overhead_s.value, curve.half_saturation_batch.value) == (0.0, 0.0)
    assert "No overhead seen" in curve.overhead_s.reasons[0]
    assert float(curve.overhead_s.high) > 0.0


def test_a_published_curve_has_values_but_no_intervals() -> None:
    output = answer(published_curve(258.1, 0.054).throughput([1.0, 1e6]))
    assert output.basis == "published"
    assert np.isnan(output.low).all()
    assert "their scatter is unknown" in output.reasons[0]


@pytest.mark.parametrize(("v0", "t"), [(0.0, 0.1), (np.inf, 0.1), (100.0, -0.1), (100.0, np.nan)])
def test_impossible_published_parameters_are_an_error(v0: float, t: float) -> None:
    with pytest.raises(ValueError, match="Copy them again"):
        published_curve(v0, t)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_whatever_is_within_bounds_has_finite_parameters_or_a_true_refusal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch = 10.0 ** rng.uniform(-100, 100, 4)
    step_s = np.clip(batch / 10.0 ** rng.uniform(-99, 99), 1e-99, 1e99) * (1 + NOISE[:4])
    step_s = np.clip(step_s, batch / 1e100, batch / 1e-100)
    try:
        output = fit_throughput(batch, step_s)
    except ValueError as error:
        assert "from 1e-100 to 1e+100" in str(error)  # noqa: PT017
        return
    if isinstance(output, Refusal):
        assert "Only batch" not in output.reason
    else:
        assert np.isfinite(output.overhead_s.value)
        assert not np.isnan(output.asymptotic_throughput.value)


def test_many_shares_are_answered_as_one_by_one() -> None:
    curve = noisy()
    shares = [[0.01, 0.5], [0.9, 0.99]]
    many = curve.batch_for(shares)
    for i, share in np.ndenumerate(shares):
        one = curve.batch_for(share)
        for part in ("value", "low", "high"):
            assert_allclose(getattr(many, part)[i], getattr(one, part))
            assert isinstance(getattr(one, part), float)
    assert many.basis == "extrapolated"
    assert [r.split(":")[0] for r in many.reasons] == [
        "Above the measured range", "Below the measured range",
    ]  # fmt: skip
    assert curve.batch_for([0.5]).reasons == curve.batch_for(0.5).reasons
    assert np.asarray(curve.batch_for([]).value).size == 0
    with pytest.raises(ValueError, match="value 2 of 2 is 90"):
        curve.batch_for([0.5, 90.0])


@pytest.mark.parametrize("share", [0.0, 1.0, 90.0, np.nan])
def test_a_share_is_between_zero_and_one(share: float) -> None:
    with pytest.raises(ValueError, match="not 90"):
        noisy().batch_for(share)


@each(
    ("batch", "step_s", "output"),
    [
        ([8, 16], [0.1], "batch and step_s have shapes"),
        ([8, -16], [0.1, 0.2], "batch: value 2 of 2"),
        ([8, 16], [0.1, np.nan], "step_s: value 2 of 2"),
        (64, 1.0, r"^batch and step_s have shapes \(\) and \(\)"),
        ([], [], "at least 1"),
        ([1, 2, 4], [1e-200] * 3, "step_s: value 1 of 3 is 1e-200, value 2 of 3"),
        ([1e200, 1e250], [1.0, 2.0], "batch: value 1 of 2 is 1e[+]200, value 2 of 2 is 1e[+]250"),
        ([8, -16], [np.inf, 1.0], "batch: value 2 of 2 is -16; step_s: value 1 of 2 is inf"),
        ([1e80, 2e80], [1e-80, 1.0], "batch/step_s: value 1 of 2 is 1e[+]160"),
        ([8.0] * 9, [0.0] * 9, "value 5 of 9 is 0, and 4 more"),
    ],
)
def test_bad_measurements_are_named(batch: list[float], step_s: list[float], output: str) -> None:
    with pytest.raises(ValueError, match=output) as raised:
        fit_throughput(batch, step_s)
    assert "group" not in str(raised.value)


def test_a_batch_to_ask_about_must_be_positive() -> None:
    with pytest.raises(ValueError, match="batch: value 1 of 1"):
        noisy().throughput(0)


def test_points_without_a_bend_cannot_be_fitted_in_throughput_space() -> None:
    with pytest.raises(ValueError, match="no bend"):
        fit_in_throughput_space([16, 64], [16.0, 64.0])


# -- corrected by its own points -----------------------------------------------------------------


def bent() -> ThroughputCurve:
    return curve_of(SWEEP, law(SWEEP) * (1 + NOISE) * np.array([1, 1, 1.1, 1.1, 1, 1]))


def test_a_sweep_of_four_batches_answers_nearer_to_its_points_than_its_law() -> None:
    curve = bent()
    output, plain = (np.asarray(answer(c.step_time(SWEEP)).value) for c in (curve, curve.law))
    assert np.abs(output / curve.step_s - 1).max() < np.abs(plain / curve.step_s - 1).max()
    assert_allclose(plain, float(curve.overhead_s.value) + SWEEP * float(curve.lines.slope[0]))


def test_the_law_is_reported_the_same_with_and_without_the_correction() -> None:
    curve = bent()
    for name in ("asymptotic_throughput", "overhead_s", "half_saturation_batch"):
        assert getattr(curve, name) == getattr(curve.law, name)
    assert curve.batch_for(0.9) == curve.law.batch_for(0.9)
    v90 = answer(curve.law.throughput(curve.batch_for(0.9).value)).value
    assert_allclose(np.asarray(v90) / 0.9,
                    curve.asymptotic_throughput.value)  # fmt: skip


def test_three_batches_and_published_curves_are_their_law() -> None:
    few = curve_of(SWEEP[::2], law(SWEEP[::2]) * (1 + NOISE[::2]))
    assert_allclose(ends(answer(few.step_time(100))), ends(answer(few.law.step_time(100))))
    known = published_curve(258.1, 0.054)
    assert answer(known.step_time(100)).value == answer(known.law.step_time(100)).value


def test_a_drawn_curve_has_no_jump_and_ends_in_its_law() -> None:
    curve = bent()
    grid = np.geomspace(2.0, 1024.0, 20_000)
    output = answer(curve.step_time(grid))
    for part in (output.value, output.low, output.high):
        assert np.abs(np.diff(np.log(np.asarray(part)))).max() < 0.002
    far, plain = (ends(answer(c.step_time(1024))) for c in (curve, curve.law))
    assert_allclose(far[0], plain[0])
    assert_allclose(np.log(far[1:] / far[0]), (1.0 + WIDER) * np.log(plain[1:] / plain[0]))
    assert_allclose(ends(answer(curve.step_time(2))), ends(answer(curve.law.step_time(2))))
    assert answer(curve.step_time(512)).value != answer(curve.law.step_time(512)).value
