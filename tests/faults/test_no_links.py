"""A disk without hard links: the system calls really fail, and every run is whole, once."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from planner.store import commit_runs
from planner.store.disk.files import publish
from planner.store.sealed.commit import CommitError, try_folder
from tests.faults.campaign import DRAW, FULL, Child, temporaries, torn
from tests.faults.outcomes import Outcome, finish
from tests.faults.writer import case
from tests.store.build import a_set, ids, listed, opened

pytestmark = pytest.mark.faults
Say = Callable[[str], None]
KILLS: Final = 60 if FULL else 1
RUNS: Final = 30 if FULL else 6
CODES: Final = (errno.EPERM, *((errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS) if FULL else ()))
_LINKS: Final = {"x86_64": (86, 265), "aarch64": (37,)}
_RENAMES: Final = {"x86_64": (316,), "aarch64": (276,)}
_OPERATIONS: Final = struct.Struct("HBBI")
_NO_NEW_PRIVILEGES: Final = 38
_SET_SECCOMP: Final = 22
_ERRNO: Final = 0x00050000
_ALLOW: Final = 0x7FFF0000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def without(calls: tuple[int, ...], code: int) -> None:
    """Make system calls fail with `code` in this process for good; OSError where that is barred."""
    load = _OPERATIONS.pack(0x20, 0, 0, 0)
    result = [_OPERATIONS.pack(0x15, 0, 1, call) + _OPERATIONS.pack(0x06, 0, 0, _ERRNO | code)
            for call in calls]  # fmt: skip
    text = b"".join([load, *result, _OPERATIONS.pack(0x06, 0, 0, _ALLOW)])
    buffer = ctypes.create_string_buffer(text, len(text))
    program = _Program(len(text) // _OPERATIONS.size, ctypes.addressof(buffer))
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or system.prctl(
        _SET_SECCOMP, 2, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def _barred(code: int, *, renames: bool) -> None:
    kind = platform.machine()
    without(_LINKS[kind], code)
    if renames:
        without(_RENAMES[kind], errno.EINVAL)


def write_all(say: Say, place: Path, code: int, renames: bool, first: int) -> None:  # noqa: FBT001
    """Commit every run under a filter; say which of them were new. For a child process."""
    _barred(code, renames=renames)
    for n in range(RUNS):
        [one] = commit_runs(place, [case("links", (first + n) % RUNS)])
        say(str(one.new))


def check_links(say: Say, place: Path) -> None:
    """Say what linking answers under a filter. For a child process."""
    try:
        _barred(errno.EPERM, renames=True)
    except OSError as error:
        say(f"no filter: {error}")
        return
    (place / "a").write_bytes(b"a")
    try:
        os.link(place / "a", place / "b")
    except OSError as error:
        try_folder(place, 3)
        say(str(error.errno))


@pytest.fixture(scope="module", autouse=True)
def _filters(tmp_path_factory: pytest.TempPathFactory) -> None:
    if platform.machine() not in _LINKS or platform.system() != "Linux":
        pytest.skip("system calls are barred by their numbers, known for two kinds of Linux here")
    said = _said(Child(check_links, tmp_path_factory.mktemp("probe")))
    if said != [str(errno.EPERM)]:
        pytest.skip(f"system calls cannot be barred here: {said}")


def _said(child: Child) -> list[str]:
    """All that a child says until it ends well."""
    assert child.ended() == 0
    return child.said


def _writes(place: Path, code: int, *, renames: bool, first: int = 0) -> Child:
    return Child(write_all, place, code, renames, first)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("renames", [False, True], ids=["rename once", "claims"])
def test_without_links_every_run_is_committed_once(
    tmp_path: Path, code: int, *, renames: bool
) -> None:
    place = a_set(tmp_path / "results")
    assert _said(_writes(place, code, renames=renames)) == ["True"] * RUNS
    assert _said(_writes(place, code, renames=renames)) == ["False"] * RUNS
    assert len(ids(opened(tmp_path / "results"))) == RUNS
    assert len(listed(place)) == RUNS  # no claim and no temporary stays


@pytest.mark.parametrize("renames", [False, True], ids=["rename once", "claims"])
def test_four_writers_of_the_same_runs_make_each_once(tmp_path: Path, *, renames: bool) -> None:
    place = a_set(tmp_path / "results")
    writers = [_writes(place, errno.EPERM, renames=renames, first=7 * k) for k in range(4)]
    said = [_said(writer) for writer in writers]
    assert sum(new.count("True") for new in said) == RUNS
    assert (len(ids(opened(tmp_path / "results"))), len(listed(place))) == (RUNS, RUNS)


@pytest.mark.parametrize("renames", [False, True], ids=["rename once", "claims"])
def test_a_writer_killed_at_any_moment_leaves_nothing_torn(
    tmp_path: Path, *, renames: bool
) -> None:
    place = a_set(tmp_path / "results")
    for _ in range(KILLS):
        _writes(place, errno.EOPNOTSUPP, renames=renames).kill(DRAW.random() * 0.15)
        assert torn(place) == []
    assert len(_said(_writes(place, errno.EOPNOTSUPP, renames=renames))) == RUNS
    way = "rename once" if renames else "claims"
    outcome = Outcome(name=f"kills on a disk without links, {way}", cases=KILLS)
    outcome.counts |= {"runs": RUNS, "temporaries to be swept": len(temporaries(place))}
    with outcome.step("a look at the results"):
        assert len(ids(opened(tmp_path / "results"))) == RUNS
    finish(outcome)


def test_a_claim_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    final = tmp_path / "run.parquet"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (tmp_path / ".run.claim.tmp").write_text(f"{boot} 999999999")
    assert _said(Child(claim_one, tmp_path)) == ["True"]
    assert final.read_bytes() == b"whole"
    assert not (tmp_path / ".run.claim.tmp").exists()


def claim_one(say: Say, place: Path) -> None:
    """Publish a file by a claim. For a child process."""
    _barred(errno.EPERM, renames=True)
    (place / ".whole.tmp").write_bytes(b"whole")
    say(str(publish(place / ".whole.tmp", place / "run.parquet")))


def test_a_sweep_learns_before_its_first_run_that_its_disk_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("planner.store.sealed.commit.publish", refused)
    with pytest.raises(CommitError, match="0 of 12 runs are saved"):
        try_folder(tmp_path / "set", 12)
    assert listed(tmp_path / "set") == []
