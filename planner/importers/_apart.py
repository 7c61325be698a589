"""Read files of strangers in a process apart: limits, one file at a time, and its end.

The process (`_child.py`) starts as `python -I` without environment, leaves the network where the
system lets it, and forks for each import. The fork has limits on memory and processor time, opens
no file and no socket, writes no file, and answers by one message of limited size.
"""

import json
import subprocess
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from planner.apart import Pipes, ended, started
from planner.core import Text
from planner.importers import _child as child
from planner.importers.formats import SourceError, SourceFiles, Stated
from planner.runs import BY_NAME, TIME

WALL_S: Final = 30.0
"""Longest wait for an answer [s]: far above the processor time it may take, for busy machines."""
START_S: Final = 20.0
"""Longest start of the process [s]."""
WAIT_S: Final = 20.0
"""Longest wait for the imports of others [s]."""
MOST_ANSWER: Final = 64_000_000
"""Largest answer [bytes]."""
_BUSY: Final = "other files are being read. Try again in a moment."
_ENDED: Final = Text(
    "reading was stopped: more than {seconds} s or {memory_bytes:,} MB. Split the file.",
    seconds=child.SECONDS,
    memory_bytes=child.MEMORY_BYTES // 1000000,
)


class Reader:
    """The process that reads, one import at a time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def read(
        self, source: str, files: SourceFiles, stated: Stated, result_set: str
    ) -> list[dict[str, Any]]:
        """Return the rows of a file.

        Raises:
            SourceError: it is not taken, or reading it took too much time or memory.
        """
        if not self._lock.acquire(timeout=WAIT_S):
            raise SourceError(files.name, [_BUSY])
        try:
            head = self._ask(source, files, stated, result_set)
        except (OSError, EOFError, ValueError):
            ended(self._process)
            self._process = None
            raise SourceError(files.name, [_ENDED]) from None
        finally:
            self._lock.release()
        if problems := head.get("problems"):
            unknown = [str(name) for name in head.get("unknown", ())]
            raise SourceError(files.name, [str(p) for p in problems], unknown)
        return list(head["rows"])

    def end(self) -> None:
        """End the process; the next import starts another."""
        with self._lock:
            ended(self._process)
            self._process = None

    def _ask(
        self, source: str, files: SourceFiles, stated: Stated, result_set: str
    ) -> Mapping[str, Any]:
        question = {
            "source": source, "name": files.name, "files": list(files.data),
            "facts": dict(stated.facts), "options": dict(stated.options), "set": result_set,
        }  # fmt: skip
        pipes = self._ready()
        pipes.send(json.dumps(question).encode(), *files.data.values())
        head = json.loads(pipes.receive(WALL_S))
        if not isinstance(head, dict) or not ("rows" in head or "problems" in head):
            raise ValueError("no answer of ours")
        return {**head, "rows": [_with_times(row) for row in head.get("rows", ())]}

    def _ready(self) -> Pipes:
        if self._process is not None and self._process.poll() is None:
            return Pipes(self._process, MOST_ANSWER)
        ended(self._process)
        self._process = started(Path(child.__file__))
        pipes = Pipes(self._process, MOST_ANSWER)
        pipes.receive(START_S)
        return pipes


def _with_times(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an answer with its times, which arrive as ISO 8601 in UTC."""
    return {
        name: datetime.fromisoformat(cell)
        if isinstance(cell, str) and name in BY_NAME and BY_NAME[name].type == TIME
        else cell
        for name, cell in row.items()
    }


_READER: Final = Reader()


def read(source: str, files: SourceFiles, stated: Stated, result_set: str) -> list[dict[str, Any]]:
    """Return the rows of a file, complete but for what the store adds, read in a process apart.

    Raises:
        SourceError: the source is unknown, the file is wrong, or a fact is missing; all problems.
    """
    return _READER.read(source, files, stated, result_set)
