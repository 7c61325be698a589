"""Disk access of the back-test: public measurements in, accuracy figures out and in again."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Final, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from backtest.accuracy.page import Timing
from backtest.data.cases import TextRows
from backtest.data.columns import COLUMNS, NumberedRow, Skipped, header_problem, sound_rows
from backtest.questions.figure import FigureRow, Place, columns_of
from planner.core import Text, joined, paragraph
from planner.store.disk.files import write_whole

TEXT: Final = frozenset({"question", "task", "method", "data_set"})
"""Columns of the accuracy table with text; the others are numbers."""


MOST_BYTES: Final = 256 * 2**20
"""Larger files are left out: the largest public one has 1.7 MB."""


def has_public_tables(folder: Path) -> bool:
    """Return whether any file of the back-test is below `folder`."""
    return any((folder / path).exists() for path in COLUMNS)


@dataclass(slots=True)
class PublicTables:
    """The CSV files below a folder, each read once, and the rows left out.

    Call it with a file's path in the folder: it returns the valid rows, none if the file is missing
    or unusable. `skipped` grows with every file that is read.
    """

    folder: Path
    skipped: list[Skipped] = field(default_factory=list)
    _rows: dict[str, TextRows] = field(default_factory=dict)

    def __call__(self, path: str) -> TextRows:
        """Return the valid rows of a file."""
        if path not in self._rows:
            rows, skipped = _read(self.folder / path, path)
            self._rows[path] = rows
            self.skipped += skipped
        return self._rows[path]

    @property
    def missing(self) -> tuple[str, ...]:
        """Files of the back-test that are missing."""
        return tuple(path for path in COLUMNS if not (self.folder / path).exists())


def public_tables(folder: Path) -> PublicTables:
    """Return a reader of CSV files below `folder`, by their path in it."""
    return PublicTables(folder)


def _read(file: Path, path: str) -> tuple[TextRows, list[Skipped]]:
    """Return valid rows and skipped ones; an unusable file is skipped whole."""
    if not file.exists():
        return (), []
    try:
        if not file.is_file():
            return (), [Skipped(path=path, why="is not a file")]
        if (size := file.stat().st_size) > MOST_BYTES:
            reason = Text(
                "has {size:,} bytes; at most {most:,} are read", size=size, most=MOST_BYTES
            )
            return (), [Skipped(path=path, why=reason)]
        # Bytes that are not UTF-8 become half characters, which only spoil the cells they are in.
        with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            names, lines = _lines(text)
    except OSError as error:
        reason = Text("cannot be read: {error}", error=error.strerror or str(error))
        return (), [Skipped(path=path, why=reason)]
    unread = lines[0].broken if lines and not names else ""
    if problem := unread or header_problem(path, names):
        return (), [Skipped(path=path, why=problem)]
    kept, skipped = sound_rows(path, lines)
    return [{k: v or "" for k, v in row.items()} for row in kept], skipped


def _lines(text: TextIO) -> tuple[list[str], list[NumberedRow]]:
    """Return the column names, and all rows that are not empty."""
    reader = csv.reader(text, strict=True)  # a quote that is never closed takes rows along
    names: list[str] | None = None
    lines: list[NumberedRow] = []
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return names or [], lines
        except csv.Error as error:  # such as a cell of more than 131,072 letters
            last, reason = reader.line_num, str(error)
            broken = (
                Text("cannot be read: {error}, up to line {last}", error=reason, last=last)
                if last > number
                else Text("cannot be read: {error}", error=reason)
            )
            lines.append(NumberedRow(number=number, broken=broken))
            names = names or []
            continue
        if names is None:
            names = cells
        elif cells:
            lines.append(_line(number, names, cells))


def _line(number: int, names: Sequence[str], cells: Sequence[str]) -> NumberedRow:
    if len(cells) > len(names):
        broken = Text(
            "has {cells} cells, the first line {names} names",
            cells=len(cells),
            names=len(names),
        )
        return NumberedRow(number=number, broken=broken)
    return NumberedRow(number=number, cells=dict(zip_longest(names, cells)))


def write_accuracy(path: Path, rows: Sequence[FigureRow]) -> None:
    """Write the figures as one parquet file; equal rows give equal bytes."""
    write_whole(path, parquet_bytes(columns_of(rows)))


def parquet_bytes(columns: Mapping[str, Sequence[object]]) -> bytes:
    """Return the parquet file as bytes, with columns in the given order."""
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


COUNTS: Final = frozenset({"curves", "hidden", "points"})
"""Columns of the accuracy table with whole numbers."""
MOST_TABLE_BYTES: Final = 20_000_000
"""Size limit of the file [bytes]."""
AGAIN: Final = "Write it again: python -m planner backtest DIR."


def read_accuracy(path: Path) -> list[FigureRow]:
    """Return every figure of the accuracy table, in the order of the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the table is invalid: cut short, of another version, empty, or not a file.
    """
    if not path.is_file():
        raise FileNotFoundError(paragraph(Text("{file} is not there.", file=path.name), AGAIN))
    if path.stat().st_size > MOST_TABLE_BYTES:
        large = Text("{file} is larger than {most:,} bytes.", file=path.name, most=MOST_TABLE_BYTES)
        raise ValueError(paragraph(large, AGAIN))
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        unread = Text("{file} cannot be read: {error}.", file=path.name, error=str(error))
        raise ValueError(paragraph(unread, AGAIN)) from error
    problems = _problems(table)
    if problems:
        listed = Text("{file}: {problems}.", file=path.name, problems=joined("; ", problems))
        raise ValueError(paragraph(listed, AGAIN))
    names = [f.name for f in fields(FigureRow)]
    return [FigureRow(**row) for row in table.select(names).to_pylist()]


def _problems(table: pa.Table) -> list[str]:
    """Return why a table is not one of this version; extra columns are allowed."""
    messages: list[str] = [] if table.num_rows else ["it has no rows"]
    for name in (f.name for f in fields(FigureRow)):
        if name not in table.column_names:
            messages.append(Text("the column {name} is missing", name=name))
        elif not _fits(name, table.schema.field(name).type):
            messages.append(
                Text(
                    "the column {name} has type {type}",
                    name=name,
                    type=str(table.schema.field(name).type),
                )
            )
        elif table[name].null_count:
            messages.append(Text("the column {name} has gaps", name=name))
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
            Timing(question=place[0], task=place[1], data_set=place[2], method=method,
                   points=points, seconds=seconds)
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
