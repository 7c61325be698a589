"""Files that other programs open: no formula runs, nothing is lost, nothing is loaded."""

from __future__ import annotations

import csv
import io

import pytest

from planner.core import Record, csv_text


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "=cmd|'/c calc'!A1"]
)
def test_a_text_that_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text([{"name": text}]), newline="")))
    assert rows == [{"name": f"'{text}"}]


def test_numbers_stay_numbers_and_unknown_is_empty() -> None:
    assert csv_text([{"a": -1.5, "b": None, "c": 3}]) == "a,b,c\r\n-1.5,,3\r\n"


def test_rows_with_other_columns_keep_all_of_them() -> None:
    rows: list[Record] = [{"a": 1}, {"b": "x, “y”"}]
    assert list(csv.DictReader(io.StringIO(csv_text(rows)))) == [
        {"a": "1", "b": ""}, {"a": "", "b": "x, “y”"},
    ]  # fmt: skip
