"""The one process that answers SELECT statements, and what happens when it dies or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from planner.store.select import _child as child
from planner.store.select._child import MOST_ROWS, SECONDS, RefusedError

GRACE_S: Final = 1.0
"""Time after the limit until the process is ended [s]: an interrupt is not always obeyed."""
LOAD_S: Final = 60.0
"""Longest start of the process, with the runs [s]."""
WAIT_S: Final = 5.0
"""Longest wait for the statements of others [s]."""
_BUSY: Final = "Other statements are being answered. Try again in a moment."
_ENDED: Final = (
    "It was stopped: it took too much time or memory. Filter the rows or aggregate them first."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The result of a statement; `cut` says whether rows beyond `MOST_ROWS` are left out."""

    table: pa.Table
    cut: bool


class Worker:
    """Answers statements about one version of the runs at a time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._version: Hashable = None

    def ask(self, statement: str, version: Hashable, runs: Callable[[], pa.Table]) -> Rows:
        """Return the rows of a statement.

        Args:
            statement: any text.
            version: changes with the runs.
            runs: returns the runs; called when the process does not hold this version.

        Raises:
            RefusedError: no answer; the message has the reason and the next step.
        """
        if not self._lock.acquire(timeout=WAIT_S):
            raise RefusedError(_BUSY)
        try:
            return self._ask(statement, version, runs)
        except (OSError, EOFError, ValueError):
            self._end()
            raise RefusedError(_ENDED) from None
        finally:
            self._lock.release()

    def end(self) -> None:
        """End the process; the next statement starts another."""
        with self._lock:
            self._end()

    def _ask(self, statement: str, version: Hashable, runs: Callable[[], pa.Table]) -> Rows:
        pipes = self._ready(version, runs)
        pipes.send(b"ask", statement.encode("utf-8", "replace"))
        head = json.loads(pipes.receive(SECONDS + GRACE_S))
        if "refused" in head:
            raise RefusedError(str(head["refused"]))
        with pa.ipc.open_stream(pipes.receive(GRACE_S)) as stream:
            table = stream.read_all()
        return Rows(table=table.slice(0, MOST_ROWS), cut=table.num_rows > MOST_ROWS)

    def _ready(self, version: Hashable, runs: Callable[[], pa.Table]) -> _Pipes:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = _started()
        pipes = _Pipes(self._process)
        if self._version != version:
            pipes.send(b"runs", child.bytes_of(runs()))
            pipes.receive(LOAD_S)
            self._version = version
        return pipes

    def _end(self) -> None:
        process, self._process, self._version = self._process, None, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _started() -> subprocess.Popen[bytes]:
    """Return a process that sees neither this program's environment nor its folder."""
    return subprocess.Popen(
        [sys.executable, "-I", str(Path(child.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"OPENBLAS_NUM_THREADS": "1"},
        cwd="/",
        start_new_session=True,  # Ctrl-C in the terminal ends the server, which ends this
    )


class _Pipes:
    """Messages to and from the process; a process that is silent for too long has failed."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdin is None or process.stdout is None:
            raise EOFError
        self._to, self._from = process.stdin, process.stdout.fileno()
        self._poll = select.poll()  # `select.select` knows file numbers below 1,024 only
        self._poll.register(self._from, select.POLLIN)

    def send(self, *messages: bytes) -> None:
        for message in messages:
            child.write(self._to, message)

    def receive(self, within_s: float) -> bytes:
        deadline_s = time.monotonic() + within_s
        size = int.from_bytes(self._read(8, deadline_s), "big")
        return self._read(size, deadline_s)

    def _read(self, size: int, deadline_s: float) -> bytes:
        parts, left = [], size
        while left:
            ready = self._poll.poll(max(0.0, deadline_s - time.monotonic()) * 1000.0)
            part = os.read(self._from, min(left, 1 << 20)) if ready else b""
            if not part:
                raise EOFError
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
