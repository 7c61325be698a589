"""What the store answers about 12,000 published runs, and with how many questions."""

from __future__ import annotations

import pytest

from planner.answers import facts
from planner.answers.runs import _suspect_runs
from planner.store import Store, queries
from planner.store.catalog import read_catalog
from tests.faults.campaign import FULL
from tests.shipped import ROOT
from tests.store import published
from tests.store.build import opened, row, together

FEW = "Llama 1 1"
"""Workloads with one that has a slip, about ten."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """12,000 runs of 1,000 workloads on 70 accelerators, one with a slip of a unit."""
    root = tmp_path_factory.mktemp("published")
    place = published.make(root)
    one = published.records()[0]
    slip = one | {"repeat": 1, "step_s": 1000.0 * one["step_s"], "throughput": None}
    together(
        place, [slip, row(result_set=published.MADE_UP, model="Net", step_s=0.1, throughput=640.0)]
    )
    return opened(root)


def test_every_run_and_workload_is_there(store: Store) -> None:
    assert queries.totals(store).runs == published.RUNS + 2
    assert len(queries.workloads(store)) == published.WORKLOADS + 1
    assert len(published.accelerators()) == published.ACCELERATORS


def test_all_workloads_are_checked_in_one_query(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.forget()
    asked, ask = [], queries.checked_runs
    monkeypatch.setattr(
        queries,
        "checked_runs",
        lambda *a, **k: asked.append(k) or ask(*a, **k),  # type: ignore[func-returns-value]
    )
    found = _suspect_runs.suspects_of(store)
    assert asked == [{"among": None}]
    assert any(f.name == "unit slip" for own in found.flags.values() for f in own)


def test_read_together_or_one_by_one_the_flags_are_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = queries.checked_workloads(store)
    some = known if FULL else {w: known[w] for w in known if w.startswith(FEW)}
    monkeypatch.setattr(queries, "checked_workloads", lambda _: some)
    assert len(some) > _suspect_runs.APART
    store.forget()
    together_found = _suspect_runs.suspects_of(store)
    assert together_found.flags
    store.forget()
    monkeypatch.setattr(_suspect_runs, "APART", 10**9)
    assert _suspect_runs.suspects_of(store) == together_found


def test_estimates_rest_on_ones_own_speeds_and_the_table_is_made_once(store: Store) -> None:
    catalog = read_catalog(ROOT / "data" / "catalog", []).catalog
    known = facts.library(store, catalog)
    assert known is not None
    assert [name for name, _ in known.workloads] == ["Net"]
    assert facts.library(store, catalog) is known
    other = read_catalog(ROOT / "data" / "catalog", []).catalog
    assert facts.library(store, other) is not known
