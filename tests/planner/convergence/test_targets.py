"""Promises of steps to a target chosen afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from planner.convergence import (
    ConvergenceCurve,
    best_learning_rates,
    fit_convergence,
    group_medians,
    steps_to_target,
)
from tests.each import each

STEP = [100, 200, 300, 400]
RISING = [0.2, 0.5, 0.7, 0.8]


def one(value: list[float], target: float, *, higher: bool = True) -> tuple[float, float]:
    result = steps_to_target([0] * 4, STEP, value, target, higher_is_better=higher)
    return float(result.steps[0]), float(result.resolution_steps[0])


# -- crossings -----------------------------------------------------------------------------------


def test_the_crossing_lies_on_the_straight_line_between_two_evaluations() -> None:
    assert_allclose(one(RISING, 0.65), (275.0, 100.0))


def test_a_loss_crosses_downwards() -> None:
    assert_allclose(one([4.0, 3.0, 2.5, 2.4], 2.75, higher=False), (250.0, 100.0))


def test_an_evaluation_that_meets_the_target_exactly_is_the_crossing() -> None:
    assert one(RISING, 0.7)[0] == 300.0


def test_only_the_first_crossing_counts() -> None:
    assert_allclose(one([0.2, 0.8, 0.1, 0.9], 0.5), (150.0, 100.0))


def test_a_target_that_is_not_reached_needs_infinitely_many_steps() -> None:
    steps, resolution = one(RISING, 0.81)
    assert steps == np.inf
    assert np.isnan(resolution)


def test_a_trial_there_at_its_first_evaluation_is_known_no_better_than_that() -> None:
    assert one(RISING, 0.1) == (100.0, 100.0)


def test_uneven_evaluations_have_their_own_resolution() -> None:
    result = steps_to_target([0, 0, 0], [0, 10, 500], [0.0, 0.4, 0.9], 0.65, higher_is_better=True)
    assert_allclose([result.steps[0], result.resolution_steps[0]], [255.0, 490.0])


@pytest.mark.parametrize("before", [np.nan, np.inf])
def test_a_loss_that_was_no_number_before_counts_at_the_evaluation_after(before: float) -> None:
    assert one([before, 2.0, 1.0, 0.5], 2.5, higher=False) == (200.0, 100.0)


def test_a_value_that_is_no_number_reaches_nothing() -> None:
    assert one([np.nan] * 4, 0.0)[0] == np.inf
    assert_allclose(one([0.2, np.nan, 0.6, 0.9], 0.75)[0], 350.0)


def test_trials_are_distinguished_whatever_their_order_and_label() -> None:
    trial = np.repeat(["b", "a", "c"], 4)
    value = np.array([*RISING, *[0.1, 0.2, 0.3, 0.4], *[0.9, 0.9, 0.9, 0.9]])
    order = np.random.default_rng(1).permutation(12)
    result = steps_to_target(
        trial[order], np.tile(STEP, 3)[order], value[order], 0.5, higher_is_better=True
    )
    assert list(result.trial) == ["a", "b", "c"]
    assert_array_equal(result.steps, [np.inf, 200.0, 100.0])
    assert_array_equal(result.reached, [False, True, True])


def test_many_trials_at_once_equal_each_alone() -> None:
    rng = np.random.default_rng(2)
    trial = np.repeat(np.arange(50), 8)
    step = np.tile(np.cumsum(rng.integers(1, 50, 8)), 50)
    value = rng.random(400)
    together = steps_to_target(trial, step, value, 0.8, higher_is_better=True)
    for i in range(50):
        mine = trial == i
        alone = steps_to_target(trial[mine], step[mine], value[mine], 0.8, higher_is_better=True)
        assert together.steps[i] == alone.steps[0]


@given(
    value=st.lists(st.floats(-5, 5), min_size=2, max_size=12),
    target=st.floats(-5, 5),
    shift=st.floats(-3, 3),
)
@settings(max_examples=60, deadline=None)
def test_a_crossing_lies_within_its_resolution_and_turning_the_metric_round_moves_nothing(
    value: list[float], target: float, shift: float
) -> None:
    step, trial = np.arange(1, len(value) + 1) * 10.0, np.zeros(len(value))
    up = steps_to_target(trial, step, value, target, higher_is_better=True)
    down = steps_to_target(trial, step, -np.array(value), -target, higher_is_better=False)
    assert_array_equal(up.steps, down.steps)
    reached = np.array(value) >= target
    assert up.reached[0] == reached.any()
    if reached.any():
        first = step[reached.argmax()]
        assert first - up.resolution_steps[0] <= up.steps[0] <= first


def test_the_sentence_reports_how_many_and_how_finely() -> None:
    result = steps_to_target([0, 0, 1, 1], [5, 10, 5, 10], [0, 1, 0, 0], 0.5, higher_is_better=True)
    assert result.reached_text == (
        "1 of 2 trials reached the target; evaluations around it lay 67 % of the steps apart "
        "(median)."
    )
    none = steps_to_target([0, 0], [5, 10], [0, 1], 2.0, higher_is_better=True)
    assert none.reached_text == "None of 1 trials reached the target."


@each(
    ("trial", "step", "target", "result"),
    [
        ([0, 0], [1, 2, 3], 0.5, r"trial, step and value have shapes \(2,\), \(3,\) and \(2,\)"),
        ([], [], 0.5, "at least 1"),
        ([0, 0], [1, -2], 0.5, "step: value 2 of 2 is -2"),
        ([0, 0], [np.nan, 2], np.inf, "value 1 of 2 is nan.*; target is inf"),
        ([7, 7], [3, 3], 0.5, "Trial 7 has two evaluations at step 3. "),
        ([7, 7, 7], [3, 3, 3], 0.5, r"at step 3 \(1 more like it\)"),
    ],
)
def test_impossible_evaluations_are_named(
    trial: list[int], step: list[float], target: float, result: str
) -> None:
    with pytest.raises(ValueError, match=result):
        steps_to_target(trial, step, [0.1] * len(trial), target, higher_is_better=True)


# -- learning rates ------------------------------------------------------------------------------


def runs() -> tuple[list[float], ...]:
    """Batch 32 is best at 0.1, batch 64 at 0.2; three seeds of each."""
    batch = [32.0] * 9 + [64.0] * 9
    rate = [0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2] * 2
    seed = [1.0, 2.0, 3.0] * 6
    steps = [900.0, 950, 980, 500, 520, 700, 300, np.nan, np.nan]
    return batch, rate, seed, [*steps, 800.0, 810, 820, 400, 410, 420, 280, 300, np.inf]


def test_the_best_rate_of_a_batch_has_the_smallest_median_over_seeds() -> None:
    best = best_learning_rates(*runs())
    assert list(best.tuned_batch) == [32.0, 64.0]
    assert list(best.learning_rate) == [0.1, 0.2]
    assert list(best.median_steps) == [520.0, 300.0]


def test_a_rate_at_which_half_the_seeds_fail_is_never_best() -> None:
    best = best_learning_rates([8] * 4, [0.1, 0.1, 0.2, 0.2], [1, 2, 1, 2], [9, 9, 1, np.nan])
    assert best.learning_rate[0] == 0.1


def test_the_runs_at_the_best_rates_are_what_the_fit_takes() -> None:
    best = best_learning_rates(*runs())
    assert list(best.batch) == [32.0] * 3 + [64.0] * 3
    assert list(best.samples_to_target) == [16000.0, 16640, 22400, 17920, 19200, np.inf]
    curve = fit_convergence(best.batch, best.samples_to_target)
    assert isinstance(curve, ConvergenceCurve)
    assert list(curve.samples_to_target) == [32.0 * 520, 64.0 * 300]
    assert list(curve.seeds) == [3, 3]


def test_a_batch_that_no_rate_brought_to_the_target_stays_in_as_not_reached() -> None:
    best = best_learning_rates([8, 8, 16], [0.1, 0.2, 0.1], [1, 1, 1], [np.nan, np.inf, 50])
    assert np.isnan(best.learning_rate[0])
    assert list(best.median_steps) == [np.inf, 50.0]
    assert list(best.samples_to_target) == [np.inf, 800.0]
    assert best.warnings == ()


def test_a_best_rate_at_the_end_of_those_tried_is_warned_about() -> None:
    best = best_learning_rates(*runs())
    assert best.warnings == (
        "Batch 64: the best learning rate (0.2) is the largest one tried; a better one may "
        "lie beyond.",
    )


def test_of_equal_rates_the_smaller_one_is_taken() -> None:
    best = best_learning_rates([8, 8, 8], [0.4, 0.1, 0.2], [1, 1, 1], [50, 60, 50])
    assert best.learning_rate[0] == 0.2


def test_the_order_of_runs_moves_no_best_rate() -> None:
    columns = [np.array(c) for c in runs()]
    order = np.random.default_rng(3).permutation(18)
    plain = best_learning_rates(*columns)
    shuffled = best_learning_rates(*(c[order] for c in columns))
    assert_array_equal(plain.learning_rate, shuffled.learning_rate)
    assert_array_equal(np.sort(plain.samples_to_target), np.sort(shuffled.samples_to_target))


@pytest.mark.parametrize(
    ("batch", "rate", "steps", "result"),
    [
        ([8, 8], [0.1], [5, 5], "batch, learning_rate, seed and steps have shapes"),
        (
            [8, 0],
            [0.1, np.nan],
            [5, -5],
            "batch: value 2 .* 0; learning_rate: .* nan; steps: .* -5",
        ),
        ([8, 8], [0.1, 0.1], [5, 5], "Batch 8 at learning rate 0.1 has seed 1 twice. "),
    ],
)
def test_impossible_runs_are_named(
    batch: list[float], rate: list[float], steps: list[float], result: str
) -> None:
    with pytest.raises(ValueError, match=result):
        best_learning_rates(batch, rate, [1] * len(batch), steps)


# -- medians -------------------------------------------------------------------------------------


@given(
    values=st.lists(
        st.tuples(st.integers(0, 3), st.one_of(st.just(np.inf), st.floats(-1e6, 1e6))),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=50, deadline=None)
def test_medians_of_groups_are_those_of_each_group_with_infinity_as_the_most(
    values: list[tuple[int, float]],
) -> None:
    group = np.unique([g for g, _ in values], return_inverse=True)[1]
    numbers = np.array([v for _, v in values])
    medians = group_medians(group, numbers)
    for i, median in enumerate(medians):
        assert_allclose(median, np.median(numbers[group == i]))
