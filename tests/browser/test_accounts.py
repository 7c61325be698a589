"""A Chromium of another account of this machine: it reads what is open, and changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserType, Page, expect

from planner.store.disk.audit import audit_folder, entries
from tests.browser import chromium
from tests.browser.look import ARGUMENTS, PATIENCE_MS, settled
from tests.browser.server import served
from tests.store.restricted import build, leaks

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or os.geteuid() != 0,
        reason="only root of a Linux may start a browser of another account",
    ),
]
NOBODY: Final = 65534
ANOTHER: Final = "Another account of this machine opened this page, and only its own may write."
OFF: Final = {
    "add-results": "Adding results is switched off here.",
    "measure": "Measuring is switched off here.",
}
READ: Final = {"": True, "results": True, "explore?view=saved": False, "how-long": False}
"""Pages that everyone reads, and whether one shows the restricted set to the owner at once."""
_PATIENCE_S: Final = 90.0


@contextmanager
def _of_another_account(browser_type: BrowserType) -> Iterator[Browser]:
    """A Chromium that runs under another account, with a home of its own."""
    path = chromium.lean() or browser_type.executable_path
    home = Path(tempfile.mkdtemp(prefix="epochwise-account-", dir="/tmp"))
    os.chown(home, NOBODY, NOBODY)
    process = subprocess.Popen(
        [path, *ARGUMENTS, "--headless", "--remote-debugging-port=0",
         f"--user-data-dir={home}/profile"],
        user=NOBODY, group=NOBODY, extra_groups=[], cwd=home,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port = home / "profile" / "DevToolsActivePort"
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end and not (port.exists() and port.read_text().strip()):
            assert process.poll() is None, "Chromium did not start under another account."
            time.sleep(0.05)
        browser = browser_type.connect_over_cdp(
            f"http://127.0.0.1:{port.read_text().splitlines()[0]}"
        )
        yield browser
        browser.close()
    finally:
        process.terminate()
        process.wait(timeout=30)
        shutil.rmtree(home, ignore_errors=True)


def _opened(page: Page, url: str) -> Page:
    page.goto(url)
    return settled(page)


def test_a_browser_of_another_account_reads_and_one_of_the_server_s_writes(
    browser_type: BrowserType, browser: Browser, tmp_path: Path
) -> None:
    build(tmp_path / "results")
    empty = tmp_path / "shipped"
    empty.mkdir()
    settings = {"EPOCHWISE_SHIPPED_RESULTS": str(empty)}
    with (
        served(tmp_path / "results", settings=settings) as url,
        _of_another_account(browser_type) as other,
    ):
        for visitor, owns in ((other, False), (browser, True)):
            context = visitor.new_context()
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            for path, off in OFF.items():
                _opened(page, f"{url}/{path}")
                expect(page.get_by_text(off)).to_have_count(0 if owns else 1)
                expect(page.get_by_text(ANOTHER)).to_have_count(0 if owns else 1)
                assert owns or leaks(page.content()) == []
            _opened(page, f"{url}/add-results")
            expect(page.get_by_test_id("stFileUploader")).to_have_count(1 if owns else 0)
            for path, shows in READ.items():
                _opened(page, f"{url}/{path}")
                expect(page.get_by_text("has encountered an error")).to_have_count(0)
                assert bool(leaks(page.content())) is (owns and shows), path
            page.get_by_role("button", name="Save view").click()
            expect(page.get_by_text(ANOTHER)).to_have_count(0 if owns else 1)
            expect(page.get_by_label("Name", exact=True)).to_have_count(1 if owns else 0)
            answer = page.evaluate("() => fetch('/api/v1/results').then((got) => got.text())")
            assert bool(leaks(answer)) is owns
            context.close()
        assert list(entries(audit_folder(tmp_path / "state"))) == []
