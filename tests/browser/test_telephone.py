"""A page on a telephone: the answer comes before the question's fields, and nothing is cut off."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.look import settled

pytestmark = pytest.mark.browser
WIDTH: Final = 400
FIELDS: Final = (
    "[data-testid=stSelectbox], [data-testid=stMultiSelect], [data-testid=stNumberInput]"
)
ANSWERS: Final = ("how-long", "compare", "capacity", "throughput", "scaling-out", "steps-to-target")


def _at(page: Page, selector: str) -> float:
    """The upper edge of the first visible element [px]."""
    box = page.locator(selector).locator("visible=true").first.bounding_box()
    assert box is not None
    return box["y"]


def _fits(page: Page) -> bool:
    """Whether the page scrolls downwards only."""
    main = page.get_by_test_id("stMain")
    return bool(main.evaluate("m => m.scrollWidth <= m.clientWidth"))


def _on_a_telephone(page: Page) -> Page:
    page.set_viewport_size({"width": WIDTH, "height": 820})
    return settled(page)


@pytest.mark.parametrize("address", ANSWERS)
def test_the_answer_comes_first_the_question_is_one_line_and_the_table_is_cards(
    app_url: str, visit: Visit, address: str
) -> None:
    table = "" if address == "capacity" else "?tab=table"  # Capacity has cards below each answer
    page = _on_a_telephone(visit(f"{app_url}/{address}{table}"))
    expect(page.locator(".epochwise-answer")).to_be_visible()
    answer = _at(page, ".epochwise-answer")
    assert answer < 300
    fields = page.get_by_test_id("stMain").locator(FIELDS).locator("visible=true")
    assert all((fields.nth(k).bounding_box() or {"y": 0})["y"] > answer
               for k in range(fields.count()))  # fmt: skip
    assert _fits(page)
    cards = page.locator(".epochwise-cards").first
    expect(cards).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("button", name="Done", exact=True).wait_for()
    assert _at(page, f"[data-testid=stMain] :is({FIELDS})") < _at(page, ".epochwise-answer")
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(cards).to_be_hidden()


def test_the_first_page_scrolls_downwards_only(app_url: str, visit: Visit) -> None:
    assert _fits(_on_a_telephone(visit(f"{app_url}/")))
