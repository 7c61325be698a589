"""Pages over a store with a summary file say what those over a store in memory say."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import duckdb
import pytest

from pages.common import kept as state
from pages.explore import state as explore_state
from planner.answers import _listing, explore_answered, results_answered, sql_answered
from planner.store import Store, folders_from_environment, queries
from planner.store.catalog import read_catalog
from tests.faults.outcomes import FULL
from tests.pages.conftest import show, texts
from tests.shipped import ROOT
from tests.titles import PAGES

CATALOG = read_catalog(ROOT / "data" / "catalog", []).catalog


def _opened(most: float) -> Store:
    store = Store(folders_from_environment(state.ROOT, {}), most_in_memory=most)
    store.refresh()
    return store


@pytest.fixture(scope="module")
def in_memory() -> Store:
    """The shipped measured runs in memory."""
    return _opened(float("inf"))


@pytest.fixture(scope="module")
def in_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The same runs in a summary file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EPOCHWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
        store = _opened(10)
    assert store.in_file
    yield store
    store.__dict__.clear()
    gc.collect()


def _shows(address: str, store: Store, monkeypatch: pytest.MonkeyPatch, **link: str) -> str:
    monkeypatch.setattr(state, "_shared", lambda: store)
    app = show(address, **link)
    assert not app.exception
    return texts(app)


WITHOUT_RUNS = ("capacity", "measure", "add-results")
"""Pages that show nothing of the runs."""


@pytest.mark.parametrize(
    "address",
    [a for a in PAGES if a not in WITHOUT_RUNS] if FULL else ["how-long", "results", "explore"],
)
def test_a_page_says_the_same(
    address: str, in_memory: Store, in_file: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _shows(address, in_file, monkeypatch) == _shows(address, in_memory, monkeypatch)


@pytest.mark.parametrize(
    "link",
    [
        {"view": "pivot"},
        {"x": "global_batch_size", "y": "samples_per_s", "status": "ok"},
        {"view": "side", "pair": ["wideresnet-103m-cifar-100-adam-float32|gpu",
                                  "wideresnet-103m-cifar-100-adam-float32|tpu-v2-8"]},
    ],
)  # fmt: skip
def test_explore_answers_the_same(
    link: dict[str, object], in_memory: Store, in_file: Store
) -> None:
    question = {n: [v] if isinstance(v, str) else v for n, v in link.items()}
    one, other = (explore_answered(s, CATALOG, question) for s in (in_memory, in_file))  # type: ignore[arg-type]
    assert (one.sentence, one.notes, one.facts, one.problems) == (
        other.sentence, other.notes, other.facts, other.problems,
    )  # fmt: skip


def test_of_very_many_runs_explore_uses_a_sample_and_says_so(
    in_file: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = queries.totals(in_file).runs
    monkeypatch.setattr(queries.sampled_runs, "__defaults__", (total // 4,))
    in_file.forget()
    explore_state.clear()
    said = _shows("explore", in_file, monkeypatch, x="global_batch_size", y="step_time_s")
    assert "A random sample is used" in said
    assert f" of {total:,} filtered runs. Filter to see all of fewer." in said
    used = len(queries.sampled_runs(in_file, {}))
    assert 0.8 * total / 4 < used < 1.2 * total / 4
    in_file.forget()
    explore_state.clear()


def test_runs_of_the_api_come_in_parts_in_the_same_order(in_memory: Store, in_file: Store) -> None:
    parts: list[list[str]] = []
    for store in (in_memory, in_file):
        cursor: list[str] = []
        ids: list[str] = []
        for _ in range(4):
            answer = results_answered(store, {"limit": ["100"], "cursor": cursor})
            assert not answer.problems
            ids += [str(row["run_id"]) for row in answer.rows]
            cursor = [answer.next_cursor]
        parts.append(ids)
    assert parts[0] == parts[1]
    assert len(set(parts[0])) == 400


def test_sql_over_too_many_runs_says_how_to_ask(
    in_file: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_listing, "MOST_RUNS", 10)
    [problem] = sql_answered(in_file, CATALOG, {"sql": ["SELECT count(*) FROM runs"]}).problems
    assert "planner.store export FILE" in problem.message


def test_a_page_without_enough_memory_says_what_to_do(
    in_file: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise duckdb.OutOfMemoryException("Out of Memory Error: failed to pin block")

    in_file.forget()
    monkeypatch.setattr(Store, "cursor", fails)
    monkeypatch.setattr(state, "_shared", lambda: in_file)
    app = show("results")
    assert not app.exception
    assert "raise EPOCHWISE_MEMORY_GB" in " ".join(str(e.value) for e in app.error)
