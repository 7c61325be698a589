"""Explore in a browser: marking, the legend, hover and clicks; its other views; a shared server."""

from __future__ import annotations

import csv
import re
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.look import choose, download, headline, press, rerun, settled
from tests.faults.outcomes import FULL

pytestmark = pytest.mark.browser

CLOUD: Final = (
    "x=global_batch_size&y=samples_per_s&colour=software&log_x=on&log_y=on&fit=off&mode=training"
)
QUERY: Final = (
    "SELECT global_batch_size AS batch, peak_memory_bytes / 1e9 AS memory_gb FROM runs "
    "WHERE peak_memory_bytes > 0 LIMIT 50"
)
DOORS: Final = {
    "Throughput": "Throughput",
    "How long?": "How long?",
    "Compare": "Compare hardware",
    "Results": "Results",
}
"""Labels of the links below the chart, with the titles of their pages."""
_BOUNDS: Final = (
    "at => { const b = at.getBoundingClientRect(); return [b.x, b.y, b.width, b.height] }"
)


def _plot(page: Page) -> tuple[float, float, float, float]:
    """Return the place of the axes: left, top, width and height."""
    area = page.locator(".js-plotly-plot .nsewdrag").first
    area.scroll_into_view_if_needed()
    x, y, width, height = area.evaluate(_BOUNDS)
    return x, y, width, height


def _mode(page: Page, name: str) -> None:
    page.locator(f".modebar-btn[data-val={name}]").first.click()


def _drag(page: Page, *corners: tuple[float, float]) -> None:
    """Draw through points given as shares of the axes, from the left and the top."""
    left, top, width, height = _plot(page)
    ends = [(left + width * x, top + height * y) for x, y in corners]
    page.mouse.move(*ends[0])
    page.mouse.down()
    for end in ends[1:]:
        page.mouse.move(*end, steps=8)
    with rerun(page):
        page.mouse.up()


def _marked(page: Page) -> int:
    """Return the number of marked runs."""
    head = page.get_by_role("heading", name=re.compile("marked$"))
    return int(head.inner_text().split()[0].replace(",", ""))


def _asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(settled(page).url).query)


def _marker(page: Page) -> tuple[float, float]:
    """Return the middle of a marker that no other one covers."""
    found: list[float] = page.evaluate(
        """() => {
        for (const path of document.querySelectorAll('.js-plotly-plot .points path')) {
            const b = path.getBoundingClientRect()
            if (b.width && b.top > 0 && b.bottom < innerHeight) {
                return [b.x + b.width / 2, b.y + b.height / 2]
            }
        }}"""
    )
    return found[0], found[1]


def _cleared(page: Page) -> None:
    """Clear the marked area: inside it a drag would move it."""
    left, top, width, height = _plot(page)
    with rerun(page):
        page.mouse.dblclick(left + width / 2, top + height / 2)
    expect(page.get_by_role("heading", name=re.compile("marked$"))).to_have_count(0)


def _door(page: Page, label: str) -> str:
    """Return the address of a link below the chart."""
    link = page.get_by_test_id("stMain").get_by_role(
        "link", name=re.compile(f"{re.escape(label)}$")
    )
    return str(link.evaluate("link => link.href"))


def test_marking_lists_runs_and_hidden_colours_do_not_count(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/explore?{CLOUD}")
    total = int(re.findall(r": (\d[\d,]*) runs", headline(page).inner_text())[0].replace(",", ""))
    _mode(page, "select")
    _drag(page, (0.02, 0.02), (0.98, 0.98))
    every = _marked(page)
    assert 0 < every <= total
    assert len(_asked(page)["brush"][0].split(",")) == 4

    entry = page.locator(".js-plotly-plot .legendtoggle").first
    entry.click()
    page.wait_for_timeout(600)  # plotly waits for a second click
    _cleared(page)
    _drag(page, (0.02, 0.02), (0.98, 0.98))
    hidden, left = _asked(page)["hidden"], _marked(page)
    assert len(hidden) == 1
    assert 0 < left < every
    entry.click()
    page.wait_for_timeout(600)
    _cleared(page)
    _mode(page, "lasso")
    _drag(page, (0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.03))
    assert "hidden" not in _asked(page)
    assert len(_asked(page)["brush"][0].split(",")) > 4
    assert _marked(page) > left

    press(page, "explore.nearer", "Draw only these")
    expect(page.get_by_role("heading", name=re.compile("runs on the chart$"))).to_be_visible()
    press(page, "explore.all", "Draw all")
    assert "within" not in _asked(page)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_marked_runs_open_on_the_pages_that_use_them(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/explore?{CLOUD}&brush=1,1,64,1e6")
    count, doors = _marked(page), {label: _door(page, label) for label in DOORS}
    assert all(door.startswith(f"{app_url}/") for door in doors.values())
    for label, title in DOORS.items():
        page.goto(doors[label])
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        expect(settled(page).get_by_text("Part of this link")).to_have_count(0)
        if label == "Results":
            shown = min(count, 60)
            expect(page.get_by_role("heading", name=re.compile(f"^{shown} of "))).to_be_visible()


def test_a_point_shows_its_run_and_opens_it(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/explore?{CLOUD}")
    _plot(page)
    x, y = _marker(page)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y, steps=3)
    facts = page.locator(".hoverlayer .hovertext").first
    expect(facts).to_contain_text("batch")
    expect(facts).to_contain_text("Throughput (samples/s):")
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile("/results.*run=[0-9a-f]{32}"))


def test_pivot_query_and_pairs_each_on_one_page(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/explore?view=pivot&rows=software&columns=mode&measure=samples_per_s")
    expect(page.locator(".heatmaplayer image").first).to_be_visible()
    with download(page, "explore.pivot.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[-1]["Software"] == "All"

    page.goto(f"{app_url}/explore?view=sql&sql={quote(QUERY)}")
    settled(page)
    press(page, "explore.sql_form", "Points")
    expect(page.locator(".scatterlayer .points path").first).to_be_visible()
    with download(page, "explore.sql.csv").open(encoding="utf-8", newline="") as file:
        selected = list(csv.DictReader(file))
    assert {*selected[0]} == {"batch", "memory_gb"}
    assert _asked(page)["sql_form"] == ["points"]

    press(page, "explore.view", "Side by side")
    choose(page, "explore.pair_workload", re.compile("^WideResNet-103M"), typed="WideResNet-103M")
    for system in ("TPU v2-8", "GPU"):
        choose(page, "explore.pairs", re.compile(f"· {system}$"), typed=system)
    expect(page.get_by_role("heading", name=re.compile("facts differ"))).to_be_visible()
    assert len(_asked(page)["pair"]) == 2
    table = page.get_by_test_id("stTable").first
    everything = table.get_by_role("row").count()
    with rerun(page):
        page.get_by_text("Only differences").click()
    assert 1 < table.get_by_role("row").count() < everything
