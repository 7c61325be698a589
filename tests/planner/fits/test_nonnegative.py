"""Promises of the fit whose values are never negative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.fits import fit_lines, fit_nonnegative

RNG = np.random.default_rng(4)
DESIGN = RNG.uniform(0.0, 1.0, (30, 4))
NOISE = RNG.normal(0, 0.05, 30)


def test_what_adds_up_is_taken_apart() -> None:
    fit = fit_nonnegative(DESIGN, DESIGN @ [1.0, 0.0, 2.0, 3.0])
    assert_allclose(fit.value, [1.0, 0.0, 2.0, 3.0], atol=1e-12)
    assert_allclose(fit.rss, 0.0, atol=1e-20)


def test_inside_the_border_it_is_least_squares_with_its_covariance() -> None:
    target = DESIGN @ [1.0, 4.0, 2.0, 3.0] + NOISE
    fit = fit_nonnegative(DESIGN, target)
    assert_allclose(fit.value, np.linalg.lstsq(DESIGN, target)[0])
    assert_allclose(fit.unit_covariance, np.linalg.inv(DESIGN.T @ DESIGN))
    assert_allclose(fit.rss, ((DESIGN @ fit.value - target) ** 2).sum())


@given(target=st.lists(st.floats(-10, 10), min_size=30, max_size=30))
@settings(max_examples=40, deadline=None)
def test_no_value_is_negative_and_no_step_inwards_helps(target: list[float]) -> None:
    fit = fit_nonnegative(DESIGN, target)
    slope = DESIGN.T @ (DESIGN @ fit.value - np.array(target))
    assert (fit.value >= 0.0).all()
    assert (slope >= -1e-7).all()
    assert_allclose(slope[fit.value > 0.0], 0.0, atol=1e-7)


def test_it_is_the_line_of_the_one_kernel_where_both_fit() -> None:
    x, y = np.array([8.0, 32, 64, 256]), np.array([0.11, 0.19, 0.27, 1.1])
    line = fit_lines([0] * 4, x, y)
    fit = fit_nonnegative(np.stack([1 / y, x / y], axis=1), np.ones(4))
    assert_allclose(fit.value, [line.intercept[0], line.slope[0]])
    assert_allclose(np.diag(fit.unit_covariance), [line.var_intercept[0], line.var_slope[0]])


@given(unit=st.floats(1e-9, 1e9))
@settings(max_examples=20, deadline=None)
def test_units_of_a_column_change_nothing_but_units(unit: float) -> None:
    target = DESIGN @ [1.0, 0.0, 2.0, 3.0] + NOISE
    units = np.array([1.0, unit, 1.0, 1.0 / unit])
    plain, scaled = fit_nonnegative(DESIGN, target), fit_nonnegative(DESIGN * units, target)
    assert_allclose(scaled.value * units, plain.value, rtol=1e-9, atol=1e-12)
    assert_allclose(scaled.unit_variance(units * DESIGN[0]), plain.unit_variance(DESIGN[0]))


def test_two_columns_that_rise_together_have_a_known_sum_and_an_unknown_split() -> None:
    twice = np.column_stack([DESIGN[:, 0], 2 * DESIGN[:, 0], DESIGN[:, 1]])
    fit = fit_nonnegative(twice, twice @ [1.0, 1.0, 5.0])
    questions = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 2.1, 0.0]])
    assert fit.determined(questions).tolist() == [True, True, False, False]
    assert_allclose(questions[:2] @ fit.value, [3.0, 5.0])
    assert np.isfinite(fit.unit_variance(questions)).all()


def test_fewer_rows_than_columns_leave_directions_open() -> None:
    fit = fit_nonnegative([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [2.0, 3.0])
    assert fit.unknown.shape == (3, 1)
    assert_allclose(fit.rss, 0.0, atol=1e-20)
    assert fit.determined([1.0, 0.0, 1.0])
    assert not fit.determined([1.0, 0.0, 0.0])


def test_many_directions_of_a_full_fit_are_all_determined() -> None:
    assert fit_nonnegative(DESIGN, np.ones(30)).determined(np.ones((5, 7, 4))).shape == (5, 7)


@pytest.mark.parametrize(
    ("design", "target", "result"),
    [
        ([[1.0, 2.0]], [1.0, 2.0], r"shapes \(1, 2\) and \(2,\)"),
        ([1.0], [1.0], "Give .rows, columns."),
        (np.empty((0, 2)), [], "at least one of each"),
        ([[1.0, np.nan]], [1.0], "not finite everywhere"),
        ([[1.0, 0.0], [2.0, 0.0]], [1.0, 2.0], "column 2 of 2 has only zeros"),
    ],
)
def test_bad_input_is_named(design: object, target: object, result: str) -> None:
    with pytest.raises(ValueError, match=result):
        fit_nonnegative(design, target)  # type: ignore[arg-type]


@given(unit=st.floats(1e-12, 1e12), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_what_is_rounding_beside_the_target_is_exactly_zero(unit: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    design, absent = rng.uniform(0.0, 1.0, (12, 5)), rng.random(5) < 0.5
    fit = fit_nonnegative(design, unit * design @ np.where(absent, 0.0, 1.0 + np.arange(5)))
    assert (fit.value[absent] == 0.0).all()


def test_a_small_value_that_the_rows_show_is_kept() -> None:
    fit = fit_nonnegative(np.eye(3), [1.0, 1e-9, 1.0])
    assert_allclose(fit.value, [1.0, 1e-9, 1.0])
