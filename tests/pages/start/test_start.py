"""The start page: doors, jobs with the product's own answers, recent sets, saved views."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import hardware
from pages.common.addresses import ADDRESSES, START, navigation
from planner import figures
from planner.answers import PRESETS, preset_answer
from planner.cost import amount_texts
from planner.store import Store
from planner.store.disk import views
from planner.store.disk.views import View
from tests.pages.conftest import show, texts
from tests.store.build import a_set, row

ONE = View(
    name="Fleet 2027", page="compare", parameters={"deadline": ["72"]}, note="for Monday",
    saved_at="2026-11-25T10:00:00Z",
)  # fmt: skip


def _links(shown: AppTest) -> dict[str, tuple[str, str]]:
    """Page and query of each link, by its label."""
    found = [link.proto for link in shown.main.get("page_link")]
    return {p.label.replace("\\", "").replace("*", ""): (p.page, p.query_string) for p in found}


def test_three_doors_lead_to_three_pages() -> None:
    links = _links(show(""))
    assert {links[name][0] for name in ("How long?", "Compare hardware", "Explore")} == {
        "how-long", "compare", "explore"
    }  # fmt: skip


def test_the_address_start_opens_it_and_is_not_in_the_navigation() -> None:
    assert [title.value for title in show("start").title] == ["Epochwise"]
    # Without a session Streamlit makes incomplete pages, and they are kept: so after a first run.
    pages = [(p.url_path, p.visibility, p._page) for p in navigation()[""]]
    script = ADDRESSES[START].script
    assert pages == [("", "visible", script), ("start", "hidden", script)]


def test_the_examples_name_the_date_of_their_prices() -> None:
    newest = max(offer.as_of for offer in hardware.catalog().catalog.offers)
    assert f"Prices: catalogue, last updated {newest:%-d %b %Y}." in texts(show(""))


def test_every_job_shows_the_products_own_answer(store: Store) -> None:
    shown, today = show(""), datetime.now(UTC).date()
    cards = [h.proto.body for h in shown.get("html") if "epochwise-answer" in h.proto.body]
    assert len(cards) == len(PRESETS) == 6
    for card, preset in zip(cards, PRESETS, strict=True):
        answer = preset_answer(preset, store, hardware.catalog().catalog, today)
        assert answer.time is not None
        tiles = [figures.time_tile("Time", answer.time)]
        tiles += (
            [figures.number_tile("Cost", answer.cost, "USD", write=amount_texts)]
            if answer.cost
            else []
        )
        for tile in tiles:
            assert f">{tile.value} <" in card
            assert tile.unit in card


def test_every_job_leads_to_its_question() -> None:
    links = _links(show(""))
    for preset in PRESETS:
        page, query = links[preset.title]
        assert page == preset.page
        assert all(f"{name}=" in query for name in preset.parameters)


def test_the_newest_result_set_stands_first(own: Path) -> None:
    a_set(own, [row(recorded_at=datetime(2026, 11, 25, 23, tzinfo=UTC))])
    said = texts(show(""))
    assert "measured · 1 run · T4 · 25 Nov 2026" in said


def test_saved_views_are_listed_with_page_date_and_note(folders: Path) -> None:
    views.save(folders / "saved" / "views", ONE)
    shown = show("")
    assert _links(shown)[ONE.name] == ("compare", "deadline=72")
    assert "Compare hardware · 2026-11-25 · for Monday" in texts(shown)


def test_a_damaged_view_is_said(folders: Path) -> None:
    (folders / "saved" / "views").mkdir(parents=True)
    (folders / "saved" / "views" / "bad.json").write_text("{", encoding="utf-8")
    assert "The saved view 'bad' cannot be read" in texts(show(""))


@pytest.mark.parametrize("link", [{"epochs": "500"}, {"workload": "nothing"}, {"scale": "linear"}])
def test_an_old_link_opens_how_long(link: dict[str, str]) -> None:
    shown = show("", **link)
    assert [title.value for title in shown.title] == ["How long?"]


def test_an_old_link_asks_its_question() -> None:
    assert "500 epochs of " in texts(show("", epochs="500"))


def test_without_any_run_the_doors_are_there(alone: Path) -> None:
    shown = show("")
    assert "No result folder holds a run yet." in texts(shown)
    assert "No runs yet. Add results of other programs, or measure this machine." in texts(shown)
    assert "0 runs, each" not in texts(shown)
    assert {"How long?", "Add results", "Measure"} < _links(shown).keys()
