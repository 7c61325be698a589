"""One sweep measures on a machine at a time, in the order of asking; a dead one blocks none."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from planner.store.disk.files import write_whole
from planner.store.disk.sweeps import (
    SweepStatus,
    Turn,
    ask_to_stop,
    condition,
    read_status,
    write_status,
)
from runners.process.supervise import ROOT
from tests.runners.stubs import HANG_S, book, marked, new_mark, orphans, starts, status

FEW = "3"


def test_the_first_takes_the_turn_and_the_second_waits_for_it(tmp_path: Path) -> None:
    first, second = status(ticket="a"), status(ticket="b", asked_at=2.0)
    for asked in (first, second):
        write_status(tmp_path, asked)
    mine, theirs = Turn(tmp_path), Turn(tmp_path)
    assert not theirs.take("b")  # whoever asked first goes first, even if it is slower
    assert mine.take("a")
    assert not theirs.take("b")
    assert theirs.ahead("b") == first
    mine.give_back()
    write_status(tmp_path, status(ticket="a", phase="finished"))
    assert theirs.take("b")
    theirs.give_back()


def test_a_turn_that_is_held_stays_held(tmp_path: Path) -> None:
    write_status(tmp_path, status(ticket="a"))
    turn = Turn(tmp_path)
    assert turn.take("a")
    assert turn.take("a")
    turn.give_back()
    turn.give_back()


@pytest.mark.parametrize("result", [None, "{", "waiting"])
def test_no_sweep_measures_beside_one_whose_status_does_not_say_so(
    tmp_path: Path, result: str | None
) -> None:
    """The lock decides: a status may be late, lost on a full disk, or removed by hand."""
    holder, other = Turn(tmp_path), Turn(tmp_path)
    write_status(tmp_path, status(ticket="b", asked_at=2.0))
    assert holder.take("a")
    if result == "waiting":
        write_status(tmp_path, status(ticket="a", asked_at=3.0))
    elif result:
        write_whole(tmp_path / "a" / "status.json", result)
    assert not other.take("b")
    assert other.ahead("b") is None
    holder.give_back()
    assert other.take("b")
    other.give_back()


def test_those_who_died_while_they_waited_are_passed_over(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write_status(tmp_path, status(ticket="a", pid=gone.pid, pid_started=1.0))
    write_status(tmp_path, status(ticket="b", asked_at=2.0))
    turn = Turn(tmp_path)
    assert turn.take("b")
    turn.give_back()


# -- whole sweeps, as processes ------------------------------------------------------------------


class Sweep:
    """A supervisor of the stand-in child, started like any program."""

    def __init__(self, tmp: Path, ticket: str, mark: str, how: str = "") -> None:
        self.tmp, self.ticket = tmp, ticket
        command = ["-m", "tests.runners.stub_sweep", str(tmp), ticket, mark, FEW, how]
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def result(self) -> SweepStatus | None:
        """What it says of itself."""
        return read_status(self.tmp / "state", self.ticket)

    def until(self, holds: Callable[[SweepStatus], bool]) -> SweepStatus:
        """The first status for which that holds."""
        end = time.monotonic() + HANG_S
        while time.monotonic() < end:
            if (result := self.result()) and holds(result):
                return result
            time.sleep(0.01)
        raise AssertionError(f"never so: {self.result()}")

    def ended(self) -> int:
        """Its exit code; what it said on standard error is in the message of the assertion."""
        _, said = self.process.communicate(timeout=HANG_S)
        assert said == b"", said.decode()
        return self.process.returncode


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark; whoever bears it after the test is killed, and called an orphan."""
    result = new_mark()
    yield result
    left = orphans(result)
    for process in left:
        process.kill()
    assert left == []


def test_two_sweeps_asked_for_at_once_run_one_after_the_other(tmp_path: Path, mark: str) -> None:
    sweeps = [Sweep(tmp_path, f"stub-{n}", mark) for n in range(3)]
    assert [s.ended() for s in sweeps] == [0, 0, 0]
    result = [s.until(lambda s: s.phase == "finished") for s in sweeps]
    in_order = sorted(result, key=lambda s: s.started_at or 0.0)
    for earlier, later in itertools.pairwise(in_order):
        assert earlier.ended_at is not None
        assert later.started_at is not None
        assert earlier.ended_at <= later.started_at
    assert {(s.finished, s.planned, s.failed) for s in result} == {(3, 3, 0)}
    assert len(starts(tmp_path)) == 3  # the same cases: measured by the first of them only


def test_a_waiting_sweep_can_be_stopped_and_says_whom_it_waited_for(
    tmp_path: Path, mark: str
) -> None:
    first = Sweep(tmp_path, "stub-1", mark, "workers and sleeps")
    first.until(lambda s: s.phase == "running")
    second = Sweep(tmp_path, "stub-2", mark)
    result = second.until(lambda s: s.message is not None)
    assert (result.phase, result.message) == ("waiting", "waits for 'stub' (0 of 3 runs done)")
    assert ask_to_stop(result)
    assert second.ended() == 130
    assert second.until(lambda s: s.phase == "stopped").finished == 0
    assert first.process.poll() is None
    assert ask_to_stop(first.until(lambda s: s.phase == "running"))
    assert first.ended() == 130


def test_a_killed_sweep_is_interrupted_and_lets_the_next_one_measure(
    tmp_path: Path, mark: str
) -> None:
    first = Sweep(tmp_path, "stub-1", mark, "workers and sleeps")
    first.until(lambda s: s.phase == "running" and len(marked(mark)) > 3)
    second = Sweep(tmp_path, "stub-2", mark)
    second.until(lambda s: s.phase == "waiting")
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.communicate(timeout=HANG_S)
    result = first.result()
    assert result is not None
    assert condition(result) == "interrupted"
    assert second.ended() == 0
    assert second.until(lambda s: s.phase == "finished").finished == 3


def test_a_journal_of_this_process_is_waiting_until_it_has_its_turn(tmp_path: Path) -> None:
    from runners.sweep.sweep import wait_for_turn

    journal, turn = book(tmp_path), Turn(tmp_path / "state")
    phases = [journal.status.phase]
    journal.on_update = lambda result: phases.append(result.phase)
    wait_for_turn(turn, journal, lambda: False)
    assert phases == ["waiting", "waiting", "running"]
    turn.give_back()
