"""Promises of the forms we are compared with: each is what its source says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from backtest.questions import methods
from backtest.questions.methods import (
    AdaptDL,
    fit_adaptdl,
    fit_constant_throughput,
    fit_ernest,
    fit_perfect_speed_up,
    fit_power_law,
)

BATCH = np.tile([8.0, 16.0, 32.0, 64.0], 6)
DEVICES = np.repeat([1.0, 2.0, 4.0, 2.0, 4.0, 8.0], 4)
NODES = np.repeat([1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 4)
TRUTH = AdaptDL(parameters=np.array([0.05, 0.004, 0.2, 0.03, 0.06, 0.01, 1.8]))


def test_ernest_finds_its_own_four_terms() -> None:
    step_s = 0.1 + 0.002 * BATCH + 0.03 * np.log(DEVICES) + 0.004 * DEVICES
    fit = fit_ernest(BATCH, DEVICES, step_s)
    assert_allclose(fit.coefficients, [0.1, 0.002, 0.03, 0.004])
    assert_allclose(fit.step_s(10.0, 16), 0.12 + 0.03 * np.log(16.0) + 0.064)


def test_ernest_never_speeds_up_with_a_negative_term() -> None:
    assert (fit_ernest(BATCH, DEVICES, 1.0 / DEVICES).coefficients >= 0.0).all()


def test_ernest_minimises_absolute_errors() -> None:
    """Two times at one place: the mean, not the smaller one that relative errors prefer."""
    assert_allclose(fit_ernest([1, 1], [1, 1], [1.0, 3.0]).step_s(1, 1), 2.0)


def test_adaptdl_overlaps_between_a_sum_and_a_maximum() -> None:
    parts = np.array([0.05 + 0.004 * 10, 0.06 + 0.01 * 2])
    for gamma, expected in ((1.0, parts.sum()), (10.0, (parts**10).sum() ** 0.1)):
        form = AdaptDL(parameters=np.append(TRUTH.parameters[:6], gamma))
        assert_allclose(form.step_s(10, 4, 1), expected)
    alone = AdaptDL(parameters=TRUTH.parameters).step_s(10, 1, 1)
    assert_allclose(alone, parts[0], rtol=1e-6)


def test_adaptdl_grows_linearly_beyond_two_devices() -> None:
    sums = AdaptDL(parameters=np.append(TRUTH.parameters[:6], 1.0))
    steps = sums.step_s(10, np.array([2, 3, 4]), 2)
    assert_allclose(np.diff(steps), 0.03)


@pytest.mark.parametrize("known", [True, False])
def test_adaptdl_finds_itself_up_to_its_own_penalties(*, known: bool) -> None:
    step_s = TRUTH.step_s(BATCH, DEVICES, NODES)
    compute_s = TRUTH.parameters[0] + TRUTH.parameters[1] * BATCH
    fit = fit_adaptdl(BATCH, DEVICES, NODES, step_s, compute_s if known else None)
    assert_allclose(fit.step_s(BATCH, DEVICES, NODES), step_s, rtol=0.02)
    assert 1.0 <= fit.parameters[6] <= 10.0


@pytest.mark.parametrize("known", [True, False])
def test_the_gradient_of_adaptdl_is_that_of_its_error(*, known: bool) -> None:
    rows = methods._adaptdl_rows(BATCH, DEVICES, NODES)
    wanted = np.log(TRUTH.step_s(BATCH, DEVICES, NODES)) + 0.1 * np.sin(BATCH)
    compute = wanted - 0.3 if known else None
    place = np.array([0.1, 0.01, 0.2, 0.02, 0.15, 0.03, 1.7])

    def error(parameters: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return methods._adaptdl_error(parameters, rows, wanted, compute)[0]

    gradient = methods._adaptdl_error(place, rows, wanted, compute)[1]
    assert_allclose(gradient, approx_fprime(place, error, 1e-7), rtol=1e-3, atol=1e-5)


def test_adaptdl_holds_what_no_run_asks_for() -> None:
    one_node = NODES == 1.0
    fit = fit_adaptdl(
        BATCH[one_node], DEVICES[one_node], NODES[one_node],
        TRUTH.step_s(BATCH, DEVICES, NODES)[one_node],
    )  # fmt: skip
    assert_allclose(fit.parameters[2:4], 1.1 * fit.parameters[4:6])
    two = fit_adaptdl([8.0, 8.0], [1, 2], [1, 1], [0.1, 0.15])
    assert_allclose(two.parameters[0], 0.125 / 2)  # half of the mean step where b is one size
    assert_allclose(two.parameters[5], methods.LEAST)


def test_a_perfect_speed_up_is_the_line_of_the_fewest_devices() -> None:
    fit = fit_perfect_speed_up(BATCH, DEVICES, 0.05 + 0.004 * BATCH + 0.2 * (DEVICES - 1))
    assert_allclose(fit.step_s([10.0, 20.0], 16), [0.09, 0.13])
    one = fit_perfect_speed_up([8.0, 8.0], [2, 4], [0.4, 0.9])
    assert_allclose(one.step_s(16.0, 4), 0.8)


def test_a_constant_throughput_is_that_of_the_nearest_batch() -> None:
    fit = fit_constant_throughput([64.0, 8.0, 8.0], [0.4, 0.1, 0.3])
    assert_allclose(fit.step_s([8.0, 16.0, 32.0, 640.0]), [0.2, 0.4, 0.2, 4.0])


def test_a_power_law_is_a_straight_line_in_logarithms() -> None:
    fit = fit_power_law([1.0, 4.0, 16.0], [3.0, 6.0, 12.0])
    assert_allclose([fit.factor_s, fit.exponent], [3.0, 0.5])
    assert_allclose(fit.step_s([64.0]), [24.0])
    assert_allclose(fit_power_law([4.0, 4.0], [1.0, 1.0]).step_s(8.0), 2.0)
