"""Refuse an unmeasured target, and name workloads whose steps to target are measured."""

from __future__ import annotations

from typing import Final

from planner.answers.comparison import own_trials
from planner.core import Problem, shown
from planner.core.slugs import slugs
from planner.store import queries
from planner.store.reader import Store

MOST_NAMED: Final = 6
"""Workloads that are named; a message is no list."""


def no_steps(store: Store, optimizer: str) -> list[Problem]:
    """Return why a workload without measured steps to a target is refused.

    Args:
        store: the results.
        optimizer: the one that was asked for beside it; "" where none was.
    """
    message = f"No steps to a target of this workload are known. {_instead(store)}"
    wrong = [Problem(parameter="goal", message=message)]
    if optimizer:
        told = f"{shown(optimizer)} cannot be looked up where no steps are known. Leave it out."
        wrong.append(Problem(parameter="optimizer", message=told))
    return wrong


def with_targets(store: Store) -> tuple[str, ...]:
    """Return slugs of the workloads with measured steps to a target."""
    trained, sets = queries.trained(store), queries.trial_sets(store)
    named = slugs(queries.workloads(store)).items()
    return tuple(s for s, name in named if name in trained and own_trials(sets, name))


def _instead(store: Store) -> str:
    known = with_targets(store)
    if not known:
        return "Ask for epochs."
    end = ", ..." if len(known) > MOST_NAMED else "."
    which = f"{', '.join(known[:MOST_NAMED])}{end}"
    return f"Ask for epochs, or choose a workload with steps to a target: {which}"
