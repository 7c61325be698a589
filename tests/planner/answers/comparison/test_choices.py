"""The rows to choose options from: prices, memory, search and filters."""

from __future__ import annotations

from datetime import date
from typing import Final

import pytest

from planner.answers.comparison import ChoiceFilter, choices_of, narrowed_choices
from planner.compare import Assumptions, Shop, candidates_of, entry_of
from planner.compare._candidates import Entry
from planner.cost import Display
from planner.store.catalog import read_catalog
from tests.planner.compare.made import CATALOG, TODAY, job
from tests.shipped import ROOT

SHOP: Final = Shop(catalog=CATALOG, assumed=Assumptions(), today=TODAY)
EURO: Final = Display(currency="EUR", per_usd=0.5, as_of=date(2026, 11, 1), tax_share=0.2)
MADE: Final = choices_of(candidates_of(job(), SHOP), job())
SHIPPED: Final = choices_of(
    candidates_of(
        job(),
        Shop(
            catalog=read_catalog(ROOT / "data" / "catalog").catalog,
            assumed=Assumptions(),
            today=TODAY,
        ),
    ),
    job(),
)


def _labels(**wanted: object) -> list[str]:
    return [c.label for c in narrowed_choices(SHIPPED, ChoiceFilter(**wanted))]  # type: ignore[arg-type]


def test_a_row_has_the_price_of_the_machine_and_of_one_accelerator() -> None:
    eight = next(c for c in MADE if c.count == 8)
    assert (eight.per_hour, eight.per_hour_each) == (7.0, 7.0 / 8.0)
    assert (eight.to_buy, eight.memory_bytes, eight.memory_of_all_bytes) == (None, 40e9, 320e9)
    bought = next(c for c in MADE if c.terms == "Buy" and c.accelerator == "Plain")
    assert (bought.to_buy, bought.per_hour, bought.provider) == (10_000.0, None, "")


def test_prices_are_in_the_currency_and_with_the_tax_shown() -> None:
    eight = next(c for c in choices_of(candidates_of(job(), SHOP), job(), EURO) if c.count == 8)
    assert eight.per_hour == pytest.approx(7.0 * 0.5 * 1.2)


def test_own_options_come_first() -> None:
    entry = entry_of("buy|huge|2|90000 total", CATALOG)
    assert isinstance(entry, Entry)
    first = choices_of(candidates_of(job(), SHOP, [entry]), job())[0]
    assert (first.terms, first.count, first.to_buy) == ("Buy", 2, 90_000.0)
    assert first.as_of is None


@pytest.mark.parametrize("words", ["8 x a100 lambda", "8xA100 Lambda", "lambda, a100 8"])
def test_all_words_must_occur_in_any_order(words: str) -> None:
    found = _labels(words=words)
    assert found
    assert all("Rent 8 x A100" in label and "Lambda" in label for label in found)


def test_a_number_is_a_whole_number() -> None:
    assert all(c.count == 8 for c in narrowed_choices(SHIPPED, ChoiceFilter(words="8 h100")))
    assert _labels(words="80gb")  # a part of a word


def test_every_filter_leaves_only_what_meets_it() -> None:
    assert {c.maker for c in narrowed_choices(SHIPPED, ChoiceFilter(makers=("AMD",)))} == {"AMD"}
    left = narrowed_choices(SHIPPED, ChoiceFilter(memory_bytes=80e9, terms=("Spot",), counts=(8,)))
    assert left
    assert all((c.memory_bytes or 0.0) >= 80e9 and c.terms == "Spot" and c.count == 8 for c in left)
    assert {c.provider for c in narrowed_choices(SHIPPED, ChoiceFilter(providers=("AWS",)))} == {
        "AWS"
    }


def test_a_search_without_a_match_leaves_nothing_and_an_empty_one_everything() -> None:
    assert _labels(words="no such card") == []
    assert len(_labels()) == len(SHIPPED)
