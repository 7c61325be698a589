"""Files that other programs open: no formula runs, nothing is lost, nothing is loaded."""

from __future__ import annotations

import csv
import io

import pytest

from planner.core import Record, bare, csv_text, harmless
from tests.each import each


@each(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "=cmd|'/c calc'!A1", "\n=1", " =1", "\ufeff=1",
     "\u200b\xa0+1", "\x00@A", "\uff1d1", "\u3000\uff0b1", "\uff0d1", "\uff20A"],
)  # fmt: skip
def test_a_text_that_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text([{"name": text}]), newline="")))
    assert rows == [{"name": f"'{text}"}]


@each("text", ["=1", " -x", "'=1", "'", "''", "Net", "'Net", "", "\n@"])
def test_a_harmless_cell_is_restored(text: str) -> None:
    assert bare(harmless(text)) == text or text.startswith("'")
    assert bare("'Net") == "'Net"


@pytest.mark.parametrize("text", ["a;=1+1", "a\t=1+1", ";", 'a";=1', "a\r\n;=1;"])
def test_a_cell_stays_whole_where_another_separator_is_usual(text: str) -> None:
    whole = csv_text([{"name": text, "n": 1}])
    assert list(csv.DictReader(io.StringIO(whole, newline=""))) == [{"name": text, "n": "1"}]
    for separator in ";\t":
        rows = list(csv.reader(io.StringIO(whole, newline=""), delimiter=separator))
        assert not any(cell.startswith("=") for row in rows for cell in row)


def test_other_lines_are_those_of_the_usual_writer() -> None:
    record: Record = {"a": 0.1, "b": 10**20, "c": True, "d": 'x"y', "e": "a, b", "f": "", "g": 1e-7}
    usual = io.StringIO()
    csv.writer(usual).writerows([list(record), list(record.values())])
    assert csv_text([record]) == usual.getvalue()
    assert csv_text([{"a": None}]) == 'a\r\n""\r\n'


def test_numbers_stay_numbers_and_unknown_is_empty() -> None:
    assert csv_text([{"a": -1.5, "b": None, "c": 3}]) == "a,b,c\r\n-1.5,,3\r\n"


def test_rows_with_other_columns_keep_all_of_them() -> None:
    rows: list[Record] = [{"a": 1}, {"b": "x, “y”"}]
    assert list(csv.DictReader(io.StringIO(csv_text(rows)))) == [
        {"a": "1", "b": ""}, {"a": "", "b": "x, “y”"},
    ]  # fmt: skip
