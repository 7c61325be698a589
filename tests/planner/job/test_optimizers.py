"""How many numbers an optimiser keeps for every weight."""

from __future__ import annotations

import pytest

from planner.job import unknown_optimizer
from planner.job._memory import MOMENTS, has_small_moments, moments_of, moments_sentence
from tests.each import each


@each("name", list(MOMENTS))
def test_every_name_of_the_table_is_known_however_it_is_written(name: str) -> None:
    assert moments_of(name) == moments_of(name.upper()) == MOMENTS[name]
    assert moments_sentence(name) == unknown_optimizer(name) == ""


@each(("name", "moments"), [
        ("SGD", 0), ("SGD momentum 0.9", 1), ("SGD Nesterov 0.9", 1), ("Adam (beta2 0.98)", 2),
        ("adamw_8bit", 2), ("Adafactor momentum", 1), ("Adam AMSGrad", 3),
    ])  # fmt: skip
def test_a_name_is_read_by_its_words_and_the_most_they_keep_counts(name: str, moments: int) -> None:
    assert moments_of(name) == moments


@each(("name", "moments"), [
        ("AdamW 8-bit", 2), ("8-bit Adam", 2), ("adamw8bit", 2), ("bnb adam8bit", 2),
        ("paged_adamw_8bit", 2), ("AdamW (8-bit)", 2), ("bitsandbytes.optim.PagedAdamW8bit", 2),
        ("lion 8bit", 1), ("8bitAdam", 2),
    ])  # fmt: skip
def test_moments_of_eight_bits_are_read_from_every_usual_name(name: str, moments: int) -> None:
    assert (moments_of(name), has_small_moments(name)) == (moments, True)
    assert unknown_optimizer(name) == ""


@pytest.mark.parametrize(
    "name", ["paged_adamw_32bit", "AdamW", "adafactor", "Adam 0.98", "x128bit"]
)
def test_other_moments_are_not_small(name: str) -> None:
    assert not has_small_moments(name)


@pytest.mark.parametrize("name", ["Adamm", "Foo", "SGDX", "lambada"])
def test_a_word_that_only_holds_a_name_is_none(name: str) -> None:
    assert moments_of(name) is None
    assert (
        moments_sentence(name) == f"The state of {name} is unknown: Adam's two moments are assumed."
    )


def test_nothing_stated_is_no_mistake_but_assumed() -> None:
    assert moments_of(" ") is None
    assert unknown_optimizer(" ") == ""
    assert moments_sentence("") == "Optimiser not stated: Adam's two moments are assumed."


def test_a_slip_of_the_pen_is_answered_with_what_is_near() -> None:
    assert "'Adamm'" in unknown_optimizer("Adamm")
    assert "Write Adam or " in unknown_optimizer("Adamm")
    assert "Write SGD or SGD momentum or Adam or Lion, or leave it empty" in unknown_optimizer(
        "xyzzy"
    )
