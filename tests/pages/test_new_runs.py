"""A new run changes the answers about its own workload at the next click, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import kept as state
from pages.compare import state as compare_state
from planner.store import Store, commit_runs
from tests.pages.comparing import all_options
from tests.pages.conftest import lines, show, sound, texts
from tests.pages.test_stores import timed
from tests.store.build import a_set

A, B = "network-a", "network-b"
PAGES = ("how-long", "throughput", "compare")


def _runs(model: str, **changes: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any column
    batches = (64, 128, 256)
    return [
        timed(
            model=model,
            global_batch_size=b,
            later_epoch_mean_s=1.0 + (steps := -(-50_000 // b)) * (0.05 + b / 640),
            step_s=0.05 + b / 640,
            steps_per_epoch=steps,
            samples_per_epoch=50_000,
            **changes,
        )
        for b in batches
    ]


@pytest.fixture
def place(alone: Path) -> Path:
    """Two workloads in two result sets."""
    a_set(alone, _runs("Network B"), slug="b")
    return a_set(alone, _runs("Network A"), slug="a")


@pytest.fixture
def queried(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The parameters of every query that the real store answers."""
    asked: list[str] = []
    rows, arrow = Store.rows, Store.arrow

    def counted(store: Store, query: str, parameters: object = None) -> object:
        asked.append(str(parameters))
        return rows(store, query, parameters)

    def counted_arrow(store: Store, query: str, parameters: object = None) -> object:
        asked.append(str(parameters))
        return arrow(store, query, parameters)

    monkeypatch.setattr(Store, "rows", counted)
    monkeypatch.setattr(Store, "arrow", counted_arrow)
    yield asked
    compare_state.clear()


def _answer(shown: AppTest) -> str:
    """All that the page says, without the count of all runs in its side bar and without a clock."""
    said = texts(sound(shown)).partition("**Epochwise**")[0]
    return re.sub(r"work begins now.*", "", said)


@pytest.mark.parametrize("page", PAGES)
def test_no_query_about_a_workload_is_asked_again_for_a_run_of_another(
    page: str, place: Path, queried: list[str]
) -> None:
    shown = show(page, workload=B)
    before = _answer(shown)
    assert any("Network B" in asked for asked in queried)
    commit_runs(place, [timed(model="Network A", global_batch_size=512)])
    queried.clear()
    assert _answer(shown.run()) == before
    assert queried  # what there is at all is asked again
    assert not [asked for asked in queried if "Network B" in asked]


@pytest.mark.parametrize("page", PAGES)
def test_a_new_run_of_a_workload_is_in_its_answer_at_the_next_click(
    page: str, place: Path, queried: list[str]
) -> None:
    shown = show(page, workload=A)
    before = _answer(shown)
    commit_runs(place, _runs("Network A", system_name="A faster machine"))
    queried.clear()
    _answer(shown.run())
    assert any("Network A" in asked for asked in queried)
    after = show(page, workload=A)
    offered = str([choice.options for choice in after.multiselect])
    if page == "compare":
        offered = str([row["label"] for row in all_options(after)])
    assert "A faster machine" in offered + _answer(after) + str(lines(after))
    assert page == "compare" or _answer(after) != before  # it begins with machines to rent


def test_an_answer_is_the_one_of_a_store_that_is_read_anew(place: Path) -> None:
    show("compare", workload=B)
    commit_runs(place.parent / "b", _runs("Network B", system_name="Another machine"))
    commit_runs(place, _runs("Network A", system_name="Another machine"))
    kept = [_answer(show(page, workload=B)) for page in PAGES]
    state._store.cache_clear()
    compare_state.clear()
    assert [_answer(show(page, workload=B)) for page in PAGES] == kept


def test_runs_of_another_workload_that_scatter_on_the_machine_widen_the_interval(
    alone: Path, queried: list[str]
) -> None:
    """They lie in the same result set: what they say of its epochs belongs to the answer."""
    place = a_set(alone, _runs("Network B"))
    shown = show(workload=B)
    before = _answer(shown)
    noisy = [
        timed(model="Network A", repeat=i, later_epoch_mean_s=10.0, later_epoch_sd_s=1.5)
        for i in range(9)
    ]
    commit_runs(place, noisy)
    assert _answer(shown.run()) != before
