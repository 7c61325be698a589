"""How long a page takes: the script of a rerun, and in a browser from click to chart.

Targets of the design (two cores, shipped results): script 20 ms, rerun to painted 300 ms, first
chart 3 s on a warm server.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from tests.bench.figures import figure, heading
from tests.browser import chromium
from tests.browser.server import served

SHELL = Path(__file__).parent.parent.parent / "pages" / "shell.py"
PAGES = ("start", "how_long", "compare", "capacity", "throughput", "scaling_out",
         "steps_to_target", "explore",
         "results", "method")  # fmt: skip
TIMES = 15


def script_ms(page: str) -> float:
    """Median wall time of a rerun [ms], less that of an empty script under the same harness."""
    app = AppTest.from_file(str(SHELL), default_timeout=60).run()
    if page != "start":
        app = app.switch_page(str(SHELL.parent / f"{page}/page.py")).run()
    return _rerun_ms(app) - _rerun_ms(AppTest.from_string("").run())


def _rerun_ms(app: AppTest) -> float:
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        app.run()
        took.append(time.perf_counter() - began)
    return 1000 * statistics.median(took)


def browser_s() -> tuple[float, list[float]]:
    """First chart on a warm server, and reruns from click to changed sentence [s]."""
    with (
        TemporaryDirectory() as box,
        served(Path(box) / "results", fresh=True) as url,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=chromium.executable(), args=["--no-sandbox"])
        _first_chart(browser.new_page(), url)  # warms the server
        page = browser.new_page()
        first = _first_chart(page, url)
        reruns = [_rerun(page, epochs) for epochs in (100, 500, 50, 1000, 200)]
        browser.close()
    return first, reruns


def _first_chart(page: Page, url: str) -> float:
    began = time.perf_counter()
    page.goto(f"{url}/how-long")
    page.wait_for_selector(".js-plotly-plot .scatterlayer path")
    return time.perf_counter() - began


def _rerun(page: Page, epochs: int) -> float:
    pill = page.locator(".st-key-how-long-quick").get_by_text(str(epochs), exact=True)
    began = time.perf_counter()
    pill.click()
    page.locator(".epochwise-answer").get_by_text(f"{epochs:,} epochs", exact=True).wait_for()
    return time.perf_counter() - began


def main() -> None:
    """Print all figures."""
    heading("Pages, shipped results")
    for page in PAGES:
        figure(f"{page}: script of a rerun (median)", script_ms(page), "ms", 20)
    first, reruns = browser_s()
    figure("first chart in Chromium, warm server", first, "s", 3)
    figure("click to changed sentence (median)", 1000 * statistics.median(reruns), "ms", 300)


if __name__ == "__main__":
    main()
