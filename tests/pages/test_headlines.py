"""An answer is short: few words stand above the first chart, the rest behind a heading.

Measure and Add results have no chart until there is a sweep or a file.
"""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1.element_tree import Block

from tests.pages.conftest import show

MOST_WORDS = 25
FOLDED = {"expander", "popover"}
WORDED = {"markdown", "caption", "info", "warning", "error", "success"}
FIRST = {"start": "html", "results": "dataframe"}
"""What is first on a page whose default view has no chart: a tile, a table."""
ADDRESSES = ("start", "how-long", "compare", "capacity", "throughput", "scaling-out",
             "steps-to-target", "explore", "results", "method")  # fmt: skip


def _above(block: Block, seen: list[str], first: str) -> bool:
    """Collect the texts above the first element of a type, not its title; True once it is met."""
    for child in block.children.values():
        if child.type == first and (first != "html" or "epochwise-answer" in child.proto.body):
            return True
        if isinstance(child, Block):
            if child.type not in FOLDED and _above(child, seen, first):
                return True
        elif child.type in WORDED and not re.fullmatch(r"\*\*.*\*\*", str(child.value)):
            seen.append(str(child.value))
    return False


@pytest.mark.usefixtures("library_pages")
@pytest.mark.parametrize("address", ADDRESSES)
def test_at_most_25_words_stand_above_the_first_chart(address: str) -> None:
    seen: list[str] = []
    first = FIRST.get(address, "plotly_chart")
    assert _above(show(address).main, seen, first), f"the page has a {first}"
    shown = re.sub(r":material/\w+:|\\|:\w+-?\w*\[", "", " ".join(seen))
    words = [w for w in re.findall(r"[^\s(),;:]+", shown) if re.match(r"[A-Za-z]{2}", w)]
    assert len(words) <= MOST_WORDS, words
