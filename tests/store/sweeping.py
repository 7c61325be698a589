"""Sweeps for the tests as a supervisor would have told of them."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil

from planner.store.disk import sweeps
from planner.store.disk.sweeps import SweepStatus


def dead() -> dict[str, float]:
    """Pid and start of a process that was and is no more."""
    child = psutil.Popen([sys.executable, "-c", ""])
    began = float(child.create_time())
    child.wait()
    return {"pid": child.pid, "pid_started": began}


def result(state: Path, **changes: object) -> SweepStatus:
    """A status on disk, of this very process where nothing else is said."""
    me, now = psutil.Process(), time.time()
    known = SweepStatus(
        ticket="small-1", sweep="small", title="Small sweep", result_set="small", folder="/r",
        phase="running", planned=4, finished=1, pid=me.pid, pid_started=me.create_time(),
        asked_at=now - 100, started_at=now - 90, heartbeat_at=now,
    )  # fmt: skip
    status = replace(known, **changes)  # type: ignore[arg-type]
    sweeps.write_status(state, status)
    return status
