"""Optimisers side by side: best rates, the law through the medians, time on a system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from planner.convergence import ConvergenceCurve
from planner.core import Estimate, Refusal
from planner.runs import Run
from planner.throughput import SystemCurve, curves_of
from planner.time_to_target import (
    OptimizerCurve,
    best_batch,
    compare,
    minimum_time,
    steps_grid,
    time_line,
)
from planner.time_to_target.goodput import time_on
from tests.planner.epochs.test_how_long import RUN
from tests.planner.made_trials import BATCHES, BCRIT, BEST_RATE, SMIN, TARGET, sweep, trial, trials


def one(records: list[dict[str, object]] | None = None, target: float = TARGET) -> OptimizerCurve:
    [curve] = compare(trials(sweep() if records is None else records), target, ["SGD"]).curves
    return curve


def law(of: OptimizerCurve) -> ConvergenceCurve:
    assert isinstance(of.curve, ConvergenceCurve)
    return of.curve


def system(v0: float = 1000.0, t: float = 0.05, batches: tuple[int, ...] = BATCHES) -> SystemCurve:
    runs: list[Run] = [
        replace(RUN, run_id=str(b), global_batch_size=b, step_time_s=t + b / v0) for b in batches
    ]
    return curves_of(runs)[0]


# -- the law -------------------------------------------------------------------------------------


def test_the_law_behind_the_trials_is_found_again() -> None:
    curve = law(one())
    assert_allclose(curve.critical_batch_size.value, BCRIT, rtol=0.01)
    assert_allclose(curve.min_steps.value, SMIN, rtol=0.01)


def test_every_batch_has_its_best_rate_its_seeds_and_their_median() -> None:
    found = one()
    assert_array_equal(found.batch, BATCHES)
    assert_array_equal(found.learning_rate, BEST_RATE)
    assert_allclose(found.median_steps, SMIN * (1 + BCRIT / found.batch), rtol=2e-3)
    assert_array_equal(found.reached, 3)
    assert_array_equal(found.seeds, 3)
    assert found.seed_batch.size == found.seed_steps.size == 3 * len(BATCHES)


def test_another_target_takes_other_steps_and_leaves_the_critical_batch_size() -> None:
    easy = law(one(target=0.1))
    assert_allclose(easy.critical_batch_size.value, BCRIT, rtol=0.02)
    expected = SMIN * np.log(0.5 / 0.1) / np.log(0.5 / TARGET)
    assert_allclose(easy.min_steps.value, expected, rtol=0.02)


def test_the_noise_scale_is_the_median_at_the_best_rate() -> None:
    assert_allclose(one().noise_scale, 10 * np.sqrt(BATCHES))
    lonely = [r | {"gradient_noise_scale": None} for r in sweep()]
    assert np.isnan(one(lonely).noise_scale).all()


def test_a_target_nothing_reached_is_infinite_at_every_batch_and_refused() -> None:
    compared = compare(trials(sweep()), 1e-4, ["SGD"])
    [found] = compared.curves
    assert np.isinf(found.median_steps).all()
    assert np.isnan(found.learning_rate).all()
    assert isinstance(found.curve, Refusal)
    assert "reached at none of the batch sizes tried" in found.curve.reason
    assert compared.reached == "None of 45 trials reached the target."
    assert steps_grid(found).size == 0


def test_where_half_of_the_seeds_fell_short_the_batch_is_left_out() -> None:
    records = [
        r | {"evaluations": None, "status": "nan"}
        if r["global_batch_size"] == 2048 and r["seed"] < 2
        else r
        for r in sweep()
    ]
    found = one(records)
    assert_array_equal(law(found).not_reached, [2048])
    assert np.isinf(found.median_steps[-1])
    assert found.reached[-1] < 2


def test_optimisers_stand_side_by_side_in_the_order_asked() -> None:
    known = trials([*sweep(), *sweep(optimizer="Adam", bcrit=10 * BCRIT)])
    curves = compare(known, TARGET, ["SGD", "Adam"]).curves
    assert [c.optimizer for c in curves] == ["SGD", "Adam"]
    ratio = law(curves[1]).critical_batch_size.value / law(curves[0]).critical_batch_size.value
    assert_allclose(ratio, 10, rtol=0.03)


def test_diverged_trials_count_among_those_that_did_not_get_there() -> None:
    # The slow rate needs 2.5 times the steps but is trained as long as that, so it gets there.
    assert compare(trials(sweep()), TARGET, ["SGD"]).reached.startswith("30 of 45 trials")


def test_an_unrecorded_rate_is_one_rate() -> None:
    records = [r | {"learning_rate": None} for r in sweep() if r["learning_rate"] == BEST_RATE]
    found = one(records)
    assert np.isnan(found.learning_rate).all()
    assert_allclose(law(found).critical_batch_size.value, BCRIT, rtol=0.01)


def test_a_second_attempt_of_a_seed_is_a_repetition() -> None:
    assert one([*sweep(), *sweep()]).seeds.tolist() == [6] * len(BATCHES)


@pytest.mark.parametrize(
    ("evaluations", "result"),
    [
        ([{"step": 5, "value": 0.5}, {"step": 5, "value": 0.01}], "two evaluations at step 5"),
        ([{"step": -1, "value": 0.5}], "Steps are counted from 0"),
        ([{"step": 0, "value": 0.01}], "Each must be above 0"),
    ],
)
def test_evaluations_that_cannot_be_are_refused_with_the_reason(
    evaluations: list[dict[str, float]], result: str
) -> None:
    found = one([*sweep(), trial(64, 0.25, 0, evaluations=evaluations)])
    assert isinstance(found.curve, Refusal)
    assert result in found.curve.reason
    assert found.batch.size == 0


def test_without_any_evaluation_there_is_a_refusal() -> None:
    found = one([r | {"evaluations": None, "status": "nan"} for r in sweep()])
    assert isinstance(found.curve, Refusal)


# -- time ----------------------------------------------------------------------------------------


def test_the_best_batch_and_its_time_are_those_of_goodput() -> None:
    found, where = one(), system()
    result = time_on(found, where.curve)
    assert result.best == best_batch(where.curve, found.curve)
    assert result.least_s == minimum_time(where.curve, found.curve)
    assert isinstance(result.best, Estimate)
    assert_allclose(result.best.value, np.sqrt(BCRIT * 1000 * 0.05), rtol=0.01)


def test_the_drawn_time_is_least_at_the_best_batch() -> None:
    found, where = one(), system()
    drawn = time_line(found, where.curve)
    assert drawn is not None
    batch, value, low, high, measured = drawn
    assert measured == (8.0, 2048.0)
    assert (low <= value).all()
    assert (value <= high).all()
    least = time_on(found, where.curve).least_s
    assert isinstance(least, Estimate)
    assert_allclose(value.min(), float(least.value), rtol=1e-3)
    assert batch.min() == 4.0
    assert batch.max() == 4096.0


def test_nothing_is_drawn_where_no_batch_is_known_to_both() -> None:
    apart = system(batches=(8192, 16384, 65536))
    assert time_line(one(), apart.curve) is None
    assert isinstance(time_on(one(), apart.curve).best, Refusal)


def test_nothing_is_drawn_without_one_of_the_curves() -> None:
    assert time_line(one(target=1e-4), system().curve) is None
    assert time_line(one(), system(batches=(64,)).curve) is None


def test_the_law_is_drawn_to_twice_the_measured_batches_where_it_answers() -> None:
    grid = steps_grid(one())
    assert (grid[0], grid[-1]) == (4.0, 4096.0)
    assert {8.0, 2048.0} <= set(grid)


def test_a_target_within_the_first_evaluations_shows_the_grid_and_is_refused() -> None:
    """Evaluated every hundredth of the way to the recorded target: 49 % error comes at once."""
    early = one(target=0.49)
    assert isinstance(early.curve, Refusal)
    assert "reached within the first evaluations" in early.curve.reason
    assert law(one(target=0.4)).n == len(BATCHES)
