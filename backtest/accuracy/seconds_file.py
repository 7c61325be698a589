"""Seconds of the back-test: measured with a clock, stored in a file, read back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet as pq

from backtest.accuracy.public_data import parquet_bytes
from backtest.accuracy.seconds_page import Timing
from backtest.questions.watch import Place
from planner.store.disk.files import write_whole


class Stopwatch:
    """A `backtest.questions.watch.Watch` with a monotonic clock; sums repeated timings."""

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
