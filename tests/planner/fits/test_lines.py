"""Promises of the one kernel: y = intercept + slope*x per group, both at least 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.fits import (
    KAPPA,
    SD0,
    Lines,
    fit_lines,
    intercept_interval,
    predict_lines,
    ratio_interval,
    scatter_variance,
    slope_interval,
)
from planner.fits.lines import NU0, octaves_outside
from tests.each import each

if TYPE_CHECKING:
    from planner.core import Floats

FIELDS = ("intercept", "slope", "rss", "var_intercept", "var_slope", "cov", "x_min", "x_max")


def one(x: list[float], y: list[float]) -> Lines:
    return fit_lines(np.zeros(len(x), dtype=int), x, y)


def least_squares(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    design = np.column_stack([1.0 / y, x / y])
    covariance = np.linalg.inv(design.T @ design).astype(np.float64)
    return covariance @ design.sum(axis=0), covariance


def test_points_on_a_line_return_that_line() -> None:
    lines = one([1, 2, 4], [3.5, 4.0, 5.0])
    assert_allclose([lines.intercept[0], lines.slope[0]], [3.0, 0.5])
    assert_allclose(lines.rss, 0.0, atol=1e-25)


def test_closed_form_equals_weighted_least_squares() -> None:
    x, y = np.array([8.0, 32, 64, 256]), np.array([0.11, 0.19, 0.27, 1.1])
    lines = one(list(x), list(y))
    (intercept, slope), covariance = least_squares(x, y)
    assert_allclose([lines.intercept[0], lines.slope[0]], [intercept, slope])
    assert_allclose(lines.var_intercept, covariance[0, 0])
    assert_allclose(lines.var_slope, covariance[1, 1])
    assert_allclose(lines.cov, covariance[0, 1])


def test_residuals_are_relative() -> None:
    x, y = np.array([1.0, 2, 3]), np.array([1.0, 3.0, 3.5])
    lines = one(list(x), list(y))
    fitted = lines.intercept + lines.slope * x
    assert_allclose(lines.rss, ((fitted / y - 1.0) ** 2).sum())


def test_many_groups_at_once_equal_each_group_alone() -> None:
    rng = np.random.default_rng(1)
    x = np.tile([1.0, 2, 4, 8], 3)
    y = rng.uniform(1, 2, 12) + x
    together = fit_lines(np.repeat([0, 1, 2], 4), x, y)
    for group in range(3):
        alone = one(list(x[:4]), list(y[4 * group : 4 * group + 4]))
        for field in FIELDS:
            assert_allclose(getattr(together, field)[group], getattr(alone, field)[0])


def test_the_order_of_points_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    group, x = np.repeat([0, 1], 5), np.tile([1.0, 3, 9, 27, 81], 2)
    y = 1 + x * rng.uniform(0.9, 1.1, 10)
    order = rng.permutation(10)
    straight, shuffled = fit_lines(group, x, y), fit_lines(group[order], x[order], y[order])
    for field in FIELDS:
        assert_allclose(getattr(shuffled, field), getattr(straight, field), rtol=1e-10)


@given(y_unit=st.floats(1e-6, 1e6), x_unit=st.floats(1e-6, 1e6))
@settings(max_examples=25, deadline=None)
def test_units_of_x_and_y_change_nothing_but_units(y_unit: float, x_unit: float) -> None:
    x, y = np.array([16.0, 64, 256, 65536]), np.array([0.011, 0.013, 0.025, 3.3])
    plain, scaled = one(list(x), list(y)), one(list(x * x_unit), list(y * y_unit))
    assert_allclose(scaled.intercept / y_unit, plain.intercept, rtol=1e-10)
    assert_allclose(scaled.slope * x_unit / y_unit, plain.slope, rtol=1e-10)
    assert_allclose(scaled.rss, plain.rss, rtol=1e-9)


def test_a_small_intercept_survives_huge_batches() -> None:
    x = np.array([1.0, 64, 4096, 65536])
    lines = one(list(x), list(1e-3 + x / 1e6))
    assert_allclose([lines.intercept[0], lines.slope[0]], [1e-3, 1e-6], rtol=1e-11)


def test_a_negative_intercept_becomes_zero_and_is_flagged() -> None:
    x, y = np.array([1.0, 2, 4]), np.array([0.8, 2.0, 4.4])
    lines = one(list(x), list(y))
    assert lines.intercept_clamped[0]
    assert lines.intercept[0] == 0.0
    assert_allclose(lines.slope, (x / y).sum() / ((x / y) ** 2).sum())


def test_a_negative_slope_becomes_zero_and_is_flagged() -> None:
    y = np.array([1.2, 1.1, 1.0])
    lines = one([1, 2, 4], list(y))
    assert lines.slope_clamped[0]
    assert lines.slope[0] == 0.0
    assert_allclose(lines.intercept, (1 / y).sum() / (1 / y**2).sum())


def test_a_line_through_zero_counts_as_no_intercept_in_spite_of_rounding() -> None:
    lines = one([1, 3, 7], [0.1, 0.3, 0.7])
    assert lines.intercept_clamped[0]
    assert_allclose(lines.slope, 0.1)


@given(y=st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=6))
@settings(max_examples=40, deadline=None)
def test_neither_parameter_is_ever_negative(y: list[float]) -> None:
    lines = one([float(2**i) for i in range(len(y))], y)
    assert lines.intercept[0] >= 0.0
    assert lines.slope[0] >= 0.0
    assert lines.intercept[0] + lines.slope[0] > 0.0


def test_one_distinct_x_gives_no_line_but_keeps_its_count() -> None:
    lines = one([8, 8], [1.0, 1.1])
    assert not lines.determined[0]
    assert np.isnan(lines.intercept[0])
    assert (lines.n[0], lines.x_max[0]) == (2, 8.0)


def test_a_group_without_points_is_empty_not_wrong() -> None:
    lines = fit_lines([0, 0, 2, 2], [1, 2, 1, 2], [1.0, 1.5, 2.0, 2.5])
    assert list(lines.determined) == [True, False, True]
    assert lines.n[1] == 0
    assert np.isnan([getattr(lines, field)[1] for field in FIELDS]).all()


def test_scatter_pools_the_prior_with_the_residuals() -> None:
    lines = one([1, 2, 4, 8], [1.0, 1.6, 2.4, 5.0])
    assert_allclose(scatter_variance(lines), (NU0 * SD0**2 + lines.rss) / (NU0 + 2))


def test_two_points_have_an_interval_from_the_prior_alone() -> None:
    mid, low, high = predict_lines(one([1, 16], [1.0, 4.0]), 4.0)
    assert 0.25 < float((high - low)[0] / mid[0]) < 0.30


def test_the_interval_is_symmetric_as_a_factor() -> None:
    mid, low, high = predict_lines(one([1, 4, 16], [1.0, 1.7, 4.0]), [2.0, 64.0])
    assert_allclose(high / mid, mid / low)
    assert (low > 0).all()


def test_the_interval_widens_with_every_octave_outside() -> None:
    lines = one([1, 4, 16], [1.0, 1.75, 4.75])
    mid, _, high = predict_lines(lines, [4.0, 16.0, 32.0, 64.0])
    assert (np.diff(high / mid) > 0).all()
    assert_allclose(octaves_outside(lines, [0.5, 4.0, 64.0]), [1.0, 0.0, 2.0])
    assert KAPPA == 0.1


def test_a_higher_level_is_a_wider_interval() -> None:
    lines = one([1, 4, 16], [1.0, 1.7, 4.0])
    assert predict_lines(lines, 4.0, 0.95)[2] > predict_lines(lines, 4.0, 0.9)[2]


def test_a_grid_is_predicted_for_every_group_at_once() -> None:
    lines = fit_lines([0, 0, 1, 1], [1, 4, 1, 4], [1.0, 2.0, 3.0, 4.0])
    grid = predict_lines(lines, np.array([[2.0], [3.0], [8.0]]))
    assert all(part.shape == (3, 2) for part in grid)
    assert_allclose(grid[1][1], predict_lines(lines, 3.0)[1])


def test_an_undetermined_line_predicts_nan() -> None:
    assert np.isnan(predict_lines(one([8], [1.0]), 8.0)).all()


def test_parameter_intervals_hold_their_values_and_stay_positive() -> None:
    lines = one([8, 32, 128], [0.09, 0.2, 0.5])
    for value, (low, high) in (
        (lines.intercept, intercept_interval(lines)),
        (lines.slope, slope_interval(lines)),
        (lines.intercept / lines.slope, ratio_interval(lines)),
    ):
        assert 0.0 <= low[0] < value[0] < high[0]


def test_without_intercept_the_ratio_starts_at_zero() -> None:
    low, high = ratio_interval(one([1, 2, 4], [0.8, 2.0, 4.4]))
    assert low[0] == 0.0
    assert high[0] > 0.0


def test_without_slope_the_ratio_has_no_upper_end() -> None:
    low, high = ratio_interval(one([1, 2, 4], [1.2, 1.1, 1.0]))
    assert low[0] > 0.0
    assert high[0] == np.inf


@each(
    ("x", "y", "result"),
    [
        ([1.0, 2.0], [1.0], "flat arrays of one length"),
        ([], [], "at least 1"),
        ([1.0, np.nan], [1.0, 2.0], "x: value 2 of 2 is nan"),
        ([1.0, 2.0], [0.0, 2.0], "y: value 1 of 2 is 0.0"),
        ([1.0, 2.0], [1.0, np.inf], "y: value 2 of 2 is inf"),
        ([-1.0, 2.0], [1.0, 2.0], "mark its run failed"),
    ],
)
def test_bad_input_is_named_with_its_place_and_the_way_out(
    x: list[float], y: list[float], result: str
) -> None:
    with pytest.raises(ValueError, match=result):
        one(x, y)


def test_groups_must_be_whole_numbers_from_zero() -> None:
    with pytest.raises(ValueError, match="whole numbers from 0"):
        fit_lines([0.5, 1.0], [1, 2], [1, 2])
    with pytest.raises(ValueError, match="whole numbers from 0"):
        fit_lines([-1, 0], [1, 2], [1, 2])


def test_a_level_is_a_share() -> None:
    with pytest.raises(ValueError, match="not 90"):
        predict_lines(one([1, 2], [1, 2]), 1.0, level=90)


def test_many_groups_in_order_are_fitted_as_in_any_other_order() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(np.r_[np.arange(9_000), np.arange(9_100, 17_000)], 4)  # a gap in the middle
    x = np.tile([1.0, 2.0, 4.0, 8.0], group.size // 4)
    y = (0.05 + x / 200) * rng.lognormal(0, 0.05, x.size)
    shuffled = rng.permutation(group.size)
    one, other = fit_lines(group, x, y), fit_lines(group[shuffled], x[shuffled], y[shuffled])
    for name in ("intercept", "slope", "n", "rss", "cov", "x_min", "x_max"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)
