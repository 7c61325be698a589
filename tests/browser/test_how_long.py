"""The first page: its answer, its links, its memory."""

from __future__ import annotations

import csv
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from planner.core import hms, slug
from planner.core.slugs import slugs
from planner.epochs import EPOCHS, HowLong, Option, options_of, project_summary, usual_options
from planner.epochs.how_long import how_long
from planner.store import queries
from tests.browser.conftest import Visit
from tests.browser.look import (
    answer,
    choose,
    download,
    enter,
    open_tab,
    press,
    rerun,
    settled,
    widget,
)
from tests.faults.outcomes import FULL
from tests.shipped import store

pytestmark = pytest.mark.browser


def options(place: int = 0) -> list[Option]:
    """What one may choose of the first workload under one of its patterns."""
    workload = next(iter(queries.workloads(store())))
    pattern = list(queries.patterns(store(), workload))[place]
    return options_of(queries.runs_of(store(), workload, pattern))


def planned(
    epochs: int = EPOCHS, systems: list[str] | None = None, baseline: int = 0, place: int = 0
) -> HowLong:
    """The planner's answer to the question the page asks."""
    known = options(place)
    by_slug = dict(zip(slugs(o.label for o in known), known, strict=True))
    chosen = [by_slug[s] for s in systems or usual_options(by_slug)]
    base = known[baseline]
    return how_long(list(dict.fromkeys([*chosen, base])), epochs, base.label)


def says(page: Page, result: HowLong) -> None:
    """The page's sentence is the planner's."""
    expect(answer(page)).to_have_text(result.sentence)


# -- links -------------------------------------------------------------------------------------

LINK = {
    "epochs": "500",
    "systems": ["gpu-batch-128", "tpu-v2-8-batch-256"],
    "baseline": "gpu-batch-128",
    "scale": "linear",
}


def test_a_link_restores_the_whole_view_here_and_on_another_machine(
    app_url: str, visit: Visit
) -> None:
    expected = planned(500, ["gpu-batch-128", "tpu-v2-8-batch-256"], baseline=1)
    page = visit(f"{app_url}/how-long?{urlencode(LINK, doseq=True)}")
    says(page, expected)
    settled(page).reload()
    says(settled(page), expected)
    page.get_by_role("button", name="Share").click()
    codes = page.get_by_test_id("stPopoverBody").locator("code")
    expect(codes).to_have_count(2)
    texts = codes.all_inner_texts()
    assert texts[0].strip() == expected.sentence
    assert texts[1].strip().startswith(f"{app_url}/how-long?")
    assert "&epochs=500&" in texts[1]
    other = visit(texts[1].strip(), elsewhere=True)
    says(other, expected)
    expect(widget(other, "how-long.scale").locator("[aria-checked=true]")).to_have_text("Linear")


BAD = {
    "epochs": "epochs: “abc” is not a whole number from 1 to 1,000,000.",
    "systems": "systems: “mainframe” is no longer an option.",
    "workload": "workload: “minesweeper” is no longer an option.",
}


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_bad_value_in_a_link_is_named_and_the_good_rest_is_kept(
    app_url: str, visit: Visit
) -> None:
    bad = "epochs=abc&systems=mainframe&systems=gpu-batch-64&workload=minesweeper"
    page = visit(f"{app_url}/how-long?{bad}&baseline=gpu-batch-128&session=on")
    for output in BAD.values():
        expect(page.get_by_test_id("stAlert")).to_contain_text(output)
    expect(answer(page)).to_contain_text("2000 epochs of WideResNet-103M")
    expect(page.get_by_text("any session on hardware of this kind")).to_be_attached()
    expect(page).to_have_url(
        f"{app_url}/how-long?systems=gpu-batch-64&baseline=gpu-batch-128&session=on"
    )


# -- widgets -----------------------------------------------------------------------------------


def test_the_page_answers_2000_epochs_and_every_choice_changes_that(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/how-long")
    _says_2000_epochs(page)
    open_tab(page, "Chart")  # the download is on the table's
    press(page, "how-long.quick", "100")
    says(page, planned(100))
    expect(page).to_have_url(f"{app_url}/how-long?epochs=100")
    says(enter(page, "how-long.epochs", "750"), planned(750))
    choose(page, "how-long.baseline", "GPU · batch 128")
    says(page, planned(750, baseline=1))
    expect(page).to_have_url(f"{app_url}/how-long?epochs=750&baseline=gpu-batch-128")
    press(page, "how-long.scale", "Linear")
    title = page.locator("text.ytitle")
    expect(title.filter(has_text=re.compile(r"total time \((hours|days)\)"))).to_be_visible()
    choose(page, "how-long.systems", "TPU v2-8 · batch 1,024")
    chosen = [s for s in _usual() if s != "tpu-v2-8-batch-1-024"] + ["tpu-v2-8-batch-1-024"]
    says(page, planned(750, chosen, baseline=1))
    second = list(_patterns())[1]
    choose(page, "how-long.pattern", second)
    says(page, planned(750, chosen, baseline=1, place=1))
    assert f"pattern={slug(second)}" in page.url
    assert "scale=linear" in page.url


def _says_2000_epochs(page: Page) -> None:
    says(page, planned())
    with download(page, "how-long.csv").open(encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    run = planned().answers[0].option.run
    total = project_summary(
        epochs=2000,
        pre_train_s=run.pre_train_s,
        first_epoch_s=run.first_epoch_s,
        later_epoch_mean_s=run.later_epoch_mean_s,
        later_epochs=19,
        later_epoch_sd_s=run.later_epoch_sd_s,
    )
    assert first["total_hms"] == hms(float(total.value)) == "25:21:41"  # type: ignore[union-attr]
    assert first["option"] == "TPU v2-8 · batch 4,096"


def _usual() -> list[str]:
    known = options()
    return usual_options(dict(zip(slugs(o.label for o in known), known, strict=True)))


def _patterns() -> list[str]:
    return list(queries.patterns(store(), next(iter(queries.workloads(store())))))


def test_back_and_forward_walk_through_what_was_asked_and_the_menu_returns_to_it(
    app_url: str, visit: Visit
) -> None:
    page = press(visit(f"{app_url}/how-long"), "how-long.quick", "100")
    press(page, "how-long.quick", "500")
    for step, epochs in ((-1, 100), (-1, 2000), (1, 100), (1, 500)):
        page.evaluate("step => history.go(step)", step)
        says(settled(page), planned(epochs))
    left, menu = settled(page).url, page.get_by_test_id("stSidebarNav")
    menu.get_by_text("Throughput").click()
    expect(answer(page)).to_contain_text("saturates at")
    settled(page)
    with rerun(page):
        menu.get_by_text("How long?").click()
    says(page, planned(500))
    expect(page).to_have_url(left)


@pytest.mark.parametrize("page_name", ["how-long", "scaling-out", "steps-to-target"])
def test_names_in_pickers_are_whole_on_a_laptop(visit: Visit, app_url: str, page_name: str) -> None:
    page = visit(f"{app_url}/{page_name}", width=1440)
    cut = page.locator('[data-testid="stSelectbox"] input').evaluate_all(
        "inputs => inputs.filter(i => i.scrollWidth > i.clientWidth + 1).map(i => i.value)"
    )
    assert cut == []


def test_a_click_on_a_further_table_of_scaling_out_is_in_the_address(
    visit: Visit, app_url: str
) -> None:
    page = visit(f"{app_url}/scaling-out", width=1440)
    further = page.get_by_test_id("stTabs").filter(has_not_text="Efficiency")
    with rerun(page):
        further.nth(1).get_by_role("tab", name="Table").click()
    address = page.url
    assert address.endswith("?tables=crossover")
    again = visit(address, width=1440)
    opened = again.get_by_test_id("stTabs").filter(has_not_text="Efficiency").nth(1)
    expect(opened.get_by_role("tab", name="Table")).to_have_attribute("aria-selected", "true")
    with rerun(again):
        opened.get_by_role("tab", name="Chart").click()
    assert "tables" not in again.url
