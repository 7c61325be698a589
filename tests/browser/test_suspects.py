"""Suspect runs in a real browser: the way from the list to the evidence, and the switch."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from planner.core.slugs import slugs
from planner.store import queries
from planner.suspects import Flag, by_run, left_out, suspects
from tests.browser.conftest import Visit
from tests.browser.look import choose, click_row, dismissed, rerun, settled, widget
from tests.faults.outcomes import FULL
from tests.shipped import runs, store

pytestmark = pytest.mark.browser
Flags = dict[str, tuple[Flag, ...]]


@pytest.fixture(scope="module")
def flags() -> Flags:
    """What is suspect about each shipped run."""
    return by_run(suspects(queries.checked_runs(store())))


@pytest.fixture(scope="module")
def falls(flags: Flags) -> list[str]:
    """Runs whose throughput falls."""
    return sorted(run for run, own in flags.items() if "throughput falls" in {f.name for f in own})


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_suspect_run_is_found_by_the_filter_and_opens_with_its_evidence(
    app_url: str, visit: Visit, flags: Flags, falls: list[str]
) -> None:
    page = visit(f"{app_url}/results")
    with rerun(page):
        widget(page, "results.filters").get_by_role("button").first.click()
    choose(page, "results.suspect", f"throughput falls ({len(falls)})", inside=True)
    dismissed(dismissed(page))
    counted = f"{len(falls)} of {runs():,} runs, {len(falls)} suspect"
    expect(page.get_by_text(counted)).to_be_visible()
    expect(page).to_have_url(f"{app_url}/results?suspect=throughput-falls")
    with rerun(page):
        click_row(page, "results.table", 0)
    box = widget(page, "results.suspect")
    expect(box).to_contain_text("throughput falls")
    opened = settled(page).url.rsplit("run=", 1)[-1][:32]
    assert opened in falls
    expect(box).to_contain_text(flags[opened][-1].evidence)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_the_switch_leaves_suspect_runs_out_and_the_link_and_the_way_to_them_follow(
    app_url: str, visit: Visit, flags: Flags, falls: list[str]
) -> None:
    run = next(r for r in (queries.run(store(), i) for i in falls) if r)
    workloads = {name: short for short, name in slugs(queries.workloads(store())).items()}
    patterns = slugs(queries.patterns(store(), run.workload))
    pattern = next(short for short, name in patterns.items() if name == run.pattern)
    shown = queries.runs_of(store(), run.workload, run.pattern)
    out = sum(r.run_id in left_out(flags) and r.step_time_s is not None for r in shown)
    result = f"{out} suspect runs are left out" if out > 1 else "1 suspect run is left out"
    link = f"{app_url}/throughput?workload={workloads[run.workload]}&patterns={pattern}"
    page = visit(link)
    expect(page.get_by_text(result)).to_have_count(0)
    with rerun(page):
        widget(page, "throughput.without_suspects").locator("label").click()
    expect(widget(page, "throughput.without_suspects").get_by_role("switch")).to_be_checked()
    expect(page.get_by_text(result).first).to_be_attached()  # in the details, which are folded
    assert "without_suspects=on" in page.url
    with rerun(page):
        page.get_by_role("link", name="See them").click()
    expect(page.get_by_text("Click a row to open its run")).to_be_visible()
    assert "suspect=any" in settled(page).url
