"""A hand-out as PDF, printed by an installed Chromium.

The browser is a child process with a temporary profile. It opens one local file, runs no script
(the page's policy) and looks up no host name.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Final

from planner.core import Text

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
    """No PDF was made; the message states the reason and what to do."""


def chromium() -> Path | None:
    """Return the browser of EPOCHWISE_CHROMIUM, on PATH or of Playwright; None without any."""
    if setting := os.environ.get(SETTING):
        return Path(setting) if os.access(setting, os.X_OK) else None
    for name in NAMES:
        if program := shutil.which(name, path=os.environ.get("PATH")):
            return Path(program)
    setting = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    folder = (
        Path(setting) if setting not in ("", "0") else Path("~/.cache/ms-playwright").expanduser()
    )
    kept = (p for place in _PLACES for p in sorted(folder.glob(place), reverse=True))
    return next((p for p in kept if os.access(p, os.X_OK)), None)


def pdf_of(html: str) -> bytes:
    """Return the page as PDF, in the format of its style sheet (A4).

    Raises:
        PdfError: there is no Chromium, it failed, or it took too long.
    """
    browser = chromium()
    if browser is None:
        raise PdfError(
            Text(
                "A PDF needs Chromium or Chrome, and none was found. Install one so "
                "that it is on PATH, set {setting} to its program, or open the HTML "
                "report and print it.",
                setting=SETTING,
            )
        )
    content = html.encode()
    if len(content) > MOST_BYTES:
        raise PdfError(
            Text(
                "The page has {content:,} bytes; {most_bytes:,} at most are printed.",
                content=len(content),
                most_bytes=MOST_BYTES,
            )
        )
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
    message = _run(command, folder)
    content = made.read_bytes() if made.is_file() else b""
    if not content.startswith(b"%PDF-"):
        raise PdfError(
            Text(
                "Chromium made no PDF ({message}). Open the HTML report and print it.",
                message=message or "without a message",
            )
        )
    return content


def _run(command: list[str], folder: Path) -> str:
    """Run the browser to its end; return its last line, without paths."""
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
        return Text("it does not start: {reason}", reason=error.strerror)
    late = False
    try:
        output = process.communicate(timeout=PATIENCE_S)[1]
    except subprocess.TimeoutExpired:
        late = True
    finally:
        _end(process)
    if late:
        process.communicate()  # closes the pipe; the output is not needed
        raise PdfError(
            Text(
                "Chromium did not finish within {patience_s:g} s. Try again, or print "
                "the HTML report.",
                patience_s=PATIENCE_S,
            )
        )
    lines = output.decode(errors="replace").strip().splitlines()
    last = _PATH.sub("...", lines[-1][-200:]) if lines else ""
    return f"exit {process.returncode}: {last}" if lines else ""


_PATH: Final = re.compile(r"\S*/\S*")
_KEPT: Final = frozenset({"PATH", "LANG", "LC_ALL", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE"})


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the browser and its helper processes, all in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    process.wait()


def _as_root() -> list[str]:
    """Return the argument for root, where Chromium's sandbox does not start."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
