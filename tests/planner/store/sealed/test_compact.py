"""Merging small files changes nothing but their number, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import threading
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.core import limits
from planner.runs import ARROW_SCHEMA, Row, run_id, table_from_rows
from planner.store import CommitError, commit_runs, queries
from planner.store._verify import verify_folder
from planner.store.sealed.commit import compact_name
from planner.store.sealed.compact import Compaction, compact_set
from tests.faults.outcomes import FULL
from tests.store.build import (
    EPOCHS,
    EVALUATIONS,
    NOON,
    STEPS,
    a_set,
    folder,
    full_row,
    ids,
    listed,
    opened,
    reasons,
    row,
    rows,
    sealed_table,
    together,
)

SETS = 8 if FULL else 3
"""Sets that are merged while a reader polls."""


def _varied() -> list[dict[str, object]]:
    nested = {"epochs": EPOCHS, "evaluations": EVALUATIONS, "steps": STEPS}
    return [full_row(), *rows(3), row(seed=1, **nested), row(seed=2, epochs=[])]


def _all(place: Path) -> pa.Table:
    files = [pq.ParquetFile(p).read() for p in place.glob("*.parquet")]
    return pa.concat_tables(files).sort_by("run_id")


def test_every_value_of_every_column_is_kept(tmp_path: Path) -> None:
    place = a_set(tmp_path, _varied())
    before = _all(place)
    done = compact_set(place)
    assert done.merged is not None
    assert done == Compaction(folder=place, files=6, runs=6, merged=done.merged)
    assert listed(place) == [done.merged.name]
    assert _all(place).equals(before)
    assert _all(place).schema.equals(ARROW_SCHEMA)


def test_the_merged_file_is_named_by_its_runs_and_lies_in_their_order(tmp_path: Path) -> None:
    place = a_set(tmp_path, _varied())
    done = compact_set(place)
    assert done.merged is not None
    kept = pq.ParquetFile(done.merged).read(["run_id"])["run_id"].to_pylist()
    assert kept == sorted(kept)
    assert done.merged.name == compact_name(kept)


def test_a_merged_set_verifies(tmp_path: Path) -> None:
    compact_set(a_set(tmp_path, _varied()))
    assert verify_folder(folder(tmp_path)).problems == ()


def test_merged_and_new_files_merge_again(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(4))
    compact_set(place)
    commit_runs(place, rows(6))
    assert compact_set(place).runs == 6
    assert len(listed(place)) == 1
    assert ids(opened(tmp_path)) == sorted(run_id(r) for r in rows(6))


def test_one_file_is_left_as_it_is(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    before = listed(place)
    assert compact_set(place) == Compaction(folder=place, files=1, runs=0, merged=None)
    assert listed(place) == before


def test_a_run_that_is_there_twice_is_kept_once_as_it_was_first(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    together(place, [row(note="first"), row(seed=1)])
    data = sealed_table(table_from_rows([row(note="second"), row(seed=2)]))
    (place / "0.parquet").write_bytes(data)
    assert compact_set(place).runs == 3
    assert queries.all_columns(opened(tmp_path), run_id(row()))["note"] == "first"


def test_damaged_files_are_left_where_they_are_and_named(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(3))
    (place / "empty.parquet").touch()
    (place / "folder.parquet").mkdir()
    (place / "link.parquet").symlink_to(next(place.glob("[0-9a-f]*.parquet")))
    foreign = table_from_rows(rows(2, seed=1)).append_column("more", pa.array([1, 2]))
    (place / "more.parquet").write_bytes(sealed_table(foreign))
    done = compact_set(place)
    assert done.runs == 3
    assert done.left == (
        "empty.parquet is empty (0 bytes): its writer was cut off. Delete it.",
        "folder.parquet is not a plain file.",
        "link.parquet is not a plain file.",
        "more.parquet does not have the columns of a run.",
    )
    assert len(listed(place)) == 5


def test_a_folder_name_changes_no_value(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2), slug="model=planted")
    compact_set(place)
    assert set(_all(place)["model"].to_pylist()) == {"ResNet-50"}


# -- the same run with other numbers ----------------------------------------------------------


def _planted(place: Path, name: str, *records: Row) -> Path:
    path = place / name
    path.write_bytes(sealed_table(table_from_rows(records)))
    return path


def _bytes(place: Path) -> dict[str, bytes]:
    return {name: (place / name).read_bytes() for name in listed(place)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"step_s": 1.0}, {"step_s": 2.0}),
        ({"step_s": 1.0}, {}),
        ({}, {"status": "crashed", "status_reason": "no"}),
        ({"epochs": EPOCHS}, {"epochs": EPOCHS[:1]}),
        ({"extra": '{"a": 1}'}, {"extra": '{"a": 2}'}),
    ],
)
def test_two_files_with_other_numbers_of_a_run_both_stay_and_are_named(
    tmp_path: Path, one: dict[str, object], other: dict[str, object]
) -> None:
    place = a_set(tmp_path, rows(4, seed=1))
    _planted(place, "a.parquet", row(**one))
    _planted(place, "b.parquet", row(**other))
    kept = {n: b for n, b in _bytes(place).items() if len(n) == len("a.parquet")}
    before = opened(tmp_path)
    done = compact_set(place)
    run = run_id(row())
    assert (done.files, done.runs) == (4, 4)
    assert done.left == (
        f"a.parquet holds run {run} with other numbers than b.parquet; it stays.",
        f"b.parquet holds run {run} with other numbers than a.parquet; it stays.",
    )
    assert kept.items() <= _bytes(place).items()
    assert len(listed(place)) == 3
    after = opened(tmp_path)
    assert (after.refused, ids(after)) == (before.refused, ids(before))
    again = compact_set(place)
    assert (again.merged, again.left) == (None, done.left)


def test_a_merged_file_and_a_file_that_contradicts_it_both_stay(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(3, step_s=1.0))
    merged = compact_set(place).merged
    assert merged is not None
    _planted(place, "0.parquet", row(repeat=1, step_s=9.0), row(repeat=8))
    _planted(place, "copy.parquet", row(repeat=1, step_s=1.0, note="a copy"))
    commit_runs(place, rows(4, seed=1))
    before, kept = opened(tmp_path), _bytes(place)
    run = run_id(row(repeat=1))
    done = compact_set(place)
    assert done.left == (
        f"0.parquet holds run {run} with other numbers than {merged.name}; it stays.",
        f"{merged.name} holds run {run} with other numbers than 0.parquet; it stays.",
        f"copy.parquet holds run {run} with other numbers than 0.parquet; it stays.",
    )
    for name in ("0.parquet", merged.name, "copy.parquet"):
        assert (place / name).read_bytes() == kept[name]
    after = opened(tmp_path)
    assert before.refused
    assert (after.refused, ids(after)) == (before.refused, ids(before))
    assert len(listed(place)) == 4


def test_a_file_with_a_run_twice_and_other_numbers_stays(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(3, seed=1))
    twice = pa.concat_tables([table_from_rows([row(step_s=n)]) for n in (1.0, 2.0)])
    (place / "twice.parquet").write_bytes(sealed_table(twice))
    done = compact_set(place)
    assert done.left == (
        f"twice.parquet holds run {run_id(row())} twice, with other numbers; it stays.",
    )
    assert (done.runs, len(listed(place))) == (3, 2)


def test_copies_that_differ_in_who_said_it_and_when_are_merged(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row(step_s=1.0)])
    later = NOON + timedelta(days=1)
    _planted(place, "z.parquet", row(step_s=1.0, recorded_at=later, licence="MIT", source="a log"))
    done = compact_set(place)
    assert (done.runs, done.left, len(listed(place))) == (1, (), 1)


def test_an_older_merged_file_with_other_numbers_that_was_too_large_removes_no_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path, rows(4, step_s=1.0))
    originals = _bytes(place)
    compact_set(place)
    for name, data in originals.items():
        (place / name).write_bytes(data)
    _planted(place, f"{run_id(row(repeat=2))}.parquet", row(repeat=2, step_s=3.0))
    before = _bytes(place)
    monkeypatch.setattr(limits, "MAX_FILE_RUNS", 7)
    with pytest.raises(CommitError, match="holds other numbers of the same runs"):
        compact_set(place)
    assert _bytes(place) == before


# -- faults ------------------------------------------------------------------------------------


def test_killed_between_link_and_unlink_nothing_is_lost_and_a_second_call_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    place = a_set(tmp_path, _varied())
    real, left = Path.unlink, [3]

    def unlink(path: Path, *, missing_ok: bool = False) -> None:
        left[0] -= path.suffix == ".parquet"
        if left[0] < 0:
            raise Killed
        real(path, missing_ok=missing_ok)

    before = _all(place)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        with pytest.raises(Killed):
            compact_set(place)
    store = opened(tmp_path)
    assert (len(listed(place)), len(ids(store)), reasons(store)) == (6 - 3 + 1, 6, {})
    assert compact_set(place).runs == 6
    assert len(listed(place)) == 1
    assert _all(place).equals(before)


def test_a_full_disk_leaves_every_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    place = a_set(tmp_path, rows(4))
    before = listed(place)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        with pytest.raises(CommitError, match="disk full"):
            compact_set(place)
    assert listed(place) == before


def test_a_merged_file_that_does_not_hold_all_runs_removes_no_original(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(4))
    short = sealed_table(table_from_rows(rows(2, note="a planted file")))
    name = compact_name([run_id(r) for r in rows(4)])
    (place / name).write_bytes(short)
    before = listed(place)
    with pytest.raises(CommitError, match="does not hold all 4 runs"):
        compact_set(place)
    assert listed(place) == before


def test_while_a_reader_polls_the_count_neither_falls_nor_rises(tmp_path: Path) -> None:
    places = [a_set(tmp_path, rows(15, seed=n), slug=f"set{n}") for n in range(SETS)]
    store, over, seen = opened(tmp_path), threading.Event(), set()

    def poll() -> None:
        while not over.is_set():
            store.refresh()
            time.sleep(0.005)  # else it takes the processor from the one that merges
            shown = ids(store)
            seen.add((len(shown), len(set(shown)), store.refused))

    reader = threading.Thread(target=poll)
    reader.start()
    for place in places:
        compact_set(place)
    over.set()
    reader.join()
    assert seen == {(15 * SETS, 15 * SETS, ())}


def test_while_runs_come_and_are_merged_over_and_over_the_count_never_falls(
    tmp_path: Path,
) -> None:
    place = a_set(tmp_path, rows(2))
    store, over, seen = opened(tmp_path), threading.Event(), []

    def poll() -> None:
        while not over.is_set():
            store.refresh()
            time.sleep(0.005)  # else it takes the processor from the one that merges
            shown = ids(store)
            seen.append((len(shown), len(set(shown)), store.refused))

    reader = threading.Thread(target=poll)
    reader.start()
    for n in range(15 if FULL else 5):
        commit_runs(place, [row(repeat=2 + n)])
        compact_set(place)
    over.set()
    reader.join()
    assert [s[0] for s in seen] == sorted(s[1] for s in seen)
    assert {s[2] for s in seen} == {()}


def test_files_that_would_make_a_file_no_reader_takes_are_left_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path)
    commit_runs(place, rows(6))
    first = compact_set(place).merged
    assert first is not None
    commit_runs(place, [row(seed=i) for i in range(100, 104)])
    monkeypatch.setattr(limits, "MAX_FILE_RUNS", 8)
    second = compact_set(place)
    assert second.runs == 4
    assert second.left == (f"{first.name} stays: a file may hold 8 runs and 2,147,483,648 bytes.",)
    assert len(ids(opened(tmp_path))) == 10
