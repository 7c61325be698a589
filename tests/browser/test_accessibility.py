"""Every page meets WCAG 2.2 A and AA, judged by axe-core in a real browser."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, expect

from pages.common.addresses import ADDRESSES
from tests.browser.axe import Known, violations
from tests.browser.conftest import Visit
from tests.browser.look import settled

pytestmark = pytest.mark.browser
PAGES: Final = sorted(ADDRESSES)
"""The address of every page that the shell has."""
KNOWN: Final = (
    Known(
        rule="list",
        selector="[data-testid=stSidebarNavItems]",
        reason="Streamlit puts a div per section into the list of pages",
    ),
    Known(
        rule="listitem",
        selector="[data-testid=stSidebarNavItems] > div > li",
        reason="so the items of that list are children of those divs",
    ),
    Known(
        rule="empty-table-header",
        selector='[data-testid=stDataFrame] th[aria-colindex="1"]',
        reason="the column of tick boxes of a table with single rows has no title",
    ),
    Known(
        rule="presentation-role-conflict",
        selector="[data-testid=stFileUploaderDropzone]",
        reason="Streamlit names the area for dropping files, which has no role; its button has one",
    ),
)
"""Faults of Streamlit's own parts, which no setting or style of ours can change."""


def _checked(page: Page, width: int) -> set[str]:
    page.set_viewport_size({"width": width, "height": 1000})
    return {f"{width} px: {fault}" for fault in violations(settled(page), KNOWN)}


def test_every_page_is_checked() -> None:
    assert len(PAGES) > 9


@pytest.mark.parametrize("address", PAGES)
def test_a_page_has_no_violation_in_light_and_dark_wide_and_narrow_folded_and_open(
    app_url: str, visit: Visit, address: str
) -> None:
    page = visit(f"{app_url}/{address}", dark=True)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    faults = _checked(page, 1440) | _checked(page, 400)
    page.emulate_media(color_scheme="light")
    page.reload()
    faults |= _checked(settled(page), 400) | _checked(page, 1440)
    assert sorted(faults) == []
    _open_folded_boxes(page)
    assert sorted(violations(page, KNOWN)) == []


def _open_folded_boxes(page: Page) -> None:
    boxes = page.get_by_test_id("stMain").locator("details:not([open]) > summary")
    while boxes.count():
        boxes.first.click()
        settled(page)
