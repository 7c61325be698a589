"""A real Chromium on the real app, and a watch that fails a test on anything untoward.

Untoward is: a line in the browser's error console, a request that leaves the machine, an
exception box on the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, BrowserContext, BrowserType, Error, Page, expect

from tests.browser import chromium
from tests.browser.look import ARGUMENTS, ASIDE, PATIENCE_MS, Watch, aside, settled
from tests.browser.server import served

expect.set_options(timeout=60_000)


class Visit(Protocol):
    """Opens an address."""

    def __call__(
        self,
        url: str,
        *,
        width: int = 1440,
        height: int = 1000,
        dark: bool = False,
        elsewhere: bool = False,
        headers: Mapping[str, str] | None = None,
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
    """The leanest Chromium on PATH, or Playwright's own; none at all is a failure, never a skip."""
    path = chromium.lean()
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
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture(scope="session")
def tabs() -> list[Page]:
    """Tabs that tests have left open: a new one compiles Streamlit's scripts again."""
    return []


@pytest.fixture
def visit(desk: BrowserContext, watch: Watch, tabs: list[Page]) -> Iterator[Visit]:
    """Open an address as a new session and wait until the page has settled.

    `elsewhere` opens it in a browser that has kept nothing of the app but its scripts, `headers` go
    with each of its requests. Pages are those of a person who wants few animations: drawing them
    takes a quarter of what a page takes.
    """
    opened: list[Page] = []

    def visit(
        url: str,
        *,
        width: int = 1440,
        height: int = 1000,
        dark: bool = False,
        elsewhere: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Page:
        page = tabs.pop() if tabs else desk.new_page()
        opened.append(page)
        watch.over(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        page.set_extra_http_headers(dict(headers or {}))
        if elsewhere:
            _forget(page, url)
        page.goto(url)
        return settled(page)

    yield visit
    watch.look_round()
    watch.leave()
    for page in (p for p in opened if not p.is_closed()):
        try:  # ends the session; a page of the same site keeps the compiled scripts
            tabs.append(page if page.url.endswith(ASIDE) else aside(page))
        except Error:
            page.close()


def _forget(page: Page, url: str) -> None:
    """Remove all that this browser has stored for a site."""
    page.goto(urljoin(url, ASIDE))
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    page.context.clear_cookies()
