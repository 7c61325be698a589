"""Where finished runs go: a folder of sealed files, on this machine or on a shared disk."""

from __future__ import annotations

import errno
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from planner.runs import COLUMNS, RecordError, Row
from planner.store.sealed.commit import CommitError, commit_runs
from runners.sweep.rows import attempt_of, case_id_of

_UNTIMED: Final = ("identity", "workload", "system", "software", "factors")


class Destination(Protocol):
    """Where finished runs go. One process puts all runs of a sweep, so each counts once."""

    def put(self, row: Row) -> Row:
        """Store a row whole and return it as stored; CommitError if it cannot be stored."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a result set."""

    path: Path

    def put(self, row: Row) -> Row:
        """Commit a row; a row with invalid values becomes a crash with that reason."""
        try:
            return self._placed(row)
        except RecordError as error:
            reason = f"its values are invalid: {'; '.join(map(str, error.problems))}"[:500]
            wrong = {p.column for p in error.problems} - {"extra"}
            names = {c.name for c in COLUMNS if c.group in _UNTIMED} & row.keys() - wrong
            extra = json.dumps({"case_id": case_id_of(row)})
            kept = {n: row[n] for n in names}
            return self._placed(
                kept | {"status": "crashed", "status_reason": reason, "extra": extra}
            )

    def _placed(self, row: Row) -> Row:
        """Commit a row under the first free attempt number.

        Its own number may be taken by a damaged file, which is never rewritten, or by a case that
        differs only outside a run's identity (samples of an epoch).
        """
        for attempt in itertools.count(attempt_of(row)):
            tried = {**row, "attempt": attempt}
            try:
                [done] = commit_runs(self.path, [tried])
            except CommitError as error:
                if error.errno != errno.EEXIST or not self.path.is_dir():
                    raise
                continue
            if done.new:
                return tried
        raise AssertionError("attempts have no last number")
