"""Commands over the runs: `explore`, `sql`, and `export` of a result set as one file to send."""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.answers import (
    explore_answered,
    explore_runs,
    explored,
    parameters,
    plain,
    sql_answered,
    sql_records,
    sql_result,
)
from planner.answers.records import Explore
from planner.commands import words
from planner.commands.words import NONE, print_answer, print_table
from planner.core import Record, Text, csv_text
from planner.core import plain as plain_number
from planner.explore import CATEGORIES, NUMBERS, text_of_cell
from planner.store import Store, folders_from_environment
from planner.store.disk.files import write_new
from planner.store.exchange import mllog_zip, set_zip
from planner.store.select import MOST_ROWS

MOST_PRINTED: Final = 40
"""Points that are printed; --csv and --json have all."""


def run_explore(arguments: argparse.Namespace) -> int:
    """Print points, a pivot table or facts side by side; return the exit code."""
    store, catalog = words.open_store(arguments), words.open_catalog(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return _list(store, explore_runs(store, catalog))
    question = words.texts_of(arguments, [p.name for p in parameters.EXPLORE])
    answer = explore_answered(store, catalog, question)
    words.refuse((*arguments.strange, *answer.problems))
    record = explored(answer)
    rows = rows_of(record)
    if arguments.json:
        words.print_json(plain(record))
    elif arguments.csv:
        words.print_csv(csv_text(rows))
    else:
        _print(record, rows)
    return words.ANSWERED if rows else words.REFUSED


def rows_of(record: Explore) -> list[Record]:
    """Return the rows of an answer: points, cells of a pivot table, or facts."""
    if record.points:
        return [plain(point) for point in record.points]
    if record.cells:
        return [plain(cell) for cell in record.cells]
    return [
        {"fact": fact.fact, "unit": fact.unit, **_numbered(record.names, fact.cells),
         "difference": fact.difference}
        for fact in record.facts
    ]  # fmt: skip


def _numbered(names: Sequence[str], cells: Sequence[Any]) -> dict[str, Any]:
    return {f"{i + 1}: {name}": c for i, (name, c) in enumerate(zip(names, cells, strict=True))}


def _list(store: Store, runs: Any) -> int:  # noqa: ANN401 - an Arrow table
    """Print the columns: name, title, unit, how many runs state it, meaning."""
    del store
    columns = {**CATEGORIES, **NUMBERS}
    lines = [
        [name, c.title, c.stored_unit or NONE, f"{len(runs) - runs[name].null_count:,}", c.meaning]
        for name, c in columns.items()
    ]
    print_table(["column", "title", "unit", "runs", "meaning"], lines, ["runs"])
    return words.ANSWERED if len(runs) else words.REFUSED


def _print(record: Explore, rows: Sequence[Mapping[str, Any]]) -> None:
    print_answer([record.sentence] if record.sentence else [])
    heads = {
        "chart": ("system", "workload", "x", "y", "colour"),
        "pivot": ("row", "column", "value", "runs"),
    }
    names = heads.get(record.view, tuple(rows[0]) if rows else ())
    lines = [[_cell(row[name]) for name in names] for row in rows[:MOST_PRINTED]]
    print_table(list(names), lines, ["x", "y", "value", "runs"])
    if len(rows) > MOST_PRINTED:
        words.note(
            Text("{rows:,} more: --csv or --json prints all.", rows=len(rows) - MOST_PRINTED)
        )
    for text in record.notes:
        words.note(text)


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return plain_number(float(value), 6)
    return text_of_cell(value if isinstance(value, str) else None)


def add_sql(parser: argparse.ArgumentParser) -> None:
    """Add the statement and the form of its result."""
    parser.add_argument("statement", nargs="?", help="SELECT ... FROM runs; the same as --sql")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print rows and columns as JSON")
    form.add_argument("--csv", action="store_true", help="print the rows as CSV")


def run_sql(arguments: argparse.Namespace) -> int:
    """Print the rows of a statement; return the exit code."""
    store, catalog = words.open_store(arguments), words.open_catalog(arguments)
    question = words.texts_of(arguments, [p.name for p in parameters.SQL])
    if arguments.statement is not None:
        question["sql"] = [*question.get("sql", []), arguments.statement]
    question = {"sql": question.get("sql", [])}  # a link of Explore has its chart as well
    answer = sql_answered(store, catalog, question)
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


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("set", help="folder name of the result set")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.zip")
    parser.add_argument(
        "--as",
        dest="form",
        choices=("set", "mllog"),
        default="set",
        help="parquet with set.toml and CSV (default), or MLPerf's log lines",
    )
    parser.add_argument(
        "--results", metavar="DIR", help="your folder of result sets, or s3://bucket/prefix"
    )


def run_export(options: argparse.Namespace) -> int:
    """Write the file; return 0 for success, 1 without such a set, 2 if the file cannot be made."""
    environment = dict(os.environ)
    if options.results:
        environment["EPOCHWISE_RESULTS"] = str(options.results)
    store = Store(folders_from_environment(words.ROOT, environment))
    store.refresh()
    sets = [s for s in store.sets if s.slug == options.set and not s.withdrawn]
    if not sets:
        names = ", ".join(sorted({s.slug for s in store.sets})[:40])
        words.note(
            Text("There is no result set {set}. Sets: {names}.", set=options.set, names=names)
        )
        return words.REFUSED
    data = (mllog_zip if options.form == "mllog" else set_zip)(store, sets[-1])
    try:
        written = write_new(options.out, data)
    except OSError as error:
        words.note(
            Text("{out} cannot be written: {reason}.", out=options.out, reason=error.strerror)
        )
        return words.WRONG_WORDS
    if not written:
        words.note(Text("{out} exists. Name another file.", out=options.out))
        return words.WRONG_WORDS
    words.print_answer(
        [
            Text(
                "{title} is in {out} ({data:,} bytes).",
                title=sets[-1].title,
                out=options.out,
                data=len(data),
            )
        ]
    )
    return words.ANSWERED
