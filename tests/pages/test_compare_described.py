"""A workload described by hand: what its examples fill in."""

from __future__ import annotations

import pytest

from pages.parts.compare_described import _OPTIMIZERS, EXAMPLES, NAMES
from planner.compare.optimizers import unknown_optimizer
from planner.compare.parameters import compare_parameters
from planner.parameters import text_of


@pytest.mark.parametrize("example", list(EXAMPLES))
def test_an_example_sets_every_field_so_that_nothing_of_another_stays(example: str) -> None:
    assert set(EXAMPLES[example]) >= set(NAMES)


@pytest.mark.parametrize("example", list(EXAMPLES))
def test_an_example_is_a_whole_question_without_a_problem(example: str) -> None:
    told = {name: [text_of(v)] for name, v in EXAMPLES[example].items() if v is not None}
    asking, problems = compare_parameters({"workload": ["described"], **told})
    assert problems == ()
    assert asking.described is not None


def test_every_optimiser_on_offer_is_known() -> None:
    assert [unknown_optimizer(name) for name in _OPTIMIZERS] == [""] * len(_OPTIMIZERS)
