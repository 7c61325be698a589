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

from planner.backtest.rows import Row, columns_of
from planner.backtest.source import Read, TextRows
from planner.store.files import write_whole

TEXT: Final = frozenset({"question", "task", "method", "data_set"})
"""Columns of the accuracy table that are words; the others are numbers."""


def public_tables(folder: Path) -> Read:
    """Reads CSV files below `folder` by their path in it, each once; a missing one has no rows.

    Raises:
        FileNotFoundError: there is no such folder, or no CSV file in its folders.
    """
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder} is not a folder. The back-test needs the public data sets: name the folder "
            "that holds them, one folder a set."
        )
    if not any(folder.glob("*/*.csv")):
        raise FileNotFoundError(
            f"{folder} has no folders with CSV files. Name the folder that holds the public data "
            "sets, one folder a set."
        )

    @cache
    def read(path: str) -> TextRows:
        file = folder / path
        if not file.is_file():
            return ()
        with file.open(encoding="utf-8", newline="") as text:
            return tuple(csv.DictReader(text))

    return read


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
