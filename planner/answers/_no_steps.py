"""Refuse an unmeasured target, and name workloads whose steps to target are measured."""

from __future__ import annotations

from typing import Final

from planner.answers.comparison import own_trials
from planner.core import Problem, shown
from planner.core.slugs import slugs
from planner.store import queries
from planner.store.reader import Store

MOST_NAMED: Final = 6
"""Most workloads that a message names."""


def no_steps(store: Store, optimizer: str) -> list[Problem]:
    """Return why a workload without measured steps to a target is refused.

    Args:
        store: the results.
        optimizer: the requested optimiser; "" without one.
    """
    message = f"This workload has no measured steps to a target. {_instead(store)}"
    wrong = [Problem(parameter="goal", message=message)]
    if optimizer:
        hint = f"{shown(optimizer)} cannot be looked up without measured steps. Leave it out."
        wrong.append(Problem(parameter="optimizer", message=hint))
    return wrong


def with_targets(store: Store) -> tuple[str, ...]:
    """Return slugs of the workloads with measured steps to a target."""
    trained, sets = queries.trained(store), queries.trial_sets(store)
    named = slugs(queries.workloads(store)).items()
    return tuple(s for s, name in named if name in trained and own_trials(sets, name))


def _instead(store: Store) -> str:
    slugs_with_steps = with_targets(store)
    if not slugs_with_steps:
        return "Choose epochs."
    end = ", ..." if len(slugs_with_steps) > MOST_NAMED else "."
    which = f"{', '.join(slugs_with_steps[:MOST_NAMED])}{end}"
    return f"Choose epochs, or choose a workload with steps to a target: {which}"
