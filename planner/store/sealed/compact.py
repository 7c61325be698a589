"""Small files are the enemy, not rows: merge a set's files into one, by the commit protocol.

The merged file is linked before any original is removed, and a reader that sees both shows each
run once; so at no moment is a run shown twice or not at all. Killed half-way, it leaves both:
run it again and it finishes. Its name is made of the run ids, so two compactions of the same
runs are one file. Files that hold a run with different numbers all stay: which one is right is for
their owner to decide.
"""

import errno
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.core import Text, limits
from planner.runs import ARROW_SCHEMA, as_current, has_kinds
from planner.store.disk.files import remove
from planner.store.disk.locks import locked
from planner.store.sealed.accept import (
    accepted,
    body_problem,
    fetch,
    first_line,
    name_problem,
    unequal_rows,
)
from planner.store.sealed.commit import (
    COMPACT,
    CommitError,
    commit_table,
    compact_name,
    sweep_temporaries,
)
from planner.store.sealed.seal import SealError, check_seal

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
    fetch(folder)
    with locked(folder):  # one compaction of a set at a time
        sweep_temporaries(folder)
        whole, damaged = _whole_files(folder)
        whole, too_many = _within_limits(whole)
        if len(whole) < 2:
            left = tuple(sorted((*damaged, *too_many)))
            return Compaction(folder=folder, files=len(whole), runs=0, merged=None, left=left)
        read, foreign = _read(whole)
        good, table, disputed = _without_contradictions(*read)
        left = tuple(sorted((*damaged, *too_many, *foreign, *disputed)))
        if len(good) < 2:
            return Compaction(folder=folder, files=len(good), runs=0, merged=None, left=left)
        table = _each_once(table)
        name = compact_name(table["run_id"].to_pylist())
        older = (folder / name).exists() and folder / name not in good  # not compared so far
        merged = commit_table(folder, name, table)
        _check_merged(merged, table, older=older)
        with locked(folder.parent):  # no reader is in the middle of a listing
            for path in good:
                if path != merged:
                    remove(path)
        return Compaction(
            folder=folder, files=len(good), runs=table.num_rows, merged=merged, left=left
        )


def _check_merged(merged: Path, table: pa.Table, *, older: bool) -> None:
    """Originals go once a reader takes what replaces them: an older file may have that name."""
    seal = accepted(str(merged))
    if isinstance(seal, str) or seal.rows != table.num_rows:
        fault: str = Text(
            "is damaged or does not hold all {num_rows} runs", num_rows=table.num_rows
        )
    elif older and _differs(merged, table):
        fault = "holds other numbers of the same runs"
    else:
        return
    raise CommitError(
        errno.EEXIST,
        Text("{merged} is in the way: it {fault}. Remove it.", merged=merged, fault=fault),
    )


def _differs(merged: Path, table: pa.Table) -> bool:
    """Whether a file holds other rows than `table`, which is in order of run_id."""
    there = _read_one(merged)
    if isinstance(there, str) or there.num_rows != table.num_rows:
        return True
    there = there.sort_by("run_id")
    return bool(there["run_id"] != table["run_id"] or unequal_rows(there, table))


def _whole_files(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Files whose seal holds, those merged earlier first, and what is wrong with the others."""
    good: list[Path] = []
    left: list[str] = []
    for path in sorted(folder.glob("[!.]*.parquet")):
        if path.is_symlink() or not path.is_file():
            left.append(Text("{path} is not a plain file.", path=path.name))
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
                Text(
                    "{path} stays: a file may hold {max_file_runs:,} runs and "
                    "{max_file_bytes:,} bytes.",
                    path=path.name,
                    max_file_runs=limits.MAX_FILE_RUNS,
                    max_file_bytes=limits.MAX_FILE_BYTES,
                )
            )
            continue
        kept.add(path)
        runs, size = runs + more_runs, size + more_size
    return [p for p in paths if p in kept], tuple(left)


def _first_wins(path: Path) -> tuple[bool, str]:
    """Merged files before single ones: a run merged earlier is the first that was committed."""
    return not path.name.startswith(COMPACT), path.name


def _read(paths: list[Path]) -> tuple[tuple[list[Path], list[int], pa.Table], tuple[str, ...]]:
    """The files with the columns of a run, their runs, all rows in that order; the other files."""
    good: list[Path] = []
    runs: list[int] = []
    left: list[str] = []
    blocks, parts = [ARROW_SCHEMA.empty_table()], []
    with ThreadPoolExecutor(_READERS) as pool:
        for path, read in zip(paths, pool.map(_read_one, paths), strict=True):
            if isinstance(read, str):
                left.append(f"{path.name} {read}")
                continue
            good.append(path)
            runs.append(read.num_rows)
            parts.append(read)
            if len(parts) == _PARTS:  # many tables of one row take more room than one of many
                blocks.append(pa.concat_tables(parts).combine_chunks())
                parts = []
    return (good, runs, pa.concat_tables(blocks + parts)), tuple(left)


def _without_contradictions(
    paths: list[Path], runs: list[int], table: pa.Table
) -> tuple[list[Path], pa.Table, tuple[str, ...]]:
    """The files that may be merged with their rows, and why the others stay.

    `runs` counts the rows of each file in `table`, which holds them in the order of `paths`. Every
    file with a run that has other numbers in another file stays, the first one too.
    """
    ids = table["run_id"].combine_chunks()
    order = np.asarray(pc.sort_indices(ids))
    if len(order) < 2:
        return paths, table, ()
    ordered = ids.take(pa.array(order))
    fresh = np.append(True, np.asarray(pc.not_equal(ordered[1:], ordered[:-1])))
    first = order[np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))]
    copies, originals = order[~fresh], first[~fresh]  # rows of the table, pair by pair
    unequal = unequal_rows(table.take(pa.array(originals)), table.take(pa.array(copies)))
    if not unequal:
        return paths, table, ()
    place_of = np.repeat(np.arange(len(paths)), runs)
    differing = frozenset(unequal)
    against: dict[str, int] = {}
    for at in unequal:
        against.setdefault(str(ids[int(copies[at])]), int(place_of[copies[at]]))
    stays: dict[int, tuple[str, int]] = {}
    for at, (original, copy) in enumerate(zip(originals, copies, strict=True)):
        run, place, other = str(ids[int(copy)]), int(place_of[original]), int(place_of[copy])
        if run in against:
            stays.setdefault(place, (run, against[run]))
            stays.setdefault(other, (run, place if at in differing else against[run]))
    left = tuple(_contradiction(paths, place, *stay) for place, stay in stays.items())
    kept = table.filter(pa.array(~np.isin(place_of, list(stays))))
    return [p for i, p in enumerate(paths) if i not in stays], kept, left


def _contradiction(paths: list[Path], place: int, run: str, other: int) -> str:
    """Why the file at `place` stays: the one at `other` holds its run differently."""
    if place == other:
        return Text(
            "{path} holds run {run} twice, with other numbers; it stays.",
            path=paths[place].name,
            run=run,
        )
    than = Text("other numbers than {path}", path=paths[other].name)
    return Text(
        "{path} holds run {run} with {than}; it stays.", path=paths[place].name, run=run, than=than
    )


def _read_one(path: Path) -> pa.Table | str:
    try:
        seal = accepted(str(path))
        if isinstance(seal, str):
            return seal
        if seal.summary and (reason := body_problem(str(path))):
            return reason
        table = pq.ParquetFile(path).read(use_threads=False)
    except Exception as error:  # noqa: BLE001 - one file must never stop the others
        return Text("cannot be read ({first_line}).", first_line=first_line(error))
    current = as_current(table, seal.schema_version) if has_kinds(table) else None
    return "does not have the columns of a run." if current is None else current


def _each_once(table: pa.Table) -> pa.Table:
    """Each run once, its first row, in order of run_id (so that one run is found fast)."""
    table = table.sort_by("run_id").combine_chunks()  # stable: equal runs keep their order
    ids = table["run_id"]
    if len(ids) > 1:
        fresh = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
        table = table.filter(pa.chunked_array([pa.array([True]), *fresh.chunks]))
    return table.cast(ARROW_SCHEMA)
