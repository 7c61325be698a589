"""One .duckdb file for SQL: runs, with flat tables of epochs, evaluations and steps."""

import contextlib
import io
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from planner.core import Cell, Record, Text
from planner.store import sql
from planner.store.disk.files import publish
from planner.store.reader import Store

_FLAT: Final = (
    """CREATE TABLE epochs AS SELECT run_id, unnest(epochs, recursive := true)
        FROM read_parquet($files, filename = true, hive_partitioning = false)
        WHERE (run_id, filename) IN (SELECT (run_id, file) FROM runs)""",
    """CREATE TABLE evaluations AS SELECT run_id, unnest(evaluations, recursive := true)
        FROM read_parquet($files, filename = true, hive_partitioning = false)
        WHERE (run_id, filename) IN (SELECT (run_id, file) FROM runs)""",
    """CREATE TABLE steps AS SELECT run_id, unnest(steps, recursive := true)
        FROM read_parquet($files, filename = true, hive_partitioning = false)
        WHERE (run_id, filename) IN (SELECT (run_id, file) FROM runs)""",
)
_ROWS: Final = 100_000
"""Runs in memory at once."""
_RUNS: Final = "CREATE TABLE runs AS SELECT * FROM shown ORDER BY run_id"
_COUNT: Final = "SELECT count(*) FROM runs"
_TRIES: Final = 3


def export_duckdb(store: Store, target: Path) -> int:
    """Write every shown run to the new DuckDB file `target`; return how many.

    The file appears whole or not at all. FileExistsError if `target` exists.
    """
    taken = Text("{target} exists. Name another file or remove it first.", target=target)
    if target.exists():
        raise FileExistsError(taken)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        runs = _write_settled(store, temporary)
        if not publish(temporary, target):
            raise FileExistsError(taken)
    finally:
        temporary.unlink(missing_ok=True)
        temporary.with_name(temporary.name + ".wal").unlink(missing_ok=True)
    return runs


def _write_settled(store: Store, path: Path) -> int:
    """Write and return the count of runs; start over if a compaction moved a file."""
    for _ in range(_TRIES):
        store.refresh()
        with contextlib.suppress(duckdb.IOException):
            return _write(store, path)
        path.unlink(missing_ok=True)
    return _write(store, path)


def _write(store: Store, path: Path) -> int:
    files = [sql.literal(row[0]) for row in store.rows(sql.FILES)]
    limit = f"{store.memory_bytes // 1_000_000}MB"
    with duckdb.connect(str(path), config={"memory_limit": limit}) as out, store.cursor() as runs:
        out.register("shown", runs.sql(sql.ALL_RUNS).to_arrow_reader(_ROWS))
        out.execute(_RUNS)
        for statement in _FLAT if files else ():
            out.execute(statement, {"files": files})
        return int(out.execute(_COUNT).fetchall()[0][0])


def records_file(rows: Sequence[Record]) -> bytes:
    """Return the rows as parquet, with column types from their values; text without any."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


def _column(values: Sequence[Cell]) -> pa.Array:
    present = [v for v in values if v is not None]
    if not present or any(isinstance(v, str) for v in present):
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    if all(isinstance(v, bool) for v in present):
        return pa.array(values, pa.bool_())
    if all(isinstance(v, int) for v in present):
        return pa.array(values, pa.int64())
    return pa.array([None if v is None else float(v) for v in values], pa.float64())
