"""What the sweeps on this machine are doing: one folder per started sweep, replaced whole.

    STATE/<ticket>/<sweep>.toml  what was asked for, as it was when it was asked
    STATE/<ticket>/status.json   the newest status, replaced at every event and every 2 s
    STATE/<ticket>/launch.json   who was started, until that process speaks for itself
    STATE/<ticket>/log.txt       what the supervisor printed (detached sweeps only)
    STATE/queue.lock             held by the sweep that measures: one at a time on a machine;
                                 shared by the runs that a cluster measures on this machine

STATE is `EPOCHWISE_STATE`, else `$XDG_STATE_HOME/epochwise`, else `~/.local/state/epochwise`.
Each file has one writer, the supervisor or whoever started it; of status and launch the newer
counts. Results never depend on these files: what is finished is what the result set holds.
"""

import json
import os
import platform
import re
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, get_type_hints

import psutil

from planner.core import HOUR_S, Text
from planner.store.disk.files import write_whole

STATE: Final = "EPOCHWISE_STATE"
TICKET: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
"""What a ticket looks like: it names a folder, and comes from links."""
HEARTBEAT_S: Final = 2.0
"""How often a living supervisor renews its status [s]."""
STALLED_S: Final = 30.0
"""Age of a heartbeat after which a sweep is called stalled [s]."""

Phase = Literal["waiting", "running", "stopped", "finished", "failed"]
ACTIVE: Final = ("waiting", "running")
Condition = Literal["waiting", "running", "stalled", "interrupted", "stopped", "finished", "failed"]
NodeState = Literal["free", "running", "lost", "unusable"]
_PHASES: Final = ("waiting", "running", "stopped", "finished", "failed")
_STATES: Final = ("free", "running", "lost", "unusable")
Storer = Literal["", "node in folder", "node in app", "start"]
"""Who stored a run of a cluster: its node, in the results folder or the app, or the process that
started the sweep; empty before the first run."""
STORERS: Final[Mapping[Storer, str]] = MappingProxyType({
    "": "",
    "node in folder": "the node, in the results folder",
    "node in app": "the node, in the app",
    "start": "the starting process",
})  # fmt: skip
_LOG_BYTES: Final = 4_000
_YEAR_3000_S: Final = 32_503_680_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node of a cluster in a sweep. Its name stays on this machine, never in a result."""

    name: str
    accelerators: str
    """Accelerators by type, `8 x v100`; empty where none has a type."""
    system: str
    """Name of its system in results."""
    runs: tuple[str, ...] = ()
    """What it measures now, in words."""
    finished: int = 0
    """Runs that it measured in this sweep."""
    state: NodeState = "free"
    message: str | None = None
    """Why it is unusable."""
    stored_by: Storer = ""
    """Who stored its last run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStatus:
    """Status of a sweep, last written by its supervisor; times in s, stamps in UTC s since 1970."""

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
    following: str | None = None
    """What is measured after that, in words."""
    left_s: float | None = None
    """Time left, from run times measured in this sweep; None until one is known."""
    message: str | None = None
    """Why it stopped or failed, what it waits for."""
    command: str = "run"
    """What was asked of the command line: run, max-batch or converge."""
    options: dict[str, Any] = field(default_factory=dict)
    """What else was asked, so that a resume means the same: backend, device, name ..."""
    pid: int
    pid_started: float
    """Start of that process (`psutil.Process.create_time`): a reused pid is not this sweep."""
    asked_at: float
    started_at: float | None = None
    ended_at: float | None = None
    heartbeat_at: float
    cost_per_hour: float | None = None
    """Cost of an hour of measuring; None without prices."""
    currency: str | None = None
    limits: tuple[str, ...] = ()
    """Limits of this start, in words: `2 h`, `5 USD`."""
    limit_reached: str | None = None
    """The limit that stopped it, in words."""
    installation: str = ""
    """Folder of the program that measures (kept on this machine, never in a result)."""
    host: str = field(default_factory=platform.node)
    """The machine it runs on: a home folder may be shared by many."""
    nodes: tuple[NodeStatus, ...] = ()
    """Nodes of a sweep over a cluster; empty for a sweep on one machine."""

    @property
    def left(self) -> int:
        """Runs without a committed row."""
        return max(0, self.planned - self.finished)

    @property
    def share(self) -> float:
        """Finished over planned runs [1]."""
        return min(1.0, self.finished / self.planned) if self.planned > 0 else 0.0

    def measured_s(self, now: float) -> float | None:
        """Return the time from the start to the end, or to `now` [s]; None before the start."""
        if self.started_at is None:
            return None
        end = now if self.ended_at is None or self.phase in ACTIVE else self.ended_at
        return max(0.0, end - self.started_at)

    def spent(self, now: float) -> float | None:
        """Return the cost until `now`; None without a price or before the start."""
        time_s = self.measured_s(now)
        if self.cost_per_hour is None or time_s is None:
            return None
        return self.cost_per_hour * time_s / HOUR_S


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder with the statuses of this user's sweeps on this machine."""
    if folder := environment.get(STATE):
        return Path(folder).expanduser().absolute()
    base = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser().absolute() / "epochwise"


def new_ticket(sweep: str) -> str:
    """Return a unique name: sweep, time (UTC) and four random characters."""
    what = re.sub(r"[^a-z0-9]+", "-", sweep.lower()).strip("-")[:40] or "sweep"
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{what}-{stamp}-{uuid.uuid4().hex[:4]}"


def ticket_folder(state: Path, ticket: str) -> Path:
    """Return the folder of a sweep; ValueError for an invalid ticket (such as `..`)."""
    if not re.fullmatch(TICKET, ticket):
        raise ValueError(Text("{ticket!r} is no ticket of a sweep.", ticket=ticket))
    return state / ticket


def write_status(state: Path, status: SweepStatus) -> None:
    """Replace the status of that ticket; readers see the old or the new one."""
    _write(state, status, "status.json")


def _write(state: Path, status: SweepStatus, name: str) -> None:
    path = ticket_folder(state, status.ticket) / name
    write_whole(path, json.dumps(asdict(status), indent=1))


# -- reading -----------------------------------------------------------------------------------


def read_statuses(state: Path) -> list[SweepStatus]:
    """Return all sweeps in `state`, newest first; unreadable ones are left out."""
    tickets = {path.parent.name for path in state.glob("*/*.json")}
    statuses = [read_status(state, t) for t in tickets if re.fullmatch(TICKET, t)]
    return sorted((s for s in statuses if s), key=lambda s: (s.asked_at, s.ticket), reverse=True)


def read_status(state: Path, ticket: str) -> SweepStatus | None:
    """Return a sweep; None for an unknown ticket or an unreadable status."""
    folder = ticket_folder(state, ticket)
    read = [_read(folder / name) for name in ("status.json", "launch.json")]
    statuses = [s for s in read if s and s.ticket == ticket]
    return max(statuses, key=lambda s: s.heartbeat_at, default=None)


def _read(path: Path) -> SweepStatus | None:
    try:
        body: Any = json.loads(path.read_text(encoding="utf-8"))
        names = {f.name for f in fields(SweepStatus)}
        nodes = tuple(_node(n) for n in body.pop("nodes", ()))
        limits = tuple(body.pop("limits", ()))
        kept = {k: v for k, v in body.items() if k in names}
        status = SweepStatus(**kept, nodes=nodes, limits=limits)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return status if _is_sound(status) else None


def _node(body: Mapping[str, Any]) -> NodeStatus:
    """Return a node of a status; ValueError where a field has another type."""
    names = {f.name for f in fields(NodeStatus)}
    node = NodeStatus(**{k: v for k, v in body.items() if k in names} | {"runs": ()})
    runs = body.get("runs", ())
    texts = [node.name, node.accelerators, node.system, node.message or "", *runs]
    if (
        not all(isinstance(text, str) for text in texts)
        or node.state not in _STATES
        or node.stored_by not in tuple(STORERS)
        or not (isinstance(node.finished, int) and 0 <= node.finished < 2**31)
    ):
        raise ValueError("a node of the status is invalid")
    return replace(node, runs=tuple(runs))


def _is_sound(status: SweepStatus) -> bool:
    """Return whether every field has its type: a file may be of another version or edited."""
    hints = get_type_hints(SweepStatus)
    hints |= {"phase": str, "options": dict, "nodes": tuple, "limits": tuple}
    typed = all(
        isinstance(value, kind | int if "float" in str(kind) else kind)
        for name, kind in hints.items()
        for value in (getattr(status, name),)
    )
    stamps = [status.asked_at, status.heartbeat_at, status.started_at, status.ended_at]
    counts = [status.planned, status.finished, status.failed, status.pid]
    return (
        typed
        and all(isinstance(limit, str) for limit in status.limits)
        and status.phase in _PHASES
        and all(t is None or 0 <= t < _YEAR_3000_S for t in stamps)
        and all(0 <= n < 2**31 for n in counts)
    )


def kept_spec(state: Path, status: SweepStatus) -> Path | None:
    """The file that says what was asked for; None where none was kept."""
    path = ticket_folder(state, status.ticket) / f"{Path(status.sweep).name}.toml"
    return path if path.is_file() else None


def log_tail(state: Path, ticket: str) -> str:
    """The last lines its supervisor printed; empty where it printed none."""
    try:
        with (ticket_folder(state, ticket) / "log.txt").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG_BYTES))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


# -- processes ---------------------------------------------------------------------------------


def here(status: SweepStatus) -> bool:
    """Whether it runs on this machine, where its process can be seen and stopped."""
    return status.host == platform.node()


def alive(status: SweepStatus) -> bool:
    """Whether the process that wrote it still runs on this machine."""
    return _process(status) is not None


def _process(status: SweepStatus) -> psutil.Process | None:
    """The supervisor; None where it is gone, waits to be buried, or its number was given away."""
    try:
        process = psutil.Process(status.pid)
        same = abs(float(process.create_time()) - status.pid_started) < 1.0
        gone = process.status() == psutil.STATUS_ZOMBIE
    except (psutil.Error, ValueError, OverflowError):
        return None
    return process if same and not gone else None


def condition(status: SweepStatus, now: float | None = None) -> Condition:
    """The phase, corrected by what can be seen.

    Without its process a sweep is `interrupted`, without a heartbeat `stalled`; of another
    machine only the heartbeat can be seen.
    """
    if status.phase not in ACTIVE:
        return status.phase
    if here(status) and not alive(status):
        return "interrupted"
    age = (time.time() if now is None else now) - status.heartbeat_at
    return "stalled" if age > STALLED_S else status.phase


def ask_to_stop(status: SweepStatus) -> bool:
    """Send the supervisor SIGTERM, which it obeys cleanly; False where it is gone already."""
    process = _process(status) if here(status) else None
    if process is None or process.pid == os.getpid():
        return False
    try:
        process.terminate()
    except psutil.NoSuchProcess:
        return False
    return True


def launch(
    state: Path,
    status: SweepStatus,
    command: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
) -> SweepStatus:
    """Start a supervisor that outlives this process; `asked` is what is known of its sweep.

    Until the supervisor writes its first status, what is returned here stands for it. OSError
    where it cannot be started.
    """
    folder = ticket_folder(state, status.ticket)
    folder.mkdir(parents=True, exist_ok=True)
    asked_at = time.time()  # before it starts, so that whatever it writes is newer
    with (folder / "log.txt").open("ab") as log:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env={**environment, STATE: str(state)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    begun = _begun(status, child.pid, asked_at)
    # Whoever starts a process has to bury it, or it looks alive for ever.
    threading.Thread(target=child.wait, daemon=True, name=f"wait-{status.ticket}").start()
    _write(state, begun, "launch.json")
    return begun


def _begun(status: SweepStatus, pid: int, asked_at: float) -> SweepStatus:
    return replace(
        status,
        phase="waiting",
        message="starting",
        current=None,
        current_epoch=None,
        current_epochs=None,
        following=None,
        left_s=None,
        limits=(),
        limit_reached=None,
        ended_at=None,
        host=platform.node(),
        pid=pid,
        pid_started=float(psutil.Process(pid).create_time()),
        asked_at=asked_at,
        heartbeat_at=asked_at,
    )


def remove_status(state: Path, ticket: str) -> None:
    """Forget a sweep that has ended; its results stay."""
    folder = ticket_folder(state, ticket)
    for path in sorted(folder.glob("*")) + sorted(folder.glob(".*.tmp")):
        path.unlink(missing_ok=True)
    if folder.is_dir():
        os.rmdir(folder)  # noqa: PTH106 - only if empty


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

    def share(self) -> bool:
        """Return whether no sweep measures on this machine; runs of a cluster share the lock."""
        if self._handle is None:
            self._handle = _lock(self._state / "queue.lock", shared=True)
        return self._handle is not None

    def ahead(self, ticket: str) -> SweepStatus | None:
        """Return the sweep ahead; None where the one that measures has no readable status."""
        return _before(self._state, ticket) or _running(self._state, ticket)

    def give_back(self) -> None:
        """Let the next sweep measure."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(path: Path, *, shared: bool = False) -> int | None:
    """Return the lock's open file, None while it is held; without file locks it is always free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        import fcntl

        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except (ImportError, OSError):  # a system or a disk that knows no locks
        return handle
    return handle


def _before(state: Path, ticket: str) -> SweepStatus | None:
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
