"""Files that other programs open: no formula runs, nothing is lost, nothing is loaded."""

from __future__ import annotations

import csv
import io
import re

import pytest

from planner.core import Record, Report, csv_text, html_page


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


def test_a_page_shows_names_as_text_and_loads_nothing() -> None:
    evil = "<img src=http://x onerror=alert(1)>"
    report = Report(
        title=evil, sentence=evil, notes=[evil], figure="<div>chart</div>",
        table=[{evil: evil}], sources=[{"s": evil}], link="", made="today",
    )  # fmt: skip
    page = html_page(report)
    assert "<img" not in page
    assert "<div>chart</div>" in page
    assert not re.search(r"<[^>]*(src|href)=", page)


def test_an_empty_table_says_so() -> None:
    page = html_page(Report(title="t", sentence="s", notes=[], figure="", table=[], sources=[],
                            link="http://127.0.0.1/", made="today"))  # fmt: skip
    assert page.count("Nothing to list.") == 2
