"""Every page opens by its address in a real browser, without a word in its console."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_every_page import ANSWERS
from tests.titles import PAGES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("address", sorted(PAGES))
def test_a_page_opens_with_its_title_and_its_answer(
    app_url: str, visit: Visit, address: str
) -> None:
    """What else a page needs on a screen is in `test_every_page.py`."""
    page = visit(f"{app_url}/{address}")
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES[address])
    if address in ANSWERS:
        expect(page.locator(".epochwise-answer")).to_be_visible()
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
