"""A hand-out as PDF, by a real Chromium; and what is said where there is none."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.report._page import document, section, table
from planner.store import pdf
from planner.store.pdf import PdfError, chromium, pdf_of

needs_chromium = pytest.mark.skipif(
    chromium() is None, reason="no Chromium on this machine: python -m tests.browser.chromium"
)
A4 = (595.0, 842.0)


def _page(rows: int) -> str:
    body = section("All", table(["a", "b"], [[str(k), "x " * 60] for k in range(rows)], "Rows"))
    return document("Title", "<div></div>", body, "<p>end</p>")


@pytest.fixture
def beacon() -> Iterator[tuple[int, list[str]]]:
    """A listener on this machine, its port and what was asked of it."""
    asked: list[str] = []

    class Told(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Told) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1], asked
        server.shutdown()
        thread.join()


@needs_chromium
def test_a_long_table_is_printed_on_several_a4_pages_without_a_question(
    beacon: tuple[int, list[str]],
) -> None:
    port, asked = beacon
    picture = "".join(f"<img src='http://{h}:{port}/x'>" for h in ("127.0.0.1", "localhost"))
    page = re.sub(r"<meta http-equiv[^>]*>", "", _page(120))
    made = pdf_of(page.replace("<main>", f"<main>{picture}"))
    assert asked == []
    assert made.startswith(b"%PDF-")
    assert made.rstrip().endswith(b"%%EOF")
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", made))
    assert 3 <= pages <= 12
    boxes = {
        tuple(float(x) for x in b.split()) for b in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", made)
    }
    assert all(abs(w - A4[0]) < 2 and abs(h - A4[1]) < 2 for _, _, w, h in boxes)


def test_without_a_browser_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/nowhere")
    monkeypatch.delenv(pdf.SETTING, raising=False)
    with pytest.raises(PdfError, match=r"Install one .* or open the HTML report and print it"):
        pdf_of("<p>x")


@pytest.mark.parametrize(
    ("script", "result"),
    [("exit 3", "exit 3|without a message"), ("echo secret/path >&2; exit 1", "made no PDF")],
)
def test_a_browser_that_fails_is_reported_and_leaves_nothing_behind(
    script: str, result: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stand_in(script, tmp_path, monkeypatch)
    with pytest.raises(PdfError, match=result) as raised:
        pdf_of("<p>x")
    assert "secret" not in str(raised.value)
    assert not list((tmp_path / "tmp").iterdir())


def test_a_browser_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in("sleep 60", tmp_path, monkeypatch)
    monkeypatch.setattr(pdf, "PATIENCE_S", 0.3)
    with pytest.raises(PdfError, match="did not finish"):
        pdf_of("<p>x")
    assert not list((tmp_path / "tmp").iterdir())


def test_the_browser_sees_one_file_a_profile_of_its_own_and_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = tmp_path / "arguments"
    _stand_in(f'printf "%s\\n" "$@" > {arguments}; env >> {arguments}', tmp_path, monkeypatch)
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    with pytest.raises(PdfError):
        pdf_of("<p>x")
    said = arguments.read_text()
    assert "file:///" in said
    assert "--user-data-dir=" in said
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in said
    assert "hunter2" not in said


def test_a_page_that_is_too_large_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stand_in("exit 0", tmp_path, monkeypatch)
    with pytest.raises(PdfError, match="at most"):
        pdf_of("x" * (pdf.MOST_BYTES + 1))


def _stand_in(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in Chromium's place, and a folder for temporary files."""
    program = tmp_path / "browser"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv(pdf.SETTING, str(program))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


def test_no_more_browsers_at_once_than_the_machine_bears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stand_in("exit 0", tmp_path, monkeypatch)
    monkeypatch.setattr(pdf, "_AT_ONCE", threading.BoundedSemaphore(1))
    monkeypatch.setattr(pdf, "PATIENCE_S", 0.01)
    with pdf._AT_ONCE, pytest.raises(PdfError, match="at once"):
        pdf_of("<p>x")
