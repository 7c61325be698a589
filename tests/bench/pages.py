"""How long a page takes: the script of a rerun, and in a browser from click to chart.

Targets of the design (two cores, shipped results): script 20 ms, click to painted answer 300 ms,
first chart 2 s on a warm server.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Locator, Page, Playwright, sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from tests.bench.figures import figure, heading
from tests.browser import chromium
from tests.browser.look import settled
from tests.browser.server import served

SHELL = Path(__file__).parent.parent.parent / "pages" / "shell.py"
PAGES = ("start", "how_long", "compare", "capacity", "throughput", "scaling_out",
         "steps_to_target", "explore", "results", "measure", "method")  # fmt: skip
TIMES = 15
_CHART: Final = ".js-plotly-plot .xtick"
_TABLE: Final = "[data-testid=data-grid-canvas]"
_PRESETS: Final = ("Price vs speed", "MFU by", "Steps vs", "Energy vs", "Speed vs parameters",
                   "Time to target", "Speed vs devices", "Memory vs")  # fmt: skip
_MORE: Final = ".st-key-scaling-out-epochs [data-testid=stNumberInputStepUp]"


def _labels(key: str, *labels: str) -> tuple[str, ...]:
    """Return pills or segments of a widget by their labels."""
    return tuple(f".st-key-{key} button:has-text('{label}')" for label in labels)


SEEN: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "start": (".epochwise-answer", ()),
    "how_long": (_CHART, _labels("how-long-quick", "100", "500", "50", "1,000", "200")),
    "capacity": (_CHART, _labels("capacity-chart", "Rent or buy", "What matters", "Over the plan")),
    "compare": (_CHART, _labels("compare-money", "EUR", "USD", "EUR")),
    "throughput": (_CHART, _labels("throughput-scale", "Linear", "Log", "Linear")),
    "scaling_out": (_CHART, (_MORE,) * 3),
    "steps_to_target": (_CHART, ()),
    "explore": (_CHART, _labels("explore-preset", *_PRESETS)),
    "results": (_TABLE, (".st-key-results-only_suspect button",)),
    "method": (_CHART, ()),
}
"""What each page shows first, and what is clicked, by selectors."""
QUOTED: Final = "how_long"
"""The page whose figures README quotes; its lines have no name before them."""
_PAINTED: Final = "() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 0))"
_WATCHED: Final = """() => { window.painted = new Promise(done => {
  const app = document.querySelector('[data-testid=stApp]');
  const state = () => app.getAttribute('data-test-script-state');
  document.addEventListener('click', click => {
    let ran = false;
    const seen = new MutationObserver(() => {
      ran ||= state() === 'running';
      if (!ran || state() === 'running') return;
      seen.disconnect();
      setTimeout(() => requestAnimationFrame(() => done(performance.now() - click.timeStamp)), 0);
    });
    seen.observe(app, {attributes: true});
    setTimeout(() => done(null), 15000);
  }, {capture: true, once: true});
}); }"""
"""Notes the time from the next click to the painted page [ms]: a driver's own waits are no part.

None where the page rendered begin and end of a short run at once, as on a busy machine.
"""
_FIRST: Final = """() => { window.first = new Promise(done => {
  const app = document.querySelector('[data-testid=stApp]');
  const shown = () => [...app.querySelectorAll('.epochwise-answer')]
    .some(answer => answer.textContent.includes('first estimate'));
  document.addEventListener('click', click => {
    const seen = new MutationObserver(() => {
      if (!shown()) return;
      seen.disconnect();
      setTimeout(() => requestAnimationFrame(() => done(performance.now() - click.timeStamp)), 0);
    });
    seen.observe(app, {childList: true, subtree: true, characterData: true});
    setTimeout(() => done(null), 15000);
  }, {capture: true, once: true});
}); }"""
"""Notes the time from the next click to a painted first estimate [ms], by the same clock."""


def script_ms(page: str, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median time of a rerun by a clock [ms], less that of an empty script under the same harness.

    A server compiles a script once, the harness in each run: here it keeps them too.
    """
    compiled = ScriptCache()
    for module in (local_script_runner, app_test):
        vars(module)["ScriptCache"] = lambda: compiled
    app = AppTest.from_file(str(SHELL), default_timeout=60).run()
    if page != "start":
        app = app.switch_page(str(SHELL.parent / f"{page}/page.py")).run()
    return _rerun_ms(app, clock) - _rerun_ms(AppTest.from_string("").run(), clock)


def _rerun_ms(app: AppTest, clock: Callable[[], float]) -> float:
    took = []
    for _ in range(TIMES):
        began = clock()
        app.run()
        took.append(clock() - began)
    return 1000 * statistics.median(took)


def browser(play: Playwright, url: str) -> None:
    """Print for each page its first chart on a warm server, and a click to the painted answer."""
    chromium_ = play.chromium.launch(executable_path=chromium.executable(), args=["--no-sandbox"])
    page = chromium_.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(60_000)
    runs = _Runs(page)
    for name, (first, click) in SEEN.items():
        address = f"{url}/{name.replace('_', '-')}"
        _opened_s(page, address, first)  # warms the server
        of = "" if name == QUOTED else f"{name}: "
        chart = f"{of}first chart in Chromium, warm server"
        figure(chart, _opened_s(page, address, first), "s", 2)
        if not click:
            continue
        settled(page)
        took = []
        for place in click:
            button = page.locator(place).first
            button.scroll_into_view_if_needed()
            if (ms := runs.click_ms(button)) is not None:
                took.append(ms)
            settled(page)
        figure(f"{of}click to changed sentence (median)", statistics.median(took), "ms", 300)
    _found_fleet(page, runs, url)
    chromium_.close()


def _found_fleet(page: Page, runs: _Runs, url: str) -> None:
    """Print the time from the click to a fleet that is not cached yet."""
    page.goto(f"{url}/capacity")
    settled(page)
    runs.click_ms(page.locator(".st-key-capacity-presets button").first)
    preset = page.locator(".st-key-capacity-preset-model-team button").first
    preset.click(trial=True)  # the box has opened: its animation is no part of the answer
    before, began = runs.finished, time.perf_counter()
    page.evaluate(_FIRST)
    preset.click()
    first_ms: float = page.evaluate("() => window.first")
    page.get_by_text("first estimate").first.wait_for(state="detached")
    page.evaluate(_PAINTED)
    found_s = time.perf_counter() - began
    while runs.finished == before:
        page.wait_for_timeout(2)
    page.evaluate(_PAINTED)
    figure("capacity: click to a first estimate of a new question", first_ms, "ms", 300)
    figure("capacity: click to the fleet of a new question", found_s, "s")
    figure("capacity: click to the whole answer to it", time.perf_counter() - began, "s")


def _opened_s(page: Page, address: str, first: str) -> float:
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(address)
    page.locator(first).first.wait_for(state="attached")
    page.evaluate(_PAINTED)
    return time.perf_counter() - began


class _Runs:
    """The finished script runs of a page, as the server reports them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.finished = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self._count))

    def _count(self, frame: bytes | str) -> None:
        message = ForwardMsg.FromString(frame if isinstance(frame, bytes) else frame.encode())
        self.finished += message.WhichOneof("type") == "script_finished"

    def click_ms(self, button: Locator) -> float | None:
        """Return the time from a click to the painted page [ms], by the browser's clock.

        None where the page showed no run.
        """
        self._page.evaluate(_WATCHED)
        button.click()
        took: float | None = self._page.evaluate("() => window.painted")
        return took


def main() -> None:
    """Print all figures."""
    heading("Pages, shipped results")
    for page in PAGES:
        figure(f"{page}: script of a rerun (median)", script_ms(page), "ms", 20)
    with (
        TemporaryDirectory() as box,
        served(Path(box) / "results", fresh=True) as url,
        sync_playwright() as play,
    ):
        browser(play, url)


if __name__ == "__main__":
    main()
