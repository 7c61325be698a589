"""Whatever a stranger writes into a name is shown as it is written, and does nothing."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from planner.core.slugs import slugs
from planner.store import Store, commit_runs, folders_from_environment, queries
from tests.browser.conftest import Visit
from tests.browser.look import answer, download, headline
from tests.browser.server import ROOT, served
from tests.faults.outcomes import FULL
from tests.store.build import row

pytestmark = pytest.mark.browser

MODEL = (
    "<img src=x onerror=alert(1)> **b** ![p](http://evil.example/p.png) [l](http://evil.example) "
    ":material/star: :smile: :red[x] $x^2$ a -> b -- www.evil.example x@evil.example"
)
SYSTEM = '=CMD("calc") <script>alert(2)</script> <b>T4</b>'
OTHER = "@SUM(A1) <a href='http://evil.example'>click</a>\n\n# title\n\n- item"
NOTE = "![p](http://evil.example/n.png)\n\n    code <iframe src=http://evil.example>"
ABOUT = """title = "<img src=x onerror=alert(3)> **t** [l](http://evil.example)"
licence = "<script>alert(4)</script>"
source = "=HYPERLINK(1)"
about = "+cmd <b>about</b>"
author = "-cmd"
citation = "![c](http://evil.example/c.png)"
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """An app beside whose results lies a set of nothing but traps."""
    results = tmp_path_factory.mktemp("hostile") / "results"
    epochs = [{"epoch": n, "epoch_s": 12.0 + n / 100} for n in range(1, 6)]
    commit_runs(
        results / "mine",
        [
            row(
                model=MODEL,
                dataset="+1 *d*",
                system_name=system,
                global_batch_size=batch,
                pre_train_s=3.0,
                epochs=epochs,
                epochs_measured=5,
                step_s=0.05 + batch / 500,
                note=NOTE,
                source="[s](javascript:alert(5))",
            )
            for system in (SYSTEM, OTHER)
            for batch in (64, 256)
        ],
    )
    (results / "mine" / "set.toml").write_text(ABOUT, encoding="utf-8")
    with served(results) as url:
        yield url, results


def _store(results: Path) -> Store:
    store = Store(folders_from_environment(ROOT, {"EPOCHWISE_RESULTS": str(results)}))
    store.refresh()
    return store


def _workload(results: Path) -> str:
    workloads = slugs(queries.workloads(_store(results)))
    return next(s for s, name in workloads.items() if name.startswith(MODEL))


def _harmless(page: Page) -> None:
    """No foreign element and no link elsewhere; the watch sees to requests and scripts."""
    main = page.get_by_test_id("stMain")
    assert main.locator("img, script, iframe").count() == 0
    links = main.locator("a[href], svg a").evaluate_all(
        "all => all.map(a => a.getAttribute('href') ?? a.getAttribute('xlink:href'))"
    )
    own = re.compile(r"#|\?folder=yours&run=[0-9a-f]{32}$")  # a place on the page, or a run
    assert [a for a in links if a is None or not own.match(a)] == []


def _text(at: Locator) -> str:
    """The text of a place, which may be folded; word joiners of escapes are no part of it."""
    expect(at).not_to_be_empty()
    return (at.text_content() or "").replace("\u2060", "")


def test_how_long_shows_names_as_they_are_written_in_words_lines_and_downloads(
    hostile: tuple[str, Path], visit: Visit
) -> None:
    url, results = hostile
    page = visit(f"{url}/how-long?workload={_workload(results)}")
    sentence = _text(answer(page))
    assert f"2000 epochs of {MODEL} at batch 64 on " in sentence
    assert SYSTEM in sentence or "@SUM(A1) <a href='http://evil.example'>click</a>" in sentence
    expect(page.locator(".js-plotly-plot .annotation").first).to_be_visible()
    ends = page.locator(".js-plotly-plot .annotation-text").all_text_contents()
    assert any(end.startswith('=CMD("calc") <script>') for end in ends)
    line = page.locator(".js-plotly-plot .scatterlayer .js-line").last
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2 + 3, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    hover = page.locator(".hoverlayer .hovertext").first
    expect(hover).to_be_visible()
    result = hover.text_content() or ""
    assert (
        "<script>alert(2)</script>" in result or "<a href='http://evil.example'>click</a>" in result
    )
    _harmless(page)
    _downloads(page, url)


def test_throughput_shows_names_as_they_are_written(
    hostile: tuple[str, Path], visit: Visit
) -> None:
    url, results = hostile
    page = visit(f"{url}/throughput?workload={_workload(results)}")
    sentence = _text(answer(page))
    assert "<b>T4</b>" in sentence or "<a href=" in sentence
    expect(page.locator(".js-plotly-plot .annotation").first).to_be_visible()
    _harmless(page)


def test_a_run_shows_names_and_its_note_as_they_are_written(
    hostile: tuple[str, Path], visit: Visit
) -> None:
    url, results = hostile
    store = _store(results)
    one = queries.runs_of(store, _workload_name(store), "pattern not stated")[-1]
    page = visit(f"{url}/results?run={one.run_id}")
    assert MODEL in _text(headline(page))
    note = page.get_by_test_id("stMain").get_by_test_id("stCaptionContainer").first
    shown = note.inner_text().replace("\u2060", "")
    assert shown == " ".join(NOTE.split())
    _harmless(page)


def _workload_name(store: Store) -> str:
    return next(name for name in queries.workloads(store) if name.startswith(MODEL))


@pytest.mark.skipif(not FULL, reason="in make faults")
@pytest.mark.parametrize("address", ["results?folder=yours", "method?section=sources"])
def test_lists_show_names_as_they_are_written(
    hostile: tuple[str, Path], visit: Visit, address: str
) -> None:
    page = visit(f"{hostile[0]}/{address}")
    for fold in page.get_by_test_id("stExpander").get_by_role("button").all():
        fold.click()
    _harmless(page)


def test_a_link_cannot_bring_markup_either(hostile: tuple[str, Path], visit: Visit) -> None:
    page = visit(
        f"{hostile[0]}/how-long?workload=%3Cimg+src=x+onerror=alert(6)%3E**b**www.evil.example"
    )
    result = page.get_by_test_id("stAlert")
    expect(result).to_contain_text("<img src=x onerror=alert(6)>**b**")
    _harmless(page)


def _downloads(page: Page, url: str) -> None:
    """No download runs anything of a name."""
    with download(page, "how-long.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert any(cell.startswith("'=CMD") for cell in cells)
    assert [c for c in cells if c[:1] in {"=", "+", "-", "@", "\t", "\r"}] == []
    path = download(page, "how-long.report")
    copy = path.with_suffix(".html")
    copy.write_bytes(path.read_bytes())
    page.goto(copy.as_uri())
    expect(page.locator("figure svg").first).to_be_visible()
    assert MODEL in page.locator(".answer").inner_text()
    assert page.locator("main").locator("img, iframe").count() == 0
    links = page.get_by_role("link").evaluate_all("all => all.map(a => a.href)")
    assert [a for a in links if not a.startswith(url)] == []
