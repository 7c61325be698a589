"""The one process that answers SELECT statements, and what happens when it dies or hangs."""

import json
import subprocess
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from planner.apart import Pipes, ended, started
from planner.core import Text
from planner.store.select import _child as child
from planner.store.select._child import MOST_ROWS, SECONDS
from planner.store.select._refusals import RefusedError, refused

GRACE_S: Final = 1.0
"""Time after the limit until the process is ended [s]: an interrupt is not always obeyed."""
LOAD_S: Final = 60.0
"""Longest start of the process, with the runs [s]."""
WAIT_S: Final = 5.0
"""Longest wait for the statements of others [s]."""
_BUSY: Final = Text("Other statements are being answered. Try again in a moment.")
_ENDED: Final = Text(
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
        except (OSError, EOFError, ValueError, KeyError):
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
            raise refused(head["refused"], head["value"])
        with pa.ipc.open_stream(pipes.receive(GRACE_S)) as stream:
            table = stream.read_all()
        return Rows(table=table.slice(0, MOST_ROWS), cut=table.num_rows > MOST_ROWS)

    def _ready(self, version: Hashable, runs: Callable[[], pa.Table]) -> Pipes:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = started(Path(child.__file__))
        pipes = Pipes(self._process)
        if self._version != version:
            pipes.send(b"runs", child.bytes_of(runs()))
            pipes.receive(LOAD_S)
            self._version = version
        return pipes

    def _end(self) -> None:
        process, self._process, self._version = self._process, None, None
        ended(process)
