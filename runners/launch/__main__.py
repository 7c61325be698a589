"""The local launcher: `python -m runners.launch [--server] WORKERS COMMAND...`, on one machine.

All processes are in the launcher's group, so whoever ends the group ends them all.

Synchronous workers wait for each other in every step. Once one ends before its work is done, the
others are killed, as they would wait for ever. The run then ends as `peer_lost`, unless the worker
reported an error of its own, which is passed on.

With `--server` a chief hands out steps to workers that update a parameter server. A worker that
ends is started again at its address, and the chief uses it again. The run ends with the chief.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Final

from runners.launch import SERVER
from runners.process.events import FD, EventWriter, parse

POLL_S: Final = 0.05
REST_S: Final = 30.0
"""Time limit for the other workers to end after the first one has finished [s]."""
MOST_STARTS: Final = 5
"""Starts of one worker: one that ends each time is lost."""
Cluster = Mapping[str, Sequence[str]]
"""Addresses by kind of task: worker, chief, ps."""


@dataclass(slots=True, kw_only=True)
class Task:
    """A process of a run; `events` holds what it reports, None for the first one."""

    kind: str
    index: int
    process: subprocess.Popen[bytes]
    events: IO[bytes] | None
    starts: int = 1

    @property
    def name(self) -> str:
        """Its kind and place: worker 1."""
        return f"{self.kind} {self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What every process of a run is started with, and the processes."""

    command: Sequence[str]
    request: bytes
    cluster: Cluster
    tasks: list[Task] = field(default_factory=list)

    def start(self, kind: str, index: int) -> Task:
        """Start one process with its request and its place in the cluster."""
        events = tempfile.TemporaryFile() if self.tasks else None  # noqa: SIM115 - read at its end
        number = os.environ.get(FD) if events is None else str(events.fileno())
        config = {"cluster": self.cluster, "task": {"type": kind, "index": index}}
        process = subprocess.Popen(
            [sys.executable, *self.command],
            stdin=subprocess.PIPE,
            env={**os.environ, "TF_CONFIG": json.dumps(config), **({FD: number} if number else {})},
            pass_fds=[int(number)] if number else [],
        )
        with contextlib.suppress(BrokenPipeError):  # a dead process is noticed while waiting
            if process.stdin:
                process.stdin.write(self.request)
                process.stdin.close()
        return Task(kind=kind, index=index, process=process, events=events)

    def kill(self) -> None:
        """End all processes and wait for them."""
        for task in self.tasks:
            task.process.kill()
        for task in self.tasks:
            task.process.wait()

    def lost(self, task: Task) -> int:
        """End all since a process is lost, report why, and return the exit code."""
        self.kill()
        code = task.process.returncode
        if task is self.tasks[0] and code > 0:  # it has reported its error itself
            return code
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        alike = len(self.cluster[task.kind])
        status, reason = "peer_lost", f"{task.name} of {alike} ended: {how}"
        if failed := _failure(task):
            status, reason = failed
        EventWriter().send("failed", status=status, reason=reason)
        return 1


def addresses(count: int) -> list[str]:
    """Return free addresses of this machine; another program may take one before its use."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in held]


def launched(command: Sequence[str], request: bytes, workers: int, *, server: bool) -> Launch:
    """Start all processes of a run; the first one reports."""
    kinds = ["chief", "ps", *["worker"] * workers] if server else ["worker"] * workers
    free = addresses(len(kinds))
    cluster = {
        kind: [free[i] for i, one in enumerate(kinds) if one == kind]
        for kind in dict.fromkeys(kinds)
    }
    launch = Launch(command=command, request=request, cluster=cluster)
    for place, kind in enumerate(kinds):
        launch.tasks.append(launch.start(kind, kinds[:place].count(kind)))
    return launch


def wait_together(launch: Launch) -> int:
    """Wait for synchronous workers and return the exit code of the first one."""
    first, end_s = launch.tasks[0].process, float("inf")
    while True:
        ended = [task for task in launch.tasks if task.process.poll() is not None]
        if lost := next((task for task in ended if task.process.returncode != 0), None):
            return launch.lost(lost)
        if len(ended) == len(launch.tasks) or time.perf_counter() > end_s:
            launch.kill()
            return int(first.returncode)
        if first.returncode == 0:
            end_s = min(end_s, time.perf_counter() + REST_S)
        time.sleep(POLL_S)


def wait_for_chief(launch: Launch) -> int:
    """Wait for the chief and return its exit code; restart workers that end."""
    chief = launch.tasks[0]
    while chief.process.poll() is None:
        for place, task in enumerate(launch.tasks):
            if task.process.poll() is None:
                continue
            if task.kind != "worker" or task.starts == MOST_STARTS:
                return launch.lost(task)
            again = launch.start(task.kind, task.index)
            again.starts = task.starts + 1
            launch.tasks[place] = again
        time.sleep(POLL_S)
    if chief.process.returncode < 0:
        return launch.lost(chief)
    launch.kill()
    return int(chief.process.returncode)


def _failure(task: Task) -> tuple[str, str] | None:
    """Return status and reason of the error that a process reported; None without one."""
    if task.events is None:
        return None
    task.events.seek(0)
    reported = (parse(line) for line in task.events)
    failed = next((e for e in reported if e and e["event"] == "failed"), None)
    return (str(failed["status"]), str(failed["reason"])) if failed else None


def main() -> int:
    """Start the processes named on the command line and wait for them."""
    given = sys.argv[1:]
    server = given[0] == SERVER
    workers, *command = given[1:] if server else given
    launch = launched(command, sys.stdin.buffer.read(), int(workers), server=server)
    return wait_for_chief(launch) if server else wait_together(launch)


if __name__ == "__main__":
    sys.exit(main())
