"""Promises of two estimates measured apart: widths of logarithms add in quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.core import Estimate
from planner.fits import (
    NAMES,
    excludes_one,
    log_width,
    named,
    one_level,
    product,
    ratio,
    root_of_product,
    weakest,
    widened,
)
from tests.planner.asking import answer, ends

ONE = Estimate(value=3.0, low=2.0, high=4.0)
NOTHING = Estimate(value=0.0, low=0.0, high=0.5)
ENDLESS = Estimate(value=np.inf, low=7.0, high=np.inf)
PUBLISHED = Estimate(value=2.0, low=np.nan, high=np.nan, basis="published", reasons=("Copied.",))


def test_a_product_of_arrays_and_scalars_broadcasts() -> None:
    many = Estimate(value=np.array([1.0, 2.0]), low=np.array([0.5, 1.0]), high=np.array([2.0, 4.0]))
    assert_allclose(answer(product(many, ONE)).value, [3.0, 6.0])
    assert answer(product(ONE, ONE)).value == 9.0


def test_log_half_widths_of_a_product_add_in_quadrature_and_those_of_a_root_are_halved() -> None:
    down, up = np.sqrt(2.0) * np.log(1.5), np.sqrt(2.0) * np.log(4.0 / 3.0)
    assert_allclose(ends(answer(product(ONE, ONE))), [9.0, 9.0 * np.exp(-down), 9.0 * np.exp(up)])
    assert_allclose(
        root_of_product(ONE, ONE), [3.0, 3.0 * np.exp(-down / 2.0), 3.0 * np.exp(up / 2.0)]
    )


def test_at_a_border_the_ends_multiply() -> None:
    assert_allclose(ends(answer(product(NOTHING, ONE))), [0.0, 0.0, 2.0])
    assert_allclose(root_of_product(NOTHING, ONE), [0.0, 0.0, np.sqrt(2.0)])
    assert_allclose(root_of_product(ENDLESS, ONE), [np.inf, np.sqrt(14.0), np.inf])


def test_nothing_times_something_endless_is_unknown() -> None:
    assert np.isnan(root_of_product(NOTHING, ENDLESS)[0])


def test_a_published_value_takes_the_level_of_the_other() -> None:
    assert one_level(PUBLISHED, ONE) == ONE.level


def test_two_levels_are_an_error() -> None:
    wide = Estimate(value=3.0, low=1.0, high=9.0, level=0.99)
    with pytest.raises(ValueError, match=r"levels 0\.9 and 0\.99\. Fit both curves with one level"):
        product(ONE, wide)


def test_the_weakest_basis_speaks_and_every_reason_says_whose_it_is() -> None:
    assert weakest("measured", "extrapolated", "interpolated") == "extrapolated"
    assert named(PUBLISHED, ONE, NAMES) == ("Step time: Copied.",)
    result = answer(product(ONE, PUBLISHED))
    assert (result.basis, result.reasons) == ("published", ("Steps to target: Copied.",))


# -- ratios ------------------------------------------------------------------------------------


def test_each_end_of_a_ratio_joins_the_ends_that_move_it_there() -> None:
    slow, fast = Estimate(value=8.0, low=4.0, high=10.0), Estimate(value=2.0, low=1.9, high=3.0)
    found = ratio(slow, fast)
    assert found.value == 4.0
    assert_allclose(np.log(4.0 / np.float64(found.low)), np.hypot(np.log(2.0), np.log(1.5)))
    assert_allclose(np.log(np.float64(found.high) / 4.0), np.hypot(np.log(1.25), np.log(2 / 1.9)))


def test_swapping_the_sides_of_a_ratio_inverts_value_and_interval() -> None:
    other = Estimate(value=5.0, low=4.5, high=9.0)
    there, back = ratio(ONE, other, half_width=0.03), ratio(other, ONE, half_width=0.03)
    inverse = [1.0 / float(x) for x in (back.value, back.high, back.low)]
    assert_allclose(np.array(ends(there), dtype=float), np.array(inverse))


def test_an_end_at_nothing_makes_the_ratio_endless() -> None:
    half_known = Estimate(value=2.0, low=0.0, high=3.0)
    assert ratio(ONE, half_known).high == np.inf
    assert ratio(half_known, ONE).low == 0.0
    assert log_width(half_known) == np.inf


def test_what_widens_an_interval_can_be_taken_out_again() -> None:
    wide = widened(ONE, 0.3, 0.2)
    assert wide.high > ONE.high
    assert_allclose(ends(widened(wide, -0.3, -0.2)), ends(ONE))
    assert_allclose(ends(widened(ONE, -9.0, -9.0)), [3.0, 3.0, 3.0])


def test_a_ratio_is_decided_where_its_interval_excludes_one() -> None:
    assert excludes_one(Estimate(value=2.0, low=1.01, high=3.0))
    assert excludes_one(Estimate(value=0.5, low=0.4, high=0.99))
    assert not excludes_one(Estimate(value=2.0, low=1.0, high=3.0))
