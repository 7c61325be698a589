"""A real Chromium on the real app, and a watch that fails a test on anything untoward.

Untoward is: a line in the browser's error console, a request that leaves the machine, an
exception box on the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, BrowserType, Error, Page, expect

from tests.browser import chromium
from tests.browser.look import ARGUMENTS, Watch, settled
from tests.browser.server import served

expect.set_options(timeout=60_000)


class Visit(Protocol):
    """Opens an address."""

    def __call__(
        self, url: str, *, width: int = 1440, dark: bool = False, elsewhere: bool = False
    ) -> Page:
        """The page, settled."""
        ...


@pytest.fixture(scope="session")
def base_url() -> None:
    """Addresses are written in full; and the plugin's own fixture is one pytest 9.2 warns of."""


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any], browser_type: BrowserType
) -> dict[str, Any]:
    """The Chromium on PATH, or Playwright's own; none at all is a failure, never a skip."""
    path = chromium.executable()
    if path is None and not Path(browser_type.executable_path).exists():
        pytest.fail(chromium.ADVICE)
    known = {"executable_path": path} if path else {}
    return browser_type_launch_args | known | {"args": ARGUMENTS}


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the shipped results alone; the folder of one's own is empty and stays so."""
    with served(tmp_path_factory.mktemp("server") / "results") as url:
        yield url


@pytest.fixture
def watch() -> Iterator[Watch]:
    """What the browser complains of, or sends away, on any page that is watched."""
    watched = Watch()
    yield watched
    assert watched.complaints() == []


@pytest.fixture(scope="session")
def desk(browser: Browser) -> Iterator[BrowserContext]:
    """One browser for many pages, so that the scripts of Streamlit are read once."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture(scope="session")
def tabs() -> list[Page]:
    """Tabs that tests have left open: a new one compiles Streamlit's scripts again."""
    return []


@pytest.fixture
def visit(desk: BrowserContext, watch: Watch, tabs: list[Page]) -> Iterator[Visit]:
    """Open an address as a new session and wait until the page has settled.

    `elsewhere` opens it in a browser that has kept nothing of the app but its scripts. Pages are
    those of a person who wants few animations: drawing them takes a quarter of what a page takes.
    """
    opened: list[Page] = []

    def visit(url: str, *, width: int = 1440, dark: bool = False, elsewhere: bool = False) -> Page:
        page = tabs.pop() if tabs else desk.new_page()
        opened.append(page)
        watch.over(page)
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        if elsewhere:
            _forget(page, url)
        page.goto(url)
        return settled(page)

    yield visit
    watch.look_round()
    watch.leave()
    for page in (p for p in opened if not p.is_closed()):
        try:  # ends the session; a page of the same site keeps the compiled scripts
            page.goto(_aside(page.url))
        except Error:
            page.close()
        else:
            tabs.append(page)


def _aside(url: str) -> str:
    """Return the address of a page of the same site that opens no session."""
    at = urlsplit(url)
    return f"{at.scheme}://{at.netloc}/_stcore/health"


def _forget(page: Page, url: str) -> None:
    """Remove all that this browser has stored for a site."""
    page.goto(_aside(url))
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    page.context.clear_cookies()
