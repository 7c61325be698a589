"""Light, dark, wide and narrow: nothing overflows, nothing complains, nothing leaves."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from planner.figures.frame import (
    DARK,
    DARK_THEME,
    LIGHT,
    LIGHT_THEME,
    Theme,
)
from tests.browser.conftest import Visit
from tests.browser.look import settled

pytestmark = pytest.mark.browser
WIDTHS = (400, 1024, 1440)
REDRAWN_MS = 60_000
CHARTED = {"how-long", "throughput", "steps-to-target"}
_TOO_WIDE = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
    .filter(e => e.scrollWidth > e.clientWidth)
    .flatMap(e => [e, ...e.querySelectorAll('*')].filter(part => part === e
        || part.getBoundingClientRect().right > document.documentElement.clientWidth))
    .map(e => `${e.tagName}.${e.className} is ${e.scrollWidth} wide`)"""
"""What makes the page, or its main part, wider than the window."""
_CUT = """() => [...document.querySelectorAll('[data-testid=stMain] button')].filter(b =>
    [b, ...b.querySelectorAll('*')].some(e =>
        e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'hidden')
    ).map(b => b.innerText.trim()).filter(label => label)"""
"""Labels of buttons that do not fit and end in dots."""


def _hex(colour: str) -> str:
    return "#" + "".join(f"{int(n):02X}" for n in re.findall(r"\d+", colour)[:3])


def _fits(page: Page, width: int) -> None:
    """Nothing stands out or is cut at this width, once the charts are redrawn."""
    page.set_viewport_size({"width": width, "height": 1000})
    wrong = f"[...({_TOO_WIDE})(), ...({_CUT})()]"
    try:
        settled(page).wait_for_function(f"() => {wrong}.length === 0", timeout=REDRAWN_MS)
    except NotInTime:
        pytest.fail(f"at {width} px: {page.evaluate(wrong)}")


@pytest.mark.parametrize(
    "address", ["", "throughput", "steps-to-target", "results", "measure", "method"]
)
def test_a_page_fits_every_width_in_the_colours_of_its_theme(
    app_url: str, visit: Visit, address: str
) -> None:
    """The watch looks on: no error in the console, no request elsewhere, no exception box.

    Opened dark on a telephone, where the menu waits; then wider, and light.
    """
    page = visit(f"{app_url}/{address}", width=WIDTHS[0], dark=True)
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    for width in WIDTHS:
        _fits(page, width)
    _in_its_colours(page, address, DARK_THEME, DARK)
    page.emulate_media(color_scheme="light")
    page.reload()
    _in_its_colours(settled(page), address, LIGHT_THEME, LIGHT)


def _in_its_colours(page: Page, address: str, theme: Theme, palette: Sequence[str]) -> None:
    ground = page.get_by_test_id("stApp").evaluate("e => getComputedStyle(e).backgroundColor")
    assert _hex(ground) == theme.background
    if address in CHARTED:
        _in_the_palette(page, set(palette), theme.quiet)


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
