"""The pure parts: noise scale, curves, the best rate, the order of samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from runners.child.samples.datasets import Orders
from runners.converge import curves, measure
from runners.converge.curves import Curve, Draw, Floats, TrialPoint, best_median, columns
from runners.converge.spec import Rates

GRID = Rates(factor=2.0, count=3, widenings=2, widen_by=2)


# -- gradient noise scale: mean of n-dimensional Gaussians has all in closed form ----------------


def _squared_norms(
    rng: np.random.Generator, draws: int, small: int, parts: int
) -> tuple[Floats, Floats, float, float]:
    """Per-sample gradients are N(mean, diag(sd^2)): |G|^2 and tr(Sigma) are known exactly."""
    mean, sd = np.full(20, 0.3), np.linspace(0.5, 2.0, 20)
    each = mean + sd * rng.standard_normal((draws, parts, small, 20))
    of_parts = each.mean(axis=2)
    small_sq = (of_parts**2).sum(-1).mean(axis=1)
    big_sq = (of_parts.mean(axis=1) ** 2).sum(-1)
    return small_sq, big_sq, float((sd**2).sum()), float((mean**2).sum())


def test_both_parts_of_the_noise_scale_are_unbiased() -> None:
    small_sq, big_sq, trace, squared = _squared_norms(np.random.default_rng(7), 2000, 8, 4)
    found = curves.two_batches(small_sq, big_sq, 8, 32)
    for estimates, exact in zip(found, (trace, squared), strict=True):
        error = estimates.std(ddof=1) / math.sqrt(len(estimates))
        assert abs(estimates.mean() - exact) < 4 * error


def test_the_noise_scale_of_a_closed_form_is_found_within_five_percent() -> None:
    small_sq, big_sq, trace, squared = _squared_norms(np.random.default_rng(8), 2000, 8, 4)
    assert curves.ratio(*curves.two_batches(small_sq, big_sq, 8, 32)) == pytest.approx(
        trace / squared, rel=0.05
    )


def test_a_gradient_hidden_in_noise_gives_no_number() -> None:
    assert curves.ratio(np.array([1.0, 2.0]), np.array([0.5, -0.6])) is None
    assert curves.along(np.array([]), np.array([])) is None


def test_the_scale_along_a_path_is_the_mean_over_steps_and_not_that_of_its_start() -> None:
    squared = np.repeat([100.0, 10.0, 1.0, 0.1], 4)
    trace = np.repeat([100.0, 100.0, 100.0, 100.0], 4)
    assert curves.along(trace, squared) == pytest.approx((1 + 10 + 100 + 1000) / 4)


# -- curves ----------------------------------------------------------------------------------------


def _curve(*errors: float, rate: float = 0.1, seed: int = 0) -> Curve:
    curve = Curve.begin(rate, seed, target=0.1)
    for i, error in enumerate(errors, 1):
        curve.evaluated(TrialPoint(step=4 * i, error=error, loss=error), training_loss=error)
    return curve


def test_the_first_evaluation_at_the_target_counts_even_where_a_later_one_is_worse() -> None:
    result = columns(_curve(0.5, 0.1, 0.3), batch=16, parts=2, part_size=4, steps_run=12)
    assert (result["steps_to_target"], result["samples_to_target"]) == (8, 128)
    assert (result["status"], result["final_metric"], result["target_reached"]) == ("ok", 0.3, True)
    assert [e["samples"] for e in result["evaluations"]] == [64, 128, 192]


def test_not_reached_is_a_result() -> None:
    result = columns(_curve(0.5, 0.4), batch=16, parts=2, part_size=4, steps_run=8)
    assert result["status"] == "ok"
    assert result["target_reached"] is False
    assert "steps_to_target" not in result


def test_a_curve_ends_where_its_loss_is_no_number() -> None:
    curve = _curve(0.5, math.nan, 0.05)
    result = columns(curve, batch=16, parts=2, part_size=4, steps_run=12)
    assert result["status"] == "nan"
    assert "step 8 (learning rate 0.1)" in result["status_reason"]
    assert len(result["evaluations"]) == 1
    assert not curve.open


def test_a_trial_that_diverges_after_its_target_has_reached_it() -> None:
    result = columns(_curve(0.05, math.inf), batch=16, parts=2, part_size=4, steps_run=8)
    assert (result["status"], result["steps_to_target"]) == ("ok", 4)
    assert result["extra"]["diverged_at_step"] == 8


def test_the_noise_scale_is_taken_on_the_path_to_the_target_only() -> None:
    curve = _curve(0.5, 0.05, 0.05)
    for step, small in ((0, 3.0), (4, 3.0), (8, 1e9)):
        curve.looked(Draw(step=step, small_sq=small, big_sq=1.5))
    result = columns(curve, batch=16, parts=2, part_size=4, steps_run=12)
    trace, squared = curves.two_batches(np.array([3.0]), np.array([1.5]), 4, 8)
    assert squared[0] == 0.0
    assert "gradient_noise_scale" not in result
    curve.draws[0] = Draw(step=0, small_sq=2.0, big_sq=1.5)
    result = columns(curve, batch=16, parts=2, part_size=4, steps_run=12)
    assert result["gradient_noise_scale"] == pytest.approx((12 + 4) / (0 + 1.0))
    assert trace[0] == pytest.approx(12)


def test_one_seed_that_never_arrives_does_not_lose_a_rate() -> None:
    curves = [_curve(0.1, seed=0), _curve(0.5, 0.1, seed=1), _curve(0.5, seed=2)]
    assert best_median(curves) == 8
    assert best_median(curves[1:]) == math.inf


# -- the best rate ---------------------------------------------------------------------------------


def _row(rate: float, steps: int | None, error: float = 0.1, status: str = "ok") -> dict[str, Any]:
    return {"learning_rate": rate, "steps_to_target": steps, "final_metric": error,
            "status": status}  # fmt: skip


def test_a_best_rate_between_two_others_needs_no_wider_grid() -> None:
    found = measure.best_rate([_row(0.1, 30), _row(0.2, 20), _row(0.4, 25)])
    assert (found.rate, found.steps, found.edge) == (0.2, 20, None)


@pytest.mark.parametrize(("steps", "edge"), [((10, 20, 30), "low"), ((30, 20, 10), "high")])
def test_a_best_rate_at_an_edge_is_reported_with_its_side(
    steps: tuple[int, ...], edge: str
) -> None:
    rows = [_row(r, s) for r, s in zip((0.1, 0.2, 0.4), steps, strict=True)]
    assert measure.best_rate(rows).edge == edge


def test_of_equally_good_rates_the_middle_one_is_taken() -> None:
    assert measure.best_rate([_row(r, 8) for r in (0.1, 0.2, 0.4)]).rate == 0.2


def test_where_nothing_reached_the_target_the_smallest_error_leads() -> None:
    found = measure.best_rate([_row(0.1, None, 0.5), _row(0.2, None, 0.3), _row(0.4, None, 0.2)])
    assert (found.rate, found.steps, found.edge) == (0.4, math.inf, "high")


def test_a_rate_that_diverged_is_never_the_best() -> None:
    rows = [_row(0.1, None, 0.5), _row(0.2, None, 0.4), _row(0.4, None, 0.01, "nan")]
    assert measure.best_rate(rows).rate == 0.2


def test_a_wider_grid_holds_only_new_rates_on_that_side() -> None:
    assert measure.rates(0.5, GRID) == (0.5, 1.0, 2.0)
    assert measure.wider((0.5, 1.0, 2.0), "high", GRID) == (4.0, 8.0)
    assert measure.wider((0.5, 1.0, 2.0), "low", GRID) == (0.125, 0.25)


# -- the order of samples --------------------------------------------------------------------------


def test_an_epoch_shows_no_sample_twice_and_drops_its_rest() -> None:
    places = Orders([0], samples=10, batch=3, sampling="epochwise").take(6)
    for epoch in (places[0, :3], places[0, 3:]):
        assert len(set(epoch.ravel().tolist())) == 9


def test_a_seed_has_the_same_order_in_any_company_and_any_portion() -> None:
    alone = Orders([5], 50, 4, "epochwise").take(30)
    company = Orders([3, 5], 50, 4, "epochwise")
    company.draw(2, 2)
    portions = np.concatenate([company.take(7), company.take(23)], axis=1)
    np.testing.assert_array_equal(alone[0], portions[1])


def test_only_drawing_with_replacement_fills_a_batch_larger_than_the_set() -> None:
    assert Orders([0], 10, 30, "with replacement").take(2).shape == (1, 2, 30)
    with pytest.raises(ValueError, match="30"):
        Orders([0], 10, 30, "epochwise")
