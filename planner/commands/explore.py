"""The command `explore`: any number of the runs against any other."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.answers import explore_answered, explore_runs, explored, parameters, plain
from planner.answers.records import Explore
from planner.commands import words
from planner.commands.words import print_answer, print_table
from planner.core import Record, Text, csv_text
from planner.core import plain as plain_number
from planner.explore import CATEGORIES, NUMBERS, text_of_cell
from planner.store import Store

NONE: Final = "–"
MOST_PRINTED: Final = 40
"""Points that are printed; --csv and --json have all."""


def run_explore(arguments: argparse.Namespace) -> int:
    """Print points, a pivot table or facts side by side; return the exit code."""
    store, catalog = words.open_store(arguments), words.open_catalog(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return _list(store, explore_runs(store, catalog))
    question = words.given_of(arguments, [p.name for p in parameters.EXPLORE])
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
