"""Every table and chart of every page is also there as text, for screen readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.figures import LEAST_HEIGHT
from tests.pages.conftest import show
from tests.titles import PAGES

DRAWN = {"dataframe", "plotly_chart"}


class _Text(HTMLParser):
    """The caption of a table, and whether it has cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.caption = ""
        self.cells = 0
        self._in = ""
        self.feed(page)

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self._in = tag
        self.cells += tag == "td"

    def handle_data(self, data: str) -> None:
        if self._in == "caption":
            self.caption += data


def _pairs(shown: AppTest) -> Iterator[tuple[Any, Any]]:
    """Every chart and table with what is drawn right after it."""
    drawn = [one for one in shown.main if not hasattr(one, "children")]
    for place, element in enumerate(drawn):
        if element.type in DRAWN:
            yield element, drawn[place + 1] if place + 1 < len(drawn) else None


@pytest.mark.parametrize("tab", ["", "table"])
@pytest.mark.parametrize("address", sorted(PAGES))
def test_every_chart_and_table_is_followed_by_its_text_and_charts_are_large(
    address: str, tab: str
) -> None:
    for element, after in _pairs(show(address, tab=tab) if tab else show(address)):
        if element.type == "plotly_chart":
            assert json.loads(element.proto.spec)["layout"]["height"] >= LEAST_HEIGHT
        assert after is not None
        assert after.type == "html", f"{address}: {element.proto.alt}"
        read = _Text(after.proto.body)
        assert read.caption.startswith(element.proto.alt.rstrip("."))
        assert read.cells


def test_pages_with_an_answer_have_charts_and_tables_to_read() -> None:
    assert {
        e.type for tab in ("chart", "table") for e, _ in _pairs(show("how-long", tab=tab))
    } == DRAWN
