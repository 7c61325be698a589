"""A hand-out as PDF, printed by the Chromium that is there.

The browser is a child process with a profile of its own that is deleted afterwards; it opens one
file on this disk, no script runs in it (the page's policy), and no name is ever looked up.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAMES: Final = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge",
)  # fmt: skip
SETTING: Final = "EPOCHWISE_CHROMIUM"
PATIENCE_S: Final = 60.0
MOST_BYTES: Final = 20 * 1024 * 1024
_AT_ONCE: Final = threading.BoundedSemaphore(2)
"""Browsers of one process: each takes a core and 200 MB while it prints."""
_PLACES: Final = (
    "chromium-*/chrome-linux*/chrome", "chromium_headless_shell-*/chrome*/*headless*shell",
    "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
)  # fmt: skip
"""Where Playwright keeps its own, below its folder."""
_ARGUMENTS: Final = (
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-domain-reliability",
    "--disable-sync", "--disable-breakpad", "--disable-dev-shm-usage", "--metrics-recording-only",
    "--no-first-run", "--no-default-browser-check", "--no-pings", "--mute-audio",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--no-pdf-header-footer", "--password-store=basic",
)  # fmt: skip


class PdfError(RuntimeError):
    """No PDF was made; the message says why and what to do."""


def chromium(environment: Mapping[str, str] | None = None) -> Path | None:
    """The browser to print with: EPOCHWISE_CHROMIUM, one on PATH, Playwright's own; or None."""
    known = os.environ if environment is None else environment
    if told := known.get(SETTING):
        return Path(told) if os.access(told, os.X_OK) else None
    for name in NAMES:
        if found := shutil.which(name, path=known.get("PATH")):
            return Path(found)
    told = known.get("PLAYWRIGHT_BROWSERS_PATH", "")
    folder = Path(told) if told not in ("", "0") else Path("~/.cache/ms-playwright").expanduser()
    kept = (p for place in _PLACES for p in sorted(folder.glob(place), reverse=True))
    return next((p for p in kept if os.access(p, os.X_OK)), None)


def pdf_of(html: str) -> bytes:
    """The page as PDF, A4 as its own style sheet says.

    Raises:
        PdfError: there is no Chromium, it failed, or it took too long.
    """
    browser = chromium()
    if browser is None:
        raise PdfError(
            "A PDF needs Chromium or Chrome, and none was found. Install one so that it is on "
            f"PATH, set {SETTING} to its program, or open the HTML report and print it."
        )
    content = html.encode()
    if len(content) > MOST_BYTES:
        raise PdfError(f"The page has {len(content):,} bytes; {MOST_BYTES:,} at most are printed.")
    if not _AT_ONCE.acquire(timeout=PATIENCE_S):
        raise PdfError("Too many PDFs are being made at once. Try again in a moment.")
    try:
        return _in_a_folder(browser, content)
    finally:
        _AT_ONCE.release()


def _in_a_folder(browser: Path, content: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="epochwise-pdf-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "page.html").write_bytes(content)
        return _printed(browser, folder)


def _printed(browser: Path, folder: Path) -> bytes:
    made = folder / "page.pdf"
    command = [
        str(browser), *_ARGUMENTS, *_as_root(), f"--user-data-dir={folder / 'profile'}",
        f"--print-to-pdf={made}", (folder / "page.html").as_uri(),
    ]  # fmt: skip
    said = _run(command, folder)
    content = made.read_bytes() if made.is_file() else b""
    if not content.startswith(b"%PDF-"):
        raise PdfError(
            f"Chromium made no PDF ({said or 'it said nothing'}). "
            "Open the HTML report and print it."
        )
    return content


def _run(command: list[str], folder: Path) -> str:
    """Run the browser to its end; its last line, without paths."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={k: v for k, v in os.environ.items() if k in _KEPT} | {"HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return f"it does not start: {error.strerror}"
    late = False
    try:
        told = process.communicate(timeout=PATIENCE_S)[1]
    except subprocess.TimeoutExpired:
        late = True
    finally:
        _end(process)
    if late:
        process.communicate()  # what it said is of no use, but its pipe has to be closed
        raise PdfError(
            f"Chromium did not finish within {PATIENCE_S:g} s. Try again, or print the HTML report."
        )
    lines = told.decode(errors="replace").strip().splitlines()
    last = _PATH.sub("...", lines[-1][-200:]) if lines else ""
    return f"exit {process.returncode}: {last}" if lines else ""


_PATH: Final = re.compile(r"\S*/\S*")
_KEPT: Final = frozenset({"PATH", "LANG", "LC_ALL", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE"})


def _end(process: subprocess.Popen[bytes]) -> None:
    """The browser and its helpers, all of its own session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    process.wait()


def _as_root() -> list[str]:
    """Chromium's sandbox does not start as root; then there is nothing it could keep apart."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
