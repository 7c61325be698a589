"""Steps to target: its links, its slider, its charts and its downloads."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from planner.core import csv_text
from planner.runs import Trials, TrialSet
from planner.store import queries
from planner.throughput import curves_of
from planner.time_to_target import (
    OptimizerComparison,
    PlacedTimes,
    ReferenceSystem,
    compare,
    goal_of,
    point_rows,
    read_points,
    timings_of,
)
from planner.time_to_target.goodput import Placed
from planner.time_to_target.sentences import answer_sentences, headline
from planner.time_to_target.tables import batch_rows, fit_rows, seed_rows
from tests.browser.conftest import Visit
from tests.browser.look import answer, choose, download, settled, widget
from tests.faults.outcomes import FULL
from tests.shipped import store

pytestmark = pytest.mark.browser
PAGE = "steps-to-target"
WORKLOAD = "LSTM 1x128 · synthetic tokens · SGD momentum 0.9 · float32"
LINK = {
    "optimizers": ["sgd-momentum-0.9", "sgd"],
    "target": "0.05",
    "times": "lstm-1x128-synthetic-tokens-sgd-momentum-0.9-float32",
}


def shipped() -> tuple[TrialSet, Trials]:
    """The trials the page shows first."""
    of = queries.trial_sets(store())[0]
    return of, queries.trials(store(), of)


def compared(target: float, names: list[str] | None = None) -> OptimizerComparison:
    """What the planner says of them."""
    _, trials = shipped()
    return compare(trials, target, names or trials.optimizers)


def result(target: float, names: list[str] | None = None, *, borrowed: bool = False) -> list[str]:
    """The sentences the page shows, with each optimiser's own step times or borrowed ones."""
    of, trials = shipped()
    known, times = compared(target, names), step_times(borrowed=borrowed)
    goal, timings = goal_of(of, trials, target), timings_of(known, times)
    return [headline(goal, timings, times), *answer_sentences(known, goal, timings, times)]


def step_times(*, borrowed: bool = False) -> Placed:
    """The step times of every optimiser: its own, or those that the link names."""
    of, trials = shipped()
    found = {}
    for name in trials.optimizers:
        workload = WORKLOAD if borrowed else f"{of.subject} · {name} · {of.precision}"
        timed = queries.timed_systems(store(), workload)[0]
        [curve] = curves_of(queries.runs_of(store(), workload, timed.pattern))
        place = ReferenceSystem(system=timed.system, workload=workload,
                                stand_in="another workload" if borrowed else "")  # fmt: skip
        found[name] = PlacedTimes(place=place, curve=curve.curve)
    return found


def knob(page: Page) -> Locator:
    """What one drags along the slider."""
    return widget(page, f"{PAGE}.target").get_by_role("slider")


def test_the_page_answers_without_a_click_and_follows_the_target_and_the_step_times(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/{PAGE}")
    expect(answer(page)).to_have_text(result(0.025)[0])
    main = page.get_by_test_id("stMain")
    for sentence in result(0.025)[1:]:
        expect(main.get_by_text(sentence, exact=True)).to_be_attached()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    for name in ("Bcrit", "noise scale", "best batch"):
        mark = page.locator(".js-plotly-plot .annotation-text", has_text=name)
        expect(mark).to_have_count(1)

    before = answer(page).text_content()
    knob(page).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"\?target=0\.022$"))
    settled(page)
    expect(answer(page)).to_have_text(result(0.022)[0])
    assert answer(page).text_content() != before

    knob(page).focus()
    page.keyboard.press("End")  # a target beyond all trials
    expect(answer(page)).to_contain_text("The target was reached at none of the batch sizes tried")
    expect(page.locator(".js-plotly-plot")).to_have_count(0)
    settled(page).go_back()
    expect(answer(settled(page))).to_have_text(result(0.022)[0])
    _borrows_step_times(page, 0.022)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_link_restores_the_whole_view_here_and_on_another_machine(
    app_url: str, visit: Visit
) -> None:
    names = ["SGD momentum 0.9", "SGD"]
    expected = result(0.05, names, borrowed=True)
    page = visit(f"{app_url}/{PAGE}?{urlencode(LINK, doseq=True)}")
    expect(answer(page)).to_have_text(expected[0])
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    page.get_by_role("button", name="Share").click()
    codes = page.get_by_test_id("stPopoverBody").locator("code")
    expect(codes).to_have_count(2)
    texts = codes.all_inner_texts()
    assert texts[0].strip().splitlines() == expected
    other = visit(texts[1].strip(), elsewhere=True)
    expect(answer(other)).to_have_text(expected[0])
    expect(knob(other)).to_have_attribute("aria-valuetext", "5 %")
    best = other.locator(".js-plotly-plot .annotation-text", has_text="best batch")
    expect(best).to_have_count(1)


def _borrows_step_times(page: Page, target: float) -> None:
    """Chosen step times draw the time to target, and tell the best batch."""
    # The chart above comes late and moves what is below it; a list closes where the page moves.
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    widget(page, f"{PAGE}.times").scroll_into_view_if_needed()
    settled(page)
    choose(page, f"{PAGE}.times", f"Another workload: {WORKLOAD}")
    expect(answer(page)).to_have_text(result(target, borrowed=True)[0])
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    stars = page.locator(".js-plotly-plot").nth(1).locator(".scatterlayer .points path")
    expect(stars).to_have_count(3)


def test_csv_files_hold_the_planners_rows_and_the_report_opens_from_disk(
    app_url: str, visit: Visit
) -> None:
    of, trials = shipped()
    known, times = compared(0.05), step_times()
    page = visit(f"{app_url}/{PAGE}?target=0.05")
    rows = {
        "csv": fit_rows(known, goal_of(of, trials, 0.05), timings_of(known, times), times),
        "batches_csv": batch_rows(known),
        "seeds_csv": seed_rows(known),
    }
    for key, expected in rows.items():
        text = download(page, f"{PAGE}.{key}").read_bytes().decode("utf-8")
        assert text == csv_text(expected), key
    report = download(page, f"{PAGE}.report")
    copy = report.with_suffix(".html")
    copy.write_bytes(report.read_bytes())
    page.goto(copy.as_uri())
    expect(page.locator(".answer")).to_have_text(result(0.05)[0])
    expect(page.locator("figure svg").first).to_be_visible()
    href = re.compile(re.escape(f"{app_url}/{PAGE}?") + ".*target=0.05")
    expect(page.get_by_role("link")).to_have_attribute("href", href)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_link_shows_mlperf_reference_points_and_where_each_list_went(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/{PAGE}?workload=resnet-50-on-imagenet-mlperf-reference")
    expect(answer(page)).to_contain_text(
        "give diminishing returns for ResNet-50 on ImageNet with LARS to 75.9"
    )
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    page.get_by_text("All reference points: which are used, dropped and corrected").click()
    settled(page)
    main = page.get_by_test_id("stMain")
    expect(main.get_by_text("lists are in the package's files")).to_be_visible()
    text = download(page, f"{PAGE}.points_csv").read_bytes().decode("utf-8")
    assert text.count("\n") == 1 + len(point_rows(read_points().points))
