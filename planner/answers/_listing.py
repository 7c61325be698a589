"""Answers on the runs themselves: filtered lists and SELECT statements."""

import datetime as dt
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from planner.answers import parameters
from planner.answers._asking import picked
from planner.answers.records import SqlColumn, SqlResult
from planner.answers.runs import suspects_of
from planner.catalog import Accelerator, Catalog
from planner.core import (
    Cell,
    ParameterProblem,
    QueryTexts,
    Record,
    Text,
    message_of,
    query_of,
    read,
)
from planner.core.slugs import slugs
from planner.explore import CATEGORIES, NUMBERS, with_derived
from planner.published import half_peak
from planner.runs import BY_NAME, SUMMARY
from planner.store import queries, sql
from planner.store.kept import Kept
from planner.store.reader import Store
from planner.store.select import RefusedError, Rows, Worker
from planner.suspects import ANY, NAMES, NONE, narrowed

_RUN: Final = re.compile(r"[0-9a-f]{32}")
_CURSOR: Final = re.compile(r"([0-9]{1,9})-([0-9a-f]{32})")
_CHANGED: Final = "The runs have changed since. Start again without a cursor."


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsAnswer:
    """A part of the filtered runs, by workload, system, pattern and batch size.

    `total` counts all filtered runs; `next_cursor` requests the rest, "" where there is none.
    """

    rows: tuple[Mapping[str, Any], ...]
    total: int
    next_cursor: str
    query: str
    problems: tuple[ParameterProblem, ...]


def results_answered(store: Store, question: QueryTexts) -> ResultsAnswer:
    """Return filtered runs, each with its suspect flags."""
    parsed = read(parameters.RESULTS, question, parameters.VIEW_OF_RESULTS)
    values, problems = parsed.values, list(parsed.problems)
    suspect = suspects_of(store)
    filters = filters_of(store, values, problems)
    if values["run"] is not None:
        filters |= {"only": _one_run(values["run"], problems)}
    elif values["runs"]:
        filters |= {
            "only": [i for text in values["runs"] for i in _one_run(text, problems, "runs")]
        }
    begin = _begin(values["cursor"], problems)
    before = 1 if begin[0] else 0  # the run of the cursor, to see whether it is there still
    table = queries.table(store, filters, values["limit"] + before, begin[0] - before)
    ids = table["run_id"].to_pylist()
    if before and ids[:1] != [begin[1]]:
        problems.append(ParameterProblem(parameter="cursor", message=_CHANGED))
    rows = [_row(r, suspect.names) for r in table.slice(before).to_pylist()]
    total, end = queries.count(store, filters), begin[0] + len(rows)
    return ResultsAnswer(
        rows=tuple(rows),
        total=total,
        next_cursor=f"{end}-{ids[-1]}" if rows and end < total else "",
        query=query_of(parameters.RESULTS, values),
        problems=tuple(problems),
    )


def filters_of(
    store: Store, values: Mapping[str, Any], problems: list[ParameterProblem]
) -> dict[str, list[str]]:
    """Return the filters of a question by facet, with run ids for those by suspect flag."""
    filters = _filters(store, values, problems)
    return filters | narrowed(suspects_of(store).flags, _flags(values["suspect"], problems))


def mfu_shares(
    store: Store, question: QueryTexts, accelerators: Sequence[Accelerator]
) -> tuple[float, ...]:
    """Return the MFU of filtered runs in ascending order [share of the half-precision peak].

    Runs without operations, on unknown accelerators, or above the peak have none. Cached until a
    run or a peak changes.
    """
    values = read(parameters.RESULTS, question).values
    peaks = {a.name: half_peak(a) for a in accelerators}

    def query() -> tuple[float, ...]:
        shares = (
            speed / (count * peak)
            for name, count, speed in queries.work(store, _filters(store, values, []))
            if (peak := peaks.get(name))
        )
        return tuple(sorted(share for share in shares if share <= 1.0))

    return store.once(("MFU", query_of(parameters.RESULTS, values), tuple(peaks.items())), query)


def _row(row: Mapping[str, Any], suspect: Mapping[str, str]) -> dict[str, Any]:
    """Return a run as plain data, with its time of recording in UTC as a text."""
    when = row["recorded_at"]
    return {
        **row,
        "recorded_at": None if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}",
        "suspect": suspect.get(row["run_id"]),
    }


def _filters(
    store: Store, values: Mapping[str, Any], problems: list[ParameterProblem]
) -> dict[str, list[str]]:
    """Return the filter values by facet, looked up by their slugs."""
    filters: dict[str, list[str]] = {}
    for facet, names in facet_names(store).items():
        if requested := values[facet]:
            kind = facet.replace("_", " ")
            filters[facet] = [names[s] for s in picked(facet, kind, requested, names, problems)]
    return filters


def facet_names(store: Store) -> dict[str, dict[str, str]]:
    """Return the options of every facet by slug, cached until a run changes."""

    def query() -> dict[str, dict[str, str]]:
        return {facet: slugs(counts) for facet, counts in queries.facets(store, {}).items()}

    return store.once("names of facets", query)


def _flags(requested: tuple[str, ...], problems: list[ParameterProblem]) -> list[str]:
    names = slugs([ANY, NONE, *NAMES])
    return [names[s] for s in picked("suspect", "suspect", requested, names, problems)]


def _one_run(text: str, problems: list[ParameterProblem], name: str = "run") -> list[str]:
    if _RUN.fullmatch(text):
        return [text]
    message = "A run's id is 32 digits from 0 to f. Copy it from a row."
    problems.append(ParameterProblem(parameter=name, message=message))
    return []


def _begin(cursor: str | None, problems: list[ParameterProblem]) -> tuple[int, str]:
    """Return the number of runs before the cursor, and the last of them."""
    if cursor is None:
        return 0, ""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        message = "The cursor is invalid. Use next_cursor unchanged."
        problems.append(ParameterProblem(parameter="cursor", message=message))
        return 0, ""
    return int(match[1]), match[2]


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
NO_STATEMENT: Final = ParameterProblem(
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
    RunColumn(name="accelerator", unit="", kind="text", meaning=CATEGORIES["accelerator"].meaning),
    *(
        RunColumn(name=name, unit=column.stored_unit, kind="number", meaning=column.meaning)
        for name, column in NUMBERS.items()
        if name not in BY_NAME and name not in ("step_time_s", "samples_per_s")
    ),
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
    problems: tuple[ParameterProblem, ...] = ()

    @property
    def columns(self) -> tuple[SqlColumn, ...]:
        """The columns of the rows; one that keeps its name keeps its unit."""
        schema = self.rows.table.schema if self.rows else ()
        return tuple(
            SqlColumn(name=f.name, unit=_UNITS.get(f.name) or None, kind=_kind(f.type))
            for f in schema
        )


def sql_answered(store: Store, catalog: Catalog, question: QueryTexts) -> SqlAnswer:
    """Return the rows of the statement in a question; cached until runs or peaks change."""
    parsed = read(parameters.SQL, question)
    statement = str(parsed.values["sql"] or "")
    problems = list(parsed.problems)
    if not problems and not statement.strip():
        problems.append(NO_STATEMENT)
    rows = None
    if not problems:
        try:
            rows = _rows(store, catalog, statement)
        except RefusedError as error:
            problems.append(ParameterProblem(parameter="sql", message=message_of(error)))
    return SqlAnswer(
        statement=statement,
        rows=rows,
        query=query_of(parameters.SQL, parsed.values),
        problems=tuple(problems),
    )


def _rows(store: Store, catalog: Catalog, statement: str) -> Rows:
    if store.in_file and queries.totals(store).runs > MOST_RUNS:
        raise RefusedError(_TOO_MANY)
    version = (store.serial, store.generation, catalog_stamp(catalog))
    return _KEPT.once(
        (version, statement), lambda: _WORKER.ask(statement, version, lambda: _runs(store, catalog))
    )


def _runs(store: Store, catalog: Catalog) -> pa.Table:
    """Return the runs with derived columns and their suspect flags."""
    runs, suspect = store.arrow(sql.SELECTABLE), suspects_of(store)
    return with_derived(runs, catalog, suspect.names)


def catalog_stamp(catalog: Catalog) -> Hashable:
    """Return what changes with a peak or a price."""
    peaks = tuple((a.id, a.devices, *a.peak_flops_per_s.items()) for a in catalog.accelerators)
    return hash((peaks, catalog.offers))


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
