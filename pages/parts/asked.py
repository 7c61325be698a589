"""Questions every rerun asks again, answered once for each state of the data.

A person moving a slider changes the answer, not the data behind it. What the store said is kept
until its generation changes; everything that depends on the person is worked out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from planner.forms import FormRun
from planner.runs import Run
from planner.store import Store, queries

Answer = TypeVar("Answer")
_MOST: Final = 500
"""Answers kept of one state of the data; more and all are asked anew."""
_KEPT: Final[WeakKeyDictionary[Store, tuple[int, dict[Hashable, Any]]]] = WeakKeyDictionary()


def totals(shared: Store) -> queries.Totals:
    """As `planner.store.queries.totals`."""
    return _once(shared, "totals", lambda: queries.totals(shared))


def workloads(shared: Store) -> dict[str, int]:
    """As `planner.store.queries.workloads`."""
    return _once(shared, "workloads", lambda: queries.workloads(shared))


def patterns(shared: Store, workload: str) -> dict[str, int]:
    """As `planner.store.queries.patterns`."""
    return _once(shared, ("patterns", workload), lambda: queries.patterns(shared, workload))


def runs_of(shared: Store, workload: str, pattern: str) -> list[Run]:
    """As `planner.store.queries.runs_of`."""
    question = ("runs", workload, pattern)
    return _once(shared, question, lambda: queries.runs_of(shared, workload, pattern))


def forms(shared: Store, workload: str) -> list[FormRun]:
    """As `planner.store.queries.forms`."""
    return _once(shared, ("forms", workload), lambda: queries.forms(shared, workload))


def facets(shared: Store, filters: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """As `planner.store.queries.facets`."""
    question = ("facets", tuple((k, tuple(v)) for k, v in sorted(filters.items()) if v))
    return _once(shared, question, lambda: queries.facets(shared, filters))


def _once(shared: Store, question: Hashable, ask: Callable[[], Answer]) -> Answer:
    generation, known = _KEPT.get(shared, (-1, {}))
    if generation != shared.generation or len(known) > _MOST:
        known = {}
        _KEPT[shared] = (shared.generation, known)
    if question not in known:
        known[question] = ask()
    answer: Answer = known[question]
    return answer
