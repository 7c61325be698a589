"""An answer is short: few words stand above the first chart, the rest behind a heading."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1.element_tree import Block

from tests.pages.conftest import show

MOST_WORDS = 25
FOLDED = {"expander", "popover"}
WORDED = {"markdown", "caption", "info", "warning", "error", "success"}
ADDRESSES = ("how-long", "compare", "capacity", "throughput", "steps-to-target", "method")


def _above(block: Block, seen: list[str]) -> bool:
    """Collect the texts above the first chart, not its title; True once it is met."""
    for child in block.children.values():
        if child.type == "plotly_chart":
            return True
        if isinstance(child, Block):
            if child.type not in FOLDED and _above(child, seen):
                return True
        elif child.type in WORDED and not re.fullmatch(r"\*\*.*\*\*", str(child.value)):
            seen.append(str(child.value))
    return False


@pytest.mark.parametrize("address", ADDRESSES)
def test_at_most_25_words_stand_above_the_first_chart(address: str) -> None:
    seen: list[str] = []
    assert _above(show(address).main, seen), "the page has a chart"
    shown = re.sub(r":material/\w+:|\\|:\w+-?\w*\[", "", " ".join(seen))
    words = [w for w in re.findall(r"[^\s(),;:]+", shown) if re.match(r"[A-Za-z]{2}", w)]
    assert len(words) <= MOST_WORDS, words
