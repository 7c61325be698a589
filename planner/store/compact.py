"""Small files are the enemy, not rows: merge a set's files into one, by the commit protocol.

The merged file is linked before any original is removed, and a reader that sees both shows each
run once; so at no moment is a run shown twice or not at all. Killed half-way, it leaves both:
run it again and it finishes. Its name is made of the run ids, so two compactions of the same
runs are one file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.schema import ARROW_SCHEMA
from planner.store.commit import COMPACT, CommitError, commit_table, compact_name, sweep_temporaries
from planner.store.locks import locked
from planner.store.seal import SealError, check_seal


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
        good, left = _good_files(folder)
        if len(good) < 2:
            return Compaction(folder=folder, files=len(good), runs=0, merged=None, left=left)
        table = _merged(good)
        name = compact_name(table["run_id"].to_pylist())
        merged = commit_table(folder, name, table)
        if check_seal(merged).rows != table.num_rows:
            raise CommitError(f"{merged} does not hold all {table.num_rows} runs. Remove it.")
        with locked(folder.parent):  # no reader is in the middle of a listing
            for path in good:
                if path != merged:
                    path.unlink(missing_ok=True)
        return Compaction(
            folder=folder, files=len(good), runs=table.num_rows, merged=merged, left=left
        )


def _good_files(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    good, left = [], []
    for path in sorted(folder.glob("[!.]*.parquet")):
        if path.is_symlink() or not path.is_file():
            left.append(f"{path.name} is not a plain file.")
            continue
        try:
            check_seal(path)
            known = pq.read_schema(path).equals(ARROW_SCHEMA)
        except (SealError, OSError, pa.ArrowException) as error:
            left.append(f"{path.name} {error}")
            continue
        if known:
            good.append(path)
        else:
            left.append(f"{path.name} does not have the columns of a run.")
    return sorted(good, key=_first_wins), tuple(left)


def _first_wins(path: Path) -> tuple[bool, str]:
    """Merged files before single ones: a run merged earlier is the first that was committed."""
    return not path.name.startswith(COMPACT), path.name


def _merged(paths: list[Path]) -> pa.Table:
    """All runs of the files, each once, in order of run_id (so that one run is found fast)."""
    parts = [pq.ParquetFile(p).read(use_threads=False) for p in paths]
    table = pa.concat_tables(parts).sort_by("run_id").combine_chunks()
    ids = table["run_id"]
    if len(ids) > 1:
        fresh = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
        table = table.filter(pa.chunked_array([pa.array([True]), *fresh.chunks]))
    return table.cast(ARROW_SCHEMA)
