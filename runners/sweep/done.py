"""What a result set already holds of a sweep, and which of its runs are worth another try.

Rows are found again by the `case_id` they were measured for.
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
"""Ends that may not happen again: the case is tried again. Memory, NaN and time would."""
MUCH_MORE: Final = 1.25
"""Free memory comes and goes; a limit counts as another one from this factor on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a result set already holds of a sweep: the rows of every case, by case id."""

    rows: Mapping[str, tuple[Row, ...]]
    memory_bytes: float | None = None
    """What a run may use now: a run that a smaller limit ended is worth another try."""
    retry_failed: bool = False
    """Whether only runs that ended well count."""

    def settled(self, case: Case, attempts: int) -> bool:
        """Whether the case needs no further run: it ended of itself, or too often otherwise."""
        rows = self._counted(case)
        return any(not worth_another_try(row) for row in rows) or len(rows) >= attempts

    def attempts_left(self, case: Case, attempts: int) -> range:
        """Numbers of the attempts that may still be made."""
        rows = self.rows.get(case.case_id, ())
        first = 1 + max((r.get("attempt", 0) for r in rows), default=-1)
        return range(first, first + attempts - len(self._counted(case)))

    def _counted(self, case: Case) -> list[Row]:
        """The rows that say something of a run as it would be now."""
        rows = self.rows.get(case.case_id, ())
        return [r for r in rows if not (outgrown(r, self.memory_bytes) or self._dropped(r))]

    def _dropped(self, row: Row) -> bool:
        return self.retry_failed and row["status"] != "ok"


def done_in(folder: Path, *, memory_bytes: float | None = None, retry_failed: bool = False) -> Done:
    """The runs a result set holds, by the case id they were measured for, the last attempt last."""
    found: dict[str, list[Row]] = {}
    for row in summaries(folder):
        if case_id := case_id_of(row):
            found.setdefault(case_id, []).append(row)
    return Done(
        rows={k: tuple(sorted(v, key=attempt_of)) for k, v in found.items()},
        memory_bytes=memory_bytes,
        retry_failed=retry_failed,
    )


def outgrown(row: Row, memory_bytes: float | None) -> bool:
    """Whether a run was ended by a memory limit that is no longer: now it is a quarter larger."""
    limit = extra_of(row).get("memory_limit_bytes")
    return (
        row["status"] == "oom"
        and isinstance(limit, int | float)
        and memory_bytes is not None
        and memory_bytes > MUCH_MORE * limit
    )


def worth_another_try(row: Row) -> bool:
    """Whether a run ended by nobody's fault; an error the program itself told would come again."""
    return row["status"] in INFRASTRUCTURE and not extra_of(row).get("told_why")


def attempt_of(row: Row) -> int:
    """The number of the attempt a row was made by, from 0."""
    return int(row.get("attempt", 0))


def case_id_of(row: Row) -> str | None:
    """The case a row was measured for; None for rows that no sweep made."""
    told = extra_of(row).get("case_id")
    return told if isinstance(told, str) else None
