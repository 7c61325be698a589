"""The local launcher: `python -m runners.launch WORKERS COMMAND...`, on one machine.

All workers are in the launcher's process group, so whoever ends the group ends them all. Once a
worker ends before its work is done, the others are killed: a synchronous step waits for every
worker, and would wait for ever. The run then ends as `peer_lost`, unless the worker reported an
error of its own, which is passed on.
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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final

from runners.process.events import FD, EventWriter, parse

POLL_S: Final = 0.05
REST_S: Final = 30.0
"""Time limit for the other workers to end after the first one has finished [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A started worker; `events` holds what it reports, None for the first one."""

    rank: int
    process: subprocess.Popen[bytes]
    events: IO[bytes] | None


def addresses(workers: int) -> list[str]:
    """Return free addresses of this machine; another program may take one before its use."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(workers)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in held]


def start(command: Sequence[str], request: bytes, workers: int) -> list[Worker]:
    """Start all workers of a run with its request."""
    cluster = {"worker": addresses(workers)}
    started = []
    for rank in range(workers):
        events = None if rank == 0 else tempfile.TemporaryFile()  # noqa: SIM115 - read at its end
        number = os.environ.get(FD) if events is None else str(events.fileno())
        task = {"type": "worker", "index": rank}
        process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            env={**os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": task}),
                 **({FD: number} if number else {})},
            pass_fds=[int(number)] if number else [],
        )  # fmt: skip
        started.append(Worker(rank=rank, process=process, events=events))
    for worker in started:
        pipe = worker.process.stdin
        with contextlib.suppress(BrokenPipeError):  # a dead worker is noticed below
            if pipe:
                pipe.write(request)
                pipe.close()
    return started


def wait(workers: Sequence[Worker]) -> int:
    """Wait for the end of all workers and return the exit code of the first one."""
    first, end_s = workers[0].process, float("inf")
    while True:
        ended = [w for w in workers if w.process.poll() is not None]
        if lost := next((w for w in ended if w.process.returncode != 0), None):
            return _lost(lost, workers)
        if len(ended) == len(workers) or time.perf_counter() > end_s:
            _kill(workers)
            return first.returncode
        if first.returncode == 0:
            end_s = min(end_s, time.perf_counter() + REST_S)
        time.sleep(POLL_S)


def _lost(lost: Worker, workers: Sequence[Worker]) -> int:
    """End the others of a lost worker, and report why; return the exit code."""
    _kill(workers)
    code = lost.process.returncode
    if lost.rank == 0 and code > 0:  # it has reported its error itself
        return code
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    status, reason = "peer_lost", f"worker {lost.rank} of {len(workers)} ended: {how}"
    if failed := _failure(lost):
        status, reason = failed
    EventWriter().send("failed", status=status, reason=reason)
    return 1


def _failure(worker: Worker) -> tuple[str, str] | None:
    """Return status and reason of the error that a worker reported; None without one."""
    if worker.events is None:
        return None
    worker.events.seek(0)
    reported = (parse(line) for line in worker.events)
    failed = next((e for e in reported if e and e["event"] == "failed"), None)
    return (str(failed["status"]), str(failed["reason"])) if failed else None


def _kill(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.wait()


def main() -> int:
    """Start the workers named on the command line and wait for them."""
    workers, command = int(sys.argv[1]), sys.argv[2:]
    return wait(start(command, sys.stdin.buffer.read(), workers))


if __name__ == "__main__":
    sys.exit(main())
