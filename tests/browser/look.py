"""How the proofs look at a page: waiting, watching, and where things are."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from playwright.sync_api import (
    ConsoleMessage,
    Dialog,
    Error,
    Locator,
    Page,
    Request,
    TimeoutError,  # noqa: A004
    WebSocket,
)
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ARGUMENTS: Final = (
    "--no-sandbox",  # for an administrator in a container; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    # A page is short-lived: it ends before optimised code and collections repay their time.
    "--js-flags=--min-semi-space-size=64 --max-semi-space-size=64 --no-maglev --no-turbofan"
    " --always-sparkplug --initial-heap-size=512 --single-threaded-gc",
)

_PROBES: Final = ("/_stcore/health", "/_stcore/host-config", "/favicon.ico")
"""Streamlit looks for itself under a deep link's own address first: 404, and no fault of ours. A
tab that is left may look for the icon of a server that has ended."""
ASIDE: Final = "/_stcore/health"
_QUIET_MS: Final = 250
PATIENCE_MS: Final = 90_000
"""Far above what a page takes on a busy machine: a hang is a failure."""
_POLL_MS: Final = 50
_PICKED_MS: Final = 8_000
_ATTEMPTS: Final = 3
HOVER_MS: Final = 150
"""A table hears a click only where the pointer was before, as a hand's always is."""
_SETTLED: Final = """(quiet) => {
    const app = document.querySelector('[data-testid=stApp]')
    const busy = !app || app.dataset.testScriptState !== 'notRunning'
        || document.querySelector('[data-testid=stSkeleton], [data-stale=true]')
    if (busy) { window.quietSince = undefined; return false }
    window.quietSince ??= performance.now()
    return performance.now() - window.quietSince > quiet
}"""
_RUNS_FINISHED: Final[WeakKeyDictionary[Page, int]] = WeakKeyDictionary()
"""Finished script runs of each watched page, by the server's messages."""


class Watch:
    """What must not happen, collected over every watched page."""

    def __init__(self) -> None:
        self._seen: list[str] = []
        self._pages: list[Page] = []
        self._leave: list[Callable[[], None]] = []

    def over(self, page: Page) -> None:
        """Watch this page from now on."""
        self._pages.append(page)
        _RUNS_FINISHED[page] = 0
        for event, handler in (
            ("console", self._console),
            ("request", self._request),
            ("pageerror", self._error),
            ("dialog", self._dialog),
            ("websocket", partial(_count_runs, page)),
        ):
            page.on(event, handler)  # type: ignore[call-overload]
            self._leave.append(partial(page.remove_listener, event, handler))

    def look_round(self) -> None:
        """Note the exception boxes that stand on the pages now."""
        for page in (p for p in self._pages if not p.is_closed()):
            boxes = page.get_by_test_id("stException").all_inner_texts()
            self._seen += [f"exception box on {page.url}: {text}" for text in boxes]

    def leave(self) -> None:
        """Watch none of the pages any longer."""
        while self._leave:
            self._leave.pop()()

    def complaints(self) -> list[str]:
        """All that was seen."""
        return self._seen

    def _error(self, error: Error) -> None:
        self._seen.append(f"script: {error}")

    def _dialog(self, dialog: Dialog) -> None:
        self._seen.append(f"a script spoke: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        place = message.location["url"]
        if message.type == "error" and not place.endswith(_PROBES):
            self._seen.append(f"console: {message.text} ({place})")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        local = address.hostname == "127.0.0.1" or address.scheme in {"data", "blob", "file"}
        if not local:
            self._seen.append(f"request left the machine: {request.url}")


def _count_runs(page: Page, connection: WebSocket) -> None:
    """Count the script runs that the server reports as finished.

    The page cannot be watched instead: it may render the start and end of a short run at once.
    """

    def count(frame: bytes | str) -> None:
        message = ForwardMsg.FromString(frame if isinstance(frame, bytes) else frame.encode())
        if message.WhichOneof("type") == "script_finished":
            interrupted = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
            _RUNS_FINISHED[page] += not interrupted

    connection.on("framereceived", count)


def _wait_for_a_run(page: Page, finished_before: int, within_ms: float) -> None:
    """Wait until another script run finishes; TimeoutError if none does."""
    deadline_s = time.monotonic() + within_ms / 1000
    while _RUNS_FINISHED[page] <= finished_before:
        if time.monotonic() > deadline_s:
            message = f"no run of the script ended within {within_ms:.0f} ms"
            raise TimeoutError(message)
        page.wait_for_timeout(_POLL_MS)


def settled(page: Page) -> Page:
    """The page, once its script has not run for a while and nothing on it is stale."""
    page.evaluate("window.quietSince = undefined")
    page.wait_for_function(_SETTLED, arg=_QUIET_MS, timeout=PATIENCE_MS, polling=_POLL_MS)
    return page


@contextmanager
def rerun(page: Page) -> Iterator[None]:
    """What is done here makes the script run: settled is what comes after, not what was before.

    A busy server may take longer to begin than a page needs to look settled.
    """
    finished_before = _RUNS_FINISHED[page]
    yield
    _wait_for_a_run(page, finished_before, PATIENCE_MS)
    settled(page)


def aside(page: Page) -> Page:
    """The page of the same site that opens no session: the one before has ended."""
    at = urlsplit(page.url)
    page.goto(f"{at.scheme}://{at.netloc}{ASIDE}")
    return page


def turned(page: Page, *, dark: bool) -> Page:
    """The page in other colours; its charts follow as it is drawn again."""
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    settled(page)
    with rerun(page):
        page.get_by_role("heading", level=1).click()  # away from fields
        page.keyboard.press("r")  # Streamlit's key for it
    return page


def answer(page: Page) -> Locator:
    """The sentence that answers the page's question: the first of its details."""
    details = page.get_by_test_id("stMain").get_by_test_id("stExpander").filter(has_text="Details")
    return details.first.get_by_test_id("stMarkdown").locator("p").first


def headline(page: Page) -> Locator:
    """The first heading below the title: the sentence of a page that has no tiles."""
    return page.get_by_test_id("stMain").get_by_role("heading", level=2).first


def widget(page: Page, key: str) -> Locator:
    """The widget with this key, as `how-long.epochs`."""
    return page.locator(f".st-key-{key.replace('.', '-')}")


def choose(
    page: Page, key: str, option: str | re.Pattern[str], *, typed: str = "", inside: bool = False
) -> Page:
    """Pick an option of a select box or of a list of many; `typed` finds it in a long one.

    A box `inside` a popover is left open with it: a click elsewhere closes both.

    A list closes where the page moves, and one that is being drawn anew may swallow a click, as
    under a person's hand: then it is picked once more. An option that was picked shows in its
    box at once: then a busy server is waited for, since to pick it again would change nothing.
    """
    picked = widget(page, key).get_by_text(option, exact=True)
    for attempts_left in reversed(range(_ATTEMPTS)):
        finished_before = _RUNS_FINISHED[page]
        box = widget(page, key).get_by_role("combobox")
        box.click()
        if typed:
            box.fill(typed)
        try:
            page.get_by_role("option", name=option, exact=True).click(timeout=_PICKED_MS)
            _wait_for_a_run(page, finished_before, _PICKED_MS)
        except TimeoutError:
            if picked.count():
                _wait_for_a_run(page, finished_before, PATIENCE_MS)
                break
            if not attempts_left:
                raise
            if not inside:
                dismissed(page)  # a list that stayed open would be closed by the next click
        else:
            break
    return settled(page) if inside else dismissed(page)


def enter(page: Page, key: str, text: str) -> Page:
    """Type into a field and press Enter."""
    field = widget(page, key).locator("input")
    field.fill(text)
    with rerun(page):
        field.press("Enter")
    return page


def dismissed(page: Page) -> Page:
    """The page without an open list; Escape would empty a list that has closed by itself."""
    page.mouse.click(700, 20)
    return settled(page)


def press(page: Page, key: str, label: str) -> Page:
    """Click the pill, the segment or the button with this label."""
    with rerun(page):
        widget(page, key).get_by_text(label, exact=True).click()
    return page


def click_row(page: Page, key: str, row: int) -> None:
    """Choose a row of a table by its box; a table is drawn on a canvas, so by its place."""
    canvas = widget(page, key).get_by_test_id("data-grid-canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    x, y = box["x"] + 16, box["y"] + 35 * (row + 1) + 17
    page.mouse.move(x, y)
    page.wait_for_timeout(HOVER_MS)
    page.mouse.click(x, y)


def open_tab(page: Page, name: str) -> Page:
    """Open a tab of the page's answer, as "Table"."""
    with rerun(page):
        page.get_by_role("tab", name=name).first.click()
    return page


def download(page: Page, key: str) -> Path:
    """The file that the download button gives; one of a table is in its tab."""
    button = widget(page, key).get_by_role("button")
    if not button.count() and page.get_by_role("tab", name="Table").count():
        open_tab(page, "Table")
    with page.expect_download() as coming:
        button.click()
    return Path(coming.value.path())
