"""Numbers and labels as one would say them inside a sentence."""

from __future__ import annotations

import pytest

from planner.compare.comparison import counted, machines
from planner.job import Candidate, Hardware, Way


@pytest.mark.parametrize(("count", "result"), [(0, "no"), (10, "ten"), (11, "11"), (1200, "1,200")])
def test_small_numbers_are_words(count: int, result: str) -> None:
    assert counted(count) == result
    assert machines(count) == f"{result} machines"


@pytest.mark.parametrize(
    ("way", "label", "phrase"),
    [
        ("rent", "Rent 1 x H100 (Lambda, spot)", "renting 1 x H100 (Lambda, spot)"),
        ("buy", "Buy 1 x H100 (Lambda, spot)", "buying 1 x H100 (Lambda, spot)"),
        ("own", "Own 1 x H100 (Lambda, spot)", "the own 1 x H100 (Lambda, spot)"),
    ],
)
def test_a_label_reads_on_inside_a_sentence(way: Way, label: str, phrase: str) -> None:
    hardware = Hardware(label="1 x H100")
    option = Candidate(id="a", way=way, hardware=hardware, qualifiers=("Lambda", "spot"))
    assert (option.label, option.phrase) == (label, phrase)
