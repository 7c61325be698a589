"""Nominal 90 % intervals hold the truth in 87 to 97 % of a thousand simulated sweeps and runs.

The prior on scatter expects 5 %, so at 5 % true scatter and few points the bands are a little
wider than they need to be: the upper end of the promise is as much a promise as the lower one.
"""

from __future__ import annotations

import numpy as np
import pytest

from planner.core import Estimate, Floats
from planner.epochs import project
from planner.fits import (
    Lines,
    fit_lines,
    intercept_interval,
    predict_lines,
    ratio_interval,
    slope_interval,
)
from planner.throughput import ThroughputCurve, crossover_batch, fit_throughput
from tests.each import each

SWEEPS = 1000
V0, T = 258.1, 0.054
RNG_SEED = 20181012
POWERS = [np.array([8.0, 32, 256]), np.array([8.0, 16, 64, 256]), 2.0 ** np.arange(2, 10)]


def scattered(rng: np.random.Generator, batch: Floats, v0: float = V0, t: float = T) -> Floats:
    """Step times of SWEEPS sweeps with 5 % relative scatter, shape (SWEEPS, batches)."""
    return (t + batch / v0) * np.exp(0.05 * rng.standard_normal((SWEEPS, batch.size)))


def sweeps(rng: np.random.Generator, batch: Floats) -> Lines:
    group = np.repeat(np.arange(SWEEPS), batch.size)
    return fit_lines(group, np.tile(batch, SWEEPS), scattered(rng, batch).ravel())


def held(interval: tuple[Floats, Floats], truth: Floats | float) -> float:
    return float(np.mean((interval[0] <= truth) & (truth <= interval[1])))


@each("batch", POWERS)
def test_parameter_intervals_hold_the_true_overhead_v0_and_half_saturation(batch: Floats) -> None:
    lines = sweeps(np.random.default_rng(RNG_SEED), batch)
    for interval, truth in (
        (intercept_interval(lines), T),
        (slope_interval(lines), 1 / V0),
        (ratio_interval(lines), V0 * T),
    ):
        assert 0.87 <= held(interval, truth) <= 0.97


@each("batch", POWERS)
def test_predictive_bands_hold_a_new_measurement_inside_the_range(batch: Floats) -> None:
    rng = np.random.default_rng(RNG_SEED + 1)
    lines = sweeps(rng, batch)
    for size in (24.0, 128.0, 256.0):
        new = scattered(rng, np.array([size]))[:, 0]
        assert 0.87 <= held(predict_lines(lines, size)[1:], new) <= 0.97


def test_curves_report_the_very_intervals_that_were_simulated() -> None:
    batch = POWERS[1]
    times = scattered(np.random.default_rng(RNG_SEED), batch)
    low, high = slope_interval(sweeps(np.random.default_rng(RNG_SEED), batch))
    for i in range(3):
        curve = fit_throughput(batch, times[i])
        assert isinstance(curve, ThroughputCurve)
        assert np.isclose(float(curve.asymptotic_throughput.low), 1 / high[i])
        assert np.isclose(float(curve.asymptotic_throughput.high), 1 / low[i])


def test_crossover_intervals_hold_the_true_crossover() -> None:
    rng, batch = np.random.default_rng(RNG_SEED + 2), POWERS[2]
    one, two = scattered(rng, batch), scattered(rng, batch, 513.8, 0.15)
    truth, inside = (0.15 - T) / (1 / V0 - 1 / 513.8), []
    for left, right in zip(one[:300], two[:300], strict=True):
        a, b = fit_throughput(batch, left), fit_throughput(batch, right)
        assert isinstance(a, ThroughputCurve)
        assert isinstance(b, ThroughputCurve)
        result = crossover_batch(a, b)
        inside.append(isinstance(result, Estimate) and bool(result.low <= truth <= result.high))
    assert 0.87 <= np.mean(inside) <= 0.97


def resembling(rng: np.random.Generator, epochs: int, rho: float = 0.3) -> Floats:
    """Epochs of 50 s whose neighbours resemble each other (AR 1), shape (SWEEPS, epochs).

    Each run has a scatter of its own, as real runs do: 0.6 % typically, up to 5 %.
    """
    noise = rng.standard_normal((SWEEPS, epochs))
    for i in range(1, epochs):
        noise[:, i] = rho * noise[:, i - 1] + np.sqrt(1 - rho**2) * noise[:, i]
    scatter = np.minimum(0.006 * np.sqrt(2 / rng.chisquare(2, (SWEEPS, 1))), 0.05)
    return 50.0 * (1 + scatter * noise)


@pytest.mark.parametrize("measured", [2, 3, 5, 10])
def test_projections_hold_the_rest_of_runs_that_resemble_themselves_and_drift(
    measured: int,
) -> None:
    rng = np.random.default_rng(RNG_SEED + 3)
    runs = resembling(rng, 60)
    runs[:, measured:] *= 1 + 0.003 * rng.standard_normal((SWEEPS, 1))
    inside = []
    for epochs in runs:
        result = project(1.0, epochs[:measured], 60, continuing=True)
        assert isinstance(result, Estimate)
        inside.append(bool(result.low <= 1.0 + epochs.sum() <= result.high))
    assert 0.87 <= np.mean(inside) <= 0.97
