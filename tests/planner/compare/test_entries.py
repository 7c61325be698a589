"""Options somebody wrote by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.compare.entries import Entry, entry_of, entry_text
from tests.planner.compare.made import CATALOG


@pytest.mark.parametrize(
    "text", ["rent|plain|8|19.9", "buy|twice|2|1800", "own|huge|4", "buy|plain|1"]
)
def test_an_entry_reads_back_what_it_wrote(text: str) -> None:
    entry = entry_of(text, CATALOG)
    assert isinstance(entry, Entry)
    assert entry_text(entry) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lease|plain|1|2", "is no option"),
        ("rent|plain", "is no option"),
        ("rent|unheard|1|2", "unheard"),
        ("rent|plain|0|2", "no whole number"),
        ("rent|plain|1", "price per hour"),
        ("rent|plain|1|cheap", "no price"),
        ("rent|plain|1|-2", "no price"),
        ("rent|plain|1|inf", "no price"),
        ("buy|huge|1", "No list price"),
        ("rent|unheard|zero|much", "no whole number"),
    ],
)
def test_what_is_wrong_is_said_all_at_once(text: str, said: str) -> None:
    told = entry_of(text, CATALOG)
    assert isinstance(told, str)
    assert said in told


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    assert isinstance(entry_of(text, CATALOG), str | Entry)
