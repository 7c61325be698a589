"""Run the cases of a sweep in order until each has a row, and report progress.

The rows in the result set, matched by `case_id`, define what is done. So a sweep that was
stopped, killed or cut off by a power failure continues from its rows alone.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import psutil
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from planner.core import Text, in_words, joined
from planner.runs import Row
from planner.store.disk.sweeps import HEARTBEAT_S, SweepStatus, Turn, write_status
from planner.store.sealed.commit import CommitError, try_folder
from runners.plan.cases import Case
from runners.process.events import Event
from runners.process.supervise import Stopped
from runners.sweep.measure import Hooks
from runners.sweep.rows import (
    Destination,
    Done,
    SetFolder,
    done_in,
    worth_another_try,
)

EPOCH_S: Final = 0.2
"""Shortest time between two reports of an epoch [s]: each report writes to disk."""
_PLACES: Final = 2
"""Most runs of a cluster beside the progress bar."""


class MeasuresCase(Protocol):
    """Measures one case and returns its row."""

    def __call__(self, case: Case, hooks: Hooks) -> Row:
        """Run the case and return its row, also if it failed; raise `Stopped` on a stop."""


@dataclass(slots=True)
class Journal:
    """Keeps the status file of a running sweep up to date."""

    state: Path
    status: SweepStatus
    on_update: Callable[[SweepStatus], None] = lambda _: None
    taken_s: list[float] = field(default_factory=list)
    """Wall time of each run measured in this process [s]."""
    _written_s: float = float("-inf")

    def update(self, **changes: Any) -> None:  # noqa: ANN401 - fields of SweepStatus
        """Change the status and write it; a full disk is ignored, as results do not need it."""
        self.status = replace(self.status, **changes, heartbeat_at=time.time())
        with contextlib.suppress(OSError):
            write_status(self.state, self.status)
        self._written_s = time.perf_counter()
        self.on_update(self.status)

    def epoch(self, number: int) -> None:
        """Change the epoch, and write it unless the last write was just now."""
        self.status = replace(self.status, current_epoch=number)
        if time.perf_counter() - self._written_s >= EPOCH_S:
            self.update()

    def beat(self) -> None:
        """Write again if the last write was `HEARTBEAT_S` ago."""
        if time.perf_counter() - self._written_s >= HEARTBEAT_S:
            self.update()

    def left_s(self, waiting: int) -> float | None:
        """Return the time left [s] from run times of this process; None before the first."""
        if not self.taken_s:
            return None
        return waiting * sum(self.taken_s) / len(self.taken_s)


def journal(
    state: Path,
    ticket: str,
    *,
    asked_at: float | None = None,
    **fields: Any,  # noqa: ANN401
) -> Journal:
    """Return the journal of a sweep that this process has just queued."""
    me = psutil.Process()
    now = time.time()
    status = SweepStatus(
        ticket=ticket, phase="waiting", finished=0, pid=me.pid, pid_started=me.create_time(),
        asked_at=now if asked_at is None else asked_at, heartbeat_at=now, **fields,
    )  # fmt: skip
    return Journal(state=state, status=status)


def wait_for_turn(turn: Turn, book: Journal, stop: Callable[[], bool]) -> None:
    """Wait until no other sweep measures on this machine; raise `Stopped` on a stop."""
    book.update(phase="waiting")
    while not turn.take(book.status.ticket):
        text = _waits_for(turn.ahead(book.status.ticket))
        if text != book.status.message:
            book.update(message=text)
        book.beat()
        if stop():
            raise Stopped
        time.sleep(0.2)
    book.update(phase="running", message=None, started_at=time.time())


def _waits_for(ahead: SweepStatus | None) -> str:
    if ahead is None:
        return "waits for a sweep without a status file"
    return Text(
        "waits for '{sweep}' ({finished} of {planned} runs done)",
        sweep=ahead.sweep,
        finished=ahead.finished,
        planned=ahead.planned,
    )


def run(
    cases: Sequence[Case],
    folder: Path,
    measure: MeasuresCase,
    book: Journal,
    *,
    attempts: int = 3,
    memory_bytes: float | None = None,
    retry_failed: bool = False,
    stop: Callable[[], bool] = lambda: False,
    on_row: Callable[[Row], None] = lambda _: None,
) -> list[Row]:
    """Measure every case without a final row; return the new rows in order.

    Raises:
        CommitError: the disk refuses a row; earlier rows are safe and a resume continues.
    """
    made: list[Row] = []
    done = done_in(folder, memory_bytes=memory_bytes, retry_failed=retry_failed)
    waiting = [c for c in cases if not done.settled(c, attempts)]
    count(book, cases, done, attempts, len(waiting))
    if waiting:  # check the disk before hours of measuring
        try_folder(folder, len(waiting))
    for i, case in enumerate(waiting):
        book.status = replace(book.status, following=_following(waiting[i + 1 :]))
        for row in _tries(case, done.attempts_left(case, attempts), measure, book, stop):
            made.append(saved(SetFolder(folder), row, book.status))
            on_row(made[-1])
            if not worth_another_try(made[-1]):
                break
        failed = book.status.failed + (made[-1]["status"] != "ok")
        book.update(finished=book.status.finished + 1, failed=failed, current=None,
                    current_epoch=None, following=_following(waiting[i + 1 :]),
                    left_s=book.left_s(len(waiting) - i - 1))  # fmt: skip
    return made


def _following(cases: Sequence[Case]) -> str | None:
    """Return the next run in words; None after the last."""
    return cases[0].words if cases else None


def probe(
    case: Case,
    folder: Path,
    measure: MeasuresCase,
    book: Journal,
    *,
    attempts: int,
    stop: Callable[[], bool],
    memory_bytes: float | None = None,
) -> Row:
    """Return the last row of a case outside the plan; it does not change the time left.

    An existing row is reused; otherwise the case is measured and its rows are stored.
    """
    done = done_in(folder, memory_bytes=memory_bytes)
    rows = list(done.rows.get(case.case_id, ()))
    taken = list(book.taken_s)
    if not done.settled(case, attempts):
        try_folder(folder, 1)
        for row in _tries(case, done.attempts_left(case, attempts), measure, book, stop):
            rows.append(saved(SetFolder(folder), row, book.status))
            if not worth_another_try(rows[-1]):
                break
    book.taken_s[:] = taken
    return rows[-1]


def saved(destination: Destination, row: Row, status: SweepStatus) -> Row:
    """Store a row; if the disk refuses, the error states how many runs are safe."""
    try:
        return destination.put(row)
    except CommitError as error:
        of_sweep = Text(
            "{finished} of {planned} runs", finished=status.finished, planned=status.planned
        )
        text = str(error.strerror).replace("0 of 1 runs", of_sweep)
        raise CommitError(error.errno, text) from error


def count(book: Journal, cases: Sequence[Case], done: Done, attempts: int, waiting: int) -> None:
    """Report the runs of a sweep that are done, of which `waiting` are left."""
    settled = [c for c in cases if done.settled(c, attempts)]
    last = [done.rows[c.case_id][-1]["status"] for c in settled]
    book.update(
        planned=len(cases), finished=len(cases) - waiting, failed=sum(s != "ok" for s in last)
    )


def _tries(
    case: Case, tries: range, measure: MeasuresCase, book: Journal, stop: Callable[[], bool]
) -> Iterable[Row]:
    """Yield the rows of one case, one attempt at a time."""
    for attempt in tries:
        began = time.perf_counter()
        book.update(current=case.words, current_epoch=None, current_epochs=case.epochs)
        row = measure(replace(case, attempt=attempt), _hooks(book, stop))
        book.taken_s.append(time.perf_counter() - began)
        yield row


def _hooks(book: Journal, stop: Callable[[], bool]) -> Hooks:
    def on_event(event: Event) -> None:
        if event["event"] == "epoch":
            book.epoch(event["epoch"])

    return Hooks(on_event=on_event, beat=book.beat, stop=stop)


def slug(text: str) -> str:
    """Return a folder name for a text: lower-case letters, digits and dashes."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:80] or "results"


class Progress:
    """Shows finished and planned runs, the current run, and the time left if known."""

    def __init__(self, title: str, system: str) -> None:
        self._console = Console(markup=False, highlight=False)
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._console.print(f"{title}, on {system}")
        self._task = self._bars.add_task("runs", total=None, text="")
        self._current: str | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def update(self, status: SweepStatus) -> None:
        """Show a new status."""
        self._current = status.current
        left = f"{in_words(status.left_s)} left, " if status.left_s is not None else ""
        epoch = Text("epoch {n} done", n=status.current_epoch) if status.current_epoch else ""
        now = joined(", ", (status.current, epoch)) if status.current else status.message or ""
        places = [f"{run} on {node.name}" for node in status.nodes for run in node.runs]
        if places:  # a sweep over a cluster
            now = "; ".join(places[:_PLACES]) + ("; ..." if len(places) > _PLACES else "")
        self._bars.update(
            self._task, total=status.planned, completed=status.finished, text=f"{left}{now}"
        )

    def note(self, text: str) -> None:
        """Print a line, such as that a node was lost."""
        self._console.print(f"  {text}", soft_wrap=True)

    def row(self, row: Row, words: str | None = None) -> None:
        """Print the result of a run, which is the current one or has these words."""
        what = words or self._current or f"{row['model']}, batch {row.get('global_batch_size')}"
        self._console.print(f"  {what}: {_outcome(row)}", soft_wrap=True)


def _outcome(row: Row) -> str:
    if row["status"] != "ok":
        return f"{row['status']} ({row.get('status_reason')})"
    speed = row.get("throughput")
    return f"{speed:,.0f} samples/s" if speed else "measured"
