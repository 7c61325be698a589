"""Every page in both colours, on a telephone and at a desk: what fits, what shows, what axe finds.

A page is opened once, dark on a telephone, and then widened and turned light. All that is wrong
with it is reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from pages.common.addresses import ADDRESSES
from planner.figures.frame import DARK, DARK_THEME, LIGHT, LIGHT_THEME, Theme
from tests.browser.axe import Known, violations
from tests.browser.conftest import Visit
from tests.browser.look import HOVER_MS, rerun, settled, turned
from tests.faults.outcomes import FULL

pytestmark = pytest.mark.browser
PAGES: Final = sorted(ADDRESSES)
"""The address of every page that the shell has."""
ANSWERS: Final = ("how-long", "compare", "capacity", "throughput", "scaling-out", "steps-to-target")
CHARTED: Final = ("throughput", "steps-to-target")
BOTH: Final = ("", "how-long", "results", "add-results", *CHARTED)
"""Pages that are turned light, with their boxes open; `make faults` does so with all of them."""
TELEPHONE_PX, BETWEEN_PX, DESK_PX = 400, 1024, 1440
REDRAWN_MS: Final = 60_000
FIELDS: Final = (
    "[data-testid=stSelectbox], [data-testid=stMultiSelect], [data-testid=stNumberInput]"
)
KNOWN: Final = (
    Known(
        rule="list",
        selector="[data-testid=stSidebarNavItems]",
        reason="Streamlit puts a div per section into the list of pages",
    ),
    Known(
        rule="listitem",
        selector="[data-testid=stSidebarNavItems] > div > li",
        reason="so the items of that list are children of those divs",
    ),
    Known(
        rule="empty-table-header",
        selector='[data-testid=stDataFrame] th[aria-colindex="1"]',
        reason="the column of tick boxes of a table with single rows has no title",
    ),
    Known(
        rule="presentation-role-conflict",
        selector="[data-testid=stFileUploaderDropzone]",
        reason="Streamlit names the area for dropping files, which has no role; its button has one",
    ),
)
"""Faults of Streamlit's own parts, which no setting or style of ours can change."""
_TOO_WIDE: Final = """() =>
    [document.documentElement, document.querySelector('[data-testid=stMain]')]
    .filter(e => e.scrollWidth > e.clientWidth)
    .flatMap(e => [e, ...e.querySelectorAll('*')].filter(part => part === e
        || part.getBoundingClientRect().right > document.documentElement.clientWidth))
    .map(e => `${e.tagName}.${e.className} is ${e.scrollWidth} wide`)"""
"""What makes the page, or its main part, wider than the window."""
_CUT: Final = """() => [...document.querySelectorAll(
        '[data-testid=stMain] button, [data-testid=stMain] [data-tag]')].filter(b =>
    [b, ...b.querySelectorAll('*')].some(e =>
        e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'hidden')
    ).map(b => b.innerText.trim()).filter(label => label)"""
"""Labels of buttons and chips that do not fit and end in dots."""

_COVERED: Final = """() => {
    const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom
        && b.top < a.bottom;
    const fields = [...document.querySelectorAll(
        '[data-testid=stMain] :is(button, input, summary)')];
    return [...document.querySelectorAll('[data-testid=stElementToolbar]')].flatMap(bar =>
        fields.filter(f => !bar.contains(f) && f.offsetWidth && bar.offsetWidth
            && over(bar.getBoundingClientRect(), f.getBoundingClientRect()))
        .map(f => f.innerText || f.ariaLabel || f.tagName)) }"""
"""Buttons and fields under the tool bar of a table, which shows while the table is pointed at."""


class Faults:
    """All that is wrong with a page."""

    def __init__(self) -> None:
        self.found: list[str] = []

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Note a failure, and go on."""
        try:
            yield
        except (AssertionError, NotInTime) as fault:
            self.found.append(f"{what}: {fault}")

    def by_axe(self, page: Page, what: str) -> None:
        """Note what axe finds on the page as it is."""
        self.found += [f"{what}: {fault}" for fault in sorted(violations(page, KNOWN))]

    def of_widths(self, page: Page, *widths: int) -> None:
        """Note what stands out or is cut at a width, once the charts are redrawn."""
        for width in widths:
            page.set_viewport_size({"width": width, "height": 1000})
            wrong = f"[...({_TOO_WIDE})(), ...({_CUT})()]"
            try:
                settled(page).wait_for_function(
                    f"() => {wrong}.length === 0", timeout=REDRAWN_MS, polling=100
                )
            except NotInTime:
                self.found.append(f"at {width} px: {page.evaluate(wrong)}")


def test_every_page_is_checked() -> None:
    assert len(PAGES) > 9


@pytest.mark.parametrize("address", PAGES)
def test_a_page_fits_reads_and_has_no_violation_dark_and_light_on_a_telephone_and_at_a_desk(
    app_url: str, visit: Visit, address: str
) -> None:
    """The watch looks on: no error in the console, no request elsewhere, no exception box.

    `make faults` asks axe at all pairs of colours and widths, before boxes are opened too.
    """
    faults = Faults()
    # Capacity has cards below each answer.
    table = "?tab=table" if address in ANSWERS and address != "capacity" else ""
    page = visit(f"{app_url}/{address}{table}", width=TELEPHONE_PX, height=820, dark=True)
    with faults.of("first screen"):
        expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
        expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    faults.by_axe(page, "dark, 400 px")
    if address in ANSWERS:
        with faults.of("telephone"):
            _answers_first(page)
    if table:
        with rerun(page):
            page.get_by_role("tab").first.click()
    faults.of_widths(page, TELEPHONE_PX, BETWEEN_PX, DESK_PX)
    with faults.of("tool bar"):
        _two_tools(page, address)
    with faults.of("tables"):
        _tools_cover_nothing(page)
    with faults.of("dark"):
        _in_its_colours(page, address, DARK_THEME, DARK)
    if FULL:
        faults.by_axe(page, "dark, 1440 px")
    if FULL or address in BOTH:
        turned(page, dark=False)
        with faults.of("light"):
            _in_its_colours(page, address, LIGHT_THEME, LIGHT)
        if FULL:
            faults.of_widths(page, TELEPHONE_PX)
            faults.by_axe(page, "light, 400 px")
            faults.of_widths(page, DESK_PX)
        _open_folded_boxes(page)
        faults.by_axe(page, "light, 1440 px, boxes open")
    assert faults.found == []


def _answers_first(page: Page) -> None:
    """The answer comes first, the question is one line, the table is cards."""
    expect(page.locator(".epochwise-answer")).to_be_visible()
    answer = _at(page, ".epochwise-answer")
    assert answer < 300
    fields = page.get_by_test_id("stMain").locator(FIELDS).locator("visible=true")
    assert all((box or {"y": 0})["y"] > answer for box in (f.bounding_box() for f in fields.all()))
    cards = page.locator(".epochwise-cards").first
    expect(cards).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("button", name="Done", exact=True).wait_for()
    assert _at(page, f"[data-testid=stMain] :is({FIELDS})") < _at(page, ".epochwise-answer")
    page.set_viewport_size({"width": DESK_PX, "height": 900})
    expect(cards).to_be_hidden()


def _at(page: Page, selector: str) -> float:
    """The upper edge of the first visible element [px]."""
    box = page.locator(selector).locator("visible=true").first.bounding_box()
    assert box is not None
    return box["y"]


def _hex(colour: str) -> str:
    return "#" + "".join(f"{int(n):02X}" for n in re.findall(r"\d+", colour)[:3])


def _in_its_colours(page: Page, address: str, theme: Theme, palette: Sequence[str]) -> None:
    ground = page.get_by_test_id("stApp").evaluate("e => getComputedStyle(e).backgroundColor")
    assert _hex(ground) == theme.background
    if address in CHARTED:
        _in_the_palette(page, set(palette), theme.quiet)


def _two_tools(page: Page, address: str) -> None:
    """Every chart has a button for the full screen and one for a picture; Explore marks, too."""
    tools = page.get_by_test_id("stPlotlyChart").evaluate_all(
        "all => all.map(c => [...c.querySelectorAll('.modebar-btn')].map(b => b.dataset.title))"
    )
    usual = {"Download plot as a PNG", "Fullscreen"}
    for names in tools:
        assert len(names) == len({*names}) == (7 if address == "explore" else 2)
        assert usual <= {*names}


def _tools_cover_nothing(page: Page) -> None:
    for table in page.get_by_test_id("stDataFrame").locator("visible=true").all():
        table.hover(position={"x": 60, "y": 20})
        page.wait_for_timeout(HOVER_MS)
        assert page.evaluate(_COVERED) == []


def _in_the_palette(page: Page, colours: set[str], quiet: str) -> None:
    """Lines have colours of the palette, or are grey where they are guesses; bands follow."""
    expect(page.locator(".scatterlayer .js-line").first).to_be_visible()
    strokes = page.locator(".scatterlayer .js-line").evaluate_all(
        "lines => lines.filter(l => l.style.strokeWidth !== '0px').map(l => l.style.stroke)"
    )
    drawn = {_hex(s) for s in strokes}
    assert len(drawn & colours) >= 2
    assert drawn <= colours | {quiet.upper()}
    bands = page.locator(".scatterlayer .js-fill").evaluate_all("all => all.map(b => b.style.fill)")
    assert {_hex(b) for b in bands} <= drawn


def _open_folded_boxes(page: Page) -> None:
    boxes = page.get_by_test_id("stMain").locator("details:not([open]) > summary")
    while boxes.count():
        boxes.evaluate_all("all => all.forEach(box => box.click())")
        settled(page)  # a box that opens may hold others
