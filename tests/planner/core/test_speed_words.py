"""Ratios in words: right whichever side is ahead."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from planner.core import COST, ahead, ahead_between, ahead_of
from planner.core._numbers import times
from tests.each import each


def test_ratios_are_written_with_the_digits_they_deserve() -> None:
    assert [times(x) for x in (1.0449, 24.28, 120.4)] == ["1.04x", "24.3x", "120x"]


@each(
    ("ratio", "said"),
    [(9.994, "9.99x"), (9.996, "10.0x"), (99.94, "99.9x"), (99.96, "100x"), (1234.5, "1,234x"),
     (1e6, "1,000,000x"), (1.1e6, "more than a million times"),
     (math.inf, "more than a million times")],
)  # fmt: skip
def test_digits_are_chosen_after_rounding_and_end_at_a_million(ratio: float, said: str) -> None:
    assert times(ratio) == said


@each(
    ("ratio", "said"),
    [(24.28, "24.3x faster"), (0.04, "25.0x slower"), (1.14, "1.14x faster"),
     (1e-21, "more than a million times slower"),
     (0.998, "equally fast"), (1.0, "equally fast"), (0.0, "–"), (math.inf, "–"),
     (math.nan, "–")],
)  # fmt: skip
def test_a_ratio_below_one_is_called_slower_by_its_inverse(ratio: float, said: str) -> None:
    assert ahead(ratio) == said


def test_money_has_words_of_its_own() -> None:
    assert ahead(0.5, COST) == "2.00x more expensive"
    assert ahead_of(None) == "–"


@each(
    ("low", "high", "said"),
    [(22.9, 25.7, "22.9x to 25.7x faster"), (0.03, 0.05, "33.3x to 20.0x slower"),
     (0.98, 1.04, "1.02x slower to 1.04x faster"), (0.999, 1.001, "equally fast"),
     (1.001, 1.2, "equally fast to 1.20x faster"), (0.0, 3.0, "not known"),
     (0.5, math.inf, "not known")],
)  # fmt: skip
def test_an_interval_names_the_side_of_both_ends(low: float, high: float, said: str) -> None:
    assert ahead_between(low, high) == said


@given(st.floats(1.1e-6, 0.9e6))
def test_swapping_the_sides_swaps_the_word_and_keeps_the_number(ratio: float) -> None:
    there, back = ahead(ratio), ahead(1.0 / ratio)
    swapped = there.replace("faster", "?").replace("slower", "faster").replace("?", "slower")
    number = float(times(max(ratio, 1.0 / ratio)).rstrip("x").replace(",", ""))
    assert swapped == back or number >= 1e5  # the inverse of an inverse differs by rounding
