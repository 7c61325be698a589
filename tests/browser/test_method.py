"""Method & accuracy in a browser: the answer, a filter, a slider, and what can be taken away."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from backtest.accuracy.public_data import read_accuracy
from backtest.accuracy.verdicts import accuracy_of, headline_rows, per_cent
from pages.method.accuracy import PLACE
from planner.figures.frame import DARK, LIGHT
from tests.browser.conftest import Visit
from tests.browser.look import choose, download, headline, press, settled, turned, widget

pytestmark = pytest.mark.browser


def test_the_sceptic_finds_the_answer_takes_it_along_and_filters_the_methods(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/method")
    back_test = accuracy_of(read_accuracy(PLACE))
    expect(headline(page)).to_be_in_viewport()
    assert back_test.sentences[0].startswith(headline(page).inner_text())
    tiles = page.locator(".epochwise-answer [role=group]")
    expect(tiles).to_have_count(len(headline_rows(back_test.rows)) + 1)  # language models
    for place, (words, row) in enumerate(headline_rows(back_test.rows)):
        expect(tiles.nth(place)).to_be_in_viewport()
        said = tiles.nth(place).inner_text().replace("\u00a0", " ")
        assert per_cent(row.median_error) in said
        assert words[1:] in said
    _in_the_palette(page, LIGHT)
    _reports(download(page, "method.report"))
    _in_the_palette(turned(page, dark=True), DARK)
    _filters(page)


def _in_the_palette(page: Page, colours: Sequence[str]) -> None:
    """Every method has a colour of the palette."""
    strokes = page.locator(".scatterlayer .js-line").evaluate_all(
        "lines => lines.map(l => l.style.stroke)"
    )
    drawn = {"#" + "".join(f"{int(n):02X}" for n in re.findall(r"\d+", s)[:3]) for s in strokes}
    assert len(drawn) >= 2
    assert drawn <= set(colours)


def _reports(path: Path) -> None:
    """The report opens offline."""
    text = path.read_text(encoding="utf-8")
    assert "How wrong were we?" in text
    assert "<svg" in text
    assert "<script" not in text


def _filters(page: Page) -> None:
    """A choice of methods is in the address and in the download."""
    press(page, "method.methods", "Others")
    expect(page).to_have_url(re.compile(r"/method\?methods=others$"))
    with download(page, "method.csv").open(encoding="utf-8", newline="") as file:
        methods = [row["method"] for row in csv.DictReader(file)]
    assert methods
    assert not any(name.startswith("ours") for name in methods)
    table = pq.read_table(download(page, "method.parquet"))
    assert table.column("method").to_pylist() == methods


def test_a_formula_is_moved_with_the_keyboard_and_the_link_follows(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/method?section=formulas")
    choose(page, "method.formula", "How long N epochs take")
    said = page.get_by_role("paragraph")
    expect(said.filter(has_text="200 epochs of a minute each, from 3 measured")).to_be_visible()
    widget(page, "method.seen").get_by_role("slider").press("ArrowRight")
    settled(page)
    expect(page).to_have_url(f"{app_url}/method?section=formulas&formula=epochs&seen=4")
    expect(said.filter(has_text="200 epochs of a minute each, from 4 measured")).to_be_visible()
