"""The Results page with 12,000 published runs: filters, a page of rows at a time, sources."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs

import pytest

from pages.common import kept
from pages.common.narrow import MOST_CARDS
from planner.core.slugs import slugs
from planner.store import Store, queries
from tests.pages.conftest import show, sound, texts, unfold
from tests.store import published


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Store:
    """12,000 published runs beside the shipped ones."""
    monkeypatch.setattr(kept, "_shared", published.store)
    return published.store()


def test_a_page_of_rows_is_shown_and_another_one_on_request(many: Store) -> None:
    shown, most = show("results"), queries.MOST_ROWS
    total = queries.totals(many).runs
    assert f"{total:,} of {total:,} runs" in texts(shown)
    assert f"Runs 1 to {most:,} of {total:,}" in texts(shown)
    first = shown.dataframe[0].value
    assert len(first) == most
    sound(shown.number_input(key="results.page").set_value(2).run())
    assert f"Runs {most + 1:,} to {2 * most:,} of {total:,}" in texts(shown)
    assert not shown.dataframe[0].value.equals(first)


def test_filters_by_family_accelerator_and_basis_leave_their_runs(many: Store) -> None:
    vit = queries.facets(many, {"family": ["vit"], "basis": ["published"]})
    name = next(iter(vit["accelerator_model_name"]))
    wanted = {"family": ["vit"], "accelerator_model_name": [name], "basis": ["published"]}
    left = queries.count(many, wanted)
    assert left > 0
    total = queries.totals(many).runs
    shown = show("results", family="vit", basis="published")
    box = unfold(shown, "results.filters").multiselect(key="results.accelerator_model_name")
    known = slugs(queries.facets(many, {})["accelerator_model_name"])
    slug = next(s for s, accelerator in known.items() if accelerator == name)
    sound(box.set_value([slug]).run())
    assert f"{left:,} of {total:,} runs" in texts(shown)


def test_fewer_runs_than_the_page_begins_at_show_the_first_page(many: Store) -> None:
    shown = show("results")
    sound(shown.number_input(key="results.page").set_value(20).run())
    unfold(shown, "results.filters")
    sound(shown.multiselect(key="results.family").set_value(["recommender"]).run())
    assert f"Runs 1 to {queries.MOST_ROWS} of" in texts(shown)


def test_published_runs_show_date_licence_and_a_link_to_their_source(many: Store) -> None:
    table = show("results", family="moe", basis="published").dataframe[0].value
    assert set(table["licence"]) <= {"Apache-2.0", "MIT", "CC-BY-4.0"}
    assert table["published_on"].str.match(r"\d{4}-\d\d").all()
    assert table["source_url"].str.startswith("https://").all()


def test_the_task_filter_leaves_the_runs_of_its_kind(many: Store) -> None:
    tasks = queries.facets(many, {})["task"]
    assert {"Language model", "Vision", "Speech"} <= set(tasks)
    assert sum(tasks.values()) == queries.totals(many).runs
    total = queries.totals(many).runs
    shown = show("results", task="speech")
    assert f"{tasks['Speech']:,} of {total:,} runs" in texts(shown)
    assert set(queries.facets(many, {"task": ["Speech"]})["family"]) <= {"speech", "other"}


def test_a_telephone_has_cards_of_the_first_runs_that_open_them(many: Store) -> None:
    shown = show("results", family="moe", basis="published")
    body = next(h.proto.body for h in shown.get("html") if "epochwise-cards" in h.proto.body)
    runs = re.findall(r'href="\?([^"]*)"', body)
    assert len(runs) == MOST_CARDS
    opened = parse_qs(html.unescape(runs[0]))
    assert (opened["family"], opened["basis"]) == (["moe"], ["published"])
    first = shown.dataframe[0].value.iloc[0]
    assert f"{first['system']} · batch {first['global_batch_size']:,}" in html.unescape(body)
    [run] = opened["run"]
    assert first["system"] in texts(show("results", run=run))
