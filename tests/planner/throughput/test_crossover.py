"""Promises of the batch at which two systems take the same time."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from planner.core import Floats
from planner.throughput import crossover_batch, fit_throughput, published_curve
from planner.throughput.crossover import VISIBLE
from tests.planner.asking import answer, ends, refusal
from tests.planner.throughput.test_throughput import NOISE, SWEEP, curve_of, law, noisy


def test_the_article_on_one_and_two_gpus_crosses_at_batch_50() -> None:
    one, two = published_curve(258.1, 0.054), published_curve(513.8, 0.15)
    assert_allclose(answer(crossover_batch(one, two)).value, 49.79, atol=0.01)


def test_at_the_crossover_both_systems_take_the_same_time() -> None:
    small, large = noisy(258.1, 0.054), noisy(513.8, 0.15)
    batch = answer(crossover_batch(small, large))
    assert_allclose(
        answer(small.law.step_time(batch.value)).value,
        answer(large.law.step_time(batch.value)).value,
    )
    assert batch.low < batch.value < batch.high


def test_the_crossover_does_not_depend_on_who_is_named_first() -> None:
    small, large = noisy(258.1, 0.054), noisy(513.8, 0.15)
    forth, back = answer(crossover_batch(small, large)), answer(crossover_batch(large, small))
    assert_allclose(ends(forth), ends(back))


def test_a_crossover_outside_the_measured_range_says_so() -> None:
    large = np.array([64.0, 128, 256])
    result = answer(
        crossover_batch(curve_of(large, law(large)), curve_of(large, law(large, 513.8, 0.15)))
    )
    assert result.basis == "extrapolated"
    assert "outside the measured range" in result.reasons[0]


def test_a_system_that_always_wins_has_no_crossover() -> None:
    refused = refusal(crossover_batch(noisy(258.1, 0.054), noisy(513.8, 0.027)))
    assert "second system is at least as fast at every batch" in refused.reason
    swapped = refusal(crossover_batch(noisy(513.8, 0.027), noisy(258.1, 0.054)))
    assert "first system" in swapped.reason
    assert "the same" in refusal(crossover_batch(noisy(), noisy())).reason


def test_a_crossover_that_a_curve_refuses_to_see_is_refused() -> None:
    refused = refusal(crossover_batch(noisy(100.0, 0.01), noisy(100.1, 0.5)))
    assert "where the first system answers" in refused.reason


def test_curves_that_differ_by_rounding_do_not_cross() -> None:
    for v0, t in ((300.0 * (1 + 1e-15), 0.5), (900.0, 0.1 * (1 + 1e-15))):
        refused = refusal(crossover_batch(published_curve(300.0, 0.1), published_curve(v0, t)))
        assert refused.reason.startswith("The curves do not cross at a batch above 0: the ")
    parallel = curve_of(SWEEP, law(SWEEP)), curve_of(SWEEP, law(SWEEP, t=0.5))
    assert "the first system is at least" in refusal(crossover_batch(*parallel)).reason


def test_a_crossover_refusal_names_the_systems_as_asked() -> None:
    small, large = noisy(258.1, 0.054), noisy(513.8, 0.027)
    refused = refusal(crossover_batch(small, large, names=("GPU", "TPU")))
    assert "TPU is at least as fast at every batch" in refused.reason
    far = crossover_batch(noisy(100.0, 0.01), noisy(100.1, 0.5), names=("GPU", "TPU"))
    assert "where GPU answers" in refusal(far).reason


def test_a_crossover_with_a_refused_curve_is_that_refusal() -> None:
    refused = refusal(fit_throughput([64, 64], [1.0, 1.1]))
    assert crossover_batch(refused, noisy()) is refused
    assert crossover_batch(noisy(), refused) is refused


def test_close_curves_cross_somewhere_and_say_so() -> None:
    result = answer(crossover_batch(noisy(258.1, 0.054), noisy(270.0, 0.06)))
    assert "the crossover has a wide interval" in result.reasons[-1]


def bent(v0: float, t: float, share: float) -> Floats:
    """A sweep whose middle lies off its law by that share."""
    return law(SWEEP, v0, t) * (1 + NOISE / 10) * (1 + share * np.array([0, 0, 1, 1, 0, 0]))


def test_points_that_bend_about_their_laws_are_reported_beside_the_crossover() -> None:
    one, two = curve_of(SWEEP, bent(258.1, 0.054, 0.1)), curve_of(SWEEP, bent(513.8, 0.15, -0.1))
    result = answer(crossover_batch(one, two, names=("GPU", "TPU")))
    times = [float(answer(c.step_time(result.value)).value) for c in (one, two)]
    by = times[0] / times[1] - 1
    assert by > VISIBLE
    assert f"by these TPU is {100 * by:.0f} % faster there" in result.reasons[-1]
    back = answer(crossover_batch(two, one, names=("TPU", "GPU")))
    assert back.reasons[-1] == result.reasons[-1]


def test_exact_laws_have_nothing_to_say_beside_the_crossover() -> None:
    one, two = (curve_of(SWEEP, law(SWEEP, *p)) for p in ((258.1, 0.054), (513.8, 0.15)))
    assert not any("measured points bend" in r for r in answer(crossover_batch(one, two)).reasons)
