"""One sweep measures at a time: a lock that dies with its process, taken in order of asking."""

from __future__ import annotations

import os
from pathlib import Path

from planner.store.disk.sweeps import (
    ACTIVE,
    SweepStatus,
    alive,
    condition,
    read_statuses,
)


class Turn:
    """The right to measure on this machine: held from `take` to `give_back`."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._handle: int | None = None

    def take(self, ticket: str) -> bool:
        """Return whether it is this ticket's turn: no earlier sweep is alive and none measures."""
        if self._handle is None and _before(self._state, ticket) is None:
            self._handle = _lock(self._state / "queue.lock")
        return self._handle is not None

    def ahead(self, ticket: str) -> SweepStatus | None:
        """Return the sweep ahead; None where the one that measures has no readable status."""
        return _before(self._state, ticket) or _running(self._state, ticket)

    def give_back(self) -> None:
        """Let the next sweep measure."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(path: Path) -> int | None:
    """Return the lock's open file, None while it is held; without file locks it is always free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except (ImportError, OSError):  # a system or a disk that knows no locks
        return handle
    return handle


def _before(state: Path, ticket: str) -> SweepStatus | None:
    """Return a live sweep that was requested before this one."""
    statuses = read_statuses(state)
    own = next((s for s in statuses if s.ticket == ticket), None)
    before = [
        s
        for s in statuses
        if own
        and s.ticket != ticket
        and (s.asked_at, s.ticket) < (own.asked_at, own.ticket)
        and condition(s) in ACTIVE  # one that has stalled waits for ever, and would for all
    ]
    return before[0] if before else None


def _running(state: Path, ticket: str) -> SweepStatus | None:
    others = [s for s in read_statuses(state) if s.ticket != ticket and s.phase == "running"]
    living = [s for s in others if alive(s)]
    return living[0] if living else next(iter(others), None)
