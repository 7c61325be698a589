"""The launchers `local` and `command`: on this machine, and on hosts behind a command prefix.

    python -m runners.launch [--server] WORKERS COMMAND...
    python -m runners.launch --hosts A,B --prefix "ssh {host}" [--ports FROM-TO] [--server] ...

All local processes are in the launcher's group, so whoever ends the group ends them all. A worker
behind a prefix is run by `worker.py` on its host: it ends once its standard input is closed, which
the end of the launcher does. Workers are dealt to the hosts in turn; server and chief are on the
first one, or on a host of their own.

Synchronous workers wait for each other in every step. Once one ends before its work is done, the
others are killed, as they would wait for ever. The run then ends as `peer_lost`, unless the worker
reported an error of its own, which is passed on.

With `--server` a chief hands out steps to workers that update a parameter server. A worker that
ends is started again at its address, and the chief uses it again. The run ends with the chief.
"""

import argparse
import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Final

from runners.launch import PLACE, SERVER
from runners.launch.cluster import ending, peer_lost
from runners.launch.launcher import FIELDS, Launcher, from_table, port_range
from runners.launch.worker import SIGNALS, settings, start_line
from runners.process.events import FD, EventWriter, parse

POLL_S: Final = 0.05
REST_S: Final = 30.0
"""Time limit for the other workers to end after the first one has finished [s]."""
MOST_STARTS: Final = 5
"""Starts of one worker: one that ends each time is lost."""
CLOSING_S: Final = 3.0
"""Time limit for workers on hosts to end once their standard input is closed [s]."""
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
    launcher: Launcher = field(default_factory=Launcher)
    tasks: list[Task] = field(default_factory=list)

    def start(self, kind: str, index: int) -> Task:
        """Start one process with its request and its place in the cluster."""
        events = tempfile.TemporaryFile() if self.tasks else None  # noqa: SIM115 - read at its end
        number = os.environ.get(FD) if events is None else str(events.fileno())
        config = {"cluster": self.cluster, "task": {"type": kind, "index": index}}
        variables = {"TF_CONFIG": json.dumps(config)}
        start = self._behind_prefix if self.launcher.hosts else self._here
        process = start(host_of(self.launcher, kind, index), variables, number)
        return Task(kind=kind, index=index, process=process, events=events)

    def _here(
        self, _host: str, variables: Mapping[str, str], number: str | None
    ) -> subprocess.Popen[bytes]:
        """Start a process on this machine."""
        process = subprocess.Popen(
            [sys.executable, *self.command],
            stdin=subprocess.PIPE,
            env={**os.environ, **variables, **({FD: number} if number else {})},
            pass_fds=[int(number)] if number else [],
        )
        with contextlib.suppress(BrokenPipeError):  # a dead process is noticed while waiting
            if process.stdin:
                process.stdin.write(self.request)
                process.stdin.close()
        return process

    def _behind_prefix(
        self, host: str, variables: Mapping[str, str], number: str | None
    ) -> subprocess.Popen[bytes]:
        """Start a process on a host; its standard output has its events and nothing else."""
        environment = {**settings(os.environ), **variables, PLACE: self._place()}
        process = subprocess.Popen(
            prefixed(self.launcher, host),
            stdin=subprocess.PIPE,
            stdout=int(number) if number else None,
        )
        with contextlib.suppress(BrokenPipeError):  # a dead process is noticed while waiting
            if process.stdin:
                line = start_line(list(self.command), environment, self.request.decode())
                process.stdin.write(line)
                process.stdin.flush()
        return process

    def _place(self) -> str:
        workers = len(self.cluster["worker"])
        nodes = self.launcher.nodes(workers)
        return json.dumps({"launch": "command", "nodes": nodes, "per_node": workers // nodes})

    def kill(self) -> None:
        """End all processes and wait for them."""
        if self.launcher.hosts:
            self._close()
        for task in self.tasks:
            task.process.kill()
        for task in self.tasks:
            task.process.wait()

    def _close(self) -> None:
        """Close the inputs of workers on hosts, and wait until they have ended there."""
        for task in self.tasks:
            if task.process.stdin:
                with contextlib.suppress(BrokenPipeError):
                    task.process.stdin.close()
        end_s = time.perf_counter() + CLOSING_S
        while time.perf_counter() < end_s and any(t.process.poll() is None for t in self.tasks):
            time.sleep(POLL_S)

    def lost(self, task: Task) -> int:
        """End all since a process is lost, report why, and return the exit code."""
        code = task.process.returncode  # before others are killed
        self.kill()
        if task is self.tasks[0] and 0 < code < SIGNALS:  # it has reported its error itself
            return code
        how = ending(code, behind_prefix=bool(self.launcher.hosts))
        lost = peer_lost(task.name, len(self.cluster[task.kind]), how)
        status, reason = _failure(task) or ("peer_lost", lost)
        EventWriter().send("failed", status=status, reason=reason)
        return 1


def host_of(launcher: Launcher, kind: str, index: int) -> str:
    """Return the host of a process, as its launcher names it; empty on this machine."""
    if not launcher.hosts:
        return ""
    if kind != "worker":
        return launcher.server_host or launcher.hosts[0]
    return launcher.hosts[index % len(launcher.hosts)]


def prefixed(launcher: Launcher, host: str) -> list[str]:
    """Return the command that runs `worker.py` on a host."""
    name = host.partition("=")[0]
    words = [word.replace("{host}", name) for word in shlex.split(launcher.prefix)]
    script = f"{launcher.directory}/runners/launch/worker.py"
    return [*words, launcher.python or sys.executable, "-I", "-S", script]


def addresses_on(launcher: Launcher, kinds: Sequence[str], start: int) -> list[str]:
    """Return an address on its host for each process; ports follow each other from `start` on."""
    ports = port_range(launcher.ports) or range(1)
    addresses = []
    for place, kind in enumerate(kinds):
        host = host_of(launcher, kind, list(kinds[:place]).count(kind))
        name, _, address = host.partition("=")
        number = ports[(start + place) % len(ports)]
        addresses.append(f"{address or name.rpartition('@')[2]}:{number}")
    return addresses


def addresses(count: int) -> list[str]:
    """Return free addresses of this machine; another program may take one before its use."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in held]


def launched(
    command: Sequence[str], request: bytes, workers: int, *, server: bool, launcher: Launcher
) -> Launch:
    """Start all processes of a run; the first one reports."""
    kinds = ["chief", "ps", *["worker"] * workers] if server else ["worker"] * workers
    behind = launcher.hosts  # two runs after each other take different ports
    free = addresses_on(launcher, kinds, os.getpid()) if behind else addresses(len(kinds))
    cluster = {
        kind: [free[i] for i, each in enumerate(kinds) if each == kind]
        for kind in dict.fromkeys(kinds)
    }
    launch = Launch(command=command, request=request, cluster=cluster, launcher=launcher)
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
    parser = argparse.ArgumentParser(prog="python -m runners.launch")
    parser.add_argument(SERVER, action="store_true")
    for name in FIELDS[1:]:
        parser.add_argument(f"--{name}")
    parser.add_argument("workers", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    table = {name: value for name in FIELDS[1:] if (value := getattr(options, name))}
    launcher, problems = from_table({**table, **({"launcher": "command"} if table else {})})
    if problems:
        parser.error(" ".join(problems))
    server, request = bool(options.server), sys.stdin.buffer.read()
    launch = launched(options.command, request, options.workers, server=server, launcher=launcher)
    return wait_for_chief(launch) if server else wait_together(launch)


if __name__ == "__main__":
    sys.exit(main())
