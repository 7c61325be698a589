"""Promises of how evaluations that lie far apart count."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.convergence import PRIOR, ConvergenceCurve, best_learning_rates, fit_convergence
from planner.convergence._targets import prior_with, resolution_shares
from planner.core import Estimate, Floats, Refusal

BATCH = np.array([8.0, 32.0, 128.0, 512.0, 2048.0])
SAMPLES = 900.0 * (BATCH + 700.0) * [1.03, 0.98, 1.01, 0.97, 1.02]


def curve(share: float | Floats | None) -> ConvergenceCurve:
    resolution = None if share is None else share * SAMPLES
    found = fit_convergence(BATCH, SAMPLES, resolution_samples=resolution)
    assert isinstance(found, ConvergenceCurve)
    return found


def width(found: ConvergenceCurve) -> float:
    critical = found.critical_batch_size
    return float(critical.high) / float(critical.low)


def test_the_coarser_the_evaluations_the_wider_every_interval() -> None:
    widths = [width(curve(share)) for share in (0.0, 0.1, 0.3, 0.5)]
    assert widths == sorted(widths)
    assert widths[0] == width(curve(None))
    assert widths[3] > 1.2 * widths[0]
    near, far = (curve(share).steps(64.0) for share in (0.0, 0.5))
    assert isinstance(near, Estimate)
    assert isinstance(far, Estimate)
    assert float(far.low) < float(near.low) < float(near.high) < float(far.high)


def test_the_resolution_adds_the_variance_of_a_uniform_distribution_and_moves_no_law() -> None:
    assert_allclose(prior_with(PRIOR, np.full(3, 0.6)).sd, np.hypot(PRIOR.sd, 0.6 / np.sqrt(12)))
    assert curve(0.4).critical_batch_size.value == curve(None).critical_batch_size.value


def test_a_batch_that_was_there_at_its_first_evaluation_is_left_out_and_named() -> None:
    found = curve(np.array([0.01, 0.01, 0.01, 1.0, 1.0]))
    assert found.batch.tolist() == [8.0, 32.0, 128.0]
    assert "no evaluation came before the target there: batch 512, 2,048." in found.warnings[0]


def test_where_only_the_grid_of_evaluations_is_seen_there_is_no_curve() -> None:
    refused = fit_convergence(BATCH, SAMPLES, resolution_samples=SAMPLES)
    assert isinstance(refused, Refusal)
    assert "they lie 100 % of the steps to it apart" in refused.reason
    assert "none came before it at batch 8, 32, 128, 512, 2,048." in refused.reason
    assert refused.measure_next.startswith("Choose a stricter target")
    for share in (0.51, (BATCH > 8) * 1.0):
        few = fit_convergence(BATCH, SAMPLES, resolution_samples=SAMPLES * share)
        assert isinstance(few, Refusal)


def test_coarse_evaluations_are_reported_with_the_worst_batch() -> None:
    result = curve(np.array([0.7, 0.3, 0.1, 0.1, 0.1])).warnings
    assert result[0].startswith("Interpolated between evaluations that lie far apart: up to 70 %")
    assert "at batch 8" in result[0]
    assert curve(0.1).warnings == ()


def test_the_share_of_a_batch_is_that_of_its_median_seed() -> None:
    group, samples = np.array([0, 0, 0, 1, 1]), np.array([100.0, 100.0, np.inf, 50.0, np.inf])
    shares = resolution_shares(group, samples, np.array([10.0, 30.0, np.nan, 5.0, np.nan]))
    assert shares.tolist() == [0.3, np.inf]


def test_which_runs_were_used_is_reported_so_that_their_resolution_can_be_found() -> None:
    best = best_learning_rates([8, 8, 32, 32], [0.1, 0.2, 0.1, 0.2], [0, 0, 0, 0], [9, 5, 3, 4])
    assert best.used.tolist() == [False, True, True, False]
    assert_allclose(best.samples_to_target, [40, 96])


def test_a_resolution_must_be_possible() -> None:
    with pytest.raises(ValueError, match="resolution_samples: value 1 of 5 is -1"):
        fit_convergence(BATCH, SAMPLES, resolution_samples=[-1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="resolution_samples holds 'x'"):
        fit_convergence(BATCH, SAMPLES, resolution_samples=["x"] * 5)
    with pytest.raises(ValueError, match="flat lists of one length"):
        fit_convergence(BATCH, SAMPLES, resolution_samples=[1, 2])
