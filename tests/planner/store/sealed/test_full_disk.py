"""The disk is full at every single write of a commit in turn; nothing is ever half-written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pytest

from planner.store import CommitError, commit_runs
from planner.store.sealed import commit as commit_module
from planner.store.sealed.seal import check_seal
from tests.faults.full import FullAt
from tests.faults.outcomes import FULL
from tests.store.build import full_row, listed, row

REAL_WRITE, REAL_FSYNC, REAL_LINK = commit_module.write_parquet, os.fsync, os.link


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[FullAt]:
    """Counts every write, fsync and link of a commit; raises ENOSPC at the one that is set."""
    budget = FullAt()

    def write(path: Path | BinaryIO, table: pa.Table, seal: str) -> None:
        assert isinstance(path, Path)
        with budget.opened(path) as file:
            REAL_WRITE(file, table, seal)

    def step(real: Any) -> Any:  # noqa: ANN401 - any function
        def counted(*arguments: object) -> object:
            budget.spend()
            return real(*arguments)

        return counted

    monkeypatch.setattr(commit_module, "write_parquet", write)
    monkeypatch.setattr(os, "fsync", step(REAL_FSYNC))
    monkeypatch.setattr(os, "link", step(REAL_LINK))
    yield budget
    monkeypatch.undo()


def _writes_of(steps: FullAt, folder: Path, record: dict[str, Any]) -> int:
    steps.refill(None)
    commit_runs(folder, [record])
    return steps.spent


@pytest.mark.parametrize("record", [row(), full_row()], ids=["small row", "every column"])
def test_at_every_write_position_the_run_is_whole_or_absent(
    tmp_path: Path, steps: FullAt, record: dict[str, Any]
) -> None:
    positions = _writes_of(steps, tmp_path / "whole", record)
    assert positions > 5
    step = 1 if FULL else 7
    for position in [*range(0, positions - 1, step), positions - 1]:
        folder = tmp_path / str(position)
        steps.refill(position)
        with pytest.raises(CommitError, match=r"disk full at .*: 0 of 1 runs are saved") as caught:
            commit_runs(folder, [record])
        assert caught.value.errno == errno.ENOSPC
        assert all(check_seal(folder / name).rows == 1 for name in listed(folder))
        if position < positions - 1:  # the last step only makes the link last
            assert listed(folder) == []


def test_after_space_is_freed_the_same_call_goes_on(tmp_path: Path, steps: FullAt) -> None:
    records = [row(repeat=i) for i in range(4)]
    each = _writes_of(steps, tmp_path / "one", row())
    steps.refill(2 * each + each // 2)
    with pytest.raises(CommitError, match="2 of 4 runs are saved"):
        commit_runs(tmp_path / "set", records)
    steps.refill(None)
    assert [d.new for d in commit_runs(tmp_path / "set", records)] == [False, False, True, True]
    assert len(listed(tmp_path / "set")) == 4


def test_a_write_that_is_cut_short_is_no_run(tmp_path: Path, steps: FullAt) -> None:
    steps.refill(None, cut=True)
    with pytest.raises(CommitError, match="not a whole parquet file"):
        commit_runs(tmp_path, [row()])
    assert listed(tmp_path) == []
