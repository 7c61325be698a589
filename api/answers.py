"""The answer of each address as a record, from `planner.answers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from planner.answers import (
    NO_RUN,
    capacity_answered,
    capacity_plan,
    compare_answered,
    curve_answered,
    curves,
    explore_answered,
    explored,
    hardware_comparison,
    how_long_answered,
    results_answered,
    scaling_out,
    scaling_out_answered,
    sql_answered,
    sql_result,
)
from planner.answers import projection as projected
from planner.answers.records import (
    Choice,
    Index,
    Options,
    Pattern,
    Results,
    RunRow,
    Workload,
    rows_of,
)
from planner.catalog import Catalog
from planner.core import Given, Problem
from planner.core.slugs import slugs
from planner.store import Store, queries


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The store, the catalogue and the date of an answer."""

    store: Store
    catalog: Catalog
    today: date


Answer = tuple[Struct | None, Sequence[Problem]]
"""The record, None where the question has a problem; and the problems."""
AnswerFunction = Callable[[Sources, Given], Answer]


def index(sources: Sources, query: Given) -> Answer:
    """Return every workload with its patterns, by slug and name."""
    problems = [Problem(parameter=n, message="This address takes no parameters.") for n in query]
    slugs_to_names = slugs(queries.workloads(sources.store))
    workloads = tuple(
        Workload(
            workload=short,
            name=name,
            patterns=tuple(
                Pattern(pattern=p, name=n)
                for p, n in slugs(queries.patterns(sources.store, name)).items()
            ),
        )
        for short, name in slugs_to_names.items()
    )
    return Index(openapi="/api/v1/openapi.json", workloads=workloads), problems


def results(sources: Sources, query: Given) -> Answer:
    """Return filtered runs."""
    answer = results_answered(sources.store, query)
    record = Results(
        query=answer.query,
        total=answer.total,
        next_cursor=answer.next_cursor or None,
        rows=rows_of(RunRow, answer.rows),
    )
    return record, answer.problems


def projection(sources: Sources, query: Given) -> Answer:
    """Return the times of N epochs on each system."""
    answer = how_long_answered(sources.store, query)
    if answer.problems or answer.result is None:
        return None, answer.problems or [NO_RUN]
    sets = sources.store.sets
    return projected(answer.result, answer.suspect, sets, answer.query, note=answer.note), ()


def curve(sources: Sources, query: Given) -> Answer:
    """Return throughput against batch size."""
    answer = curve_answered(sources.store, query)
    if answer.problems:
        return None, answer.problems
    sets = sources.store.sets
    return curves(answer.chosen, answer.batches, sets, answer.query, answer.notes), ()


def scaling(sources: Sources, query: Given) -> Answer:
    """Return whether more devices pay."""
    answer = scaling_out_answered(sources.store, query, sources.catalog)
    if answer.problems or answer.answer is None:
        return None, answer.problems or [NO_RUN]
    return scaling_out(answer, sources.store.sets), ()


def compare(sources: Sources, query: Given) -> Answer:
    """Return the comparison of hardware."""
    answer = compare_answered(sources.store, sources.catalog, query, sources.today)
    comparison = answer.answered.comparison
    if answer.problems or comparison is None:
        return None, answer.problems or [NO_RUN]
    return hardware_comparison(comparison, answer.display, answer.query, answer.by), ()


def options(sources: Sources, query: Given) -> Answer:
    """Return every option of a comparison."""
    answer = compare_answered(sources.store, sources.catalog, query, sources.today)
    rows = tuple(
        Choice(option_id=c.id, option=c.label, way=c.way, price=c.price, price_is_stale=c.stale,
               usual=c.id in answer.answered.chosen)
        for c in answer.answered.candidates
    )  # fmt: skip
    return Options(query=answer.query, rows=rows), answer.problems


def explore(sources: Sources, query: Given) -> Answer:
    """Return a chart's points, a pivot table, or runs side by side."""
    answer = explore_answered(sources.store, sources.catalog, query)
    if answer.problems:
        return None, answer.problems
    return explored(answer), ()


def select(sources: Sources, query: Given) -> Answer:
    """Return the rows of a SELECT statement."""
    answer = sql_answered(sources.store, query)
    return (None if answer.problems else sql_result(answer)), answer.problems


def capacity(sources: Sources, query: Given) -> Answer:
    """Return the machines for a month of jobs."""
    answer = capacity_answered(sources.store, sources.catalog, query, sources.today)
    return (None if answer.problems else capacity_plan(answer)), answer.problems


ANSWERS: Final[Mapping[str, AnswerFunction]] = MappingProxyType(
    {
        "/api/v1": index,
        "/api/v1/results": results,
        "/api/v1/projection": projection,
        "/api/v1/curve": curve,
        "/api/v1/scaling-out": scaling,
        "/api/v1/compare": compare,
        "/api/v1/options": options,
        "/api/v1/capacity": capacity,
        "/api/v1/explore": explore,
        "/api/v1/sql": select,
    }
)
"""The function of each address."""
