"""What each address answers, as plain data; all of it from `planner.answers._asking`."""

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
class Known:
    """What there is to answer from, at one moment."""

    store: Store
    catalog: Catalog
    today: date


Answer = tuple[Body, Sequence[Problem]]
Ask = Callable[[Known, Given], Answer]


def index(known: Known, given: Given) -> Answer:
    """Every workload with its patterns, by the names that questions use."""
    problems = [Problem(parameter=n, message="Nothing can be asked here.") for n in given]
    found = slugs(queries.workloads(known.store))
    told = [
        {
            "workload": short,
            "name": name,
            "patterns": [
                {"pattern": p, "name": n}
                for p, n in slugs(queries.patterns(known.store, name)).items()
            ],
        }
        for short, name in found.items()
    ]
    return {"openapi": "/api/v1/openapi.json", "workloads": told}, problems


def results(known: Known, given: Given) -> Answer:
    """Runs under filters."""
    told = results_answered(known.store, given)
    body = {
        "query": told.query,
        "total": told.total,
        "next_cursor": told.next_cursor or None,
        "rows": list(told.rows),
    }
    return body, told.problems


def projection(known: Known, given: Given) -> Answer:
    """N epochs on each system."""
    told = how_long_answered(known.store, given)
    if told.problems or told.result is None:
        return {}, told.problems or [NO_RUN]
    return projection_body(told.result, told.suspect, known.store.sets, told.query), ()


def curve(known: Known, given: Given) -> Answer:
    """Throughput against batch size."""
    told = curve_answered(known.store, given)
    if told.problems:
        return {}, told.problems
    return curve_body(told.chosen, told.batches, known.store.sets, told.query, told.notes), ()


def compare(known: Known, given: Given) -> Answer:
    """Which hardware, rented or bought."""
    told = compare_answered(known.store, known.catalog, given, known.today)
    comparison = told.answered.comparison
    if told.problems or comparison is None:
        return {}, told.problems or [NO_RUN]
    return compare_body(comparison, told.display, told.query, told.by), ()


def options(known: Known, given: Given) -> Answer:
    """Every option that a comparison may name."""
    told = compare_answered(known.store, known.catalog, given, known.today)
    rows = [
        {"option_id": c.id, "option": c.label, "way": c.way, "price": c.price,
         "price_is_stale": c.stale, "usual": c.id in told.answered.chosen}
        for c in told.answered.candidates
    ]  # fmt: skip
    return {"query": told.query, "rows": rows}, told.problems


ANSWERS: Final[Mapping[str, Ask]] = MappingProxyType(
    {
        "/api/v1": index,
        "/api/v1/results": results,
        "/api/v1/projection": projection,
        "/api/v1/curve": curve,
        "/api/v1/compare": compare,
        "/api/v1/options": options,
    }
)
"""What is asked at each address."""
