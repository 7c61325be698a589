"""`--list workloads|options|accelerators`: the names of a question."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from planner.answers import compare_answered
from planner.catalog import Catalog
from planner.commands import words
from planner.commands.tables import print_table
from planner.core.slugs import slugs
from planner.store import Store, queries

PLAIN: Final = ("workloads",)
ALL: Final = ("workloads", "options", "accelerators")


def run(
    what: str, store: Store, catalog: Catalog | None, question: Mapping[str, Sequence[str]]
) -> int:
    """Print one list; return the exit code, 1 where it is empty."""
    if what == "accelerators" and catalog is not None:
        lines = [[a.id, a.name, a.maker, a.kind] for a in catalog.accelerators]
        print_table(["id", "name", "maker", "kind"], lines)
    elif what == "options" and catalog is not None:
        answer = compare_answered(store, catalog, question, datetime.now(UTC).date())
        lines = [[c.id, c.label, c.price] for c in answer.answered.candidates]
        for problem in answer.problems:
            words.note(str(problem))
        print_table(["id", "option", "price"], lines)
    else:
        trained = None if catalog is None else set(queries.trained(store))
        lines = _workloads(store, trained)
        print_table(["workload", "name", "patterns"], lines)
    return words.ANSWERED if lines else words.REFUSED


def _workloads(store: Store, only: Container[str] | None) -> list[list[str]]:
    """Return all workloads, or those in `only`: trained ones can be compared on other hardware."""
    named = slugs(queries.workloads(store)).items()
    names = [(short, name) for short, name in named if only is None or name in only]
    return [[s, name, ", ".join(slugs(queries.patterns(store, name)))] for s, name in names]
