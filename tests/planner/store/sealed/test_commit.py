"""A run is kept whole or not at all, and the first commit wins."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from planner.runs import RecordError, run_id
from planner.store import CommitError, commit_runs
from planner.store.sealed.commit import STALE_S, compact_name, sweep_temporaries
from planner.store.sealed.compact import compact_set
from planner.store.sealed.seal import Seal, check_seal
from tests.faults.campaign import FULL
from tests.fork_server import executable
from tests.store.build import EPOCHS, NOON, a_set, ids, listed, opened, reasons, row, rows, together

ROOT = Path(__file__).resolve().parents[4]
LONG_AGO = time.time() - STALE_S - 60


def _dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def _temporary(place: Path, pid: object, *, old: bool) -> Path:
    path = place / f".{'0' * 32}.{pid}.0badcafe.tmp"
    path.touch()
    if old:
        os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def _written(path: Path) -> tuple[int, int, int]:
    """Return what a second write would change; reading changes st_atime alone."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


# -- the promise -------------------------------------------------------------------------------


def test_a_committed_run_is_one_sealed_file_named_by_its_id(tmp_path: Path) -> None:
    [done] = commit_runs(tmp_path / "new" / "set", [row()])
    assert done.path == tmp_path / "new" / "set" / f"{run_id(row())}.parquet"
    assert (done.run_id, done.new) == (run_id(row()), True)
    assert check_seal(done.path).rows == 1


def test_nothing_but_the_runs_is_left_in_the_folder(tmp_path: Path) -> None:
    commit_runs(tmp_path, rows(3))
    assert listed(tmp_path) == sorted(f"{run_id(r)}.parquet" for r in rows(3))


def test_committing_again_changes_nothing(tmp_path: Path) -> None:
    [first] = commit_runs(tmp_path, [row(step_s=1.0, epochs=EPOCHS)])
    before = (_written(first.path), first.path.read_bytes())
    later = {"recorded_at": NOON + timedelta(days=1), "note": "once more", "source": "the log"}
    [again] = commit_runs(tmp_path, [row(step_s=1.0, epochs=EPOCHS, **later)])
    assert (again.path, again.new) == (first.path, False)
    assert (_written(first.path), first.path.read_bytes()) == before


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    ("first", "corrected", "what"),
    [
        ({"step_s": 1.0}, {"step_s": 2.0}, "step_s 1.0 instead of 2.0"),
        ({"step_s": 1.0}, {}, "step_s 1.0 instead of no value"),
        ({}, {"status_reason": "x" * 99}, f"status_reason no value instead of '{'x' * 59}..."),
        ({"epochs": EPOCHS}, {"epochs": EPOCHS[:1]}, "other epochs"),
        ({}, {"status": "crashed", "status_reason": "no"}, "status 'ok' instead of 'crashed'"),
        ({"extra": '{"a": 1}'}, {"extra": '{"a": 2}'}, "extra '{\"a\": 1}' instead of"),
    ],
)
def test_a_corrected_row_of_a_kept_run_is_refused_and_nothing_of_the_call_is_written(
    tmp_path: Path,
    first: dict[str, object],
    corrected: dict[str, object],
    what: str,
    *,
    merged: bool,
) -> None:
    place = a_set(tmp_path, [row(**first), row(seed=7)])
    if merged:
        compact_set(place)
    before = {name: (place / name).read_bytes() for name in listed(place)}
    name = next(n for n in before if merged or n == f"{run_id(row())}.parquet")
    with pytest.raises(CommitError) as caught:
        commit_runs(place, [row(seed=8), row(**corrected), row(seed=7)])
    text = str(caught.value.strerror)
    assert f"1 run is in {place} already with other numbers; nothing of this call is writ" in text
    assert f"run {run_id(row())} lies in {name} with {what}" in text
    assert f"Give `repeat` another number, or remove {name}" in text
    assert {name: (place / name).read_bytes() for name in listed(place)} == before


def test_all_corrected_rows_of_a_call_are_named_together(tmp_path: Path) -> None:
    commit_runs(tmp_path, rows(30, step_s=1.0))
    with pytest.raises(CommitError, match=r"30 runs are in .*(?s:.*)and 10 more") as caught:
        commit_runs(tmp_path, rows(40, step_s=2.0))
    assert str(caught.value).count("step_s 1.0 instead of 2.0") == 20
    assert len(listed(tmp_path)) == 30


def test_a_corrected_row_is_kept_once_the_first_one_is_removed_or_under_another_repeat(
    tmp_path: Path,
) -> None:
    [first] = commit_runs(tmp_path, [row(step_s=1.0)])
    assert commit_runs(tmp_path, [row(step_s=2.0, repeat=1)])[0].new
    first.path.unlink()
    assert commit_runs(tmp_path, [row(step_s=2.0)])[0].new


def test_a_program_may_leave_the_first_commit_as_it_is_without_a_word(tmp_path: Path) -> None:
    commit_runs(tmp_path, [row(step_s=1.0)])
    done = commit_runs(tmp_path, [row(step_s=2.0), row(seed=1)], first_wins=True)
    assert [d.new for d in done] == [False, True]


def test_a_writer_that_is_faster_with_other_numbers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.link, [1]

    def link(source: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] == -1:  # the other one commits the second row just before us
            commit_runs(tmp_path, [row(repeat=1, step_s=1.0)])
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(CommitError, match="1 of 3 rows of this call is saved"):
        commit_runs(tmp_path, rows(3, step_s=2.0))
    assert len(listed(tmp_path)) == 2


def test_a_row_whose_file_is_merged_at_that_moment_is_compared_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path, rows(2, step_s=1.0))
    left = [1]

    def seal_of(path: Path) -> Seal:
        left[0] -= 1
        if left[0] == 0:
            compact_set(place)
        return check_seal(path)

    monkeypatch.setattr("planner.store.sealed.accept.check_seal", seal_of)
    with pytest.raises(CommitError, match=r"2 runs are in .* already with other numbers"):
        commit_runs(place, rows(2, step_s=2.0))
    assert len(listed(place)) == 1


def test_the_same_run_makes_the_same_bytes(tmp_path: Path) -> None:
    [a] = commit_runs(tmp_path / "a", [row()])
    [b] = commit_runs(tmp_path / "b", [row()])
    assert a.path.read_bytes() == b.path.read_bytes()


def test_committing_again_after_a_compaction_changes_nothing(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(3))
    merged = compact_set(place).merged
    done = commit_runs(place, [*rows(3), row(repeat=9)])
    assert [d.new for d in done] == [False, False, False, True]
    assert {d.path for d in done[:3]} == {merged}
    assert len(listed(place)) == 2


def test_eight_writers_of_the_same_runs_leave_exactly_one_file_of_each(tmp_path: Path) -> None:
    python, count = executable("planner"), 100 if FULL else 5
    command = [python, "-m", "tests.faults.writer", str(tmp_path), "same", "0", str(count)]
    writers = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(8)
    ]
    said = [writer.communicate(timeout=120)[0].splitlines() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 8
    assert all(len(lines) == count for lines in said)
    assert sum(line.endswith(" new") for lines in said for line in lines) == count
    assert len(listed(tmp_path)) == count


def test_bad_rows_write_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        commit_runs(tmp_path / "set", [row(), row(seed=1, step_s=0)])
    assert not (tmp_path / "set").exists()


def test_no_rows_are_no_error(tmp_path: Path) -> None:
    assert commit_runs(tmp_path, []) == []


def test_a_damaged_file_in_the_place_of_a_run_is_never_called_saved(tmp_path: Path) -> None:
    [done] = commit_runs(tmp_path, [row()])
    done.path.write_bytes(done.path.read_bytes()[:-1])
    with pytest.raises(CommitError, match="is in the way: it is not a whole parquet file"):
        commit_runs(tmp_path, [row()])


# -- when the disk refuses ---------------------------------------------------------------------


def test_the_message_says_where_how_much_is_saved_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.link, [2]

    def link(source: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(CommitError) as caught:
        commit_runs(tmp_path, rows(5))
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.strerror == (
        f"disk full at {tmp_path}: 2 of 5 runs are saved, nothing is half-written. "
        "Free some space and run it again."
    )
    assert len(listed(tmp_path)) == 2


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (errno.EDQUOT, "disk quota reached at"),
        (errno.EROFS, "read-only disk at"),
        (errno.EACCES, "no permission to write at"),
        (errno.EPERM, "no permission to write at"),
        (errno.EIO, "[Errno 5] Input/output error at"),
    ],
)
def test_every_refusal_of_the_disk_has_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, what: str
) -> None:
    def publish(source: Path, target: Path) -> bool:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("planner.store.sealed.commit.publish", publish)
    with pytest.raises(CommitError) as caught:
        commit_runs(tmp_path, rows(2))
    assert what in str(caught.value)
    assert f"at {tmp_path}: 0 of 2 runs are saved, nothing is half-written. " in str(caught.value)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommitError, match=r"Not a directory.*0 of 1 runs are saved"):
        commit_runs(tmp_path / "file" / "set", [row()])


def test_a_disk_that_gives_back_other_bytes_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def fsync(handle: int) -> None:
        for path in tmp_path.glob(".*.tmp"):
            data = bytearray(path.read_bytes())
            data[40] ^= 1
            path.write_bytes(data)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(CommitError, match="the disk gave back other bytes than were written"):
        commit_runs(tmp_path, [row()])
    assert listed(tmp_path) == []


def test_a_refusal_after_the_link_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, [0]

    def fsync(handle: int) -> None:
        calls[0] += 1
        if calls[0] == 2:  # the folder's
            raise OSError(errno.EIO, "Input/output error")
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(CommitError):
            commit_runs(tmp_path, [row()])
    [again] = commit_runs(tmp_path, [row()])
    assert not again.new
    assert check_seal(again.path).rows == 1


def test_a_temporary_that_cannot_be_removed_is_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlink(path: Path, *, missing_ok: bool = False) -> None:
        raise OSError(errno.EIO, "Input/output error")

    place = a_set(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        commit_runs(place, [row()])
    assert len(listed(place)) == 2
    store = opened(tmp_path)
    assert (len(ids(store)), reasons(store)) == (1, {})


# -- temporaries of the dead -------------------------------------------------------------------


def test_old_temporaries_of_dead_writers_are_swept_by_the_next_commit(tmp_path: Path) -> None:
    _temporary(tmp_path, _dead_pid(), old=True)
    commit_runs(tmp_path, [row()])
    assert listed(tmp_path) == [f"{run_id(row())}.parquet"]


def test_young_temporaries_are_left_alone(tmp_path: Path) -> None:
    young = _temporary(tmp_path, _dead_pid(), old=False)
    assert sweep_temporaries(tmp_path) == 0
    assert young.exists()


@pytest.mark.parametrize("whose", ["mine", "init's"])
def test_temporaries_of_living_writers_are_left_alone(tmp_path: Path, whose: str) -> None:
    held = _temporary(tmp_path, os.getpid() if whose == "mine" else 1, old=True)
    assert sweep_temporaries(tmp_path) == 0
    assert held.exists()


@pytest.mark.parametrize("pid", ["x", "", 10**30])
def test_a_temporary_without_a_sensible_writer_stops_no_commit(tmp_path: Path, pid: object) -> None:
    _temporary(tmp_path, pid, old=True)
    assert commit_runs(tmp_path, [row()])[0].new


def test_only_temporaries_are_swept(tmp_path: Path) -> None:
    others = [tmp_path / name for name in ("notes.tmp", ".hidden", "set.toml", "old.parquet")]
    for path in others:
        path.touch()
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert sweep_temporaries(tmp_path) == 0
    assert all(path.exists() for path in others)


def test_hidden_temporaries_are_never_read(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    whole = (place / f"{run_id(row())}.parquet").read_bytes()
    (place / ".whole.1.x.tmp").write_bytes(whole)
    (place / ".whole.parquet").write_bytes(whole)
    store = opened(tmp_path)
    assert (len(ids(store)), reasons(store)) == (1, {})


# -- many runs in one file ---------------------------------------------------------------------


def test_many_runs_may_be_committed_as_one_file(tmp_path: Path) -> None:
    path = together(tmp_path / "set", rows(5))
    assert listed(tmp_path / "set") == [path.name]
    assert check_seal(path).rows == 5


def test_a_file_of_many_is_not_written_twice(tmp_path: Path) -> None:
    path = together(tmp_path, rows(5))
    before = _written(path)
    together(tmp_path, rows(5, note="again"))
    assert _written(path) == before


def test_the_name_of_many_runs_does_not_depend_on_their_order() -> None:
    assert compact_name(["b", "a"]) == compact_name(["a", "b"])
    assert compact_name(["a", "b"]) == "compact-7e18f737311b2dc3b2f269dd78396b03.parquet"


def test_a_full_disk_leaves_no_file_of_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(CommitError, match="0 of 5 runs are saved"):
        together(tmp_path, rows(5))
    assert listed(tmp_path) == []
