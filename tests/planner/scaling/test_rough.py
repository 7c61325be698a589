"""Runs whose steps get shorter with more devices have no answer above the measured counts."""

from __future__ import annotations

import numpy as np

from planner.core import Estimate, Refusal
from planner.scaling import ScalingCurve, fit_scaling
from planner.scaling.answers import ROUGH_RUNS

COUNTS = np.array([1.0, 2, 3, 4])
SMOOTH = {1: 0.20, 2: 0.26, 3: 0.28, 4: 0.29}
ROUGH = {1: 0.20, 2: 0.31, 3: 0.26, 4: 0.30}
"""Steps [s]: shorter on 3 devices than on 2, as on a published cluster."""


def curve(link: dict[int, float]) -> ScalingCurve:
    each, n = (x.ravel() for x in np.meshgrid([4.0, 8, 16, 24, 32, 64], COUNTS))
    step = [link[int(d)] + 0.001 * b for b, d in zip(each, n, strict=True)]
    found = fit_scaling(each, n, np.ones(n.size), step)
    assert isinstance(found, ScalingCurve)
    return found


def test_smooth_runs_are_extrapolated() -> None:
    found = curve(SMOOTH)
    assert not found.rough
    assert isinstance(found.step_time(32.0, 8, 1), Estimate)


def test_rough_runs_are_refused_above_the_measured_counts_alone() -> None:
    found = curve(ROUGH)
    assert found.rough
    assert found.step_time(32.0, 8, 1) is ROUGH_RUNS
    assert isinstance(found.step_time(32.0, 4, 1), Estimate)
    assert isinstance(found.weak_scaling(32.0, 8, 1), Refusal)


def test_a_grid_has_no_step_where_rough_runs_are_refused() -> None:
    grid = curve(ROUGH).step_time_s(np.array([[64.0], [256.0]]), np.array([2.0, 8.0]))
    assert np.isfinite(grid[0, 0])
    assert np.isnan(grid[:, 1]).all()


def test_a_few_counts_show_no_roughness() -> None:
    found = fit_scaling([32.0, 32, 64], [1.0, 2, 2], [1.0, 1, 1], [0.3, 0.2, 0.25])
    assert not isinstance(found, ScalingCurve) or not found.rough
