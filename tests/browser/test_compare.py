"""The whole story of Compare hardware in a browser: from a question to a report handed over."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime
from html import escape
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from planner.answers import compare_answered
from planner.answers.comparison import option_rows
from planner.compare import sentence, sentences
from planner.compare.comparison import Comparison
from planner.core import file_slug
from planner.store.catalog import read_catalog
from tests.browser.conftest import Visit
from tests.browser.look import (
    answer,
    choose,
    dismissed,
    download,
    enter,
    open_tab,
    press,
    rerun,
    settled,
    widget,
)
from tests.faults.outcomes import FULL
from tests.shipped import ROOT, store

pytestmark = pytest.mark.browser

LINK = {
    "options": ["buy-1x-rtx-5090", "mine-rent-h100-sxm-1-1.99", "own-tpu-v2-8"],
    "own": ["rent|h100-sxm|1|1.99"],
    "deadline": ["72"],
}
SEEN_VALUES = """
    window.seenValues = {}
    const look = () => {
        for (const field of document.querySelectorAll('input[type=number]')) {
            const seen = window.seenValues[field.ariaLabel] ??= []
            if (!seen.includes(field.value)) seen.push(field.value)
        }
        requestAnimationFrame(look)
    }
    look()
"""
"""Notes every value that a number field shows at any frame, under its label."""
THREE = ["Rent 1 x L4 (AWS)", "Rent 1 x GeForce RTX 3090 (OpenRelay)", "Buy 1 x GeForce RTX 5090"]


def asked(address: str) -> Comparison:
    """The planner's own answer to the question that stands in the address."""
    catalog = read_catalog(ROOT / "data" / "catalog").catalog
    given = parse_qs(urlsplit(address).query)
    result = compare_answered(store(), catalog, given, datetime.now(UTC).date())
    assert result.problems == ()
    assert result.answered.comparison is not None
    return result.answered.comparison


def says(page: Page) -> Comparison:
    """The page's sentence is the planner's answer to the page's address."""
    result = asked(settled(page).url)
    expect(answer(page)).to_have_text(sentences(result)[0])
    return result


def numbers(page: Page) -> list[dict[str, str]]:
    """The table as it is downloaded."""
    with download(page, "compare.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def agree(rows: list[dict[str, str]], result: Comparison) -> None:
    """Every number of the table is the planner's."""
    for row, record in zip(rows, option_rows(result), strict=True):
        for name in ("time_s", "time_s_low", "cost_per_run", "cost_per_run_high", "rank",
                     "energy_kwh", "probability_cheapest", "probability_in_time"):  # fmt: skip
            known = record[name]
            assert row[name] == ("" if known is None else str(known)), (row["option"], name)


def test_the_whole_story_from_the_workload_to_the_report(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/compare")
    says(page)
    workload = "ResNet-8 · synthetic CIFAR-10 · SGD momentum 0.9 · float32"
    choose(page, "compare.workload", re.compile(re.escape(workload)), typed=workload)
    says(page)
    with rerun(page):
        widget(page, "compare.options").get_by_label("Clear all").click()
    expect(page.get_by_text("No option is chosen.")).to_be_visible()
    for text in THREE:
        field = widget(page, "compare.options").get_by_role("combobox")
        field.fill(text)
        with rerun(page):
            field.press("Enter")
    dismissed(page)
    assert {r.candidate.label for r in says(page).rows} == set(THREE)
    result = says(enter(page, "compare.deadline", "100"))
    expect(page.get_by_text(re.compile("Finish by "))).to_be_attached()  # in the folded details
    agree(numbers(page), result)
    report = download(page, "compare.report").read_text(encoding="utf-8")
    assert escape(sentence(result), quote=False) in report
    assert page.url.split("?", 1)[1].split("&")[0] in report
    for row in result.answered:
        assert row.candidate.label in report


def test_a_link_keeps_every_choice_elsewhere_and_when_saved(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/compare?{urlencode(LINK, doseq=True)}")
    says(page)
    press(page, "compare.order", "Time")
    press(open_tab(page, "Rent or buy"), "compare.chart", "Utilisation")
    press(open_tab(page, "Table"), "compare.view", "A month")
    press(page, "compare.show", "Hours")
    choose(page, "compare.baseline", "Buy 1 x GeForce RTX 5090")
    _says_every_choice(page)

    result = says(page)
    link = page.url
    widget(page, "compare.save").get_by_role("button").first.click()
    settled(page)
    enter(page, "compare.save.name", "From the browser")
    with rerun(page):
        widget(page, "compare.save.now").get_by_role("button").click()
    assert "saved=from-the-browser" in page.url
    there = visit(link, elsewhere=True)
    _says_every_choice(there)
    agree(numbers(there), result)
    there.goto(f"{app_url}/compare?saved={file_slug('From the browser')}")
    expect(there.get_by_text("Nothing has changed since")).to_be_visible()
    says(there)


def _says_every_choice(page: Page) -> None:
    for part in ("order=time", "chart=use", "view=month", "show=hours", "baseline=buy-1x-rtx-5090"):
        assert part in page.url


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_an_option_is_added_by_hand(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/compare")
    widget(page, "compare.by_hand").get_by_role("button").first.click()
    settled(page)
    name = "H100 SXM5 80GB"
    choose(page, "compare.own.accelerator", name, typed=name, inside=True)
    enter(page, "compare.own.price", "0.99")
    with rerun(page):
        widget(page, "compare.own.add").get_by_role("button").click()
    assert "own=rent%7Ch100-sxm%7C1%7C0.99" in page.url
    result = says(page)
    assert "mine-rent-h100-sxm-1-0.99" in {r.candidate.id for r in result.rows}


def test_no_field_ever_shows_another_value_than_the_link_s(app_url: str, visit: Visit) -> None:
    """What a browser shows before it is told, it may send back as if somebody had chosen it."""
    page = visit(f"{app_url}/")
    session = page.context.new_cdp_session(page)
    session.send("Page.enable")
    added = session.send("Page.addScriptToEvaluateOnNewDocument", {"source": SEEN_VALUES})
    page.goto(f"{app_url}/compare?epochs=100&runs_per_month=7&order=time")
    says(settled(page))
    with rerun(page):
        page.get_by_text("More fields").click()
    seen = page.evaluate("window.seenValues")
    assert seen["Epochs"] == ["100"]
    assert seen["Runs a month"] == ["7"]
    session.send("Page.removeScriptToEvaluateOnNewDocument", added)  # this tab is for others, too
    session.detach()
