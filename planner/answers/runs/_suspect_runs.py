"""Suspect flags of runs, computed per workload: a new run changes its own workload only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from planner.runs import CheckedRun, grouped
from planner.store import queries
from planner.store.reader import Store
from planner.suspects import Flag, by_run, left_out, named, suspects

APART: Final = 8
"""Most workloads that are read one by one; more are read together, in one query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """Suspect flags of runs by run id, and their names in one text.

    `left_out` are the runs that a fit can leave out; `cut_short`: there are more runs than are
    checked.
    """

    flags: Mapping[str, Sequence[Flag]]
    names: Mapping[str, str]
    left_out: frozenset[str]
    cut_short: bool


class _Flagged(NamedTuple):
    version: int
    flags: Mapping[str, Sequence[Flag]]


def suspects_of(store: Store) -> Suspects:
    """Return the suspect flags of all runs with times."""
    return store.kept.once(("suspects", store.generation), lambda: _suspects(store))


def _suspects(store: Store) -> Suspects:
    flags: dict[str, Sequence[Flag]] = {}
    checked = queries.checked_workloads(store)
    cut_short = sum(checked.values()) >= queries.MOST_CHECKED
    if cut_short:  # which runs are newest depends on all workloads
        flags |= by_run(suspects(queries.checked_runs(store)))
    else:
        for own in _flagged(store, checked).values():
            flags |= own.flags
    return Suspects(
        flags=flags,
        names={run: named(own) for run, own in flags.items()},
        left_out=left_out(flags),
        cut_short=cut_short,
    )


def _flagged(store: Store, workloads: Iterable[str]) -> Mapping[str, _Flagged]:
    """Return the flags of each workload's runs; checks compare runs of one workload only."""
    last: dict[str, _Flagged] = store.kept.once("flags by workload", dict)
    versions = {workload: store.version(workload) for workload in workloads}
    now = {w: last[w] for w, v in versions.items() if w in last and last[w].version == v}
    new = [w for w in versions if w not in now]
    read = _of_each(queries.checked_runs(store)) if len(new) > APART else {}
    for workload in new:
        runs = read.get(workload) or queries.checked_runs(store, workload=workload)
        now[workload] = _Flagged(versions[workload], by_run(suspects(runs)))
    last.update(now)  # other threads at another moment compare versions too
    return {w: now[w] for w in versions}


def _of_each(runs: Sequence[CheckedRun]) -> dict[str, list[CheckedRun]]:
    """Return the runs of each workload, in their order."""
    return {group[0].workload: group for group in grouped(runs, lambda run: run.workload)}
