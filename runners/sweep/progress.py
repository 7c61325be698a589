"""Progress bars in a terminal (rich), else one line per run."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from planner.core import in_words
from planner.runs import Row
from planner.store.disk.sweeps import SweepStatus


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
        epoch = f", epoch {status.current_epoch} done" if status.current_epoch else ""
        now = f"{status.current}{epoch}" if status.current else status.message or ""
        self._bars.update(
            self._task, total=status.planned, completed=status.finished, text=f"{left}{now}"
        )

    def row(self, row: Row) -> None:
        """Print the result of a run."""
        what = self._current or f"{row['model']}, batch {row.get('global_batch_size')}"
        self._console.print(f"  {what}: {_outcome(row)}", soft_wrap=True)


def _outcome(row: Row) -> str:
    if row["status"] != "ok":
        return f"{row['status']} ({row.get('status_reason')})"
    speed = row.get("throughput")
    return f"{speed:,.0f} samples/s" if speed else "measured"
