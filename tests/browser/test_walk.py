"""The tasks of a new user, from the first page on, with their clicks counted.

An act is a click, or a field that is filled: its click and its text together. What is only looked
at or checked counts nothing. `make test` does half of the tasks, `make faults` all of them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from planner.store import commit_runs
from planner.store.disk import sweeps
from tests.browser.conftest import Visit
from tests.browser.look import HOVER_MS, dismissed, download, rerun, settled, widget
from tests.browser.server import served, streamlit
from tests.faults.outcomes import FULL
from tests.fork_server import executable
from tests.pages.test_stores import timed

pytestmark = pytest.mark.browser

STAND_IN: Final = "tests/browser/stand_in_app.py"
SVG: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><path d="M0 0h4v4H0z"/></svg>'
)
_ROW_PX: Final = {"results.table": 66}
"""Heights of rows that differ from the usual 35 pixels."""


class Walk:
    """A person at a page, whose acts are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.acts = 0

    def click(self, what: Locator) -> Page:
        """Click; the page answers."""
        self.acts += 1
        with rerun(self.page):
            what.click()
        return self.page

    def press(self, key: str, label: str = "") -> Page:
        """Click a button, or the segment or pill with this label."""
        box = widget(self.page, key)
        button = box.get_by_text(label, exact=True) if label else box.locator("button, summary")
        return self.click(button.first)

    def go(self, title: str) -> Page:
        """Choose a page in the side bar."""
        self.click(self.page.get_by_test_id("stSidebarNav").get_by_text(title, exact=True))
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)
        return settled(self.page)

    def fill(self, key: str, text: str) -> Page:
        """Fill a field, and press Enter."""
        self.acts += 1
        field = widget(self.page, key).locator("input")
        field.click()
        field.fill(text)
        with rerun(self.page):
            field.press("Enter")
        return self.page

    def pick(self, key: str, typed: str) -> Page:
        """Open a list, and choose the first option that a typed text leaves."""
        self.acts += 2
        field = widget(self.page, key).get_by_role("combobox")
        field.click()
        field.fill(typed)
        self.page.get_by_role("option").first.wait_for()
        with rerun(self.page):
            field.press("Enter")
        return self.page

    def fill_options(self, text: str) -> Page:
        """Type into the field of options, and press Enter."""
        self.acts += 1
        field = widget(self.page, "compare.options").get_by_role("combobox")
        field.click()
        field.fill(text)
        with rerun(self.page):
            field.press("Enter")
        field.press("Tab")  # an open list may swallow the next click
        return settled(self.page)

    def tick(self, key: str, row: int, right_px: int = 18) -> Page:
        """Click into a row of a table, so far right of its edge."""
        self.acts += 1
        canvas = self.page.locator(f"[class*=st-key-{key.replace('.', '-')}]").get_by_test_id(
            "data-grid-canvas"
        )
        canvas.first.scroll_into_view_if_needed()
        box, before = canvas.first.bounding_box(), None
        while box != before:  # a dialog grows while it opens
            self.page.wait_for_timeout(100)
            box, before = canvas.first.bounding_box(), box
        assert box is not None
        height = _ROW_PX.get(key, 35)
        x, y = box["x"] + right_px, box["y"] + 35 + height * (row + 0.5)
        self.page.mouse.move(x, y)
        self.page.wait_for_timeout(HOVER_MS)
        with rerun(self.page):
            self.page.mouse.click(x, y)
        return self.page

    def at_most(self, acts: int) -> None:
        """The task took no more than that."""
        assert self.acts <= acts, f"{self.acts} acts"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the one server of this file."""
    return tmp_path_factory.mktemp("walk")


@pytest.fixture(scope="module")
def url(place: Path) -> Iterator[str]:
    """One server for all tasks; its sweeps are those of the stand-in, which trains nothing."""
    gate = place / "state" / "gate"
    gate.mkdir(parents=True)
    (gate / "all").touch()
    warm = {"STAND_IN_PYTHON": executable("planner")}
    with served(place / "results", streamlit(script=STAND_IN), settings=warm) as address:
        yield address
    for status in sweeps.read_statuses(place / "state"):
        sweeps.ask_to_stop(status)


@pytest.fixture
def walk(url: str, visit: Visit) -> Walk:
    """A new user on the first page."""
    return Walk(visit(f"{url}/"))


def _rows(page: Page, key: str) -> list[dict[str, str]]:
    """The table as it is downloaded."""
    with download(page, key).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(settled(page).url).query)


def _options(page: Page) -> dict[str, dict[str, str]]:
    """The answer of Compare by the option's name."""
    return {row["option"]: row for row in _rows(dismissed(page), "compare.csv")}


# -- times that were measured --------------------------------------------------------------------


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_1_500_epochs_on_one_system_at_one_batch(walk: Walk) -> None:
    walk.go("How long?")
    walk.pick("how-long.systems", "TPU v2-8 · batch 1,024")
    walk.press("how-long.quick", "500")
    walk.at_most(4)
    rows = {row["option"]: row for row in _rows(walk.page, "how-long.csv")}
    assert rows["TPU v2-8 · batch 1,024"]["total_hms"] == "11:11:57"


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_2_two_systems_against_each_other(walk: Walk) -> None:
    walk.go("How long?")
    chips = widget(walk.page, "how-long.systems")
    for gone in ("GPU · batch 64", "TPU v2-8 · batch 512", "TPU v2-8 · batch 4,096"):
        walk.click(chips.get_by_label(f"Remove {gone}"))
    walk.at_most(6)
    totals = {row["option"]: row["total_hms"] for row in _rows(walk.page, "how-long.csv")}
    assert totals["GPU · batch 256"] == "412:43:47"
    assert totals["TPU v2-8 · batch 64"] == "469:04:24"


def test_3_a_suspect_run_with_its_reason(walk: Walk) -> None:
    walk.go("Results")
    walk.press("results.only_suspect")
    walk.tick("results.table", 0, right_px=420)
    walk.at_most(3)
    assert _asked(walk.page)["suspect"] == ["any"]
    expect(widget(walk.page, "results.suspect")).to_contain_text("Suspect: ")


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_4_the_batch_that_reaches_90_per_cent(walk: Walk) -> None:
    page = walk.go("Throughput")
    walk.at_most(1)
    rows = {row["curve"]: row for row in _rows(page, "throughput.csv")}
    curve = next(row for name, row in rows.items() if name.startswith("TPU v2-8"))
    assert float(curve["batch_90"]) == pytest.approx(13_624, rel=1e-3)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_13_peak_memory_against_the_batch(walk: Walk) -> None:
    page = walk.go("Explore")
    walk.at_most(4)
    said = page.get_by_role("heading", level=2)
    expect(said.filter(has_text="Peak memory (GB) against batch size (samples)")).to_be_visible()
    expect(page.locator(".scatterlayer .points path").first).to_be_visible()


# -- what to rent or buy -------------------------------------------------------------------------


def test_5_resnet_50_by_tomorrow_for_500_dollars(walk: Walk) -> None:
    walk.go("Compare hardware")
    walk.pick("compare.network", "ResNet-50")
    walk.fill("compare.epochs", "90")
    walk.fill("compare.deadline", "24")
    page = walk.fill("compare.budget", "500")
    walk.at_most(6)
    asked = _asked(page)
    assert (asked["network"], asked["epochs"]) == (["resnet-50"], ["90"])
    assert (asked["deadline"], asked["budget"]) == (["24"], ["500"])
    options = list(_options(page).values())
    assert float(options[0]["time_s"]) < 86_400.0
    safe = [o for o in options if float(o["probability_in_time"] or 0) > 0.9]
    assert len(safe) >= 3
    assert all(float(o["to_pay"]) < 500.0 for o in safe)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_6_a_7b_model_on_100_million_tokens(walk: Walk) -> None:
    walk.go("Compare hardware")
    page = walk.pick("compare.network", "Llama 2 7B")
    expect(widget(page, "compare.total_tokens").locator("input")).to_have_value("100M")
    walk.at_most(5)
    assert _asked(page)["network"] == ["llama-2-7b"]
    assert _asked(page)["total_tokens"] == ["100000000"]
    assert all(float(row["time_s"]) > 0.0 for row in _options(page).values())


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_7_pretraining_on_three_servers_of_eight(walk: Walk) -> None:
    walk.go("Compare hardware")
    walk.pick("compare.network", "OPT 1.3B")
    walk.fill("compare.total_tokens", "26B")
    page = walk.fill_options("8 x A100 80GB Lambda")
    walk.at_most(6)
    rows = _options(page)
    for name in ("H100 SXM5 80GB (Lambda)", "A100 SXM4 80GB (Lambda)", "MI300X (DigitalOcean)"):
        assert float(rows[f"Rent 8 x {name}"]["time_s"]) > 0.0


def test_7_options_are_ticked_in_a_table_by_mouse_and_by_keyboard(walk: Walk) -> None:
    page = walk.go("Compare hardware")
    walk.fill_options("8 x A100 80GB")
    walk.tick("compare.picker.table", 3)
    page.get_by_role("dialog").get_by_test_id("data-grid-canvas").first.focus()
    page.keyboard.press("ArrowDown")
    with rerun(page):
        page.keyboard.press("Space")
    walk.press("compare.picker.done")
    eight = {name for name in _options(page) if "8 x A100" in name}
    assert eight == {f"Rent 8 x A100 SXM4 80GB ({of})" for of in ("Lambda", "AWS, reserved 1 year")}
    walk.click(
        widget(page, "compare.options").get_by_label("Remove Rent 8 x A100 SXM4 80GB (AWS, re")
    )
    page.reload()
    assert [name for name in _options(settled(page)) if "A100" in name] == [
        "Rent 8 x A100 SXM4 80GB (Lambda)"
    ]


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_8_renting_or_buying_eight_h100_in_germany(walk: Walk) -> None:
    walk.go("Compare hardware")
    walk.click(widget(walk.page, "compare.options").get_by_label("Clear all"))
    walk.fill_options("buy 8 H100")
    walk.fill_options("8 H100 SXM5 Lambda")
    walk.press("compare.money", "EUR")
    walk.press("compare.box")
    walk.pick("compare.country", "Germany")
    walk.fill("compare.owning.use", "60")
    page = walk.fill("compare.owning.years", "2")
    walk.at_most(10)
    asked = _asked(page)
    assert (asked["currency"], asked["country"], asked["life_years"]) == (["EUR"], ["DE"], ["2"])
    assert set(_options(page)) == {
        "Rent 8 x H100 SXM5 80GB (Lambda)", "Buy 8 x H100 SXM5 80GB (server)",
    }  # fmt: skip
    said = page.get_by_text("2 years at 60 % utilisation: renting 8 x H100")
    expect(said).to_contain_text("EUR")
    expect(said).to_contain_text("Buying 8 x H100 SXM5 80GB (server) costs")


# -- to hand over, to add, to measure ------------------------------------------------------------


def test_9_a_pdf_with_name_and_logo(walk: Walk) -> None:
    page = walk.go("Compare hardware")
    walk.press("compare.handout")
    walk.fill("compare.report.company", "Example Ltd")
    walk.acts += 1
    with rerun(page):
        page.locator("input[type=file]").first.set_input_files(
            {"name": "logo.svg", "mimeType": "image/svg+xml", "buffer": SVG}
        )
    expect(page.get_by_text("Logo: logo.svg")).to_be_visible()
    settled(page)  # a click on the button as it was before is about a page without the logo
    walk.press("compare.report.pdf.make")
    # The run that ended may be the one before the click: the file comes with the next.
    expect(widget(page, "compare.report.pdf").get_by_role("button")).to_be_visible()
    walk.acts += 1
    assert download(page, "compare.report.pdf").read_bytes().startswith(b"%PDF")
    walk.at_most(6)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_10_a_link_that_gives_the_same_answer_elsewhere(walk: Walk, visit: Visit) -> None:
    page = walk.go("Compare hardware")
    here = _rows(page, "compare.csv")
    walk.acts += 2  # Share, and the sign that copies
    page.get_by_role("button", name="Share").first.click()
    link = page.get_by_text(re.compile(r"^http://127\.0\.0\.1:\d+/compare\?")).first
    expect(link).to_be_visible()
    walk.at_most(3)
    there = _rows(visit(link.inner_text(), elsewhere=True), "compare.csv")
    for row, same in zip(here, there, strict=True):
        assert (row["option"], row["time_s"]) == (same["option"], same["time_s"])


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_11_own_results_are_there_at_the_next_click(walk: Walk, place: Path) -> None:
    commit_runs(place / "results" / "mine", [timed(model="Walked", global_batch_size=64)])
    page = walk.go("Results")
    walk.at_most(1)
    first = _rows(page, "results.csv")[:5]  # the sweep of task 12 may have been before
    assert ("yours", "Walked") in {(r["folder"], r["workload"].split(" ")[0]) for r in first}


def test_12_a_sweep_from_a_click(walk: Walk) -> None:
    page = walk.go("Measure")
    walk.press("measure.start")
    walk.at_most(3)
    expect(page.get_by_text(re.compile("4 of 4 runs measured")).first).to_be_visible()


def test_14_a_row_of_results_opens_by_the_keyboard_and_arrows_only_read(
    url: str, visit: Visit
) -> None:
    page = visit(f"{url}/results?system=gpu")
    widget(page, "results.parquet").get_by_role("button").focus()
    while not page.evaluate("document.activeElement.matches('td, canvas')"):
        page.keyboard.press("Tab")
    page.wait_for_timeout(500)  # the table reports moves after a moment
    # one by one: a busy browser reports several as one (tests/pages/test_table_clicks)
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown"):
        with rerun(page):
            page.keyboard.press(key)
    assert "run=" not in page.url
    with rerun(page):
        page.keyboard.press("Shift+Space")
    expect(page).to_have_url(re.compile("run="))
