"""What lies in the folders is what is shown: at the next refresh, once, and to everybody."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from planner.runs import run_id, table_from_rows
from planner.runs._schema import STATUSES
from planner.store import Store, commit_runs, queries, sql
from planner.store.disk.folders import Folder
from planner.store.sealed import accept
from planner.store.sealed.compact import compact_set
from tests.faults.outcomes import FULL
from tests.store.build import (
    EVALUATIONS,
    a_set,
    folder,
    ids,
    opened,
    reasons,
    row,
    rows,
    sealed_table,
    sealed_with,
    together,
)

# -- what comes and goes -----------------------------------------------------------------------


def test_a_new_file_is_seen_at_the_next_refresh(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = opened(tmp_path)
    commit_runs(place, [row(seed=1)])
    assert len(ids(store)) == 1
    store.refresh()
    assert ids(store) == sorted([run_id(row()), run_id(row(seed=1))])


def test_a_shipped_set_is_listed_again_only_once_a_file_comes_or_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are looked at each time, also those changed in place."""
    monkeypatch.setattr(accept, "_TICK_NS", 0)
    place = a_set(tmp_path, rows(2))
    time.sleep(0.02)  # a disk's clock ticks
    store = Store([Folder(path=tmp_path, label="shipped", kind="shipped")])
    store.refresh()
    listed, real = [], os.scandir

    def noted(path: str) -> object:
        listed.append(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", noted)
    store.refresh()
    assert listed == [str(tmp_path)]
    commit_runs(place, [row(seed=1)])
    store.refresh()
    assert len(ids(store)) == 3
    path = place / f"{run_id(row(repeat=0))}.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    store.refresh()
    assert len(ids(store)) == 2


def test_a_removed_file_disappears_at_the_next_refresh(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    store = opened(tmp_path)
    (place / f"{run_id(row(repeat=0))}.parquet").unlink()
    store.refresh()
    assert ids(store) == [run_id(row(repeat=1))]


def test_a_file_changed_in_place_is_refused_at_the_next_refresh(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    store = opened(tmp_path)
    path = place / f"{run_id(row(repeat=0))}.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    store.refresh()
    assert ids(store) == [run_id(row(repeat=1))]
    assert "its sha256 does not match" in reasons(store)[path.name]


def test_a_mended_file_is_shown_again(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    path = place / f"{run_id(row())}.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    store = opened(tmp_path)
    assert ids(store) == []
    path.write_bytes(whole)
    store.refresh()
    assert (ids(store), reasons(store)) == ([run_id(row())], {})


def test_the_generation_grows_only_when_something_changed(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = opened(tmp_path)
    before = store.generation
    assert store.refresh() == before
    commit_runs(place, [row(seed=1)])
    assert store.refresh() == before + 1


def test_a_folder_that_does_not_exist_yet_is_empty_and_may_come_later(tmp_path: Path) -> None:
    store = opened(tmp_path / "later")
    assert (ids(store), store.refused, store.sets) == ([], (), ())
    a_set(tmp_path / "later", [row()])
    store.refresh()
    assert ids(store) == [run_id(row())]


def test_a_set_that_is_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "nameless"
    [done] = commit_runs(place, [row()])
    store = opened(tmp_path)
    assert list(reasons(store)) == ["set.toml"]
    done.path.unlink()
    place.rmdir()
    store.refresh()
    assert (ids(store), store.refused, store.sets) == ([], (), ())


def test_a_renamed_file_keeps_its_run(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row(evaluations=EVALUATIONS)])
    [path] = place.glob("*.parquet")
    store = opened(tmp_path)
    path.rename(place / "copy of my run (2).parquet")
    store.refresh()
    [shown] = ids(store)
    assert queries.nested(store, shown, "evaluations") == EVALUATIONS


# -- folders and sets --------------------------------------------------------------------------


def test_several_folders_carry_their_labels(tmp_path: Path) -> None:
    a_set(tmp_path / "a", [row()])
    a_set(tmp_path / "b", rows(2), slug="other")
    store = Store([folder(tmp_path / "a", "shipped"), folder(tmp_path / "b", "yours")])
    store.refresh()
    labels = store.rows("SELECT folder, count(*) FROM runs GROUP BY folder ORDER BY folder")
    assert labels == [("shipped", 1), ("yours", 2)]
    assert [(s.folder, s.slug) for s in store.sets] == [("shipped", "mine"), ("yours", "other")]


def test_the_same_run_in_two_folders_is_shown_once(tmp_path: Path) -> None:
    a_set(tmp_path / "a", [row()])
    a_set(tmp_path / "b", [row()])
    store = opened(tmp_path / "a", tmp_path / "b")
    assert ids(store) == [run_id(row())]


def test_when_the_shown_copy_goes_the_other_takes_its_place(tmp_path: Path) -> None:
    places = [a_set(tmp_path / name, [row(evaluations=EVALUATIONS)]) for name in ("a", "b", "c")]
    store = opened(*(tmp_path / name for name in ("a", "b", "c")))
    for left in (2, 1, 0):
        [(shown,)] = store.rows(sql.FILES)
        assert queries.nested(store, run_id(row()), "evaluations") == EVALUATIONS
        Path(shown).unlink()
        store.refresh()
        assert len(ids(store)) == (1 if left else 0)
    assert [list(p.glob("*.parquet")) for p in places] == [[], [], []]


def test_of_an_original_beside_its_merged_copy_the_merged_one_is_shown(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(20))
    merged = together(place, rows(20))
    store = opened(tmp_path)
    assert len(ids(store)) == 20
    assert store.rows(sql.FILES) == [(str(merged),)]


def test_a_set_reports_its_title_licence_and_source(tmp_path: Path) -> None:
    a_set(tmp_path, [row()])
    [answer] = opened(tmp_path).sets
    assert (answer.slug, answer.title) == ("mine", "A set")
    assert (answer.licence, answer.source) == ("CC0-1.0", "made for a test")


def test_runs_that_failed_are_shown_with_their_status_and_reason(tmp_path: Path) -> None:
    bad = [s for s in STATUSES if s != "ok"]
    a_set(tmp_path, [row(status=s, status_reason=f"it was {s}", variant=s) for s in bad])
    store = opened(tmp_path)
    shown = dict(store.rows("SELECT status, status_reason FROM runs"))
    assert shown == {s: f"it was {s}" for s in bad}


@pytest.mark.parametrize("name", ["model=planted", "a[1]*?", "it's; DROP TABLE runs", "日本 語 %s"])
@pytest.mark.parametrize("many", [False, True], ids=["single files", "one file"])
def test_the_name_of_a_folder_changes_no_value(tmp_path: Path, name: str, *, many: bool) -> None:
    place = a_set(tmp_path / name, rows(2, evaluations=EVALUATIONS), slug=name)
    if many:
        compact_set(place)
    store = opened(tmp_path / name)
    assert reasons(store) == {}
    for shown in ids(store):
        [kept] = store.in_place(sql.WHOLE_ROW, shown, pa.Table.to_pylist)
        assert (kept["model"], kept["evaluations"]) == ("ResNet-50", EVALUATIONS)
        assert queries.all_columns(store, shown)["model"] == "ResNet-50"


@pytest.mark.parametrize("many", [False, True], ids=["single files", "one file"])
def test_the_largest_whole_numbers_stop_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, many: bool
) -> None:
    huge = row(accelerators_per_node=2**62, number_of_nodes=2**62, global_batch_size=2**62)
    place = a_set(tmp_path, [row()])
    monkeypatch.setattr("planner.runs._records.check_rows", lambda _rows: [])
    bad = [huge, row(seed=1, step_s=5e-324)]
    [together(place, bad)] if many else commit_runs(place, bad)
    monkeypatch.undo()
    store = opened(tmp_path)
    assert ids(store) == [run_id(row())]
    assert len(reasons(store)) == (1 if many else 2)
    assert queries.table(store, {}).num_rows == 1


@pytest.mark.parametrize("value", [5, [1], {"a": 1}, "text"])
def test_a_sealed_summary_of_a_wrong_type_stops_no_other_run(tmp_path: Path, value: object) -> None:
    place = a_set(tmp_path, rows(3))
    data = sealed_with(row(), summary=_summary() | {"model": [[]], "step_s": value, "jit": value})
    (place / "odd.parquet").write_bytes(data)
    store = opened(tmp_path)
    assert len(ids(store)) == 3
    assert "breaks the rules: model is [[]]; it must be text" in reasons(store)["odd.parquet"]


def _summary() -> dict[str, Any]:
    [kept] = table_from_rows([row()]).to_pylist()
    return {k: v for k, v in kept.items() if v is not None} | {"recorded_at": 0}


# -- many at once ------------------------------------------------------------------------------


def _together(count: int, work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, n) for n in range(count)]:
            done.result()


def test_eight_threads_with_many_questions_each_get_their_own_answers(
    tmp_path: Path,
) -> None:
    a_set(tmp_path, rows(40, evaluations=EVALUATIONS))
    store = opened(tmp_path)
    shown = ids(store)

    def ask(thread: int) -> None:
        for turn in range(100 if FULL else 25):
            wanted = shown[(7 * thread + turn) % len(shown)]
            got = queries.run(store, wanted)
            assert got is not None
            assert got.run_id == wanted
            filters = {"status": ["ok" if turn % 2 else "oom"]}
            assert queries.count(store, filters) == (40 if turn % 2 else 0)

    _together(8, ask)


TURNS = 4 if FULL else 2


def test_threads_that_ask_while_others_refresh_never_see_half_of_a_change(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(10))
    store = opened(tmp_path)
    over = threading.Event()

    def change() -> None:
        for turn in range(TURNS):
            commit_runs(place, [row(repeat=10 * (turn + 1) + i) for i in range(10)])
            compact_set(place)
            store.refresh()
        over.set()

    def ask(thread: int) -> None:
        seen = 0
        while not over.is_set():
            if thread % 2:
                store.refresh()
            time.sleep(0.002)  # else it takes the processor from those that change
            count = queries.count(store, {})
            assert count >= seen
            assert len(store.sets) == 1
            assert store.refused == ()
            seen = count

    _together(5 if FULL else 3, lambda n: change() if n == 0 else ask(n))
    assert queries.count(store, {}) == 10 + 10 * TURNS


# -- a broken instance -------------------------------------------------------------------------


class _Fragile:
    """A DuckDB connection that breaks for good, cursors and all, once it reads the bad file."""

    def __init__(self, real: duckdb.DuckDBPyConnection, bad: str, dead: list[str]) -> None:
        self._real, self._bad, self._dead = real, bad, dead

    def cursor(self) -> _Fragile:
        return _Fragile(self._real.cursor(), self._bad, self._dead)

    def execute(self, query: str, parameters: object = None) -> Any:  # noqa: ANN401 - as DuckDB
        self._look(parameters)
        return self._real.execute(query, parameters)

    def sql(self, query: str, params: object = None) -> Any:  # noqa: ANN401 - as DuckDB
        self._look(params)
        return self._real.sql(query, params=params)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the rest is DuckDB's
        return getattr(self._real, name)

    def _look(self, parameters: object) -> None:
        if self._dead:
            raise duckdb.FatalException("database has been invalidated")
        if self._bad in json.dumps(parameters, default=str):
            self._dead.append(self._bad)
            raise duckdb.InternalException("INTERNAL Error: a length that is no length")


@pytest.fixture
def fragile(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Files with `bad` in their name break DuckDB; the list counts the instances made."""
    real, made = duckdb.connect, []

    def connect(*arguments: Any, **options: Any) -> _Fragile:  # noqa: ANN401 - as DuckDB
        made.append(1)
        return _Fragile(real(*arguments, **options), "bad", [])

    monkeypatch.setattr(duckdb, "connect", connect)
    return made


def _with_bad_files(root: Path, count: int) -> Path:
    place = a_set(root, rows(3))
    for n in range(count):
        data = sealed_table(table_from_rows([row(seed=n), row(seed=n + 100)]))
        (place / f"bad{n}.parquet").write_bytes(data)
    return place


@pytest.mark.parametrize("bad", [1, 3])
def test_files_that_break_duckdb_are_refused_and_the_others_shown(
    tmp_path: Path, fragile: list[int], bad: int
) -> None:
    _with_bad_files(tmp_path, bad)
    store = opened(tmp_path)
    assert len(ids(store)) == 3
    answer = "breaks the reader. Restore it from a copy or delete it."
    assert reasons(store) == {f"bad{n}.parquet": answer for n in range(bad)}
    together = bad > 1  # several are loaded in one statement first, then one by one
    assert len(fragile) == 1 + together + bad


def test_a_broken_instance_is_replaced_only_once(tmp_path: Path, fragile: list[int]) -> None:
    place = _with_bad_files(tmp_path, 1)
    store = opened(tmp_path)
    commit_runs(place, [row(repeat=7)])
    store.refresh()
    assert (len(ids(store)), len(fragile)) == (4, 2)


def test_a_question_that_breaks_the_instance_breaks_no_other(
    tmp_path: Path, fragile: list[int]
) -> None:
    a_set(tmp_path, rows(3))
    store = opened(tmp_path)
    with pytest.raises((duckdb.FatalException, duckdb.InternalException)):
        store.rows(sql.ROW, ["bad"])
    assert len(ids(store)) == 3


def test_a_file_mended_after_it_broke_the_instance_is_shown(
    tmp_path: Path, fragile: list[int]
) -> None:
    place = a_set(tmp_path, rows(3))
    bad = place / "bad.parquet"
    bad.write_bytes(sealed_table(table_from_rows(rows(2, seed=1))))
    store = opened(tmp_path)
    commit_runs(tmp_path / "made", [row(seed=2)])
    os.replace(next((tmp_path / "made").iterdir()), bad)  # noqa: PTH105 - a single run, not loaded
    store.refresh()
    assert (len(ids(store)), reasons(store)) == (4, {})


# -- a run that moves under the reader ---------------------------------------------------------


def test_nested_values_are_found_after_a_compaction_moved_them(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(3, evaluations=EVALUATIONS))
    store = opened(tmp_path)
    compact_set(place)
    assert queries.nested(store, run_id(row(repeat=1)), "evaluations") == EVALUATIONS


def test_a_run_that_is_gone_is_a_key_error_and_has_no_lists(tmp_path: Path) -> None:
    a_set(tmp_path, [row()])
    store = opened(tmp_path)
    next((tmp_path / "mine").glob("*.parquet")).unlink()
    with pytest.raises(KeyError):
        store.in_place(sql.WHOLE_ROW, run_id(row()), pa.Table.to_pylist)
    assert queries.nested(store, run_id(row()), "epochs") == []
    assert queries.run_file(store, run_id(row())) == b""
    assert queries.all_columns(store, run_id(row())) == {}


def test_a_run_damaged_since_it_was_verified_is_a_key_error(tmp_path: Path) -> None:
    a_set(tmp_path, [row()])
    store = opened(tmp_path)
    path = next((tmp_path / "mine").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(KeyError):
        store.in_place(sql.WHOLE_ROW, run_id(row()), pa.Table.to_pylist)
