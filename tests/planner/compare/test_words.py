"""Numbers and labels as one would say them inside a sentence."""

from __future__ import annotations

import pytest

from planner.compare._words import (
    comparative,
    counted,
    lower,
    machines,
    number,
)
from planner.compare.comparison import Limits


@pytest.mark.parametrize(("count", "told"), [(0, "no"), (10, "ten"), (11, "11"), (1200, "1,200")])
def test_small_numbers_are_words(count: int, told: str) -> None:
    assert counted(count) == told
    assert machines(count) == f"{told} machines"


@pytest.mark.parametrize(
    ("value", "told"), [(6.24, "6.2"), (99.6, "100"), (4369.0, "4,370"), (1e-5, "0.00001")]
)
def test_a_number_has_three_digits_at_most(value: float, told: str) -> None:
    assert number(value) == told


@pytest.mark.parametrize(
    ("label", "told"),
    [("Rent 1 x H100", "renting 1 x H100"), ("Buy A", "buying A"), ("Own GPU", "the own GPU")],
)
def test_a_label_reads_on_inside_a_sentence(label: str, told: str) -> None:
    assert lower(label) == told


def test_what_is_better_is_cheaper_or_faster() -> None:
    assert comparative(Limits()) == "cheaper"
    assert comparative(Limits(order="time")) == "faster"
