"""A workload described by hand: what its examples fill in."""

from __future__ import annotations

import pytest

from pages.parts.compare_described import _OPTIMIZERS, AMOUNTS, EXAMPLES, NAMES
from planner.compare.optimizers import unknown_optimizer
from planner.compare.parameters import compare_parameters
from planner.parameters import text_of
from tests.pages.comparing import address_of
from tests.pages.conftest import show, sound, texts


@pytest.mark.parametrize("example", list(EXAMPLES))
def test_an_example_sets_every_field_so_that_nothing_of_another_stays(example: str) -> None:
    assert set(EXAMPLES[example]) >= set(NAMES)


@pytest.mark.parametrize("example", list(EXAMPLES))
def test_an_example_is_a_whole_question_without_a_problem(example: str) -> None:
    told = {name: [text_of(v)] for name, v in EXAMPLES[example].items() if v not in (None, "")}
    asking, problems = compare_parameters({"workload": ["described"], **told})
    assert problems == ()
    assert asking.described is not None


def test_every_optimiser_on_offer_is_known() -> None:
    assert [unknown_optimizer(name) for name in _OPTIMIZERS] == [""] * len(_OPTIMIZERS)


# -- named networks on the page --------------------------------------------------------------------


@pytest.mark.usefixtures("folders")
def test_choosing_a_network_fills_the_form_and_every_field_stays_editable() -> None:
    shown = show("compare", workload="described")
    shown.selectbox(key="compare.network").set_value("mixtral-8x7b")
    sound(shown.run())
    fields = {name: shown.text_input(key=f"compare.{name}").value for name in AMOUNTS}
    assert fields["params"] == "46.7B"
    assert fields["active_params"] == "12.88B"
    assert fields["tokens"] == "8192"
    assert shown.selectbox(key="compare.family").value == "moe"
    assert shown.text_input(key="compare.name").value == "Mixtral 8x7B"
    shown.text_input(key="compare.tokens").set_value("4k")
    shown.text_input(key="compare.total_tokens").set_value("100M")
    sound(shown.run())
    address = address_of(shown)
    assert address["tokens"] == ["4000"]
    assert address["total_tokens"] == ["100000000"]
    assert address["network"] == ["mixtral-8x7b"]
    assert "100 million tokens of Mixtral 8x7B" in texts(shown)
    assert "compare.epochs" not in {n.key for n in shown.number_input}


@pytest.mark.usefixtures("folders")
def test_a_network_of_a_link_may_be_written_as_people_do() -> None:
    shown = show("compare", workload="described", network="Meta-Llama-3-8B", total_tokens="1B",
                 precision="bfloat16")  # fmt: skip
    assert not shown.warning
    assert shown.selectbox(key="compare.network").value == "llama-3-8b"
    assert shown.text_input(key="compare.total_tokens").value == "1B"
    assert "1 billion tokens of Llama 3 8B" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_a_field_that_holds_no_number_says_how_to_write_one() -> None:
    shown = show("compare", workload="described", samples="1e6", params="7B", tokens="2048")
    shown.text_input(key="compare.params").set_value("seven")
    sound(shown.run())
    assert "Write it as 7B, 100M or 1e9." in texts(shown)
