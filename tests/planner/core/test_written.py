"""Numbers that a person reads have no exponent, whatever their size."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import counted, large, plain, with_range
from tests.each import each


@each(
    ("value", "digits", "text"),
    [
        (3621.4, 3, "3,620"),
        (2.87e3, 3, "2,870"),
        (48.04, 3, "48"),
        (4.345, 3, "4.34"),
        (1e6, 10, "1,000,000"),
        (1e-5, 10, "0.00001"),
        (0.2639, 10, "0.2639"),
        (-150.0, 2, "-150"),
        (0.0, 10, "0"),
    ],
)
def test_a_number_is_rounded_and_has_its_thousands_apart(
    value: float, digits: int, text: str
) -> None:
    assert plain(value, digits) == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 12))
def test_no_number_has_an_exponent_and_all_read_back(value: float, digits: int) -> None:
    result = plain(value, digits)
    assert "e" not in result.lower()
    assert float(result.replace(",", "")) == float(f"{value:.{digits}g}")


def test_what_is_not_finite_is_reported_as_it_is() -> None:
    assert [plain(v) for v in (math.nan, math.inf, -math.inf)] == ["nan", "inf", "-inf"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(7e10, "70 billion"), (1.2e12, "1.2 trillion"), (103_465_028, "103,500,000"),
     (1e18, "1,000,000 trillion"), (1e9, "1 billion")],
)  # fmt: skip
def test_large_numbers_have_a_word(value: float, text: str) -> None:
    assert large(value) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1"), (2000, "2000"), (9999, "9999"), (10_000, "10,000"), (1_000_000, "1,000,000")],
)
def test_a_count_in_a_sentence_is_as_typed_below_ten_thousand(count: int, text: str) -> None:
    assert counted(count) == text


@each(
    ("value", "low", "high", "text"),
    [
        (25.4, 24.7, 25.96, "25.4 (24.7 to 26.0)"),
        (9.8, 9.3, 10.3, "9.8 (9.3 to 10.3)"),
        (2.93, 0.89, 11.2, "2.9 (0.9 to 11)"),
        (3621.0, 3489.0, 3704.0, "3,600 (3,500 to 3,700)"),
        (8.0, 8.0, 8.0, "8"),
    ],
)
def test_a_number_and_its_ends_have_the_same_decimals(
    value: float, low: float, high: float, text: str
) -> None:
    assert with_range(value, low, high) == text
