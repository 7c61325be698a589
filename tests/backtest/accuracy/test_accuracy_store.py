"""The figures of the back-test come back from their file as they were, or are refused in words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backtest.accuracy.public_data import parquet_bytes, read_accuracy, write_accuracy
from backtest.questions.figure import FigureRow, columns_of
from tests.backtest.accuracy.test_accuracy import ROW

ROWS = [ROW, replace(ROW, method="power law", coverage=math.nan, median_width=math.nan)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "accuracy.parquet"
    write_accuracy(path, ROWS)
    return path


def _again(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


def _same(first: FigureRow, second: FigureRow) -> bool:
    return repr(first) == repr(second)  # NaN is not equal to itself


def test_what_was_written_is_read(file: Path) -> None:
    found = read_accuracy(file)
    assert len(found) == len(ROWS)
    assert all(_same(a, b) for a, b in zip(found, ROWS, strict=True))


def test_the_download_is_a_file_of_the_same_kind(tmp_path: Path) -> None:
    path = tmp_path / "shown.parquet"
    path.write_bytes(parquet_bytes(columns_of(ROWS)))
    assert len(read_accuracy(path)) == len(ROWS)


def test_further_columns_are_welcome(file: Path) -> None:
    table = pq.read_table(file)
    _again(file, table.append_column("remark", pa.array(["x"] * table.num_rows)))
    assert len(read_accuracy(file)) == len(ROWS)


def test_a_missing_file_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="python -m planner backtest DIR"):
        read_accuracy(tmp_path / "accuracy.parquet")


@pytest.mark.parametrize("cut", [0, 1, 100, -1])
def test_a_torn_file_is_refused(file: Path, cut: int) -> None:
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(ValueError, match="cannot be read"):
        read_accuracy(file)


def test_all_that_is_wrong_with_the_columns_is_reported_at_once(file: Path) -> None:
    table = pq.read_table(file).drop_columns(["coverage"])
    table = table.set_column(
        table.schema.get_field_index("points"), "points", pa.array(["12"] * table.num_rows)
    )
    table = table.set_column(
        table.schema.get_field_index("task"), "task", pa.array(["t", None], pa.string())
    )
    _again(file, table)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is looked at
        read_accuracy(file)
    for result in ("coverage is missing", "points has type string", "task has gaps"):
        assert result in str(caught.value)


def test_a_file_without_rows_is_refused(file: Path) -> None:
    _again(file, pq.read_table(file).slice(0, 0))
    with pytest.raises(ValueError, match="it has no rows"):
        read_accuracy(file)
