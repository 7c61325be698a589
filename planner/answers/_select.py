"""The answer to a SELECT statement over the runs, for page, command and HTTP interface."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from planner.answers import parameters
from planner.answers._listing import with_standing
from planner.answers.records import SqlColumn, SqlResult
from planner.answers.runs import suspects_of
from planner.core import Cell, Given, Problem, Record, Text, message_of, query_of, read
from planner.runs import BY_NAME, SUMMARY
from planner.store import queries, sql
from planner.store.kept import Kept
from planner.store.reader import Store
from planner.store.select import RefusedError, Rows, Worker

_WORKER: Final = Worker()
_MOST_KEPT_BYTES: Final = 100_000_000
_KEPT: Final = Kept(_MOST_KEPT_BYTES, weigh=lambda rows: rows.table.nbytes)
MOST_RUNS: Final = queries.MOST_FILE
"""Runs that a statement can be about: its process holds a copy of them."""
_TOO_MANY: Final = Text(
    "SQL is about at most {most:,} runs, and there are more. Write all of them into a DuckDB file "
    "with `python -m planner.store export FILE`, and ask that file.",
    most=MOST_RUNS,
)
NO_STATEMENT: Final = Problem(
    parameter="sql", message="The statement is missing. Begin with SELECT * FROM runs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunColumn:
    """A column of the table `runs`: name, unit, kind of its values, meaning."""

    name: str
    unit: str
    kind: str
    meaning: str


_MADE: Final = (
    RunColumn(name="workload", unit="", kind="text", meaning="network, data set and optimiser"),
    RunColumn(name="system", unit="", kind="text", meaning="device count and system name"),
    RunColumn(name="pattern", unit="", kind="text", meaning="input pattern"),
    RunColumn(name="software", unit="", kind="text", meaning="framework and version"),
    RunColumn(name="step_time_s", unit="s", kind="number", meaning="time of one optimiser step"),
    RunColumn(name="samples_per_s", unit="samples/s", kind="number", meaning="throughput"),
    RunColumn(name="task", unit="", kind="text", meaning="kind of work: vision, speech ..."),
    RunColumn(name="folder", unit="", kind="text", meaning="shipped, yours or further"),
    RunColumn(name="suspect", unit="", kind="text", meaning="why a run is suspect, if it is"),
    RunColumn(name="standing", unit="", kind="text", meaning="unofficial, or null"),
)


def _kind(of: pa.DataType) -> str:
    if pa.types.is_boolean(of):
        return "flag"
    if pa.types.is_timestamp(of) or pa.types.is_date(of):
        return "time"
    return "number" if pa.types.is_floating(of) or pa.types.is_integer(of) else "text"


RUN_COLUMNS: Final = (
    *_MADE,
    *(
        RunColumn(name=c.name, unit=c.unit, kind=_kind(c.type), meaning=c.meaning)
        for c in (BY_NAME[name] for name in SUMMARY)
    ),
)
"""The columns of the table `runs`, those made from others first."""
_UNITS: Final = {c.name: c.unit for c in RUN_COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlAnswer:
    """The rows of a statement, None where it has a problem."""

    statement: str
    rows: Rows | None
    query: str
    problems: tuple[Problem, ...] = ()

    @property
    def columns(self) -> tuple[SqlColumn, ...]:
        """The columns of the rows; one that keeps its name keeps its unit."""
        schema = self.rows.table.schema if self.rows else ()
        return tuple(
            SqlColumn(name=f.name, unit=_UNITS.get(f.name) or None, kind=_kind(f.type))
            for f in schema
        )


def sql_answered(store: Store, question: Given) -> SqlAnswer:
    """Return the rows of the statement in a question; cached until a run changes."""
    parsed = read(parameters.SQL, question)
    statement = str(parsed.values["sql"] or "")
    problems = list(parsed.problems)
    if not problems and not statement.strip():
        problems.append(NO_STATEMENT)
    rows = None
    if not problems:
        try:
            rows = _rows(store, statement)
        except RefusedError as error:
            problems.append(Problem(parameter="sql", message=message_of(error)))
    return SqlAnswer(
        statement=statement,
        rows=rows,
        query=query_of(parameters.SQL, parsed.values),
        problems=tuple(problems),
    )


def _rows(store: Store, statement: str) -> Rows:
    if store.in_file and queries.totals(store).runs > MOST_RUNS:
        raise RefusedError(_TOO_MANY)
    version = (store.serial, store.generation)
    return _KEPT.once(
        (version, statement), lambda: _WORKER.ask(statement, version, lambda: _runs(store))
    )


def _runs(store: Store) -> pa.Table:
    """Return the runs with their suspect flags and the standing of their sets."""
    runs = store.arrow(sql.SELECTABLE)
    names = suspects_of(store).names
    flags = [names.get(run) for run in runs["run_id"].to_pylist()]
    return with_standing(store, runs.append_column("suspect", pa.array(flags, pa.string())))


def sql_result(answer: SqlAnswer) -> SqlResult:
    """Return an answer as a record."""
    rows = sql_records(answer)
    return SqlResult(
        query=answer.query,
        columns=answer.columns,
        rows=tuple(tuple(row.values()) for row in rows),
        cut=answer.rows is not None and answer.rows.cut,
    )


def sql_records(answer: SqlAnswer) -> list[Record]:
    """Return the rows of an answer by column name; times as ISO 8601, no NaN."""
    rows = answer.rows.table.to_pylist() if answer.rows else []
    return [{name: _cell(value) for name, value in row.items()} for row in rows]


def _cell(value: Any) -> Cell:  # noqa: ANN401 - whatever a column holds
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    cell: Cell = value
    return cell
