"""Of every attempt one run is stored, whoever measured it and whatever is killed."""

from __future__ import annotations

import errno
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from planner.store import CommitError, commit_runs
from planner.store._verify import verify_folder
from planner.store.sealed.attempts import attempt_id, name_of, release, release_all
from planner.store.sealed.commit import STALE_S, ContradictionError, run_of, stored
from planner.store.sealed.compact import compact_set
from tests.store.build import a_set, folder, row

ID = "0123456789abcdef" * 2


def of_attempt(name: str = ID, **changes: object) -> dict[str, Any]:
    """A row of an attempt."""
    return row(extra=json.dumps({"attempt_id": name}), **changes)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of an empty set."""
    a_set(tmp_path / "results", slug="mine")
    return tmp_path / "results" / "mine"


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.glob("*.parquet"))


@pytest.mark.parametrize(
    "extra", ["[]", "{}", "3", "null", '{"attempt_id": 3}', '{"attempt_id": "../x"}', "[" * 9000]
)  # fmt: skip
def test_a_row_without_an_id_belongs_to_no_attempt(extra: str) -> None:
    assert attempt_id({"extra": extra}) is None
    assert attempt_id({"extra": None}) is None
    assert attempt_id({}) is None


def test_of_two_systems_that_measured_an_attempt_the_first_is_stored(place: Path) -> None:
    [first] = commit_runs(place, [of_attempt(system_name="one")])
    [late] = commit_runs(place, [of_attempt(system_name="two", throughput=9.0)])
    assert first.new
    assert not late.new
    assert (late.run_id, late.path) == (first.run_id, first.path)
    assert names(place) == [first.path.name]
    assert commit_runs(place, [of_attempt(ID[::-1], system_name="two")])[0].new
    assert verify_folder(folder(place.parent)).problems == ()


def test_of_two_measurements_of_one_system_the_first_stays_without_a_contradiction(
    place: Path,
) -> None:
    commit_runs(place, [of_attempt(throughput=1.0)])
    assert not commit_runs(place, [of_attempt(throughput=2.0)])[0].new
    assert (run_of(place, ID) or {})["throughput"] == 1.0
    for other in (row(throughput=2.0), of_attempt(ID[::-1], throughput=2.0)):
        with pytest.raises(ContradictionError):
            commit_runs(place, [other])


@pytest.mark.parametrize("merged", [False, True])
def test_the_run_of_an_attempt_is_found(place: Path, merged: bool) -> None:  # noqa: FBT001
    assert run_of(place, ID) is None
    commit_runs(place, [of_attempt(system_name="one"), row()])
    if merged:
        compact_set(place)
    assert (run_of(place, ID) or {})["system_name"] == "one"
    [late] = commit_runs(place, [of_attempt(system_name="two")])
    assert not late.new
    assert (stored(place, late.run_id) or {})["system_name"] == "one"


def test_a_commit_that_was_killed_between_its_names_is_finished_by_the_next_one(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", killed)
        with pytest.raises(KeyboardInterrupt):
            commit_runs(place, [of_attempt(system_name="one")])
    assert names(place) == []
    shutil.copytree(place, place.parent / "twin")
    [late] = commit_runs(place, [of_attempt(system_name="two")])
    assert not late.new
    assert (stored(place, late.run_id) or {})["system_name"] == "one"
    assert (run_of(place.parent / "twin", ID) or {})["system_name"] == "one"
    assert names(place.parent / "twin") == names(place)


def test_a_disk_without_hard_links_keeps_one_run_of_an_attempt_too(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refused)
    [first] = commit_runs(place, [of_attempt(system_name="one")])
    [late] = commit_runs(place, [of_attempt(system_name="two")])
    assert (first.new, late.new) == (True, False)
    assert names(place) == [f"{late.run_id}.parquet"] == [first.path.name]
    assert (run_of(place, ID) or {})["system_name"] == "one"


def test_many_writers_of_one_attempt_store_one_run(place: Path) -> None:
    def write(number: int) -> str:
        [done] = commit_runs(place, [of_attempt(system_name=f"system {number % 4}")])
        return done.run_id

    with ThreadPoolExecutor(8) as pool:
        runs = set(pool.map(write, range(16)))
    assert len(runs) == 1
    assert names(place) == [f"{run}.parquet" for run in runs]


def test_an_attempt_whose_id_another_case_takes_meanwhile_is_free_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.copyfile

    def slow(source: Path, copy: Path) -> None:
        real(source, copy)
        monkeypatch.undo()
        commit_runs(place, [row(throughput=1.0)])

    monkeypatch.setattr(shutil, "copyfile", slow)
    with pytest.raises(ContradictionError):
        commit_runs(place, [of_attempt(throughput=2.0)])
    assert commit_runs(place, [of_attempt(attempt=1, throughput=2.0)])[0].new


def test_a_damaged_name_is_no_run_of_an_attempt(place: Path) -> None:
    name_of(place, ID).write_bytes(b"PAR1")
    with pytest.raises(CommitError, match="gave back other bytes"):
        commit_runs(place, [of_attempt()])
    assert names(place) == []


def test_names_of_attempts_go_when_no_worker_is_left_and_after_a_day(place: Path) -> None:
    commit_runs(place, [of_attempt(), of_attempt(ID[::-1], system_name="two")])
    assert len(list(place.glob(".*"))) == 2
    release(place, ID)
    release(place, ID)
    assert [p.name for p in place.glob(".*")] == [name_of(place, ID[::-1]).name]
    release_all(place)
    assert list(place.glob(".*")) == []
    commit_runs(place, [of_attempt(system_name="three")])
    assert len(names(place)) == 3
    old = name_of(place, ID).stat().st_mtime - STALE_S - 60.0
    os.utime(name_of(place, ID), (old, old))
    commit_runs(place, [row(system_name="four")])
    assert list(place.glob(".*")) == []
