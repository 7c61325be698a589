"""The summary of a printed report stays on its first page, however much it has to say."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import pytest
from playwright.sync_api import Page

from planner.core import Estimate
from planner.figures import number_tile, time_tile
from planner.figures.frame import LIGHT_THEME, Drawing
from planner.report import AnswerReport, Chart, Letterhead, answer_page, compare_page
from planner.report._page import MOST_NAME, MOST_TEXT
from tests.planner.report.test_compare_report import told

pytestmark = pytest.mark.browser

_PX_PER_MM: Final = 96.0 / 25.4
WIDTH_PX: Final = int((210.0 - 28.0) * _PX_PER_MM)
HEIGHT_PX: Final = (297.0 - 34.0) * _PX_PER_MM
WORDS: Final = "The closest option takes 18.5 h (12 to 27 h) and costs 61 USD (40 to 92 USD). "
TEXTS: Final = {
    "none": "",
    "short": "Dear customer, this is our offer.",
    "long": (WORDS * 40)[:MOST_TEXT],
    "paragraphs": "\n\n".join(["Line"] * 300)[:MOST_TEXT],
    "japanese": "学習時間の見積もりです。" * 160,
}
LOGO: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1H0z"/></svg>'
)
HEADS: Final = {
    "plain": Letterhead(),
    "full": Letterhead(company="Example " * 14, customer="Tanaka " * 16, reference="Offer " * 18,
                       logo=LOGO),
}  # fmt: skip


def _head(kind: str, text: str) -> Letterhead:
    of = HEADS[kind]
    return Letterhead(company=of.company[:MOST_NAME], customer=of.customer, logo=of.logo,
                      reference=of.reference, text=TEXTS[text])  # fmt: skip


def _bottom_px(page: Page, html: str) -> float:
    """The lower end of the summary, as the page is printed."""
    page.set_viewport_size({"width": WIDTH_PX, "height": 1000})
    page.set_content(html)
    page.emulate_media(media="print")
    return float(page.locator(".summary").evaluate("e => e.getBoundingClientRect().bottom"))


def _chart() -> Chart:
    drawing = Drawing(LIGHT_THEME)
    x = np.array([1.0, 10.0, 100.0])
    drawing.line(x, 2 * x, name="a")
    return Chart(title="Speed", spec=drawing.figure(), alt="Speed", caption=WORDS * 2)


@pytest.mark.parametrize(("head", "text"), list(itertools.product(HEADS, TEXTS)))
def test_an_answer_of_any_page_stays_on_its_first_page(page: Page, head: str, text: str) -> None:
    value = Estimate(value=5.0, low=2.0, high=9.0)
    tiles = [time_tile("Time of a run", value, note=WORDS), number_tile("Cost", value, "USD")]
    report = AnswerReport(
        title=WORDS * 3, sentence=WORDS * 5, made="today", notes=[WORDS * n for n in range(1, 16)],
        tiles=tiles * 2, charts=[_chart(), _chart()], letterhead=_head(head, text),
    )  # fmt: skip
    html = answer_page(report)
    assert _bottom_px(page, html) <= HEIGHT_PX
    for words in (*report.notes, TEXTS[text].split("\n\n")[-1]):  # nothing is lost
        assert page.get_by_text(words[:60].strip()).count() or not words
    assert page.locator("svg").count() >= 2


@pytest.mark.parametrize("text", list(TEXTS))
def test_a_comparison_stays_on_its_first_page(page: Page, text: str) -> None:
    html = compare_page(told(), link="", made="today", letterhead=_head("full", text))
    assert _bottom_px(page, html) <= HEIGHT_PX
