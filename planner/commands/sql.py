"""The command `sql`: a SELECT statement over the runs."""

from __future__ import annotations

import argparse
from typing import Final

from planner.answers import parameters, plain, sql_answered, sql_records, sql_result
from planner.commands import words
from planner.commands.words import print_table
from planner.core import Text, csv_text
from planner.store.select import MOST_ROWS

NONE: Final = "–"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the statement and the form of its result."""
    parser.add_argument("statement", nargs="?", help="SELECT ... FROM runs; the same as --sql")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print rows and columns as JSON")
    form.add_argument("--csv", action="store_true", help="print the rows as CSV")


def run_sql(arguments: argparse.Namespace) -> int:
    """Print the rows of a statement; return the exit code."""
    store = words.open_store(arguments)
    question = words.given_of(arguments, [p.name for p in parameters.SQL])
    if arguments.statement is not None:
        question["sql"] = [*question.get("sql", []), arguments.statement]
    question = {"sql": question.get("sql", [])}  # a link of Explore has its chart as well
    answer = sql_answered(store, question)
    words.refuse((*arguments.strange, *answer.problems))
    if arguments.json:
        words.print_json(plain(sql_result(answer)))
    elif arguments.csv:
        words.print_csv(csv_text(sql_records(answer)))
    else:
        names = [c.name for c in answer.columns]
        rows = [[_shown(v) for v in row.values()] for row in sql_records(answer)]
        numbers = [c.name for c in answer.columns if c.kind == "number"]
        print_table(names, rows, numbers)
    if answer.rows is not None and answer.rows.cut:
        words.note(Text("Only the first {most_rows:,} rows are shown.", most_rows=MOST_ROWS))
    return words.ANSWERED


def _shown(value: object) -> str:
    if value is None:
        return NONE
    return f"{value:.6g}" if isinstance(value, float) else str(value)
