"""Saved comparisons on the page: kept, opened again, and what has changed since."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import hardware
from planner.core import file_slug, slug
from tests.pages.comparing import WORKLOAD, address_of
from tests.pages.conftest import show, sound, texts, unfold

TANAKA = file_slug("Tanaka, autumn")
LINK: dict[str, str | list[str]] = {
    "workload": WORKLOAD,
    "options": ["rent-aws-us-east-1-g6.xlarge-on-demand", "buy-1x-rtx-5090"], "deadline": "72"
}  # fmt: skip
_WRITTEN: Final[dict[str, bytes]] = {}
"""What the page writes, by the name of the comparison."""


@pytest.fixture(autouse=True)
def folder(folders: Path) -> Path:
    """Where comparisons are saved; the person owns the app."""
    return folders / "saved"


def _saved(name: str = "Tanaka, autumn") -> AppTest:
    """The page after a comparison has been saved."""
    known = hardware.catalog().catalog
    offer = next(o for o in known.offers if o.accelerator == "l4")
    options = [f"rent-{slug(offer.id)}", "buy-1x-rtx-5090"]
    shown = unfold(
        show("compare", workload=WORKLOAD, options=options, deadline="72"), "compare.save"
    )
    shown.text_input(key="compare.save.name").set_value(name)
    shown.button(key="compare.save.now").click()
    return sound(shown.run())


def _put(name: str = "Tanaka, autumn") -> None:
    """Have a comparison saved; the page writes each one once, later tests get a copy."""
    path = Path(os.environ["EPOCHWISE_SAVED"]) / f"{file_slug(name)}.json"
    if name not in _WRITTEN:
        _saved(name)
        _WRITTEN[name] = path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_WRITTEN[name])


def _change(folder: Path, **cells: object) -> None:
    """As if the first row had been so on the day it was saved."""
    path = folder / f"{TANAKA}.json"
    body = json.loads(path.read_text())
    body["rows"][0] |= cells
    path.write_text(json.dumps(body))


def test_a_comparison_is_saved_with_question_numbers_and_fingerprint(folder: Path) -> None:
    shown = _saved()
    body = json.loads((folder / f"{TANAKA}.json").read_text())
    assert body["parameters"]["deadline"] == ["72"]
    assert body["parameters"]["epochs"] == ["2000"]
    assert len(body["parameters"]["options"]) == len(body["rows"]) == 2
    assert body["runs"]
    assert body["fingerprint"]
    assert "Tanaka, autumn is saved." in shown.success[0].value.replace("\\", "")
    assert shown.query_params["saved"] == TANAKA
    assert "Nothing has changed since" in texts(shown)


def test_a_link_that_names_it_restores_the_question() -> None:
    _put()
    shown = show("compare", saved=TANAKA)
    assert shown.text_input(key="compare.deadline").value == "72 h"
    assert len(shown.multiselect(key="compare.options").value) == 2
    assert "Nothing has changed since" in texts(shown)
    assert shown.query_params["deadline"] == "72"


def test_its_link_reports_the_whole_question_whatever_is_usual_later() -> None:
    shown = unfold(show("compare", goal="epochs"), "compare.save")
    shown.text_input(key="compare.save.name").set_value("Usual")
    shown.button(key="compare.save.now").click()
    link = address_of(sound(shown.run()))
    assert link["saved"] == [file_slug("Usual")]
    assert len(link["options"]) > 2
    assert {"workload", "epochs"} <= set(link)
    again = show("compare", **link)
    assert "Nothing has changed since" in texts(again)


def test_a_link_without_options_takes_those_that_were_saved() -> None:
    _put()
    shown = show("compare", saved=TANAKA, deadline="72")
    assert len(address_of(shown)["options"]) == 2
    assert "Nothing has changed since" in texts(shown)


def test_it_is_opened_from_the_list() -> None:
    _put()
    shown = unfold(show("compare", epochs="10"), "compare.open")
    shown.selectbox(key="compare.open.which").set_value(TANAKA)
    sound(shown.run())
    assert "finishes 2000 epochs" in texts(shown)
    assert "Nothing has changed since" in texts(shown)


def test_a_price_that_has_changed_since_is_reported_old_and_new(folder: Path) -> None:
    _put()
    _change(folder, price="9.99 USD/h, Jan 2026", cost_per_run=999.0)
    said = "\n".join(i.value for i in show("compare", saved=TANAKA).info)
    said = said.replace("\\", "").replace("\u2060", "")
    assert "9.99 USD/h, Jan 2026 ->" in said
    assert "999 USD ->" in said


def test_what_has_changed_is_reported_in_the_currency_that_is_shown(folder: Path) -> None:
    shown = unfold(
        show("compare", workload=WORKLOAD, options=["buy-1x-rtx-5090"], currency="EUR", rate="0.5",
             rate_as_of="2026-11-20", tax="20"), "compare.save",
    )  # fmt: skip
    shown.text_input(key="compare.save.name").set_value("Tanaka, autumn")
    shown.button(key="compare.save.now").click()
    sound(shown.run())
    _change(folder, cost_per_run=1000.0)
    said = "\n".join(i.value for i in show("compare", saved=TANAKA).info)
    assert "600 EUR ->" in said.replace("\\", "").replace("\u2060", "")
    assert "USD" not in said


def test_another_question_is_not_compared_but_can_be_set_back() -> None:
    _put()
    shown = show("compare", saved=TANAKA)
    shown.number_input(key="compare.epochs").set_value(10)
    sound(shown.run())
    assert "the question has changed since" in texts(shown)
    shown.button(key="compare.open.again").click()
    assert "finishes 2000 epochs" in texts(sound(shown.run()))


def test_the_rest_of_a_link_counts_before_what_was_saved() -> None:
    _put()
    shown = show("compare", saved=TANAKA, epochs="10")
    assert "finishes 10 epochs" in texts(shown)


def test_one_that_is_gone_or_damaged_is_reported(folder: Path) -> None:
    said = texts(show("compare", saved="never-was"))
    assert "No comparison is saved as 'never-was'." in said
    _put()
    (folder / f"{TANAKA}.json").write_text("{")
    said = texts(show("compare", saved=TANAKA))
    assert f"'{TANAKA}.json' cannot be read." in said
    shown = unfold(show("compare", goal="epochs"), "compare.open")
    assert f"'{TANAKA}.json' cannot be read." in texts(shown)


def test_it_is_removed_by_whoever_may_save(folder: Path) -> None:
    _put()
    shown = unfold(show("compare", saved=TANAKA), "compare.open")
    shown.button(key="compare.open.remove").click()
    sound(shown.run())
    assert list(folder.iterdir()) == []
    assert "saved" not in shown.query_params


@pytest.mark.parametrize("name", ["", "  ", "\u202e"])
def test_a_name_is_needed(name: str, folder: Path) -> None:
    shown = _saved(name)
    assert "Give it a name." in texts(shown)
    assert not folder.exists()


NAMES = [
    ".NET offer",
    "日本 提案",
    "東京 2026",
    "大阪 2026",
    "2026",
    "...",
    "!!!",
    "a/b",
    "A B",
    "-",
]


def test_every_name_is_saved_listed_and_opened_and_replaces_no_other() -> None:
    for name in NAMES:
        assert f"{name} is saved." in _saved(name).success[0].value.replace("\\", "")
    shown = unfold(show("compare", epochs="10"), "compare.open")
    box = shown.selectbox(key="compare.open.which")
    assert sorted(option.split(" · ")[0] for option in box.options) == sorted(NAMES)
    for name in NAMES:
        again = show("compare", saved=file_slug(name))
        assert "Nothing has changed since" in texts(again)
        assert f"{name}, saved on " in texts(again)


def test_one_of_the_same_name_is_replaced_only_when_that_is_wanted(folder: Path) -> None:
    _put()
    before = (folder / f"{TANAKA}.json").read_bytes()
    shown = unfold(
        show("compare", workload=WORKLOAD, options=["buy-1x-rtx-5090"], deadline="72"),
        "compare.save",
    )
    shown.text_input(key="compare.save.name").set_value("Tanaka, autumn")
    shown.button(key="compare.save.now").click()
    said = texts(sound(shown.run()))
    assert "Tanaka, autumn exists. Save again to replace it" in said
    assert (folder / f"{TANAKA}.json").read_bytes() == before
    shown.button(key="compare.save.now").click()
    assert "is replaced" in sound(shown.run()).success[0].value
    assert (folder / f"{TANAKA}.json").read_bytes() != before


@pytest.mark.parametrize("old", ["tanaka-autumn", ".net-offer"])
def test_one_of_an_earlier_version_is_listed_opened_and_replaced_in_its_place(
    folder: Path, old: str
) -> None:
    name = {"tanaka-autumn": "Tanaka, autumn", ".net-offer": ".NET offer"}[old]
    _saved(name)
    (folder / f"{file_slug(name)}.json").rename(folder / f"{old}.json")
    assert "Nothing has changed since" in texts(show("compare", saved=old))
    shown = _saved(name)
    shown.button(key="compare.save.now").click()
    sound(shown.run())
    assert [p.name for p in folder.iterdir()] == [f"{old}.json"]


def test_a_stranger_saves_nothing_and_is_shown_what_to_do_instead(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHWISE_MEASURE", "off")
    shown = unfold(show("compare", **LINK), "compare.save")
    assert "The link under Share holds the whole question as well." in texts(shown)
    assert not [b for b in shown.button if b.key == "compare.save.now"]
    assert not folder.exists()


def test_a_hostile_name_is_shown_as_it_is(folder: Path) -> None:
    shown = _saved("<b>x</b> [l](javascript:alert)")
    assert [p.name[:25] for p in folder.iterdir()] == ["b-x-b-l-javascript-alert~"]
    assert all("<b>x" not in str(m.value) for m in [*shown.caption, *shown.markdown])
