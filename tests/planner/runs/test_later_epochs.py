"""Promises of what a few epochs tell of the next ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.core import t_quantile
from planner.runs import DRIFT, NU0, RHO, SD0, SEEN, SETTLED, EpochPrior, LaterEpochs

LATER = LaterEpochs(count=4, mean_s=10.0, sd_s=0.1)


def test_scatter_is_pooled_with_the_prior() -> None:
    assert LATER.dof == NU0 + 3
    assert_allclose(LATER.variance, (NU0 * (SD0 * 10.0) ** 2 + 4 * 0.1**2) / (NU0 + 3))
    alone = replace(LATER, sd_s=None)
    assert alone.dof == NU0
    assert_allclose(alone.variance, (SD0 * 10.0) ** 2)


def test_the_half_width_is_that_of_the_formula() -> None:
    m = np.array([1.0, 16.0])
    variance = LATER.variance * (m + m**2 / 4) * (1 + RHO) / (1 - RHO) + (DRIFT * 10.0 * m) ** 2
    expected = t_quantile(0.9, NU0 + 3) * np.sqrt(variance)
    assert_allclose(LATER.half_width(m, 0.9), expected)


def test_a_drift_is_as_measured_up_to_the_epochs_seen_and_wanders_on_until_it_settles() -> None:
    result = EpochPrior().wandered([1.0, SEEN, 4 * SEEN, SETTLED, 1e9])
    last = DRIFT * np.sqrt(SETTLED / SEEN)
    assert_allclose(result, [DRIFT, DRIFT, 2 * DRIFT, last, last])


def test_a_prior_that_settles_at_once_drifts_the_same_for_ever() -> None:
    assert_allclose(EpochPrior(settled=0.0).wandered([5.0, 1e6]), DRIFT)


def test_epochs_that_scatter_twice_as_much_drift_twice_as_much() -> None:
    result = EpochPrior().scattering(2 * SD0)
    assert (result.sd, result.drift) == (2 * SD0, 2 * DRIFT)
    assert replace(result, sd=SD0, drift=DRIFT) == EpochPrior()


def test_one_epoch_in_the_long_run_is_the_limit_of_many() -> None:
    many = np.array([1e9])
    assert_allclose(LATER.half_width(many, 0.9) / many, LATER.half_width_of_one(0.9), rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-3, 60.0])
def test_units_of_time_change_nothing(unit: float) -> None:
    scaled = replace(LATER, mean_s=10.0 * unit, sd_s=0.1 * unit)
    ahead = np.array([3.0, 300.0])
    assert_allclose(scaled.half_width(ahead, 0.9) / unit, LATER.half_width(ahead, 0.9))
    assert_allclose(scaled.variation, LATER.variation)
