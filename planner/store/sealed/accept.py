"""What a file must be before its runs are loaded: a plain name, a whole seal, the columns, limits.

Nothing that a file holds may raise here: whatever is wrong with it becomes the reason why it is
refused, and the other files are shown (docs/decisions/0028).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from planner.core import MAX_FILE_RUNS, MAX_ROW_GROUPS
from planner.runs import COLUMNS, Row, check_rows, run_id
from planner.store.sealed.seal import (
    Seal,
    SealError,
    check_sealed,
    open_plain,
)

SUFFIX: Final = ".parquet"
_PATTERN: Final = frozenset("*?[]\\")
"""In a file's name DuckDB takes these for a pattern of other names."""


def accepted(path: str) -> Seal | str:
    """The seal of a file whose runs may be loaded, or why they may not; never raises but one.

    Raises:
        FileNotFoundError: the file has gone since it was listed.
    """
    try:
        with open_plain(Path(path)) as file:
            seal = check_sealed(file)
            return (_one_problem(seal.summary) if seal.summary else _many_problem(file, seal)) or (
                seal
            )
    except SealError as error:
        return str(error)
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - one file must never stop the others
        return f"cannot be read ({first_line(error)}). Restore it from a copy or delete it."


def text_problem(path: str) -> str | None:
    """Why a path cannot travel through queries and pages."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8. Rename it."
    return None


def name_problem(path: str) -> str | None:
    """Why a file of that name is not opened."""
    if reason := text_problem(path):
        return reason
    if path.lower().endswith(SUFFIX) and not path.endswith(SUFFIX):
        return f"ends in capital letters. Rename it to end in {SUFFIX}."
    if odd := _PATTERN & set(path.rsplit("/", 1)[-1]):
        listed = " ".join(sorted(odd))
        return f"has {listed} in its name, which stands for other names. Rename it."
    return None


def body_problem(path: str, rows: int = 1) -> str | None:
    """Why the body of a file may not be opened: other rows than its seal says, or too many.

    The seal of a file of one run is checked when it is listed; its footer is not.
    """
    try:
        with open_plain(Path(path)) as file:
            return _rows_problem(pq.ParquetFile(file).metadata, rows)
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - one file must never stop the others
        return f"cannot be read ({first_line(error)}). Restore it from a copy or delete it."


def first_line(error: Exception) -> str:
    """The first line of what an error says, or its name."""
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _one_problem(summary: Row) -> str | None:
    """A seal is no secret: what it says must obey the rules of every run."""
    problems = check_rows([summary])
    if problems:
        return f"breaks the rules: {problems[0].column} {problems[0].message}"
    if run_id(summary) != summary["run_id"]:
        return "has a run_id that is not the hash of its identity. Commit the run again."
    return None


def _many_problem(file: object, seal: Seal) -> str | None:
    """What separates the columns of a file of many from those of a run; DuckDB would cast text."""
    parquet = pq.ParquetFile(file)
    if reason := _rows_problem(parquet.metadata, seal.rows):
        return reason
    known = {f.name: f.type for f in parquet.schema_arrow}
    for column in COLUMNS:
        if column.since > seal.schema_version and column.name not in known:
            continue
        if known.get(column.name) != column.type:
            what = f"is {known[column.name]}" if column.name in known else "is missing"
            return f"does not have the columns of a run ({column.name} {what})."
    return None


def _rows_problem(metadata: pq.FileMetaData, rows: int) -> str | None:
    """The rows that a reader would load, before it does: those of every row group."""
    groups = metadata.num_row_groups
    if groups > MAX_ROW_GROUPS:
        return f"has {groups:,} row groups; at most {MAX_ROW_GROUPS:,} are read. Delete it."
    each = [metadata.row_group(i).num_rows for i in range(groups)]
    held = sum(each)
    if min(each, default=0) < 0 or held > MAX_FILE_RUNS or {held, metadata.num_rows} != {rows}:
        return f"says {rows:,} runs but holds {held:,}. Restore it from a copy or delete it."
    return None
