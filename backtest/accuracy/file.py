"""Read the figures of the back-test from the file that it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from time import perf_counter
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from backtest.accuracy.page import Timing
from backtest.accuracy.public_data import TEXT, parquet_bytes
from backtest.questions.figure import Place, Row
from planner.store.disk.files import write_whole

COUNTS: Final = frozenset({"curves", "asked", "points"})
"""Columns of the accuracy table with whole numbers."""
MOST_BYTES: Final = 20_000_000
"""Size limit of the file [bytes]."""
AGAIN: Final = "Write it again: python -m planner backtest DIR."


def read_accuracy(path: Path) -> list[Row]:
    """Return every figure of the accuracy table, in the order of the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the table is invalid: cut short, of another version, empty, or not a file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path.name} is not there. {AGAIN}")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path.name} is larger than {MOST_BYTES:,} bytes. {AGAIN}")
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path.name} cannot be read: {error}. {AGAIN}") from error
    problems = _problems(table)
    if problems:
        raise ValueError(f"{path.name}: {'; '.join(problems)}. {AGAIN}")
    names = [f.name for f in fields(Row)]
    return [Row(**row) for row in table.select(names).to_pylist()]


def _problems(table: pa.Table) -> list[str]:
    """Return why a table is not one of this version; extra columns are allowed."""
    messages = [] if table.num_rows else ["it has no rows"]
    for name in (f.name for f in fields(Row)):
        if name not in table.column_names:
            messages.append(f"the column {name} is missing")
        elif not _fits(name, table.schema.field(name).type):
            messages.append(f"the column {name} has type {table.schema.field(name).type}")
        elif table[name].null_count:
            messages.append(f"the column {name} has gaps")
    return messages


def _fits(name: str, kind: pa.DataType) -> bool:
    if name in TEXT:
        return bool(pa.types.is_string(kind))
    return bool(pa.types.is_integer(kind) if name in COUNTS else pa.types.is_floating(kind))


class Stopwatch:
    """A `backtest.questions.figure.Watch` with a monotonic clock; sums repeated timings."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[Place, str], tuple[int, float]] = {}

    @contextmanager
    def __call__(self, place: Place, method: str, points: int) -> Iterator[None]:
        """Time the block."""
        start = perf_counter()
        yield
        took = perf_counter() - start
        before, seconds = self._seconds.get((place, method), (0, 0.0))
        self._seconds[place, method] = before + points, seconds + took

    @property
    def timings(self) -> list[Timing]:
        """Timings in the order of first use."""
        return [
            Timing(question=place[0], task=place[1], data_set=place[2], method=method, asked=points,
                   seconds=seconds)
            for (place, method), (points, seconds) in self._seconds.items()
            if points
        ]  # fmt: skip


def write_seconds(path: Path, timings: list[Timing]) -> None:
    """Write the timings as one parquet file."""
    names = [f.name for f in fields(Timing)]
    write_whole(path, parquet_bytes({n: [getattr(t, n) for t in timings] for n in names}))


def read_seconds(path: Path) -> list[Timing]:
    """Return the stored timings; empty if the file is missing or of another version."""
    try:
        table = pq.ParquetFile(path).read().select([f.name for f in fields(Timing)])
        return [Timing(**row) for row in table.to_pylist()]
    except (OSError, KeyError, TypeError, pa.ArrowException):
        return []  # the page works without these seconds
