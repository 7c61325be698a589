"""Promises of what other runs on a machine say about the epochs of one more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import ArrayLike

from planner.epochs import (
    MAX_CV,
    QUIETEST,
    SETS_SD,
    Scatter,
    scatter_sums,
    scatters,
    variation_of,
)
from planner.epochs.projection import NOISIER, together
from planner.runs import DRIFT, EPOCHS, NU0, SD0, EpochPrior

LATER = np.array([3, 3, 19, 5, 2])
NOISY = np.array([0.05, 0.09, 0.03, 0.12, 0.04])


def pooled_prior(later_epochs: ArrayLike, variation: ArrayLike) -> EpochPrior:
    return together(scatters(later_epochs, variation)).prior()


def test_a_run_that_stands_alone_has_the_usual_prior() -> None:
    assert pooled_prior([], []) is EPOCHS
    assert Scatter().prior() is EPOCHS


def test_runs_that_say_nothing_leave_the_usual_prior() -> None:
    assert pooled_prior([0, 1, 5], [0.3, 0.3, np.nan]) is EPOCHS


def test_a_quiet_set_never_narrows_the_prior() -> None:
    assert pooled_prior([19] * 15, [0.002] * 15) is EPOCHS


def test_a_set_that_hardly_scatters_more_is_a_usual_one() -> None:
    assert pooled_prior([19] * 40, [0.008] * 40) is EPOCHS
    assert pooled_prior([19] * 40, [0.02] * 40).sd > NOISIER * SD0


def test_one_other_run_moves_the_prior_part_of_the_way() -> None:
    """Two degrees of freedom each: no bias, and trigamma(1) = pi^2/6 twice, so 3/pi^2."""
    weight, doubt = 3.0 / np.pi**2, 1.0 / (2.0 * SETS_SD) ** 2
    log_sd = (weight * np.log(0.05) + doubt * np.log(SD0)) / (weight + doubt)
    assert_allclose(pooled_prior([3], [0.05]).sd, np.exp(log_sd), rtol=1e-3)


def test_many_runs_are_believed() -> None:
    rng = np.random.default_rng(5)
    later = rng.integers(2, 20, 3000)
    sd = 0.03 * np.sqrt(NU0 / rng.chisquare(NU0, later.size))  # runs differ as the prior has it
    variation = sd * np.sqrt(rng.chisquare(later - 1) / (later - 1))
    assert_allclose(pooled_prior(later, variation).sd, 0.03, rtol=0.06)


def test_the_drift_grows_in_proportion_and_nothing_else() -> None:
    result = pooled_prior(LATER, NOISY)
    assert_allclose(result.drift / DRIFT, result.sd / SD0)
    assert (result.dof, result.correlation, result.settled) == (
        EPOCHS.dof, EPOCHS.correlation, EPOCHS.settled,
    )  # fmt: skip
    still = together(scatters(LATER, NOISY)).prior(lasts=False)
    assert (still.sd, still.drift) == (result.sd, DRIFT)


def test_a_run_left_out_is_no_part_of_its_prior() -> None:
    parts = scatters(LATER, NOISY)
    every = together(parts)
    for i, own in enumerate(parts):
        others = np.arange(LATER.size) != i
        assert every.without(own).prior() == pooled_prior(LATER[others], NOISY[others])
    assert together(parts[:1]).without(parts[0]).prior() is EPOCHS


def test_the_order_of_runs_makes_no_difference() -> None:
    assert pooled_prior(LATER[::-1], NOISY[::-1]) == pooled_prior(LATER, NOISY)


def test_runs_stated_by_their_number_and_mean_say_the_same() -> None:
    variation = np.array([0.02, 0.0, 0.5])
    one_by_one = together(scatters([4, 4, 4], variation))
    mean = float(np.log(np.clip(variation, QUIETEST, MAX_CV)).mean())
    weight, weighted = scatter_sums([4], [3], [mean])
    assert one_by_one.runs == 3
    assert_allclose([weight[0], weighted[0]], [one_by_one.weight, one_by_one.weighted])


@pytest.mark.parametrize(("odd", "counts_as"), [(0.0, QUIETEST), (3.0, MAX_CV)])
def test_a_single_odd_run_says_no_more_than_the_limits(odd: float, counts_as: float) -> None:
    with_odd, with_limit = (pooled_prior([*LATER, 3], [*NOISY, last]) for last in (odd, counts_as))
    assert with_odd == with_limit


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.floats(1.0, 3.0))
@settings(max_examples=50, deadline=None)
def test_noisier_runs_never_make_a_smaller_prior(variation: list[float], more: float) -> None:
    later = [3] * len(variation)
    quiet, noisy = (pooled_prior(later, np.array(variation) * f).sd for f in (1.0, more))
    assert SD0 <= quiet <= noisy <= MAX_CV


def test_variation_is_that_of_a_sample_and_unknown_of_one_epoch() -> None:
    assert_allclose(variation_of(np.array([9.0, 10.0, 11.0])), 0.1)
    assert np.isnan(variation_of(np.array([9.0])))


def test_sets_that_do_not_differ_leave_the_usual_prior() -> None:
    assert together(scatters(LATER, NOISY)).prior(sets_sd=0.0) is EPOCHS
