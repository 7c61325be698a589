"""The answer of each address as plain data, from `planner.answers._asking`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Final

from planner.answers import (
    NO_RUN,
    Body,
    compare_answered,
    compare_body,
    curve_answered,
    curve_body,
    how_long_answered,
    projection_body,
    results_answered,
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


Answer = tuple[Body, Sequence[Problem]]
AnswerFunction = Callable[[Sources, Given], Answer]


def index(sources: Sources, query: Given) -> Answer:
    """Return every workload with its patterns, by slug and name."""
    problems = [Problem(parameter=n, message="This address takes no parameters.") for n in query]
    slugs_to_names = slugs(queries.workloads(sources.store))
    workloads = [
        {
            "workload": short,
            "name": name,
            "patterns": [
                {"pattern": p, "name": n}
                for p, n in slugs(queries.patterns(sources.store, name)).items()
            ],
        }
        for short, name in slugs_to_names.items()
    ]
    return {"openapi": "/api/v1/openapi.json", "workloads": workloads}, problems


def results(sources: Sources, query: Given) -> Answer:
    """Return filtered runs."""
    answer = results_answered(sources.store, query)
    body = {
        "query": answer.query,
        "total": answer.total,
        "next_cursor": answer.next_cursor or None,
        "rows": list(answer.rows),
    }
    return body, answer.problems


def projection(sources: Sources, query: Given) -> Answer:
    """Return the times of N epochs on each system."""
    answer = how_long_answered(sources.store, query)
    if answer.problems or answer.result is None:
        return {}, answer.problems or [NO_RUN]
    return projection_body(answer.result, answer.suspect, sources.store.sets, answer.query), ()


def curve(sources: Sources, query: Given) -> Answer:
    """Return throughput against batch size."""
    answer = curve_answered(sources.store, query)
    if answer.problems:
        return {}, answer.problems
    sets = sources.store.sets
    return curve_body(answer.chosen, answer.batches, sets, answer.query, answer.notes), ()


def compare(sources: Sources, query: Given) -> Answer:
    """Return the comparison of hardware."""
    answer = compare_answered(sources.store, sources.catalog, query, sources.today)
    comparison = answer.answered.comparison
    if answer.problems or comparison is None:
        return {}, answer.problems or [NO_RUN]
    return compare_body(comparison, answer.display, answer.query, answer.by), ()


def options(sources: Sources, query: Given) -> Answer:
    """Return every option of a comparison."""
    answer = compare_answered(sources.store, sources.catalog, query, sources.today)
    rows = [
        {"option_id": c.id, "option": c.label, "way": c.way, "price": c.price,
         "price_is_stale": c.stale, "usual": c.id in answer.answered.chosen}
        for c in answer.answered.candidates
    ]  # fmt: skip
    return {"query": answer.query, "rows": rows}, answer.problems


ANSWERS: Final[Mapping[str, AnswerFunction]] = MappingProxyType(
    {
        "/api/v1": index,
        "/api/v1/results": results,
        "/api/v1/projection": projection,
        "/api/v1/curve": curve,
        "/api/v1/compare": compare,
        "/api/v1/options": options,
    }
)
"""The function of each address."""
