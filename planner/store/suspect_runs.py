"""What is odd about runs, worked out a workload at a time: a new run changes its own workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.checked_runs import CheckedRun
from planner.store import queries
from planner.store.reader import Store
from planner.suspects import Flag, by_run, left_out, named, suspects


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """What is odd about runs, by run id: flags, and their names in one text.

    `left_out` are the runs that a fit can do without; `cut_short` where there are more runs than
    are looked at.
    """

    flags: Mapping[str, Sequence[Flag]]
    names: Mapping[str, str]
    left_out: frozenset[str]
    cut_short: bool


def suspects_of(store: Store) -> Suspects:
    """Return what is suspect among all runs that took times."""
    return store.kept.once(("suspects", store.generation), lambda: _suspects(store))


def _suspects(store: Store) -> Suspects:
    flags: dict[str, Sequence[Flag]] = {}
    checked = queries.checked_workloads(store)
    cut_short = sum(checked.values()) >= queries.MOST_CHECKED
    if cut_short:  # which runs are the newest ones depends on all workloads
        flags |= by_run(suspects(queries.checked_runs(store)))
    else:
        for workload in checked:
            flags |= _flags(store, workload)
    return Suspects(
        flags=flags,
        names={run: named(own) for run, own in flags.items()},
        left_out=left_out(flags),
        cut_short=cut_short,
    )


def _flags(store: Store, workload: str) -> Mapping[str, Sequence[Flag]]:
    """The flags of a workload's runs: every check compares runs of one workload only."""

    def ask() -> Mapping[str, Sequence[Flag]]:
        runs: Sequence[CheckedRun] = queries.checked_runs(store, workload=workload)
        return by_run(suspects(runs))

    return store.kept.once(("flags", workload, store.version(workload)), ask)
