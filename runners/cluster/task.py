"""What runs on a node: a report of the node, and the measurement of one case."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.runs import Row
from planner.store.disk.sweeps import Turn, state_folder
from runners.cluster.nodes import Facts
from runners.machine import facts as machine
from runners.machine.identity import machine_id
from runners.plan.cases import Case
from runners.plan.host import detect, pythons
from runners.process.events import Event
from runners.process.supervise import Ended
from runners.sweep import rows
from runners.sweep.measure import CHILD, Bench, Hooks, measure

_POLL_S = 0.2


EPOCH_S: Final = 0.2
"""Shortest time between two reports of a run [s], as between two writes of a local sweep."""


class Board:
    """The last finished epoch of each case that is being measured; an actor of the cluster."""

    def __init__(self) -> None:
        self._epochs: dict[str, int] = {}

    def put(self, case_id: str, epoch: int) -> None:
        """Note the last epoch of a case."""
        self._epochs[case_id] = epoch

    def take(self) -> dict[str, int]:
        """Return what was noted since the last call."""
        taken, self._epochs = self._epochs, {}
        return taken


def reporting(case: Case, board: Any) -> Callable[[Event], None]:  # noqa: ANN401 - an actor
    """Return a callback that sends the epochs of a case to a board, at most every `EPOCH_S`."""
    sent_s = float("-inf")

    def on_event(event: Event) -> None:
        nonlocal sent_s
        now_s = time.perf_counter()
        if board is None or event["event"] != "epoch" or now_s - sent_s < EPOCH_S:
            return
        sent_s = now_s
        board.put.remote(case.case_id, int(event["epoch"]))

    return on_event


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for all runs of a sweep; it is sent to the nodes."""

    result_set: str
    licence: str
    session_started_at: str
    git_describe: str | None
    """Version of the program that starts the sweep; the nodes run a copy of it."""
    pythons: Mapping[str, str]
    """Interpreter paths on the nodes by backend; empty for the one that runs Ray."""
    timeout_s: float
    memory_share: float
    memory_bytes: int | None = None
    child: tuple[str, ...] = CHILD


def report(named: Mapping[str, str]) -> Facts:
    """Return the facts of this node; `named` are interpreter paths by backend."""
    # Ray hides the GPUs from a task that requests none.
    environ = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    host = detect(pythons(named, environ), environ)
    columns = machine.facts(host.device, devices=1)
    return Facts(
        niceness=usual_priority(),
        device=host.device,
        backends=host.backends,
        memory_bytes=int(columns["host_memory_bytes"]),
        system=columns,
    )


def usual_priority() -> int:
    """Return the niceness of this process, which is set to 0 where that is allowed.

    Ray starts its workers at 15: a run beside other programs would take longer than a local one.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.getpriority(os.PRIO_PROCESS, 0)


def measured(case: Case, terms: Terms, board: Any = None) -> Row:  # noqa: ANN401 - an actor
    """Return the row of a case, measured in a fresh child as in a local sweep.

    Its epochs are reported to the board. A sweep of this machine alone that measures now is waited
    for, and the other way round.
    """
    environ = dict(os.environ)
    state = state_folder(environ)
    bench = Bench(
        pythons=pythons(terms.pythons, environ),
        environ=environ,
        cache=state / "cache",
        timeout_s=terms.timeout_s,
        memory_share=terms.memory_share,
        memory_bytes=terms.memory_bytes,
        child=terms.child,
    )
    turn = Turn(state)
    niceness = usual_priority()
    try:
        while not turn.share():
            time.sleep(_POLL_S)
        row = measure(case, bench, terms.result_set, Hooks(on_event=reporting(case, board)))
    finally:
        turn.give_back()
    return {**_with(row, niceness=niceness or None), **_columns(terms, state)}


def _with(row: Row, **values: Any) -> Row:  # noqa: ANN401 - of JSON
    """Return the row with further values in `extra`; None is left out."""
    kept = {name: value for name, value in values.items() if value is not None}
    return {**row, "extra": json.dumps({**rows.extra_of(row), **kept}, sort_keys=True)}


def _columns(terms: Terms, state: Path | None) -> Row:
    columns = {
        "licence": terms.licence,
        "session_started_at": terms.session_started_at,
        "machine_id": None if state is None else machine_id(state),
        "git_describe": terms.git_describe,
    }
    return {name: value for name, value in columns.items() if value is not None}


def lost(case: Case, terms: Terms, facts: Facts, ended: Ended, attempts: int) -> Row:
    """Return the row of a case that left none in any of its attempts."""
    row = rows.row_of(
        case,
        ended,
        result_set=terms.result_set,
        recorded_at=datetime.now(UTC),
        facts=facts.system,
        around={},
    )
    return {**_with(row, lost_attempts=attempts), **_columns(terms, None)}
