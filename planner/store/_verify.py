"""Check every byte and cell: seal, columns, rules and the seal's summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from planner.core import Text
from planner.runs import SUMMARY, as_current, check_rows, has_kinds, run_id
from planner.store.disk.folders import Folder
from planner.store.reader import Refused, Store, too_long, version_of
from planner.store.sealed import accept
from planner.store.sealed.accept import (
    accepted,
    body_problem,
    name_problem,
    unreadable,
)
from planner.store.sealed.seal import Seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts and problems of `verify_folder`."""

    files: int
    runs: int
    problems: tuple[Refused, ...]


def verify_folder(folder: Folder) -> Report:
    """Return a full check of a folder's files; the reader checks seals and columns only."""
    problems: dict[str, Refused] = {}
    files = runs = 0
    for path, stamp in sorted(accept.listing((folder,)).items()):
        if not path.endswith(".parquet"):
            continue
        files += 1
        reason = name_problem(path) or accept.kind_problem(stamp)
        if reason is None:
            count, reason = _deep(Path(path))
            runs += count
        if reason is not None:
            problems[path] = Refused(path=path, folder=folder.label, reason=reason)
    store = Store([folder])
    store.refresh()
    problems = {r.path: r for r in store.refused} | problems
    ordered = tuple(problems[p] for p in sorted(problems))
    return Report(files=files, runs=runs, problems=ordered)


def contradictions_between(
    folders: Sequence[Folder], beside: Sequence[Folder] = ()
) -> tuple[Refused, ...]:
    """Return the files of `folders` whose runs another folder shows with other numbers.

    Args:
        folders: those to verify, in the order of precedence.
        beside: folders with higher precedence, not verified themselves.
    """
    places = {f.path: f for f in (*beside, *folders)}
    store = Store(tuple(places.values()))
    store.refresh()
    verified = tuple(f"{f.path}/" for f in folders)
    return tuple(r for r in store.contradictions() if r.path.startswith(verified))


def _deep(path: Path) -> tuple[int, str | None]:
    """Return the file's run count and its problem, if any; never raise."""
    try:
        seal = accepted(str(path))
        if isinstance(seal, str):
            return 0, seal
        if reason := body_problem(str(path), seal.rows) or _long_text(str(path), seal):
            return 0, reason
        table = pq.read_table(path, use_threads=False)
        whole = as_current(table, seal.schema_version) if has_kinds(table) else None
        if whole is None:
            return 0, "does not have the columns of a run. Delete it and run it again."
        return whole.num_rows, _rows_problem(seal, whole)
    except FileNotFoundError:
        return 0, "has gone while it was read."
    except Exception as error:  # noqa: BLE001 - one file must never stop the others
        return 0, unreadable(error)


def _long_text(path: str, seal: Seal) -> str | None:
    if seal.summary is not None:  # a single run: nothing in it can be shared by many
        return None
    with duckdb.connect(":memory:") as base:
        return too_long(base, [path], version_of(seal))


def _rows_problem(seal: Seal, table: pa.Table) -> str | None:
    if seal.rows != table.num_rows:
        return Text(
            "says {rows} runs but holds {num_rows}.", rows=seal.rows, num_rows=table.num_rows
        )
    for batch in table.to_batches(max_chunksize=4096):
        rows = batch.to_pylist()
        if problems := check_rows(rows):
            return Text("breaks the rules: {problem}", problem=problems[0])
        if renamed := [r["run_id"] for r in rows if run_id(r) != r["run_id"]]:
            return Text(
                "holds run {renamed}, whose id is not the hash of its identity.", renamed=renamed[0]
            )
    if seal.summary is not None and seal.summary != _present(table.to_pylist()[0]):
        return "has a seal with other numbers than its columns."
    return None


def _present(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in SUMMARY if row[name] is not None}
