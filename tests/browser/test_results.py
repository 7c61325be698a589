"""Results: filters, one run, and the way back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pages.results.one_run import run_sentence, title
from tests.browser.conftest import Visit
from tests.browser.look import choose, click_row, dismissed, headline, rerun, widget
from tests.browser.test_how_long import options
from tests.faults.outcomes import FULL
from tests.shipped import all_of, runs, some_of

pytestmark = pytest.mark.browser


def test_filters_narrow_the_table_count_the_rest_and_go_with_their_chip(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/results")
    expect(page.get_by_text(all_of())).to_be_visible()
    with rerun(page):
        widget(page, "results.filters").get_by_role("button").first.click()
    choose(page, "results.system", f"GPU ({runs(system='GPU')})", inside=True)
    expect(page.get_by_text(some_of(system="GPU"))).to_be_visible()
    expect(page).to_have_url(f"{app_url}/results?system=gpu")
    dismissed(dismissed(page))
    with rerun(page):
        widget(page, "results.filters").get_by_role("button").first.click()
    box = widget(page, "results.global_batch_size").get_by_role("combobox")
    box.click()
    box.fill("64")
    expect(
        page.get_by_role(
            "option", name=f"64 ({runs(system='GPU', global_batch_size='64')})", exact=True
        )
    ).to_be_visible()
    expect(page.get_by_role("option", name="(0)")).to_have_count(0)
    dismissed(dismissed(page))
    with rerun(page):
        widget(page, "results.active").get_by_text("System: GPU").click()
    expect(page).to_have_url(f"{app_url}/results")


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_filters_that_leave_nothing_clear_on_a_button(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/results?system=gpu&global_batch_size=4096")
    expect(page.get_by_text("No run to show.")).to_be_visible()
    expect(page.get_by_text("The filters on system, batch size leave none of")).to_be_visible()
    widget(page, "results.clear").get_by_role("button").click()
    expect(page.get_by_text(all_of())).to_be_visible()
    expect(page).to_have_url(f"{app_url}/results")


def test_a_row_opens_its_run_and_the_way_back_keeps_the_filters(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/results?system=gpu")
    with rerun(page):
        click_row(page, "results.table", 0)
    expect(page.get_by_text("Where it comes from", exact=True)).to_be_visible()
    assert "run=" in page.url
    page.get_by_role("button", name="All runs").click()
    expect(page.get_by_text(some_of(system="GPU"))).to_be_visible()
    expect(page).to_have_url(f"{app_url}/results?system=gpu")


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_link_to_a_run_shows_its_sentence_and_its_chart(app_url: str, visit: Visit) -> None:
    run = options()[0].run
    page = visit(f"{app_url}/results?run={run.run_id}")
    expect(headline(page)).to_have_text(title(run))
    expect(page.locator(".epochwise-answer [role=group]").first).to_be_in_viewport()
    page.get_by_role("button", name="Share").first.click()
    share = page.get_by_role("dialog", name="Share")
    expect(share.get_by_text(run_sentence(run), exact=True)).to_be_visible()
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_link_to_a_run_that_is_nowhere_says_so_and_lists_the_others(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/results?run={'0' * 32}")
    expect(page.get_by_test_id("stAlert")).to_contain_text("not in any result folder")
    expect(page.get_by_text(all_of())).to_be_visible()
    expect(page).to_have_url(f"{app_url}/results")
