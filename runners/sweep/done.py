"""Finished runs of a sweep in a result set, and which of them to retry.

Rows are matched to cases by `case_id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.runs import Row
from planner.store.summaries import summaries
from runners.plan.cases import Case
from runners.sweep.rows import extra_of

INFRASTRUCTURE: Final = frozenset({"killed", "crashed", "peer_lost"})
"""Statuses that are retried; lack of memory, NaN and timeouts would repeat."""
MUCH_MORE: Final = 1.25
"""Free memory varies: a limit counts as raised from this factor on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Rows of a sweep in a result set, by case id."""

    rows: Mapping[str, tuple[Row, ...]]
    memory_bytes: float | None = None
    """Current memory limit [bytes]: runs that a smaller limit ended are retried."""
    retry_failed: bool = False
    """Whether failed runs are measured again."""

    def settled(self, case: Case, attempts: int) -> bool:
        """Return whether the case needs no further run: it has a final row or no attempts left."""
        rows = self._counted(case)
        return any(not worth_another_try(row) for row in rows) or len(rows) >= attempts

    def attempts_left(self, case: Case, attempts: int) -> range:
        """Return the numbers of the remaining attempts."""
        rows = self.rows.get(case.case_id, ())
        first = 1 + max((r.get("attempt", 0) for r in rows), default=-1)
        return range(first, first + attempts - len(self._counted(case)))

    def _counted(self, case: Case) -> list[Row]:
        """Return the rows that count under the current settings."""
        rows = self.rows.get(case.case_id, ())
        return [r for r in rows if not (outgrown(r, self.memory_bytes) or self._dropped(r))]

    def _dropped(self, row: Row) -> bool:
        return self.retry_failed and row["status"] != "ok"


def done_in(folder: Path, *, memory_bytes: float | None = None, retry_failed: bool = False) -> Done:
    """Return the runs of a result set by case id, in the order of their attempts."""
    by_case: dict[str, list[Row]] = {}
    for row in summaries(folder):
        if case_id := case_id_of(row):
            by_case.setdefault(case_id, []).append(row)
    return Done(
        rows={k: tuple(sorted(v, key=attempt_of)) for k, v in by_case.items()},
        memory_bytes=memory_bytes,
        retry_failed=retry_failed,
    )


def outgrown(row: Row, memory_bytes: float | None) -> bool:
    """Return whether a memory limit ended the run that is at least a quarter larger now."""
    limit = extra_of(row).get("memory_limit_bytes")
    return (
        row["status"] == "oom"
        and isinstance(limit, int | float)
        and memory_bytes is not None
        and memory_bytes > MUCH_MORE * limit
    )


def worth_another_try(row: Row) -> bool:
    """Return whether to retry a run; an error that the program itself reported would repeat."""
    return row["status"] in INFRASTRUCTURE and not extra_of(row).get("told_why")


def attempt_of(row: Row) -> int:
    """Return the attempt number of a row, from 0."""
    return int(row.get("attempt", 0))


def case_id_of(row: Row) -> str | None:
    """Return the case id of a row; None for rows that are not from a sweep."""
    case_id = extra_of(row).get("case_id")
    return case_id if isinstance(case_id, str) else None
