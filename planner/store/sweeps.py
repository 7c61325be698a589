"""What the sweeps on this machine are doing: one folder per started sweep, replaced whole.

    STATE/<ticket>/spec.toml     what was asked for, as it was when it was asked
    STATE/<ticket>/status.json   the newest status, replaced at every event and every 2 s
    STATE/<ticket>/log.txt       what the supervisor printed (detached sweeps only)
    STATE/queue.lock             held by the sweep that measures: one at a time on a machine

STATE is `EPOCHWISE_STATE`, else `$XDG_STATE_HOME/epochwise`, else `~/.local/state/epochwise`.
Results never depend on these files: what is finished is what the result set holds.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal

from planner.store.files import write_whole

STATE: Final = "EPOCHWISE_STATE"
HEARTBEAT_S: Final = 2.0
"""How often a living supervisor renews its status [s]."""
STALLED_S: Final = 30.0
"""Age of a heartbeat after which a sweep is called stalled [s]."""

Phase = Literal["waiting", "running", "stopped", "finished", "failed"]
ACTIVE: Final = ("waiting", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStatus:
    """One sweep as its supervisor last told it; times in s, stamps in UTC seconds since 1970."""

    ticket: str
    sweep: str
    title: str
    result_set: str
    folder: str
    """The results folder (its path is only kept on this machine, never in a result)."""
    phase: Phase
    planned: int
    finished: int
    """Runs of the plan with a committed row, whatever its status."""
    failed: int = 0
    """Of those, rows that are not `ok`."""
    current: str | None = None
    """What is being measured, in words."""
    current_epoch: int | None = None
    current_epochs: int | None = None
    left_s: float | None = None
    """Time left, from run times measured in this sweep; None until one is known."""
    message: str | None = None
    """Why it stopped or failed, what it waits for."""
    pid: int
    pid_started: float
    """Start of that process (`psutil.Process.create_time`): a reused pid is not this sweep."""
    asked_at: float
    started_at: float | None = None
    ended_at: float | None = None
    heartbeat_at: float


def state_folder(environment: Mapping[str, str]) -> Path:
    """Where sweeps of this user on this machine tell their state."""
    if told := environment.get(STATE):
        return Path(told).expanduser().absolute()
    base = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser().absolute() / "epochwise"


def write_status(state: Path, status: SweepStatus) -> None:
    """Replace the status of that ticket; readers see the old or the new one."""
    write_whole(state / status.ticket / "status.json", json.dumps(asdict(status), indent=1))


def read_statuses(state: Path) -> list[SweepStatus]:
    """All sweeps told of in `state`, the newest first; unreadable ones are left out."""
    found = [_read(path) for path in state.glob("*/status.json")]
    return sorted((s for s in found if s), key=lambda s: (s.asked_at, s.ticket), reverse=True)


def _read(path: Path) -> SweepStatus | None:
    try:
        body: Any = json.loads(path.read_text(encoding="utf-8"))
        known = {f.name for f in fields(SweepStatus)}
        return SweepStatus(**{k: v for k, v in body.items() if k in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def alive(status: SweepStatus) -> bool:
    """Whether the process that wrote it still runs on this machine."""
    import psutil

    try:
        started = psutil.Process(status.pid).create_time()
    except psutil.Error:
        return False
    return abs(float(started) - status.pid_started) < 1.0


Condition = Literal["waiting", "running", "stalled", "interrupted", "stopped", "finished", "failed"]


def condition(status: SweepStatus, now: float | None = None) -> Condition:
    """The phase, corrected by what can be seen: no process is `interrupted`, no heartbeat is
    `stalled`."""
    if status.phase not in ACTIVE:
        return status.phase
    if not alive(status):
        return "interrupted"
    age = (time.time() if now is None else now) - status.heartbeat_at
    return "stalled" if age > STALLED_S else status.phase


def remove_status(state: Path, ticket: str) -> None:
    """Forget a sweep that has ended; its results stay."""
    folder = state / Path(ticket).name
    for path in sorted(folder.glob("*")) + sorted(folder.glob(".*.tmp")):
        path.unlink(missing_ok=True)
    if folder.is_dir():
        os.rmdir(folder)  # noqa: PTH106 - only if empty
