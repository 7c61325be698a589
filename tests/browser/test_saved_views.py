"""A view that somebody saves is there after the server has been started again."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.look import answer, rerun, settled, widget
from tests.browser.server import served


def test_a_saved_view_survives_a_restart_of_the_server(tmp_path: Path, visit: Visit) -> None:
    settings = {"EPOCHWISE_SAVED": str(tmp_path / "saved"), "EPOCHWISE_MEASURE": "on"}
    with served(tmp_path / "results", settings=settings) as url:
        page = visit(f"{url}/how-long?epochs=500", elsewhere=True)
        with rerun(page):
            page.get_by_role("button", name="Save view").click()
        widget(page, "how-long.save-view.name").locator("input").fill("Five hundred")
        with rerun(page):
            widget(page, "how-long.save-view.now").get_by_role("button").click()
        expect(page.get_by_text("Five hundred is saved.")).to_be_visible()
        page.goto("about:blank")
    with served(tmp_path / "results", settings=settings) as url:
        page = visit(url, elsewhere=True)
        page.get_by_role("link", name="Five hundred").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("How long?")
        expect(answer(settled(page))).to_contain_text("500 epochs of WideResNet-103M")
