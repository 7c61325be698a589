"""The supervisor of the stand-in: a process that waits for its gates and commits real rows."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import psutil

from planner.core import in_words
from planner.store import commit_runs
from planner.store.disk import sweeps
from planner.store.disk.sweeps import SweepStatus
from tests.store.build import row

ROOT: Final = Path(__file__).parents[2]
_POLL_S: Final = 0.02


class _StopAsked(Exception):  # noqa: N818 - it is no error
    pass


def _raise(*_: object) -> None:
    raise _StopAsked


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line asked for."""

    spec: str
    title: str
    batches: Sequence[int]
    results: Path
    ticket: str
    name: str
    """Of the result set."""
    hours: float | None = None
    """The limit of time."""


class _LimitReached(Exception):  # noqa: N818 - it is no error
    pass


def measure(asked: Asked) -> int:
    """Measure the runs that are not there, under this ticket."""
    if asked.spec == "dying":
        sys.stdout.write("Traceback: it died young\n")
        return 1
    signal.signal(signal.SIGTERM, _raise)
    state = sweeps.state_folder(os.environ)
    status = _first(asked)
    try:
        with _queue(state, status):
            status = replace(status, phase="running", started_at=time.time(), message=None)
            status = _runs(state, status, asked)
        status = replace(status, phase="finished", left_s=0.0)
    except _StopAsked:
        known = sweeps.read_status(state, asked.ticket) or status
        status = replace(known, phase="stopped", message="asked to stop")
    except _LimitReached:
        known = sweeps.read_status(state, asked.ticket) or status
        status = replace(known, phase="stopped", limit_reached=status.limits[0])
    _tell(state, replace(status, current=None, current_epoch=None, ended_at=time.time()))
    return 0


def _first(asked: Asked) -> SweepStatus:
    me = psutil.Process()
    done = len(list((asked.results / asked.name).glob("*.parquet")))
    limits = () if asked.hours is None else (in_words(3600 * asked.hours),)
    return SweepStatus(
        ticket=asked.ticket, sweep=asked.spec, title=asked.title, result_set=asked.name,
        folder=str(asked.results), installation=str(ROOT), limits=limits,
        phase="waiting", planned=len(asked.batches), finished=done,
        pid=me.pid, pid_started=me.create_time(), asked_at=time.time(), heartbeat_at=time.time(),
    )  # fmt: skip


def _tell(state: Path, status: SweepStatus) -> SweepStatus:
    now = replace(status, heartbeat_at=time.time())
    sweeps.write_status(state, now)
    return now


class _queue:  # noqa: N801 - it is used like a function
    """One sweep at a time: waits until the lock is free, and says so."""

    def __init__(self, state: Path, status: SweepStatus) -> None:
        state.mkdir(parents=True, exist_ok=True)
        self._state, self._status = state, status
        self._file = (state / "queue.lock").open("wb")

    def __enter__(self) -> None:
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _tell(self._state, replace(self._status, message="waits for another sweep"))
                time.sleep(_POLL_S * 10)
            else:
                return

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _runs(state: Path, status: SweepStatus, asked: Asked) -> SweepStatus:
    ends = float("inf") if asked.hours is None else time.monotonic() + 3600 * asked.hours
    words = {n: f"ResNet-50, batch {batch}" for n, batch in enumerate(asked.batches, start=1)}
    for n, batch in list(enumerate(asked.batches, start=1))[status.finished :]:
        now = replace(status, current=words[n], following=words.get(n + 1))
        status = _tell(state, replace(now, current_epoch=2, current_epochs=5))
        _wait_for_the_gate(state, status, n, ends)
        failed = status.sweep == "failing" and batch == 32
        row = _row(asked.name, batch, failed=failed)
        commit_runs(asked.results / asked.name, [row])
        status = _tell(
            state,
            replace(status, finished=n, failed=status.failed + failed, left_s=22.5 * (4 - n)),
        )
    return status


def _wait_for_the_gate(state: Path, status: SweepStatus, n: int, ends: float) -> None:
    gate, beats = state / "gate", 0
    while not ((gate / str(n)).exists() or (gate / "all").exists()):
        time.sleep(_POLL_S)
        if time.monotonic() > ends:
            raise _LimitReached
        beats += 1
        if beats % 50 == 0:
            _tell(state, status)


def _row(spec: str, batch: int, *, failed: bool) -> dict[str, Any]:
    if failed:
        reason = "watchdog: 9.00 GB resident, the limit is 8.00 GB"
        return row(result_set=spec, global_batch_size=batch, status="oom", status_reason=reason)
    return row(result_set=spec, global_batch_size=batch, step_s=0.05 + batch / 1000)
