"""Our own template: a CSV or parquet file with columns of the run table, or a map to them."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, typed
from planner.importers.formats.source_files import (
    MOST_CHARACTERS,
    MOST_COLUMNS,
    MOST_ROWS,
    SourceError,
    SourceFiles,
    table_of,
)
from planner.importers.formats.times import way_problem
from planner.runs import BY_NAME

_MAP: Final = "columns"
_TIME: Final = "recorded_at"
_MOST_UNPACKED: Final = 50_000_000
_BATCH: Final = 512
"""Rows of a parquet file in memory at once."""
_MANY: Final = Text("it has more than {most_rows:,} rows. Split it.", most_rows=MOST_ROWS)


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    renamed = _renamed(files, stated)
    left_out = {name for name, column in renamed.items() if not column}
    cells = _parquet(files, left_out) if files.suffix == ".parquet" else table_of(files)
    names = {name: renamed.get(name, name) for name in cells[0]}
    unknown = [name for name, column in names.items() if column and column not in BY_NAME]
    problems: list[str] = [
        Text(
            "column {name}: is unknown. Name its column of docs/records.md with --option "
            "columns={name}:COLUMN, or leave it out with columns={name}:.",
            name=name,
        )
        for name in unknown
    ]
    problems += [
        Text("option columns: {name} is no column of the file.", name=name)
        for name in renamed
        if name not in names
    ]
    targets = [column for column in names.values() if column]
    problems += [
        Text("column {column}: is that of several columns of the file. Leave all but one out.",
             column=column)
        for column in sorted({column for column in targets if targets.count(column) > 1})
    ]  # fmt: skip
    way = stated.options.get(_TIME, "")
    if wrong := way_problem(way):
        problems.append(Text("option {name}: {wrong}", name=_TIME, wrong=wrong))
        way = ""
    elif way and _TIME not in names.values():
        problems.append(Text("option {name}: no column of the file has times.", name=_TIME))
    rows = []
    for number, line in enumerate(cells, 2):
        row: dict[str, Any] = {}
        for name, cell in line.items():
            column = names[name]
            if not column or column not in BY_NAME or cell in ("", None):
                continue
            row[column], problem = typed(column, str(cell), way)
            if problem:
                problems.append(f"line {number}, {problem}")
        rows.append(row)
    if problems:
        raise SourceError(files.first, problems, unknown)
    return rows


def _renamed(files: SourceFiles, stated: Stated) -> dict[str, str]:
    """Return the column of runs for a column of the file; "" leaves it out."""
    try:
        # a name may have commas and line ends: it is quoted as in a CSV file
        pairs = [p for p in next(csv.reader([stated.options.get(_MAP, "")]), []) if p]
    except csv.Error as error:
        text = Text("option columns: {error}. Put names in quotes.", error=error)
        raise SourceError(files.first, [text]) from error
    wrong = [p for p in pairs if ":" not in p]
    if wrong:
        raise SourceError(
            files.first,
            [Text("option columns: {part!r} is not NAME:COLUMN.", part=p) for p in wrong],
        )
    return dict(p.rsplit(":", 1) for p in pairs)


def _parquet(files: SourceFiles, left_out: Collection[str]) -> list[dict[str, str]]:
    """Return the cells as texts; columns of lists, and those of bytes, must be in `left_out`."""
    try:
        whole = pa.BufferReader(files.data[files.first])
        file = pq.ParquetFile(whole)
        fields = [f for f in file.schema_arrow if f.name not in left_out]
        if unread := [f for f in fields if _is_unread(f.type)]:
            wrong = [
                Text(
                    "column {name}: has {type}, which is not read. Leave it out with --option "
                    "columns={name}:, or give its values as text or numbers.",
                    name=f.name,
                    type=str(f.type)[:40],
                )
                for f in unread
            ]
            raise SourceError(files.first, wrong, [f.name for f in unread])
        flat = [f.name for f in fields]
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > _MOST_UNPACKED:
            text = Text(
                "it unpacks to more than {most_unpacked:,} bytes. Split it.",
                most_unpacked=_MOST_UNPACKED,
            )
            raise SourceError(files.first, [text])
        if file.metadata.num_rows > MOST_ROWS:
            raise SourceError(files.first, [_MANY])
        if len(flat) > MOST_COLUMNS:
            text = Text(
                "it has {flat} columns; at most {most_columns} are read. Split it.",
                flat=len(flat),
                most_columns=MOST_COLUMNS,
            )
            raise SourceError(files.first, [text])
        if twice := sorted({name for name in flat if flat.count(name) > 1}):
            text = Text("columns occur twice: {names}. Rename one.", names=", ".join(twice[:9]))
            raise SourceError(files.first, [text])
        if not flat:
            raise SourceError(files.first, ["no column is left. Leave out fewer."])
        # dictionaries stay dictionaries: a repeated long text is measured once
        texts = _cells(
            files,
            pq.ParquetFile(whole, read_dictionary=flat, page_checksum_verification=True),
            flat,
        )
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, SourceError):
            raise
        why = str(error).partition("\n")[0][:MOST_CHARACTERS]
        raise SourceError(
            files.first, [Text("it cannot be read as parquet: {why}. Export it again.", why=why)]
        ) from error
    if not texts:
        raise SourceError(files.first, ["it has no row. Give a file with rows."])
    gone = {f.name: "" for f in file.schema_arrow if f.name in left_out}
    return [{**row, **gone} for row in texts]


def _is_unread(kind: pa.DataType) -> bool:
    """Return whether cells of a type have no text that a column of runs could keep."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_nested(value)
        or pa.types.is_binary(value)
        or pa.types.is_large_binary(value)
        or pa.types.is_fixed_size_binary(value)
        or pa.types.is_time(value)
        or pa.types.is_duration(value)
    )


def _times_as_text(batch: pa.RecordBatch) -> dict[str, list[str | None]]:
    """Return the columns of times as ISO 8601: in UTC where the file states a zone.

    Arrow's own values would need the system's file of zones.
    """
    times = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if pa.types.is_timestamp(field.type):
            zone = "+00:00" if field.type.tz else ""
            to_us = pc.CastOptions(pa.timestamp("us"), allow_time_truncate=True)
            cells = column.cast(options=to_us).to_pylist()
            times[field.name] = [None if v is None else f"{v}{zone}" for v in cells]
    return times


def _cells(files: SourceFiles, file: pq.ParquetFile, names: Sequence[str]) -> list[dict[str, str]]:
    """Return the cells as texts; limits are checked while rows arrive, for a footer may lie."""
    texts: list[dict[str, str]] = []
    long: list[str] = []
    for batch in file.iter_batches(_BATCH, columns=list(names), use_threads=False):
        if len(texts) + batch.num_rows > MOST_ROWS:
            raise SourceError(files.first, [_MANY])
        for name in names:
            column = batch.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                longest = pc.max(pc.utf8_length(column)).as_py() or 0
                if longest > MOST_CHARACTERS:
                    long.append(
                        Text(
                            "{name}: has a cell of {longest:,} characters; at most "
                            "{most_characters} are read. Shorten it.",
                            name=name,
                            longest=longest,
                            most_characters=MOST_CHARACTERS,
                        )
                    )
        if long:
            raise SourceError(files.first, long)
        times = _times_as_text(batch)
        lines = zip(*(times.get(n) or batch.column(n).to_pylist() for n in names), strict=True)
        texts += [
            {
                n: "" if v is None else str(v)[: MOST_CHARACTERS + 1]
                for n, v in zip(names, line, strict=True)
            }
            for line in lines
        ]
    return texts


def mapping(columns: Mapping[str, str]) -> str:
    """Return the option `columns` that renames columns of a file; "" leaves one out."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([f"{n}:{to}" for n, to in columns.items()])
    return line.getvalue()


def header() -> str:
    """Return the header of an empty template: the columns most runs have."""
    names = ("model", "dataset", "system_name", "device_kind", "accelerators_per_node",
             "number_of_nodes", "precision", "optimizer", "global_batch_size", "train_samples",
             "samples_per_epoch", "pre_train_s", "first_epoch_s", "later_epoch_mean_s",
             "later_epoch_sd_s", "epochs_measured", "peak_memory_bytes", "recorded_at")  # fmt: skip
    return ",".join(names) + "\n"


SOURCE: Final = Source(
    name="template",
    title="Table of runs",
    files="CSV or parquet, one row a run; header: `python -m planner import template --header`",
    reads="every column of the run table, by its name or through a map of columns",
    derives="nothing",
    refuses="unknown columns, wrong types, numbers that contradict each other",
    read=_read,
    options={
        _MAP: "NAME:COLUMN,... renames columns of the file; NAME: leaves one out",
        _TIME: "UTC or an offset such as +09:00, for times without a zone; "
        "s, ms or us, for numbers since 1970",
    },
)
