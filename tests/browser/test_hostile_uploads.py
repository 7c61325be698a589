"""A file of traps, brought in through the page: 40 scripts and 20 pieces of Markdown do nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Visit
from tests.browser.look import settled
from tests.browser.server import served
from tests.faults.outcomes import FULL, Outcome, finish

pytestmark = [pytest.mark.browser, pytest.mark.faults]
_CODE: Final = ("alert(1)", "fetch('http://evil.example')", "document.title='owned'")
SCRIPTS: Final = tuple(
    text.replace("CODE", code)
    for code in _CODE
    for text in (
        "<script>CODE</script>", "<img src=x onerror=CODE>", "<svg onload=CODE>",
        "<iframe srcdoc='<script>CODE</script>'>", "<a href='javascript:CODE'>a</a>",
        "<body onload=CODE>", "<details open ontoggle=CODE>", "<input autofocus onfocus=CODE>",
        "<math href='javascript:CODE'>b</math>", '"><script>CODE</script>', "javascript:CODE",
        "<object data='javascript:CODE'>", "<style>@import 'http://evil.example/CODE';</style>",
        "<svg><animate onbegin=CODE attributeName=x>",
    )
)[:40]  # fmt: skip
MARKDOWN: Final = (
    "![p](http://evil.example/p.png)", "[l](http://evil.example)", "[j](javascript:alert(1))",
    "**b**", "# title", "- item", "`code`", "$x^2$", ":material/star:", ":smile:", ":red[x]",
    "<http://evil.example>", "www.evil.example", "x@evil.example", "| a | b |", "> quote",
    "---", "~~s~~", "[^1]: note", "![d](data:text/html,<b>x</b>)",
)  # fmt: skip
TRAPS: Final = (*SCRIPTS, *MARKDOWN)
TERMS: Final = {
    "Name of the set": SCRIPTS[1],
    "Licence": SCRIPTS[0],
    "Citation": MARKDOWN[0],
    "Address of the source": SCRIPTS[10],
}
HEAD: Final = ("model", "system_name", "device_kind", "global_batch_size", "throughput", "note")


def _file(
    name: str, rows: Sequence[tuple[object, ...]], head: tuple[str, ...] = HEAD
) -> FilePayload:
    out = io.StringIO()
    csv.writer(out).writerows([head, *rows])
    return {"name": name, "mimeType": "text/csv", "buffer": out.getvalue().encode()}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app, with a folder of results of its own."""
    results: Path = tmp_path_factory.mktemp("uploads") / "results"
    with served(results) as url:
        yield url


def _dropped(page: Page, file: FilePayload, text: str) -> None:
    page.locator("input[type=file]").set_input_files([file])
    expect(page.get_by_text(text).first).to_be_visible()
    settled(page)


def _harmless(page: Page, dialogs: list[str], outcome: Outcome, what: str) -> None:
    """Count the place as one that showed all traps; anything that one of them did is a fault."""
    with outcome.step(what):
        _is_harmless(page, dialogs)
    outcome.counts["places that show them"] += 1


def _is_harmless(page: Page, dialogs: list[str]) -> None:
    assert dialogs == []
    assert page.title() != "owned"
    main = page.get_by_test_id("stMain")
    assert main.locator("script, iframe, object, img").count() == 0
    links = main.locator("a[href]").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert [a for a in links if "evil.example" in a or a.startswith("javascript:")] == []


def _refused(page: Page, app: str, dialogs: list[str], outcome: Outcome) -> None:
    """Files with problems and with unknown columns."""
    wrong = [(t, t, "gpu", t, 1.0, t) for t in TRAPS]
    _dropped(page, _file(f"{SCRIPTS[1]}.csv".replace("/", "_"), wrong), "nothing is taken")
    _harmless(page, dialogs, outcome, "problems of a file")
    page.goto(f"{app}/add-results")
    settled(page)
    heads = (*HEAD[:3], SCRIPTS[1], MARKDOWN[0], "note")
    _dropped(page, _file("b.csv", [("A", "B", "gpu", 1, 2, "c")], heads), "do not have")
    _harmless(page, dialogs, outcome, "fields of columns")
    page.goto(f"{app}/add-results")
    settled(page)


def test_traps_of_a_file_do_nothing_on_any_page(app: str, visit: Visit) -> None:
    assert (len(SCRIPTS), len(MARKDOWN)) == (40, 20)
    outcome = Outcome(name="scripts and Markdown in Chromium", cases=len(TRAPS))
    outcome.counts |= {"scripts": len(SCRIPTS), "pieces of Markdown": len(MARKDOWN)}
    page, dialogs = visit(f"{app}/add-results"), list[str]()
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    if FULL:
        _refused(page, app, dialogs, outcome)
    sound = [(t, t, "gpu", i, 1.5 * i, t) for i, t in enumerate(TRAPS, 1)]
    _dropped(page, _file("c.csv", sound), f"{len(TRAPS)} new runs")
    for label, text in TERMS.items():
        page.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Enter")
        settled(page)
    page.get_by_role("button", name=f"Add {len(TRAPS)} runs").click()
    expect(page.get_by_text("runs are added").first).to_be_visible()
    _harmless(page, dialogs, outcome, "after adding")
    for address in ("results", "explore", "throughput", "how-long", "") if FULL else ("results",):
        page.goto(f"{app}/{address}")
        settled(page)
        _harmless(page, dialogs, outcome, address)
    outcome.slowest_s = None
    finish(outcome)
