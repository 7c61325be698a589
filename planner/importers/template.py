"""Our own template: a CSV or parquet file with columns of the run table, or a map to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from planner.importers._source import (
    MOST_BYTES,
    MOST_CHARACTERS,
    MOST_COLUMNS,
    MOST_ROWS,
    Row,
    Source,
    SourceError,
    Stated,
    table_of,
    typed,
)
from planner.runs import BY_NAME

_MAP: Final = "columns"


def _read(path: Path, stated: Stated) -> Sequence[Row]:
    renamed = _renamed(path, stated)
    cells = _parquet(path) if path.suffix == ".parquet" else table_of(path)
    names = {name: renamed.get(name, name) for name in cells[0]}
    problems = [
        f"column {name}: is unknown. Map it with --option columns={name}:COLUMN, or to nothing: "
        f"{name}: (docs/records.md has the columns)."
        for name, column in names.items()
        if column and column not in BY_NAME
    ]
    problems += [f"option columns: {name} is no column of the file." for name in renamed
                 if name not in names]  # fmt: skip
    rows = []
    for number, line in enumerate(cells, 2):
        row: dict[str, Any] = {}
        for name, cell in line.items():
            column = names[name]
            if not column or column not in BY_NAME or cell in ("", None):
                continue
            row[column], problem = typed(column, str(cell))
            if problem:
                problems.append(f"line {number}, {problem}")
        rows.append(row)
    if problems:
        raise SourceError(path, problems)
    return rows


def _renamed(path: Path, stated: Stated) -> dict[str, str]:
    """Return the column of runs for a column of the file; "" leaves it out."""
    pairs = [p for p in stated.options.get(_MAP, "").split(",") if p]
    wrong = [p for p in pairs if ":" not in p]
    if wrong:
        raise SourceError(path, [f"option columns: {p!r} is not NAME:COLUMN." for p in wrong])
    return dict(p.rsplit(":", 1) for p in pairs)


def _parquet(path: Path) -> list[dict[str, str]]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SourceError(path, [f"it is larger than {MOST_BYTES:,} bytes. Split it."])
        file = pq.ParquetFile(path)
        flat = [f.name for f in file.schema_arrow if not pa.types.is_nested(f.type)]
        if len(flat) > MOST_COLUMNS or file.metadata.num_rows > MOST_ROWS:
            text = f"it has more than {MOST_COLUMNS} columns or {MOST_ROWS:,} rows. Split it."
            raise SourceError(path, [text])
        rows = file.read(columns=flat).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise SourceError(path, [f"it cannot be read as parquet: {error}."]) from error
    if not rows:
        raise SourceError(path, ["it has no row."])
    texts = [{n: "" if v is None else str(v) for n, v in row.items()} for row in rows]
    long = [f"row {i}, {n}: has more than {MOST_CHARACTERS} characters." for i, row in
            enumerate(texts, 1) for n, v in row.items() if len(v) > MOST_CHARACTERS]  # fmt: skip
    if long:
        raise SourceError(path, long)
    return texts


def header() -> str:
    """Return the header of an empty template: the columns most runs have."""
    names = ("model", "dataset", "system_name", "device_kind", "accelerators_per_node",
             "number_of_nodes", "precision", "optimizer", "global_batch_size", "train_samples",
             "samples_per_epoch", "pre_train_s", "first_epoch_s", "later_epoch_mean_s",
             "later_epoch_sd_s", "epochs_measured", "peak_memory_bytes")  # fmt: skip
    return ",".join(names) + "\n"


SOURCE: Final = Source(
    name="template",
    title="Table of runs",
    files="CSV or parquet, one row a run; header: `python -m planner import template --header`",
    reads="every column of the run table, by its name or through a map of columns",
    derives="nothing",
    refuses="unknown columns, wrong types, numbers that contradict each other",
    read=_read,
    options={_MAP: "NAME:COLUMN,... renames columns of the file; NAME: leaves one out"},
)
