"""Promises of two estimates measured apart: widths of logarithms add in quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.estimate import Estimate
from planner.products import NAMES, named, one_level, product, root_of_product, weakest
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
    told = answer(product(ONE, PUBLISHED))
    assert (told.basis, told.reasons) == ("published", ("Steps to target: Copied.",))
