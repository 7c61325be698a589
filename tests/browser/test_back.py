"""Back and Forward: a page is found as it was left, whatever link led away from it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from planner.answers.runs import suspects_of
from planner.core.slugs import slugs
from planner.epochs import options_of
from planner.store import queries
from tests.browser.conftest import Visit
from tests.browser.look import settled
from tests.faults.outcomes import FULL
from tests.shipped import store

pytestmark = pytest.mark.browser
NOT_FOLLOWED = "Part of this link could not be followed"


def _suspect() -> str:
    """A link to How long? that compares with a suspect run that is shipped."""
    flags, names = suspects_of(store()).flags, slugs(queries.workloads(store()))
    for short, workload in names.items():
        pattern = next(iter(queries.patterns(store(), workload)))
        options = options_of(queries.runs_of(store(), workload, pattern))
        for baseline, label in slugs(o.label for o in options).items():
            if any(o.label == label and o.run.run_id in flags for o in options):
                return f"workload={short}&baseline={baseline}&epochs=500"
    raise AssertionError("no suspect run is shipped")


def _at(page: Page, title: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(settled(page).get_by_text(NOT_FOLLOWED)).to_have_count(0)


def test_back_finds_the_page_as_it_was_left_and_forward_the_other_one(
    visit: Visit, app_url: str
) -> None:
    page = visit(f"{app_url}/how-long?{_suspect()}")
    own = page.url
    assert "epochs=500" in own
    page.get_by_role("link", name="See them").click()
    _at(page, "Results")
    there = page.url
    assert "suspect=any" in there
    page.go_back()
    _at(page, "How long?")
    expect(page).to_have_url(own)
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("500")
    page.go_forward()
    _at(page, "Results")
    expect(page).to_have_url(there)
    page.go_back()
    _at(page, "How long?")
    expect(page).to_have_url(own)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_wrong_parameter_that_somebody_typed_is_reported(visit: Visit, app_url: str) -> None:
    page = visit(f"{app_url}/measure?{_suspect()}")
    expect(page.get_by_text(NOT_FOLLOWED)).to_be_visible()
    expect(page.get_by_text(re.compile("workload: "))).to_be_visible()
