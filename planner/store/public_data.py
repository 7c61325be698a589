"""Public measurements in, accuracy figures out: all that the back-test does with a disk."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from planner.backtest.columns import COLUMNS, problem_of
from planner.backtest.rows import Row, columns_of
from planner.backtest.source import Read, TextRows
from planner.store.files import write_whole

TEXT: Final = frozenset({"question", "task", "method", "data_set"})
"""Columns of the accuracy table that are words; the others are numbers."""


class MalformedError(ValueError):
    """A public file that cannot be read: the file, the line and the column, as a sentence."""


def has_public_tables(folder: Path) -> bool:
    """Whether any file that the back-test knows is below `folder`."""
    return any((folder / path).is_file() for path in COLUMNS)


def public_tables(folder: Path) -> Read:
    """Reads CSV files below `folder` by their path in it, each once; a missing one has no rows.

    What it gives raises `MalformedError` for a file whose columns or numbers are not there.
    """

    @cache
    def read(path: str) -> TextRows:
        file = folder / path
        return _rows(file, path) if file.is_file() else ()

    return read


def _rows(file: Path, path: str) -> TextRows:
    try:
        with file.open(encoding="utf-8", newline="") as text:
            rows = tuple(csv.DictReader(text))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MalformedError(f"{path} cannot be read: {error}. Read the file anew.") from error
    if problem := problem_of(path, rows):
        raise MalformedError(problem)
    return rows


def write_accuracy(path: Path, rows: Sequence[Row]) -> None:
    """Keep the figures as one parquet file; equal rows give equal bytes."""
    write_whole(path, parquet_bytes(columns_of(rows)))


def parquet_bytes(columns: Mapping[str, Sequence[object]]) -> bytes:
    """The file as it would lie on disk: columns in the order given."""
    table = pa.table(
        {name: pa.array(values, _type(name, values)) for name, values in columns.items()}
    )
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd", store_schema=False)
    return file.getvalue()


def _type(name: str, values: Sequence[object]) -> pa.DataType:
    if name in TEXT:
        return pa.string()
    return pa.int64() if all(isinstance(v, int) for v in values) else pa.float64()
