"""The four pages on workloads of the shipped library: whole answers, and short ones."""

from __future__ import annotations

import functools
import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import kept as state
from planner.core.slugs import slugs
from planner.store import Store, queries
from planner.store.disk.folders import Folder
from tests.faults.outcomes import FULL
from tests.pages.conftest import figure, show, sound, texts
from tests.shipped import ROOT, every

PAGES = ("how-long", "throughput", "compare", "results")
MOST_PARAGRAPHS = 12


@functools.cache
def _library() -> Store:
    place = Folder(path=ROOT / "data" / "results", label="shipped", kind="shipped")
    known = Store((place,))
    known.refresh()
    return known


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Store:
    """What ships, the published library with it."""
    monkeypatch.setattr(state, "_shared", _library)
    return _library()


def _named(store: Store, name: str) -> str:
    names = slugs(queries.workloads(store))
    return next(short for short, full in names.items() if full == name)


def _said(shown: AppTest) -> str:
    return texts(shown).partition("**Epochwise**")[0]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_answers_or_refuses_each_sampled_workload(page: str, library: Store) -> None:
    """Each workload on one of the pages; on all of them in `make faults`."""
    published = [
        w for w in every(queries.workloads(library)) if w in _published(library)
    ]  # fmt: skip
    assert len(published) >= 15
    names = slugs(queries.workloads(library))
    asked = published if FULL else published[PAGES.index(page) :: len(PAGES)]
    for short, name in names.items():
        if name in asked:
            said = _said(show(page, workload=short))
            assert len(said) > 100, short


def _published(store: Store) -> set[str]:
    rows = store.rows("SELECT DISTINCT workload FROM runs WHERE repository IS NOT NULL")
    return {str(row[0]) for row in rows}


def test_a_benchmark_of_many_systems_opens_with_few_of_them_and_short(library: Store) -> None:
    shown = show("throughput", workload=_named(library, "ResNet-50 MLPerf · ImageNet"))
    chosen = shown.multiselect(key="throughput.systems").value
    assert 1 <= len(chosen) <= 12
    paragraphs = [m for m in shown.markdown if "shows no curve" in str(m.value)]
    assert len(paragraphs) <= MOST_PARAGRAPHS // 4


def test_times_of_published_speeds_are_ranked_with_their_devices(library: Store) -> None:
    shown = show(workload=_named(library, "ResNet-50 MLPerf · ImageNet"), epochs="90")
    assert re.search(r"90 epochs of ResNet-50 at batch [\d,]+ on \d+ × ", _said(shown))
    assert len(figure(shown)["data"]) >= 5


def test_speed_by_batch_of_milabench_has_a_curve(library: Store) -> None:
    said = _said(show("throughput", workload=_named(library, "ResNet-50")))
    assert "saturates at" in said


def test_the_time_to_target_of_a_benchmark_stands_by_accelerator_count(library: Store) -> None:
    shown = show("steps-to-target")
    box = shown.selectbox(key="steps-to-target.workload")
    name = next(option for option in box.options if option.startswith("Llama 2 70B LoRA MLPerf"))
    shown = sound(box.select(name).run())
    said = _said(shown)
    assert "Llama 2 70B LoRA" in said
    tables = [d.value for d in shown.dataframe]
    assert any("Accelerators" in t.columns or "Devices" in t.columns for t in tables), [
        list(t.columns) for t in tables
    ]
