"""A view that somebody saves is there after the server has been started again."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.look import answer, aside, rerun, settled, widget
from tests.browser.server import served
from tests.faults.outcomes import FULL
from tests.titles import PAGES


def _in_the_frame(page: Page, title: str) -> None:
    """The page of a deep link, though it was the first request to this server."""
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    menu = page.get_by_test_id("stSidebarNav")
    expect(menu.get_by_role("link")).to_have_count(len(set(PAGES.values())))
    assert page.get_by_role("dialog").count() == 0
    assert page.title().startswith(title)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_deep_link_opens_on_a_cold_server_and_a_view_survives_a_restart_of_it(
    tmp_path: Path, visit: Visit
) -> None:
    settings = {"EPOCHWISE_SAVED": str(tmp_path / "saved"), "EPOCHWISE_MEASURE": "on"}
    with served(tmp_path / "results", settings=settings) as url:
        page = visit(f"{url}/how-long?epochs=500", elsewhere=True)
        _in_the_frame(page, "How long?")
        with rerun(page):
            page.get_by_role("button", name="Save view").click()
        widget(page, "how-long.save-view.name").locator("input").fill("Five hundred")
        with rerun(page):
            widget(page, "how-long.save-view.now").get_by_role("button").click()
        expect(page.get_by_text("Five hundred is saved.")).to_be_visible()
        aside(page)
    with served(tmp_path / "results", settings=settings) as url:
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        page.goto(url)
        settled(page).get_by_role("link", name="Five hundred").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("How long?")
        expect(answer(settled(page))).to_contain_text("500 epochs of WideResNet-103M")
