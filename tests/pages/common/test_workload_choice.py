"""A workload among a thousand: chosen by its kind, then by its name; links mean the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.common import kept, workload_choice
from planner.core.slugs import slugs
from planner.store import Store, queries
from tests.faults.outcomes import FULL
from tests.pages.conftest import show, sound, texts
from tests.store import published
from tests.store.build import a_set, row

PAGES = {"how-long": "how-long", "throughput": "throughput", "compare": "compare"}
"""Addresses of the pages that ask for a workload of the store."""
LLAMA = "llama-1-1b-c4-float32"


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Store:
    """12,000 published runs beside the shipped ones."""
    monkeypatch.setattr(kept, "_shared", published.store)
    return published.store()


@pytest.mark.parametrize("page", PAGES)
def test_a_link_to_one_of_a_thousand_workloads_shows_it(many: Store, page: str) -> None:
    shown = show(page, workload=LLAMA)
    box = shown.selectbox(key=f"{page}.workload")
    assert box.value == LLAMA
    assert len(box.options) > published.WORKLOADS
    assert shown.selectbox(key=f"{page}.kind").value == "All"
    assert "could not be followed" not in texts(shown)


@pytest.mark.parametrize("page", PAGES if FULL else ["throughput"])
def test_a_kind_narrows_the_workloads_and_shows_its_first(many: Store, page: str) -> None:
    shown = show(page, workload=LLAMA)
    sound(shown.selectbox(key=f"{page}.kind").set_value("Speech").run())
    box = shown.selectbox(key=f"{page}.workload")
    speech = [n for n, known in queries.about_workloads(many).items() if known.kind == "Speech"]
    named = [o.rsplit(" (", 1)[0] for o in box.options if o != "Described by hand"]
    assert named == [n for n in speech if page != "compare" or n in queries.trained(many)]
    assert len(named) >= 50
    assert str(box.value).startswith("whisper")
    assert shown.query_params["kind"] == "Speech"
    assert show(page, **shown.query_params).selectbox(key=f"{page}.kind").value == "Speech"
    sound(shown.selectbox(key=f"{page}.kind").set_value("All").run())
    assert shown.selectbox(key=f"{page}.workload").value == box.value


def test_of_very_many_workloads_the_kind_of_the_shown_one_is_chosen_first(
    many: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_choice, "MANY", 1_000)
    shown = show("throughput", workload=LLAMA)
    assert shown.selectbox(key="throughput.kind").value == "Language model"
    assert shown.selectbox(key="throughput.workload").value == LLAMA
    assert len(shown.selectbox(key="throughput.workload").options) < published.WORKLOADS
    sound(shown.selectbox(key="throughput.kind").set_value("All").run())
    assert len(sound(shown.run()).selectbox(key="throughput.workload").options) > 1_000


def test_what_is_chosen_stays_where_it_is_of_the_kind(many: Store) -> None:
    shown = show("throughput", workload=LLAMA)
    sound(shown.selectbox(key="throughput.kind").set_value("Language model").run())
    assert shown.selectbox(key="throughput.workload").value == LLAMA


def test_options_say_how_many_runs_and_accelerators_there_are(many: Store) -> None:
    shown = show("how-long", workload=LLAMA)
    options = shown.selectbox(key="how-long.workload").options
    assert "Llama 1 1B · C4 · float32 (12 runs, 4 accelerators)" in options


def test_other_workloads_beside_are_those_of_the_same_kind(many: Store) -> None:
    shown = show("throughput", workload=LLAMA)
    beside = shown.multiselect(key="throughput.beside").options
    assert any("Mixtral" in o for o in beside)
    assert not any("ConvNeXt" in o for o in beside)


def test_ones_own_workloads_come_first_and_the_first_page_stays_the_same(own: Path) -> None:
    usual = show("how-long").selectbox(key="how-long.workload").value
    a_set(own, [row(model="Own net", first_epoch_s=9.0, later_epoch_mean_s=8.0, epochs_measured=3)])
    shown = show("how-long")
    assert shown.selectbox(key="how-long.workload").options[0] == "Own net (1 run)"
    assert shown.selectbox(key="how-long.workload").value == usual


def test_few_workloads_are_chosen_without_a_kind(alone: Path) -> None:
    a_set(alone, [row(model=f"Net {n}", step_s=0.1) for n in range(20)])
    shown = show("throughput")
    assert not [box for box in shown.selectbox if box.label == "Kind"]
    assert len(shown.selectbox(key="throughput.workload").options) == 20


def test_workloads_have_the_slugs_that_programs_have(many: Store) -> None:
    shown = show("throughput", workload=LLAMA)
    labels = shown.selectbox(key="throughput.workload").options
    names = slugs(queries.workloads(many)).values()
    assert sorted(label.rsplit(" (", 1)[0] for label in labels) == sorted(names)
