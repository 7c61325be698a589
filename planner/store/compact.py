"""Small files are the enemy, not rows: merge a set's files into one, by the commit protocol.

The merged file is linked before any original is removed, and a reader that sees both shows each
run once; so at no moment is a run shown twice or not at all. Killed half-way, it leaves both:
run it again and it finishes. Its name is made of the run ids, so two compactions of the same
runs are one file.
"""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner import limits
from planner.schema import ARROW_SCHEMA, as_current, has_kinds
from planner.store.accept import accepted, body_problem, first_line, name_problem
from planner.store.commit import COMPACT, CommitError, commit_table, compact_name, sweep_temporaries
from planner.store.locks import locked
from planner.store.seal import SealError, check_seal

_READERS: Final = 2
_PARTS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What was merged in one set: files and runs before, the file after, what was left alone."""

    folder: Path
    files: int
    runs: int
    merged: Path | None
    left: tuple[str, ...] = ()


def compact_set(folder: Path) -> Compaction:
    """Merge the good files of one result set; damaged ones are left where they are and named."""
    with locked(folder):  # one compaction of a set at a time
        sweep_temporaries(folder)
        whole, damaged = _whole_files(folder)
        whole, too_many = _within_limits(whole)
        good, table, foreign = _read(whole) if len(whole) > 1 else (whole, None, ())
        left = tuple(sorted((*damaged, *too_many, *foreign)))
        if table is None or len(good) < 2:
            return Compaction(folder=folder, files=len(good), runs=0, merged=None, left=left)
        table = _each_once(table)
        name = compact_name(table["run_id"].to_pylist())
        merged = commit_table(folder, name, table)
        _check_merged(merged, table.num_rows)
        with locked(folder.parent):  # no reader is in the middle of a listing
            for path in good:
                if path != merged:
                    path.unlink(missing_ok=True)
        return Compaction(
            folder=folder, files=len(good), runs=table.num_rows, merged=merged, left=left
        )


def _check_merged(merged: Path, runs: int) -> None:
    """Originals go once a reader takes what replaces them: an older file may have that name."""
    seal = accepted(str(merged))
    if isinstance(seal, str) or seal.rows != runs:
        told = f"{merged} is in the way: it is damaged or does not hold all {runs} runs. Remove it."
        raise CommitError(errno.EEXIST, told)


def _whole_files(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Files whose seal holds, those merged earlier first, and what is wrong with the others."""
    good, left = [], []
    for path in sorted(folder.glob("[!.]*.parquet")):
        if path.is_symlink() or not path.is_file():
            left.append(f"{path.name} is not a plain file.")
            continue
        if reason := name_problem(str(path)):
            left.append(f"{path.name} {reason}")
            continue
        try:
            check_seal(path)
            good.append(path)
        except (SealError, OSError) as error:
            left.append(f"{path.name} {error}")
    return sorted(good, key=_first_wins), tuple(left)


def _within_limits(paths: list[Path]) -> tuple[list[Path], tuple[str, ...]]:
    """Files that make one file a reader accepts, in their order, and why the others are left.

    Small files come first: they are what makes a folder slow.
    """
    kept, left, runs, size = set[Path](), [], 0, 0
    for path in sorted(paths, key=lambda p: p.stat().st_size):
        more_runs, more_size = check_seal(path).rows, path.stat().st_size
        if runs + more_runs > limits.MAX_FILE_RUNS or size + more_size > limits.MAX_FILE_BYTES:
            left.append(
                f"{path.name} stays: a file may hold {limits.MAX_FILE_RUNS:,} runs and "
                f"{limits.MAX_FILE_BYTES:,} bytes."
            )
            continue
        kept.add(path)
        runs, size = runs + more_runs, size + more_size
    return [p for p in paths if p in kept], tuple(left)


def _first_wins(path: Path) -> tuple[bool, str]:
    """Merged files before single ones: a run merged earlier is the first that was committed."""
    return not path.name.startswith(COMPACT), path.name


def _read(paths: list[Path]) -> tuple[list[Path], pa.Table, tuple[str, ...]]:
    """The files with the columns of a run, all their rows in that order, and the other files."""
    good: list[Path] = []
    left: list[str] = []
    blocks, parts = [ARROW_SCHEMA.empty_table()], []
    with ThreadPoolExecutor(_READERS) as pool:
        for path, found in zip(paths, pool.map(_read_one, paths), strict=True):
            if isinstance(found, str):
                left.append(f"{path.name} {found}")
                continue
            good.append(path)
            parts.append(found)
            if len(parts) == _PARTS:  # many tables of one row take more room than one of many
                blocks.append(pa.concat_tables(parts).combine_chunks())
                parts = []
    return good, pa.concat_tables(blocks + parts), tuple(left)


def _read_one(path: Path) -> pa.Table | str:
    try:
        seal = accepted(str(path))
        if isinstance(seal, str):
            return seal
        if seal.summary and (reason := body_problem(str(path))):
            return reason
        table = pq.ParquetFile(path).read(use_threads=False)
    except Exception as error:  # noqa: BLE001 - one file must never stop the others
        return f"cannot be read ({first_line(error)})."
    known = as_current(table, seal.schema_version) if has_kinds(table) else None
    return "does not have the columns of a run." if known is None else known


def _each_once(table: pa.Table) -> pa.Table:
    """Each run once, its first row, in order of run_id (so that one run is found fast)."""
    table = table.sort_by("run_id").combine_chunks()  # stable: equal runs keep their order
    ids = table["run_id"]
    if len(ids) > 1:
        fresh = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
        table = table.filter(pa.chunked_array([pa.array([True]), *fresh.chunks]))
    return table.cast(ARROW_SCHEMA)
