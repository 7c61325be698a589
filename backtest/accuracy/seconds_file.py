"""Seconds of the back-test: taken with a clock, kept in a file, read back."""

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
    """A `backtest.questions.watch.Watch` with a monotonic clock; sums what is alike."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[Place, str], tuple[int, float]] = {}

    @contextmanager
    def __call__(self, place: Place, method: str, asked: int) -> Iterator[None]:
        """Times what stands in the block."""
        start = perf_counter()
        yield
        took = perf_counter() - start
        before, seconds = self._seconds.get((place, method), (0, 0.0))
        self._seconds[place, method] = before + asked, seconds + took

    @property
    def timings(self) -> list[Timing]:
        """What was timed, in the order in which it was first met."""
        return [
            Timing(question=place[0], task=place[1], data_set=place[2], method=method, asked=asked,
                   seconds=seconds)
            for (place, method), (asked, seconds) in self._seconds.items()
            if asked
        ]  # fmt: skip


def write_seconds(path: Path, timings: list[Timing]) -> None:
    """Keep them as one parquet file."""
    names = [f.name for f in fields(Timing)]
    write_whole(path, parquet_bytes({n: [getattr(t, n) for t in timings] for n in names}))


def read_seconds(path: Path) -> list[Timing]:
    """What was kept; nothing where there is no such file, or none of this version."""
    try:
        table = pq.ParquetFile(path).read().select([f.name for f in fields(Timing)])
        return [Timing(**row) for row in table.to_pylist()]
    except (OSError, KeyError, TypeError, pa.ArrowException):
        return []  # a figure beside the figures: the page stands without it
