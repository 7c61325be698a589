"""Cases and benches for the stand-in child, and who is still there that should not be."""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from planner.store.disk.sweeps import SweepStatus
from runners.machine import environment
from runners.plan import cases
from runners.plan.cases import Case
from runners.plan.host import Python
from runners.process.supervise import Ended, ProcessLimits, supervise
from runners.sweep.measure import Bench
from runners.sweep.sweep import Journal, journal

STUB: Final = ("-S", "-m", "tests.runners.stub_child")
HANG_S: Final = 120.0
"""After so long a test calls it a hang; nothing is ever timed."""


def case(seed: int = 0, **changes: Any) -> Case:  # noqa: ANN401 - fields of a case
    """A small case; the stand-in ends by its seed."""
    result: dict[str, Any] = {
        "sweep": "stub", "workload": "mlp", "dataset": "synthetic-cifar10", "train_samples": 64,
        "validation_samples": 0, "batch": 32, "epochs": 3, "seed": seed,
    }  # fmt: skip
    return Case(**result | changes)


def new_mark() -> str:
    """An argument that only processes of one test have."""
    return f"stub-{uuid.uuid4().hex}"


def marked(mark: str) -> list[psutil.Process]:
    """Living processes with the mark in their command line; the dead wait only to be buried."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and mark in process.cmdline():
                found += [process] * (process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            continue
    return found


def orphans(mark: str) -> list[psutil.Process]:
    """Whoever is left of a mark; the kernel is given time to carry out its kills."""
    end = time.monotonic() + HANG_S / 4
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.01)
    return left


def bench(
    tmp: Path,
    ends: Mapping[int, str] | None = None,
    mark: str = "stub",
    **changes: Any,  # noqa: ANN401
) -> Bench:
    """Where the stand-in is "measured": ways to end by seed, starts noted in tmp/starts."""
    result = json.dumps({str(k): v for k, v in (ends or {}).items()})
    here = Python(path=sys.executable, python_version="3.11.0", versions={"tensorflow": "0"})
    known: dict[str, Any] = {
        "pythons": {"tensorflow": here}, "environ": dict(os.environ), "cache": tmp / "cache",
        "timeout_s": HANG_S, "memory_share": 0.8,
        "child": (*STUB, mark, result, str(tmp / "starts")),
    }  # fmt: skip
    return Bench(**known | changes)


def starts(tmp: Path) -> list[str]:
    """Seed and attempt of every start, in order."""
    path = tmp / "starts"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def ended(how: str, mark: str = "stub", *, timeout_s: float = HANG_S, memory_bytes: int = 10**12,
          **hooks: Any) -> Ended:  # fmt: skip  # noqa: ANN401
    """How the supervisor sees a child that ends in this way."""
    environ = environment.for_child(os.environ, backend="tensorflow", threads=None, device="cpu")
    return supervise(
        [sys.executable, *STUB, mark, how],
        {"case": cases.to_json(case())},
        environ,
        ProcessLimits(timeout_s=timeout_s, memory_bytes=memory_bytes),
        **hooks,
    )


def book(tmp: Path, ticket: str = "stub-1", planned: int = 1, **known: Any) -> Journal:  # noqa: ANN401
    """The journal of a sweep of this process."""
    return journal(tmp / "state", ticket, sweep="stub", title="A stub", result_set="stub",
                   folder=str(tmp), planned=planned, **known)  # fmt: skip


def status(**changes: Any) -> SweepStatus:  # noqa: ANN401 - fields of a status
    """A status of this process."""
    me = psutil.Process()
    result: dict[str, Any] = {
        "ticket": "one", "sweep": "stub", "title": "A stub", "result_set": "stub", "folder": "",
        "phase": "waiting", "planned": 1, "finished": 0, "pid": me.pid,
        "pid_started": me.create_time(), "asked_at": 1.0, "heartbeat_at": time.time(),
    }  # fmt: skip
    return SweepStatus(**result | changes)
