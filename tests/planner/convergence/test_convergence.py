"""Promises of the law of steps to target S(B) = Smin*(1 + Bcrit/B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.convergence import MAX_SCATTER, PRIOR, ConvergenceCurve, fit_convergence
from planner.convergence.fit import NINE
from planner.core import Estimate
from planner.fits import ratio_interval
from tests.each import each
from tests.planner.asking import answer, ends, refusal

if TYPE_CHECKING:
    from planner.core import Floats

SWEEP = np.array([16.0, 64, 256, 1024, 4096, 16384])
NOISE = np.array([0.06, -0.04, 0.02, -0.06, 0.04, -0.02])
SMIN, BCRIT = 1500.0, 800.0


def law(batch: Floats, smin: float = SMIN, bcrit: float = BCRIT) -> Floats:
    """Samples to target."""
    return smin * (batch + bcrit)


def curve_of(batch: object, samples: object, level: float = 0.9) -> ConvergenceCurve:
    curve = fit_convergence(np.asarray(batch, float), np.asarray(samples, float), level)
    assert isinstance(curve, ConvergenceCurve)
    return curve


def noisy() -> ConvergenceCurve:
    return curve_of(SWEEP, law(SWEEP) * (1 + NOISE))


# -- the law -------------------------------------------------------------------------------------


def test_exact_points_give_back_the_least_steps_and_the_critical_batch_size() -> None:
    curve = curve_of(SWEEP, law(SWEEP))
    assert_allclose(curve.min_steps.value, SMIN)
    assert_allclose(curve.critical_batch_size.value, BCRIT)
    assert_allclose(curve.min_samples.value, SMIN * BCRIT)
    assert_allclose(curve.residuals, 0.0, atol=1e-12)


def test_at_the_critical_batch_size_steps_and_samples_are_twice_their_least() -> None:
    curve = noisy()
    critical = curve.critical_batch_size.value
    assert_allclose(answer(curve.steps(critical)).value, 2 * np.asarray(curve.min_steps.value))
    assert_allclose(answer(curve.samples(critical)).value, 2 * np.asarray(curve.min_samples.value))
    assert_allclose(answer(curve.efficiency(critical)).value, 0.5)


@given(batch=st.floats(1.0, 60_000.0))
@settings(max_examples=30, deadline=None)
def test_what_larger_batches_save_in_steps_they_pay_in_samples(batch: float) -> None:
    """(S/Smin - 1)(E/Emin - 1) = 1, the form of McCandlish et al."""
    curve = noisy()
    steps = float(answer(curve.steps(batch)).value) / float(curve.min_steps.value)
    samples = float(answer(curve.samples(batch)).value) / float(curve.min_samples.value)
    assert_allclose((steps - 1) * (samples - 1), 1.0)
    assert_allclose(float(answer(curve.efficiency(batch)).value), 1 / samples)


def test_tiny_batches_need_the_least_samples_and_huge_ones_the_least_steps() -> None:
    curve = curve_of(SWEEP, law(SWEEP))
    assert_allclose(answer(curve.samples(1e-6)).value, SMIN * BCRIT, rtol=1e-6)
    assert_allclose(answer(curve.steps(65_536)).value, SMIN, rtol=0.02)


def test_the_regimes_lie_where_nine_tenths_and_one_tenth_of_the_samples_count() -> None:
    curve = noisy()
    first, last = curve.regimes.perfect_up_to, curve.regimes.maximal_from
    assert_allclose(ends(first) * NINE, ends(curve.critical_batch_size))
    assert_allclose(ends(last) / NINE, ends(curve.critical_batch_size))
    assert_allclose(answer(curve.efficiency(first.value)).value, 0.9)
    assert_allclose(answer(curve.efficiency(last.value)).value, 0.1)


def test_every_batch_lies_in_one_regime() -> None:
    regimes = curve_of(SWEEP, law(SWEEP)).regimes
    assert [regimes.of(b) for b in (80, 100, 800, 7000, 7300)] == [
        "perfect scaling", "diminishing returns", "diminishing returns", "diminishing returns",
        "maximal data parallelism",
    ]  # fmt: skip


# -- intervals -----------------------------------------------------------------------------------


def test_the_interval_of_the_critical_batch_size_is_that_of_the_kernel() -> None:
    curve = noisy()
    low, high = ratio_interval(curve.lines)
    assert_allclose(ends(curve.critical_batch_size)[1:], [low[0], high[0]])


def test_efficiency_carries_the_interval_of_the_critical_batch_size() -> None:
    curve = noisy()
    _, low, high = ends(curve.critical_batch_size)
    result = answer(curve.efficiency([10.0, 5000.0]))
    for i, batch in enumerate((10.0, 5000.0)):
        assert_allclose(np.asarray(result.low)[i], 1 / (1 + batch / low))
        assert_allclose(np.asarray(result.high)[i], 1 / (1 + batch / high))


def test_steps_are_samples_over_batch_with_their_interval() -> None:
    curve = noisy()
    assert_allclose(ends(answer(curve.steps(300))) * 300, ends(answer(curve.samples(300))))


def test_a_higher_level_is_a_wider_interval() -> None:
    samples = law(SWEEP) * (1 + NOISE)
    wide, narrow = curve_of(SWEEP, samples, 0.95), curve_of(SWEEP, samples)
    assert wide.critical_batch_size.high > narrow.critical_batch_size.high
    assert answer(wide.steps(300)).level == 0.95


def test_intervals_hold_the_truth_of_simulated_sweeps_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(7)
    truth = np.array([BCRIT, SMIN, SMIN * BCRIT])
    held = np.zeros(3)
    for _ in range(300):
        curve = curve_of(SWEEP, law(SWEEP) * np.exp(PRIOR.sd * rng.standard_normal(SWEEP.size)))
        result = (curve.critical_batch_size, curve.min_steps, curve.min_samples)
        _, low, high = np.array([ends(t) for t in result]).T
        held += (low <= truth) & (truth <= high)
    assert (held / 300 >= 0.87).all()
    assert (held / 300 <= 0.97).all()


def test_a_vector_is_answered_as_its_scalars() -> None:
    curve = noisy()
    for ask in (curve.steps, curve.samples, curve.efficiency):
        many = answer(ask([[8.0, 64.0], [3000.0, 40_000.0]]))
        for i, batch in np.ndenumerate([[8.0, 64.0], [3000.0, 40_000.0]]):
            assert_allclose(
                [np.asarray(part)[i] for part in (many.value, many.low, many.high)],
                ends(answer(ask(batch))),
            )


# -- seeds, and targets that were not reached ----------------------------------------------------


def test_each_batch_counts_once_with_the_median_over_its_seeds() -> None:
    curve = curve_of([8, 8, 8, 64, 64, 512], [100, 110, 400, 190, 210, 900])
    assert list(curve.batch) == [8.0, 64.0, 512.0]
    assert list(curve.samples_to_target) == [110.0, 200.0, 900.0]
    assert list(curve.seeds) == [3, 2, 1]
    assert curve.n == 3


def test_a_seed_that_did_not_reach_the_target_counts_as_infinitely_many_samples() -> None:
    curve = curve_of([8, 8, 8, 64, 64, 64, 512], [100, 110, np.nan, 190, np.inf, 210, 900])
    assert list(curve.samples_to_target) == [110.0, 210.0, 900.0]
    assert curve.not_reached.size == 0


def test_a_batch_whose_median_seed_fell_short_is_left_out_and_named() -> None:
    curve = curve_of([8, 64, 64, 512, 4096], [100, 200, np.nan, 900, 6000])
    assert list(curve.batch) == [8.0, 512.0, 4096.0]
    assert list(curve.not_reached) == [64.0]
    assert "did not reach the target: batch 64." in curve.warnings[0]


def test_a_batch_that_fell_short_between_others_is_refused_and_only_that_one() -> None:
    curve = curve_of([64, 256, 1024, 4096], [1e5, 1.2e5, np.inf, 3e5])
    for ask in (curve.steps, curve.samples, curve.efficiency):
        refused = refusal(ask(1024))
        assert refused.reason.startswith("Batch 1,024 did not reach the target")
        assert "more steps, tune its learning rate" in refused.measure_next
        for batch in (64, 128, 256, 1000, 1025, 4096, 16_384):
            assert isinstance(ask(batch), Estimate)


def test_between_a_batch_that_fell_short_and_its_neighbours_the_answer_says_so() -> None:
    curve = curve_of([64, 256, 1024, 4096], [1e5, 1.2e5, np.inf, 3e5])
    for batch in (257, 1000, 2048, 4095):
        assert answer(curve.steps(batch)).reasons == (
            "Batch 1,024 did not reach the target: an answer between batch 256 and 4,096, which "
            "did, applies only if training reaches it at all.",
        )
    for batch in (64, 100, 256, 4096):
        assert answer(curve.steps(batch)).reasons == ()


def test_every_gap_with_batches_that_fell_short_is_named_once() -> None:
    curve = curve_of([16, 64, 128, 256, 1024, 4096], [1e5, np.inf, np.nan, 1.2e5, np.inf, 3e5])
    result = answer(curve.steps([70.0, 90.0, 2000.0])).reasons
    assert [reason.split(":")[0] for reason in result] == [
        "Batches 64 and 128 did not reach the target", "Batch 1,024 did not reach the target",
    ]  # fmt: skip
    assert "between batch 16 and 256" in result[0]


def test_in_an_array_only_the_batch_that_fell_short_is_missing() -> None:
    curve = curve_of([64, 256, 1024, 4096], [1e5, 1.2e5, np.inf, 3e5])
    result = answer(curve.steps([[64.0, 1024.0], [256.0, 4096.0]]))
    for part in (result.value, result.low, result.high):
        assert np.isnan(part).tolist() == [[False, True], [False, False]]
    assert result.basis == "measured"
    assert result.reasons == ("Batch 1,024 did not reach the target: no answer there.",)
    for i, batch in enumerate((256, 4096)):
        assert np.asarray(result.value)[1, i] == answer(curve.steps(batch)).value


def test_where_every_batch_asked_for_fell_short_nothing_is_called_measured() -> None:
    curve = curve_of([64, 256, 1024, 4096], [1e5, np.inf, 1.2e5, 3e5])
    for result in (answer(curve.steps([256.0, 256.0])), answer(curve.steps([1e9]))):
        assert np.isnan(result.value).all()
        assert result.basis == "extrapolated"
        assert len(result.reasons) == 1


def test_nothing_is_answered_beyond_a_batch_that_fell_short() -> None:
    curve = curve_of([4, 16, 64, 256, 1024], [np.inf, 120, 180, 400, np.inf])
    assert (curve.answers_from_batch, curve.answers_up_to_batch) == (16.0, 256.0)
    assert curve.trusted_up_to_batch == 256.0
    for batch in (15, 300):
        refused = refusal(curve.steps(batch))
        assert "the target was not reached at batch 4" in refused.reason
        assert "the target was not reached at batch 1,024" in refused.reason


def test_a_target_that_no_trial_reached_is_refused() -> None:
    refused = refusal(fit_convergence([8, 64], [np.nan, np.inf]))
    assert "none of the batch sizes tried (8, 64)" in refused.reason
    assert "easier target" in refused.measure_next


def test_one_batch_that_reached_the_target_is_no_curve() -> None:
    refused = refusal(fit_convergence([64, 64, 256], [100.0, 110.0, np.nan]))
    assert "Only batch 64 reached the target (not reached at 256)" in refused.reason
    assert "34 to 76 %" in refused.reason
    assert "at most 16 or at least 256" in refused.measure_next
    assert "(not" not in refusal(fit_convergence([64], [100.0])).reason


# -- points on one side only ---------------------------------------------------------------------


def test_samples_that_do_not_grow_mean_no_limit_seen() -> None:
    curve = curve_of([16, 64, 256], [1.0, 1.01, 0.99])
    assert curve.min_steps.low <= 0.0
    assert (curve.min_steps.value, curve.critical_batch_size.value) == (0.0, np.inf)
    assert curve.critical_batch_size.high == np.inf
    for result in (curve.min_steps, curve.critical_batch_size, curve.regimes.maximal_from):
        assert result.reasons[0] == (
            "No limit seen up to B=256: the steps to target still fall in proportion to the batch."
        )
    assert ends(answer(curve.efficiency(64)))[[0, 2]].tolist() == [1.0, 1.0]
    assert curve.regimes.of(1e9) == "perfect scaling"


def test_a_limit_that_is_not_excluded_leaves_the_critical_batch_size_open_above() -> None:
    curve = curve_of([16, 32, 64], law(np.array([16.0, 32, 64])))
    assert curve.min_steps.low <= 0.0
    assert_allclose(curve.critical_batch_size.value, BCRIT)
    assert curve.critical_batch_size.high == np.inf
    assert 0.0 < float(curve.critical_batch_size.low) < BCRIT
    assert "the intervals allow steps that keep falling in proportion" in curve.min_steps.reasons[0]


def test_without_a_limit_the_critical_batch_size_lies_above_the_quotient_of_both_ends() -> None:
    """A slope of almost 0 has no logarithm worth a width: the low end must not follow it."""
    for samples in ([100_000, 100_100, 99_900, 100_050], [100_000, 100_100, 99_900, 99_950]):
        curve = curve_of([64, 256, 1024, 4096], samples)
        assert curve.min_steps.low <= 0.0
        result = curve.critical_batch_size
        assert_allclose(result.low, float(curve.min_samples.low) / float(curve.min_steps.high))
        assert 20_000.0 < float(result.low) < 30_000.0
        assert result.high == np.inf
        assert_allclose(float(curve.regimes.perfect_up_to.low) * NINE, result.low)
        assert_allclose(float(curve.regimes.maximal_from.low) / NINE, result.low)
        assert float(answer(curve.efficiency(1024)).low) > 0.95


def test_a_low_end_moves_little_between_a_limit_hardly_seen_and_hardly_not() -> None:
    """Where Smin = 0 is just excluded and just not, the two low ends meet within half."""
    lows, seen = zip(
        *(
            (float(c.critical_batch_size.low), c.min_steps.low > 0.0)
            for c in (curve_of([16, 64, 256], law(np.array([16.0, 64, 256]), bcrit=b))
                      for b in np.geomspace(100, 3000, 80))
        ),
        strict=True,
    )  # fmt: skip
    turn = seen.index(False)
    assert 0 < turn < 80
    assert 0.6 < lows[turn] / lows[turn - 1] < 1.7


def test_steps_that_do_not_fall_mean_no_perfect_scaling_seen() -> None:
    curve = curve_of([16, 64, 256], [16.0, 64.0, 256.0])
    assert not curve.perfect_scaling_seen
    assert (curve.min_samples.value, curve.critical_batch_size.value) == (0.0, 0.0)
    result = curve.critical_batch_size.reasons[0]
    assert result.startswith("No perfect scaling seen from B=16 on: a larger batch takes as many")
    assert ends(answer(curve.efficiency(64)))[:2].tolist() == [0.0, 0.0]
    assert_allclose(answer(curve.steps(64)).value, 1.0)


def test_perfect_scaling_that_is_not_excluded_leaves_the_critical_batch_size_open_below() -> None:
    large = np.array([8000.0, 16000, 32000])
    curve = curve_of(large, law(large, bcrit=100.0))
    assert not curve.perfect_scaling_seen
    assert curve.critical_batch_size.low == 0.0
    assert "allow a constant number" in curve.min_samples.reasons[0]


def test_both_ends_seen_say_nothing_of_it() -> None:
    curve = noisy()
    assert curve.min_steps.low > 0.0
    assert curve.perfect_scaling_seen
    assert curve.critical_batch_size.reasons == ()


def test_least_steps_and_samples_say_how_near_the_measurements_came() -> None:
    batch = np.array([200.0, 400, 800, 1600])
    curve = curve_of(batch, law(batch))
    assert curve.min_steps.basis == "interpolated"
    assert curve.min_steps.reasons == (
        "The largest measured batch (1,600) takes 1.5 times as many.",
    )
    assert curve.min_samples.basis == "interpolated"
    assert "The smallest measured batch (200) takes 1.25 times" in curve.min_samples.reasons[0]
    short = curve_of(batch[:2], law(batch[:2]))
    assert short.min_steps.basis == "extrapolated"


# -- limits of what is answered ------------------------------------------------------------------


def test_two_close_batches_carry_to_twice_away_and_no_farther() -> None:
    curve = curve_of([64, 128], [100.0, 120.0])
    assert answer(curve.steps(256)).basis == "extrapolated"
    assert "coverage of 77 %" in curve.warnings[-1]
    for batch in (257, 31):
        assert "54 to 663 %" in refusal(curve.steps(batch)).reason


def test_beyond_twice_the_largest_batch_the_answer_is_wide_and_says_so() -> None:
    far, near = (answer(noisy().steps(b)) for b in (40_000, 16_384))
    assert "more than twice the largest measured one (16,384): such answers were" in far.reasons[0]
    assert far.high / far.low > near.high / near.low
    assert (far.basis, near.basis) == ("extrapolated", "measured")


def test_beyond_four_times_the_largest_batch_there_is_no_answer() -> None:
    curve = noisy()
    assert isinstance(curve.efficiency(65_536), Estimate)
    assert "15 to 34 %" in refusal(curve.efficiency(65_537)).reason
    result = answer(curve.steps([64.0, 1e6]))
    assert list(np.isnan(result.value)) == [False, True]
    assert "Not answered outside 0 to 65,536" in result.reasons[-1]


def test_points_that_do_not_follow_the_law_are_refused() -> None:
    refused = refusal(fit_convergence([64, 128, 256, 512], [100, 30, 400, 100]))
    assert "tuned workloads scatter 3 to 19 %" in refused.reason
    assert "Tune the learning rate of batch" in refused.measure_next
    assert MAX_SCATTER == 0.3


def test_one_batch_far_off_the_law_is_named() -> None:
    samples = law(SWEEP)
    samples[2] *= 2.0
    curve = curve_of(SWEEP, samples)
    assert "Batch 256 takes" in curve.warnings[0]
    assert "Tune its learning rate again" in curve.warnings[0]
    assert noisy().warnings == ()


# -- invariances and errors ----------------------------------------------------------------------


@given(order=st.permutations(range(6)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_entries_does_not_matter(order: list[int]) -> None:
    samples = law(SWEEP) * (1 + NOISE)
    shuffled, straight = curve_of(SWEEP[order], samples[order]), noisy()
    assert shuffled.critical_batch_size == straight.critical_batch_size
    assert list(shuffled.batch) == list(SWEEP)


@given(unit=st.sampled_from([1e-3, 0.5, 512.0, 1e6]))
@settings(max_examples=4, deadline=None)
def test_counting_sequences_or_tokens_changes_nothing_but_units(unit: float) -> None:
    """Batch and samples in one unit: steps stay, samples and batches scale."""
    samples = law(SWEEP) * (1 + NOISE)
    plain, scaled = noisy(), curve_of(SWEEP * unit, samples * unit)
    assert_allclose(ends(scaled.min_steps), ends(plain.min_steps), rtol=1e-10)
    assert_allclose(ends(scaled.min_samples) / unit, ends(plain.min_samples), rtol=1e-10)
    for ours, theirs in (
        (scaled.critical_batch_size, plain.critical_batch_size),
        (scaled.regimes.maximal_from, plain.regimes.maximal_from),
    ):
        assert_allclose(ends(ours) / unit, ends(theirs), rtol=1e-10)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_whatever_is_within_bounds_is_answered_or_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch = 10.0 ** rng.uniform(-60, 60, 5)
    samples = 10.0 ** rng.uniform(-39, 39, 5)
    samples[rng.random(5) < 0.2] = np.nan
    result = fit_convergence(batch, samples)
    if isinstance(result, ConvergenceCurve):
        assert not np.isnan(ends(result.critical_batch_size)).any()
        assert np.isfinite(float(result.min_steps.value))


@each(
    ("batch", "samples", "result"),
    [
        ([8, 16], [100.0], "batch and samples_to_target have shapes"),
        (64, 100.0, r"^batch and samples_to_target have shapes \(\) and \(\)"),
        ([], [], "at least 1"),
        ([8, -16], [100.0, 200.0], "batch: value 2 of 2 is -16"),
        ([8, np.nan], [100.0, np.nan], "batch: value 2 of 2 is nan"),
        ([8, 16], [0.0, 200.0], "samples_to_target: value 1 of 2 is 0"),
        ([8, 16], [-np.inf, 200.0], "samples_to_target: value 1 of 2 is -inf"),
        ([8, 1e200], [-1.0, 1.0], "value 2 of 2 is 1e[+]200; samples_to_target: value 1 of 2"),
    ],
)
def test_bad_measurements_are_named(batch: list[float], samples: list[float], result: str) -> None:
    with pytest.raises(ValueError, match=result):
        fit_convergence(batch, samples)


def test_a_batch_to_ask_about_must_be_positive() -> None:
    for ask in (noisy().steps, noisy().samples, noisy().efficiency):
        with pytest.raises(ValueError, match="batch: value 1 of 1"):
            ask(0)
