"""Full disks and read-only ones: a clear sentence, nothing half-written, and it goes on after."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pytest

from planner.runs import run_id
from planner.store import CommitError, commit_runs
from planner.store._verify import verify_folder
from planner.store.export import export_duckdb
from planner.store.sealed import commit as commit_module
from planner.store.sealed.compact import compact_set
from tests.faults.campaign import read_only, small_disk, temporaries, torn
from tests.faults.full import FullAt
from tests.faults.outcomes import FULL, Outcome, finish
from tests.faults.writer import case
from tests.store.build import a_set, folder, ids, opened, reasons

pytestmark = pytest.mark.faults
RUNS: Final = 24
SIZES: Final = [4 * pages for pages in (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 17, 23, 29, 37, 43, 53,
                                        61, 71, 83)][:: 1 if FULL else 7]  # fmt: skip
"""Free space left, from nothing to most of what the runs need [kB]."""


def _cases() -> list[dict[str, Any]]:
    return [case("disk", n) for n in range(RUNS)]


def _fill(disk: Path, left_kilobytes: int) -> Path:
    """Fill the disk to that much free space."""
    filler = disk / "filler"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with filler.open("wb") as file:
        file.write(bytes(free - 1024 * left_kilobytes))
    return filler


def _saved(place: Path, said: str) -> int:
    """What is on the disk after a refusal, which must be what the message says."""
    files = sorted(place.glob("[!.]*.parquet"))
    assert (torn(place), temporaries(place)) == ([], [])
    assert f"at {place}: {len(files)} of {RUNS} runs are saved, nothing is half-written." in said
    return len(files)


def test_a_disk_full_at_different_sizes_is_reported_and_gone_on_with(tmp_path: Path) -> None:
    saved = []
    outcome = Outcome(name="disks of 1 MB that are full")
    for left in SIZES:
        with small_disk(tmp_path / str(left)) as disk:
            if disk is None:
                pytest.skip("no small disk may be mounted here; the stub below is the test")
            place = a_set(disk)
            filler = _fill(disk, left)
            with pytest.raises(CommitError) as caught:
                commit_runs(place, _cases())
            assert caught.value.errno == errno.ENOSPC
            assert "disk full at" in str(caught.value)
            saved.append(_saved(place, str(caught.value)))
            filler.unlink()
            again = commit_runs(place, _cases())
            assert sum(not done.new for done in again) == saved[-1]
            with outcome.case(f"{left} kB left: a look at the results"):
                assert ids(opened(disk)) == sorted(run_id(c) for c in _cases())
    outcome.counts |= {"runs saved": sum(saved), "runs resumed": len(SIZES) * RUNS - sum(saved)}
    finish(outcome)
    assert saved[0] == 0
    assert len(set(saved)) > len(SIZES) // 4


def test_a_compaction_on_a_full_disk_keeps_every_original(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("no small disk may be mounted here")
        place = a_set(disk, _cases())
        filler = _fill(disk, 4)
        with pytest.raises(CommitError, match="disk full"):
            compact_set(place)
        assert len(list(place.glob("[!.]*.parquet"))) == RUNS
        assert temporaries(place) == []
        filler.unlink()
        assert compact_set(place).runs == RUNS
        assert len(ids(opened(disk))) == RUNS


def test_a_disk_full_at_every_write_of_a_sweep_is_reported_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = FullAt()
    real_write, real_fsync, real_link = commit_module.write_parquet, os.fsync, os.link

    def write(path: Path | BinaryIO, table: pa.Table, seal: str) -> None:
        assert isinstance(path, Path)
        with budget.opened(path) as file:
            real_write(file, table, seal)

    def fsync(handle: int) -> None:
        budget.spend()
        real_fsync(handle)

    def link(source: Path, target: Path) -> None:
        budget.spend()
        real_link(source, target)

    for name, counted in (("fsync", fsync), ("link", link)):
        monkeypatch.setattr(os, name, counted)
    monkeypatch.setattr(commit_module, "write_parquet", write)
    two = _cases()[:2]
    commit_runs(tmp_path / "whole", two)
    positions = budget.spent
    tried = range(0, positions, 1 if FULL else 61)
    outcome = Outcome(name="a disk full at each of a commit's writes", cases=len(tried))
    for position in tried:
        place = tmp_path / str(position)
        budget.refill(position)
        with pytest.raises(CommitError, match=r"disk full at .* of 2 runs are saved"):
            commit_runs(place, two)
        assert (torn(place), temporaries(place)) == ([], [])
        budget.refill(None)
        with outcome.step(f"write {position}: resumed"):
            outcome.counts["runs resumed"] += len(commit_runs(place, two))
    finish(outcome)
    assert outcome.counts["runs resumed"] == 2 * len(tried)


@contextlib.contextmanager
def _read_only(place: Path, patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A results folder with runs on a read-only disk; played where none can be mounted."""

    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    def made(path: Path, **_: object) -> None:
        if not path.exists():
            refused()

    with small_disk(place) as disk, patch.context() as stub:
        a_set(place, _cases())
        if disk is None or not read_only(disk):
            stub.setattr(Path, "mkdir", made)
            stub.setattr(commit_module, "write_parquet", refused)
        yield place


def test_a_read_only_folder_is_read_and_says_so_when_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _read_only(tmp_path / "disk", monkeypatch) as root:
        place = root / "mine"
        store = opened(root)
        assert (len(ids(store)), reasons(store)) == (RUNS, {})
        assert verify_folder(folder(root)).problems == ()
        assert export_duckdb(store, tmp_path / "out.duckdb") == RUNS
        for target in (place, root / "new"):
            with pytest.raises(CommitError) as caught:
                commit_runs(target, [case("more", 0)])
            assert str(caught.value) == (
                f"[Errno {errno.EROFS}] read-only disk at {target}: 0 of 1 runs are saved, nothing "
                "is half-written. Choose another folder with EPOCHWISE_RESULTS and run it again."
            )
        with pytest.raises(CommitError, match="read-only disk"):
            compact_set(place)
        store.refresh()
        assert len(ids(store)) == RUNS


def test_committing_what_is_there_needs_no_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _read_only(tmp_path / "disk", monkeypatch) as root:
        assert [d.new for d in commit_runs(root / "mine", _cases())] == [False] * RUNS
