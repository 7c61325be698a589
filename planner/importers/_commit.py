"""Write imported rows as one file, or nothing; runs that are there already are recognised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.runs import table_from_rows
from planner.store.disk.files import write_once
from planner.store.sealed.commit import commit_table, compact_name, refuse_contradictions
from planner.store.sealed.result_set import NAME, UNOFFICIAL, set_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a commit did: `duplicates` runs were there with the same numbers."""

    path: Path | None
    new: int
    duplicates: int


def commit(folder: Path, rows: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> Imported:
    """Write the rows that are not in `folder` yet as one sealed file, and its set.toml if absent.

    A new set is unofficial until its owner changes `standing` in set.toml.

    Raises:
        RecordError: rows break the rules of the table; nothing is written.
        ContradictionError: runs are there with other numbers; nothing is written.
        CommitError: the disk refuses.
    """
    table = table_from_rows(rows)
    there = refuse_contradictions(folder, table)
    ids = table["run_id"].to_pylist()
    fresh = [at for at, run in enumerate(ids) if run not in there]
    path = None
    if fresh:
        path = commit_table(folder, compact_name([ids[at] for at in fresh]), table.take(fresh))
        write_once(folder / NAME, set_text({**about, "standing": UNOFFICIAL}))
    return Imported(path=path, new=len(fresh), duplicates=len(ids) - len(fresh))
