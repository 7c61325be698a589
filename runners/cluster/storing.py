"""Who stores a run of a cluster: its node wherever it can, else the starting process.

A node stores in the results folder if it has that folder, else in the app that a sweep pushes to.
The starting process puts every returned row into its folder all the same: a run that lies there
already stays as it is, so this proves that the node has stored it where it is looked for.
"""

import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from planner.runs import Row, run_id
from planner.store.disk.files import remove, write_once
from planner.store.disk.ledger import acknowledged, ledger
from planner.store.disk.sweeps import Storer
from planner.store.disk.witness import Witness
from planner.store.sealed.attempts import attempt_id
from runners.plan.cases import Case
from runners.sweep.push import PushRefusedError, Server, push
from runners.sweep.rows import SetFolder

_QUEUE: Final = "queue"


class WithheldText(Protocol):
    """A text that is no argument of a task (`runners.cluster.connection.SharedText`)."""

    def read(self) -> str:
        """Return the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where the runs of a sweep go; it is sent to the nodes."""

    witness: Witness
    """Of the result set's folder on the starting machine."""
    reference: str = ""
    """What no other set has (`ResultSet.reference`)."""
    about: str = ""
    """Text of the set's set.toml."""
    url: str | None = None
    """Address of the app that runs are pushed to."""
    token: WithheldText | None = None
    push_s: float = 20.0
    """Time limit for the app to take a run [s]; later the starting process pushes it."""

    def attempt_id(self, case: Case) -> str:
        """Return the id of an attempt of a case in this set."""
        text = f"{self.reference} {case.case_id} {case.attempt}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A measured run, and who has stored it."""

    row: Row
    by: Storer


def store(row: Row, storage: Storage, state: Path) -> Stored:
    """Store a run on its node where that is possible; `state` is this machine's state folder."""
    if storage.witness.is_seen():
        with suppress(OSError):  # a folder that this user of the node may not write
            return Stored(row=SetFolder(storage.witness.folder).put(row), by="node in folder")
    if storage.url and storage.token:
        server = Server(url=storage.url, token=storage.token.read())
        with suppress(OSError, PushRefusedError):  # the starting process tries it, and says why not
            return _pushed(row, storage, server, state)
    return Stored(row=row, by="start")


def _pushed(row: Row, storage: Storage, to: Server, state: Path) -> Stored:
    """Put a run into this machine's queue on disk, and send the queue."""
    queue = SetFolder(state / _QUEUE / storage.witness.folder.name)
    write_once(queue.path / "set.toml", storage.about)
    row = queue.put(row)
    end_s = time.monotonic() + storage.push_s
    push(queue.path, to, state, stop=lambda: time.monotonic() > end_s, say=lambda _: None)
    done = acknowledged(ledger(state, to.address, queue.path.name))
    if attempt := attempt_id(row):
        queue.release(attempt)
    for path in queue.path.glob("*.parquet"):
        if path.stem in done:
            remove(path)
    return Stored(row=row, by="node in app" if run_id(row) in done else "start")
