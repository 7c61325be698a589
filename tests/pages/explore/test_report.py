"""The report of Explore: what it holds for each view."""

from __future__ import annotations

import re

import pytest

from pages.explore import state
from pages.explore.report import MOST_RUNS, of_answer
from planner.answers import explore_answered
from planner.catalog import Catalog
from planner.report import Letterhead
from planner.store import Store
from tests.pages.conftest import show


def _report(store: Store, **asked: str | list[str]) -> str:
    texts = {name: [text] if isinstance(text, str) else text for name, text in asked.items()}
    make = of_answer("http://here/explore", explore_answered(store, Catalog(), texts), store)
    assert make is not None
    return make(Letterhead(customer="Tanaka Ltd"), "today")


def test_a_report_has_the_chart_its_curves_its_runs_and_their_sources(store: Store) -> None:
    html = _report(store, x="global_batch_size", y="samples_per_s", colour="accelerator")
    assert "<h1>Throughput (samples/s) against Batch size (samples)</h1>" in html
    assert "Tanaka Ltd" in html
    assert html.count("<svg") == 1
    assert html.count("<circle") > MOST_RUNS
    assert "Fitted curves" in html
    assert f"The first {MOST_RUNS} of " in html
    assert "Where these numbers come from" in html
    assert "http://here/explore" in html


def test_each_panel_is_a_picture(store: Store) -> None:
    html = _report(store, x="global_batch_size", y="samples_per_s", facet="device_kind")
    assert html.count("<svg") == len(set(re.findall(r"<h2>(cpu|gpu|tpu|not stated)</h2>", html)))
    assert html.count("<svg") > 1


def test_a_hidden_colour_is_in_no_picture(store: Store) -> None:
    asked = {"x": "global_batch_size", "y": "samples_per_s", "colour": "device_kind"}
    every, some = (
        _report(store, **asked, **more)
        for more in (dict[str, str](), {"hidden": "cpu"})
    )  # fmt: skip
    assert 0 < some.count("<circle") < every.count("<circle")
    assert ">cpu</text>" in every
    assert ">cpu</text>" not in some


@pytest.mark.parametrize("marks", ["box", "strip"])
def test_groups_are_boxes_with_their_names(store: Store, marks: str) -> None:
    html = _report(store, x="device_kind", y="samples_per_s", marks=marks, log_y="on")
    assert ">cpu</text>" in html
    assert ('stroke-width="1.5"' in html) == (marks == "box")


def test_points_beside_the_marked_ones_are_faint(store: Store) -> None:
    asked = {"x": "global_batch_size", "y": "samples_per_s"}
    some = _report(store, **asked, brush="0,0,128,1e9")
    faint = '<g opacity="0.25"><circle'
    assert 0 < some.count(faint) < some.count("<circle")
    assert faint not in _report(store, **asked)


def test_a_number_as_colour_is_a_shade(store: Store) -> None:
    html = _report(store, x="global_batch_size", y="samples_per_s", colour="params")
    fills = set(re.findall(r'<circle [^>]*fill="([^"]*)"', html))
    assert len(fills) > 3
    assert all(re.fullmatch(r"#[0-9A-F]{6}|none", fill) for fill in fills)


def test_a_pivot_table_and_runs_side_by_side_are_tables(store: Store) -> None:
    html = _report(store, view="pivot", rows="device_kind", measure="samples_per_s")
    assert "<svg" not in html
    assert ">cpu</td>" in html or ">cpu</th>" in html
    assert "Where these numbers come from" in html
    runs = state.runs_of(store)["run_id"].to_pylist()[:2]
    html = _report(store, view="side", run=runs)
    assert "<h2>What differs</h2>" in html
    assert "<h2>Where they come from</h2>" in html


def test_the_page_offers_the_report() -> None:
    labels = [b.proto.label for b in show("explore").get("download_button")]
    assert "Report" in labels
