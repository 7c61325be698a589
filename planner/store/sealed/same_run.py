"""Whether two rows of one run hold the same numbers: one rule for reader, commit and compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.runs import ARROW_SCHEMA, NESTED, SUMMARY, as_current, has_kinds
from planner.store.sealed.accept import body_problem
from planner.store.sealed.seal import SealError, check_seal

APART: Final = frozenset({
    "run_id", "schema_version", "recorded_at", "submitted_by", "note", "licence", "source",
    "source_url", "repository", "source_commit", "published_on", "suspect_reason",
})  # fmt: skip
"""Two copies of a run may differ in these: who said it, when and under which terms."""
NUMBERS: Final = tuple(n for n in SUMMARY if n not in APART)
"""Summary columns in which two copies of a run must be equal; the reader compares these."""
_MOST_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A row whose run lies in `path` with other numbers; `column` is the first that differs."""

    run_id: str
    path: Path
    column: str
    here: object
    there: object

    def __str__(self) -> str:
        what = f"other {self.column}"
        if self.column not in NESTED:
            what = f"{self.column} {_short(self.there)} instead of {_short(self.here)}"
        return f"run {self.run_id} lies in {self.path.name} with {what}"


def contradictions(ours: pa.Table, theirs: pa.Table, paths: Sequence[Path]) -> list[Contradiction]:
    """Return the rows of `ours` that have other numbers than the row of `theirs` beside them.

    Both have the columns of a run; row i of `theirs` lies in the file `paths[i]`. Epochs,
    evaluations and steps count too.
    """
    found = []
    for at in unequal_rows(ours, theirs):
        here, there = ours.slice(at, 1), theirs.slice(at, 1)
        columns = (
            n for n in (*NUMBERS, *NESTED) if unequal_rows(here.select([n]), there.select([n]))
        )
        column = next(columns)
        found.append(
            Contradiction(
                run_id=here["run_id"][0].as_py(),
                path=paths[at],
                column=column,
                here=here[column][0].as_py(),
                there=there[column][0].as_py(),
            )
        )
    return found


def unequal_rows(one: pa.Table, other: pa.Table) -> list[int]:
    """Return the positions at which two tables of equal length and columns hold other numbers."""
    differs = np.zeros(one.num_rows, dtype=bool)
    for name in (n for n in NUMBERS if n in one.column_names):
        differs |= _unequal(one[name], other[name])
    nested = [n for n in NESTED if n in one.column_names]
    for at in np.flatnonzero(~differs) if nested else ():
        differs[at] = any(
            one[n].slice(at, 1).to_pylist() != other[n].slice(at, 1).to_pylist() for n in nested
        )
    return [int(at) for at in np.flatnonzero(differs)]


def rows_in(path: Path, runs: Sequence[str]) -> pa.Table:
    """Return the rows of those runs in a file of any schema version; none where it is damaged.

    Raises:
        FileNotFoundError: the file has gone.
    """
    none = ARROW_SCHEMA.empty_table()
    try:
        seal = check_seal(path)
        if body_problem(str(path), seal.rows):
            return none
        among = pc.field("run_id").isin(pa.array(runs, pa.string()))
        table = pq.read_table(path, filters=among, partitioning=None, use_threads=False)
        current = as_current(table, seal.schema_version) if has_kinds(table) else None
    except FileNotFoundError:
        raise
    except (SealError, pa.ArrowException, OSError):
        return none
    return none if current is None else current


def _short(value: object) -> str:
    """A value in a sentence, cut where it is long."""
    text = "no value" if value is None else repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def _unequal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> np.ndarray:
    """Where two columns differ: nothing equals nothing, and NaN equals NaN, as in DuckDB."""
    equal = pc.fill_null(pc.equal(one, other), fill_value=False)
    equal = pc.or_(equal, pc.and_(pc.is_null(one), pc.is_null(other)))
    if pa.types.is_floating(one.type):
        nan = pc.and_(pc.is_nan(one), pc.is_nan(other))
        equal = pc.or_(equal, pc.fill_null(nan, fill_value=False))
    return ~np.asarray(equal.to_numpy(), dtype=bool)
