from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import ndtr

from planner.core import Estimate, Floats, t_quantile
from planner.cost import (
    Range,
    draw_range,
    probability_cheaper,
    probability_least,
    quantiles,
)
from planner.cost._draws import quantile
from tests.planner.cost.made import draw_times, unhurried

drawn = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 30)),
    elements=st.sampled_from([0.0, 1.0, 2.0, 3.5, np.inf]),
)


def test_golden_a_triangular_price_is_below_its_peak_in_a_third_of_the_draws() -> None:
    unsure = draw_range(Range(80, 100, 140), "b")
    assert probability_cheaper(unsure, np.full(4096, 100.0)) == pytest.approx(1 / 3, abs=2e-4)


def test_two_log_normal_times_are_ordered_as_the_closed_form_says() -> None:
    half = np.log(1.2)
    times = {
        name: Estimate(value=v, low=v / 1.2, high=v * 1.2) for name, v in (("a", 10.0), ("b", 11.0))
    }
    sd = half / t_quantile(0.9, 1e9)
    closed = ndtr(np.log(1.1) / (np.sqrt(2) * sd))
    assert probability_least(draw_times(times))[0] == pytest.approx(closed, abs=0.01)


@unhurried
@given(drawn)
def test_probabilities_sum_to_1_however_many_tie(table: Floats) -> None:
    result = probability_least(table)
    assert result.sum() == pytest.approx(1)
    assert (result >= 0).all()


@unhurried
@given(drawn, st.integers(0, 99))
def test_a_permutation_of_the_options_changes_nothing(table: Floats, seed: int) -> None:
    random = np.random.default_rng(seed)
    result = probability_least(table)
    turned = list(random.permutation(len(table)))
    assert (probability_least(table[turned]) == result[turned]).all()


@unhurried
@given(drawn)
def test_of_two_options_one_is_cheaper(table: Floats) -> None:
    first, last = table[0], table[-1]
    both = probability_cheaper(first, last) + probability_cheaper(last, first)
    assert both == pytest.approx(1)


def test_ties_are_shared_and_an_option_that_never_ends_wins_nothing() -> None:
    table = [[1.0, 1.0, 5.0], [1.0, 2.0, 4.0], [np.inf, np.inf, np.inf]]
    np.testing.assert_allclose(probability_least(table), [0.5, 0.5, 0])


def test_quantiles_of_rows_are_arrays_and_of_a_row_floats() -> None:
    row = np.arange(1.0, 101.0)
    result = quantiles(row, basis="measured", reasons=("x",))
    assert (result.value, result.low, result.high) == pytest.approx((50.5, 5.5, 95.5))
    assert (result.level, result.basis, result.reasons) == (0.9, "measured", ("x",))
    assert np.asarray(quantiles(np.stack([row, row])).value).tolist() == [50.5, 50.5]


def test_quantiles_beside_endless_draws_are_draws() -> None:
    result = quantiles([1.0, 2.0, np.inf, np.inf])
    assert (result.value, result.low, result.high) == (2.0, 1.0, np.inf)


@given(drawn, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
def test_quantiles_are_those_of_numpy(table: Floats, shares: list[float]) -> None:
    method = "hazen" if np.isfinite(table).all() else "inverted_cdf"
    expected = np.quantile(table, shares, axis=-1, method=method)  # type: ignore[call-overload]
    np.testing.assert_array_equal(quantile(table, shares), expected)


def test_a_level_of_90_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Use 0\.9"):
        quantiles([1.0], level=90)


def test_options_without_an_answer_are_named() -> None:
    with pytest.raises(ValueError, match="Option 2 of 2 has draws that are not numbers"):
        probability_least([[1.0], [np.nan]])


@pytest.mark.parametrize("shape", [(3,), (0, 4), (2, 0)])
def test_draws_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="one row of draws for each option"):
        probability_least(np.ones(shape))


def test_draws_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\)"):
        probability_cheaper([1, 2], [1, 2, 3])
