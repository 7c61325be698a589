"""How fluid Explore is with many runs, in Chromium: first paint, zoom, pan, hover, marking.

The runs are made up (`tests.store.published`), beside what ships: about 20,000 on one chart. WebGL
needs `eval`, which the app's content policy forbids; the SVG chart draws a sample.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Page, sync_playwright

from tests.bench.figures import figure, heading
from tests.browser import chromium
from tests.browser.look import Watch, rerun, settled
from tests.browser.server import served
from tests.store.published import make

CHART: Final = "explore?x=global_batch_size&y=samples_per_s&colour=family&log_x=on&log_y=on&fit=off"
TIMES: Final = 5
_POINTS: Final = "() => document.querySelectorAll('.js-plotly-plot .points path').length > 500"
_PAINTED: Final = "() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 0))"
_WATCH_FRAMES: Final = """() => {
    window.frames_ms = []
    let last = performance.now()
    const next = () => {
        const now = performance.now()
        window.frames_ms.push(now - last)
        last = now
        window.next_frame = requestAnimationFrame(next)
    }
    window.next_frame = requestAnimationFrame(next)
}"""
_FRAMES: Final = "() => { cancelAnimationFrame(window.next_frame); return window.frames_ms }"


def _frames_ms(page: Page, act: Callable[[], None]) -> list[float]:
    """Return the time of each frame while something is done."""
    page.evaluate(_WATCH_FRAMES)
    act()
    page.evaluate(_PAINTED)
    found: list[float] = page.evaluate(_FRAMES)
    return found


def _drag(page: Page, ends: tuple[float, float, float, float]) -> None:
    page.mouse.move(*ends[:2])
    page.mouse.down()
    page.mouse.move(*ends[2:], steps=30)
    page.mouse.up()


def _reset(page: Page) -> None:
    """Show all points again; a double click could open a run."""
    page.locator(".modebar-btn[data-title='Reset axes']").first.click()
    page.wait_for_timeout(1000)


def _first_paint_s(page: Page, url: str) -> float:
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(f"{url}/{CHART}")
    page.wait_for_function(_POINTS)
    page.evaluate(_PAINTED)
    return time.perf_counter() - began


def _hover_ms(page: Page, x: float, y: float) -> float:
    """Return the time from a move of the pointer to the facts of the nearest run."""
    page.mouse.move(x, y - 400)
    facts = page.locator(".hoverlayer .hovertext").first
    facts.wait_for(state="detached")
    began = time.perf_counter()
    page.mouse.move(x, y)
    facts.wait_for()
    return 1000 * (time.perf_counter() - began)


def _measured(page: Page, url: str) -> None:
    Watch().over(page)
    _first_paint_s(page, url)
    figure("first paint of the chart, warm server", _first_paint_s(page, url), "s", 2)
    settled(page)
    figure("points drawn", page.locator(".js-plotly-plot .points path").count(), "points")
    area = page.locator(".js-plotly-plot .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    hover = [_hover_ms(page, x + 10 * k, y) for k in range(TIMES)]
    figure("hover to facts (median)", statistics.median(hover), "ms", 100)
    zoom = _frames_ms(page, lambda: _drag(page, (x - 200, y - 60, x + 200, y + 60)))
    figure("zoom: longest frame", max(zoom), "ms", 300)
    _reset(page)
    page.locator(".modebar-btn[data-val=pan]").first.click()
    pan = _frames_ms(page, lambda: _drag(page, (x, y, x + 200, y + 60)))
    figure("pan: median frame", statistics.median(pan), "ms", 50)
    figure("pan: longest frame", max(pan), "ms", 300)
    _reset(page)
    page.locator(".modebar-btn[data-val=select]").first.click()
    page.mouse.move(x - 200, y - 60)
    page.mouse.down()
    page.mouse.move(x + 200, y + 60, steps=10)
    began = time.perf_counter()
    with rerun(page):
        page.mouse.up()
        page.get_by_role("heading", name="marked").wait_for()
        took = time.perf_counter() - began
    figure("area marked to its runs listed", 1000 * took, "ms", 1000)


def main() -> None:
    """Print all figures."""
    with TemporaryDirectory() as box, sync_playwright() as play:
        make(Path(box) / "many")
        with served(Path(box) / "many", fresh=True) as url:
            browser = play.chromium.launch(
                executable_path=chromium.executable(), args=["--no-sandbox"]
            )
            heading("Explore, 20,000 runs on one chart, SVG, no GPU")
            _measured(browser.new_page(viewport={"width": 1440, "height": 1200}), url)
            browser.close()


if __name__ == "__main__":
    main()
