"""Rows of an answer as parquet, for programs."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from planner.core import Cell, Record


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
