"""Suspect flags of runs, computed per workload: a new run changes its own workload only."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from planner.epochs import MAX_CV, QUIETEST, Scatter, scatter_sums, scatters
from planner.runs import EPOCHS, CheckedRun, EpochPrior, Run, grouped
from planner.store import queries, sql
from planner.store.reader import Store
from planner.suspects import Flag, by_run, left_out, named, suspects

APART: Final = 8
"""Most workloads that are read by name; for more, the runs of all are read."""


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


NO_SUSPECTS: Final = Suspects(flags={}, names={}, left_out=frozenset(), cut_short=False)
_KEPT: Final = "flags of the newest runs"
"""The name under which a store with a summary file keeps flags for its next start."""


def suspects_of(store: Store) -> Suspects:
    """Return the suspect flags of all runs with times."""
    return store.once("suspects", lambda: _suspects(store))


def _suspects(store: Store) -> Suspects:
    flags: dict[str, Sequence[Flag]] = {}
    checked = queries.checked_workloads(store)
    cut_short = sum(checked.values()) >= queries.MOST_CHECKED
    if cut_short:  # which runs are newest depends on all workloads
        flags |= _flags_of(store.once_for_good(_KEPT, lambda: _as_json(_newest(store))))
    else:
        for own in _flagged(store, checked).values():
            flags |= own
    return Suspects(
        flags=flags,
        names={run: named(own) for run, own in flags.items()},
        left_out=left_out(flags),
        cut_short=cut_short,
    )


def _newest(store: Store) -> dict[str, Sequence[Flag]]:
    """Return the flags of the newest runs, by run id."""
    return {run: own for group in _flagged_newest(store).values() for run, own in group.items()}


def _as_json(flags: Mapping[str, Sequence[Flag]]) -> str:
    return json.dumps([[f.name, f.run, f.evidence, f.value] for own in flags.values() for f in own])


def _flags_of(text: str) -> dict[str, tuple[Flag, ...]]:
    return by_run(
        Flag(name=name, run=run, evidence=evidence, value=value)
        for name, run, evidence, value in json.loads(text)
    )


def _flagged_newest(store: Store) -> Mapping[tuple[CheckedRun, ...], Mapping[str, Sequence[Flag]]]:
    """Return the flags of the newest runs by the runs of a workload among them.

    Those of a workload are computed again only when other runs of it are among the newest.
    """
    kept: dict[str, Mapping[tuple[CheckedRun, ...], Mapping[str, Sequence[Flag]]]]
    kept = store.kept.once("flags of the newest", dict)
    last = kept.get("", {})
    groups = [tuple(runs) for runs in _of_each(queries.checked_runs(store)).values()]
    now = {g: last[g] if g in last else by_run(suspects(g)) for g in groups}
    kept[""] = now
    return now


_Flags = Mapping[str, Mapping[str, Sequence[Flag]]]
"""Flags by run, by workload."""


def _flagged(store: Store, workloads: Collection[str]) -> _Flags:
    """Return the flags of each workload with any; checks compare runs of one workload only."""

    def again(last: _Flags | None, changed: Collection[str]) -> _Flags:
        stay = {w: own for w, own in (last or {}).items() if w not in changed}
        new = [w for w in (workloads if last is None else changed) if w in workloads]
        among = None if len(new) > APART else new
        read = _of_each(queries.checked_runs(store, among=among)) if new else {}
        flagged = {w: by_run(suspects(read[w])) for w in new if w in read}
        return dict(sorted((stay | {w: own for w, own in flagged.items() if own}).items()))

    return store.renewed("flags by workload", again)


def _of_each(runs: Sequence[CheckedRun]) -> dict[str, list[CheckedRun]]:
    return {group[0].workload: group for group in grouped(runs, lambda run: run.workload)}


_Scatters = Mapping[tuple[str, str, str], Scatter]
_NOTHING: Final = Scatter()
_PLACE: Final = ("place", "system", "mode")
"""Columns of the runs that are pooled."""


def with_priors(store: Store, runs: Sequence[Run], without: Collection[str] = ()) -> list[Run]:
    """Return the runs, each with a prior from the other runs of its set on its system.

    Args:
        store: the source of all runs; training and inference are separate.
        runs: in any order, which is preserved.
        without: ids of runs to leave out (suspect ones).
    """
    priors = zip(runs, priors_of(store, runs, frozenset(without)), strict=True)
    return [r if p is EPOCHS else replace(r, epoch_prior=p) for r, p in priors]


def priors_of(store: Store, runs: Sequence[Run], without: frozenset[str]) -> list[EpochPrior]:
    """Return the prior of each run, as in `with_priors`."""
    beside = _scatter(store, without, runs) if runs else {}
    own = zip(runs, _own(runs, without), strict=True)
    return [
        beside.get((r.file.rpartition("/")[0], r.system, r.mode), _NOTHING).without(s).prior()
        for r, s in own
    ]


def _scatter(store: Store, without: frozenset[str], runs: Sequence[Run]) -> _Scatters:
    """Return the scatter of all runs but these, by folder, system and mode; cached.

    A store with a summary file has too many: it returns those on the systems of `runs`.
    """
    systems = tuple(sorted({r.system for r in runs})) if store.in_file else None
    question = ("scatter", without, systems)
    return store.once(question, lambda: _scatter_by_place(store, without, systems))


def _scatter_by_place(
    store: Store, without: frozenset[str], systems: Sequence[str] | None
) -> _Scatters:
    parameters = {
        "least": QUIETEST, "most": MAX_CV, "without": sorted(without),
        "systems": None if systems is None else list(systems),
    }  # fmt: skip
    groups = store.arrow(sql.SCATTER, parameters)
    sums = scatter_sums(*(groups[name].to_numpy() for name in ("later", "runs", "mean")))
    parts = groups.select([*_PLACE, "runs"])
    for name, values in zip(("weight", "weighted"), sums, strict=True):
        parts = parts.append_column(name, pa.array(values))
    pooled = parts.group_by(list(_PLACE)).aggregate(
        [("runs", "sum"), ("weight", "sum"), ("weighted", "sum")]
    )
    columns = (pooled[name].to_pylist() for name in (*_PLACE, "runs_sum", "weight_sum",
                                                     "weighted_sum"))  # fmt: skip
    return {
        (place, system, mode): Scatter(runs=runs, weight=weight, weighted=weighted)
        for place, system, mode, runs, weight, weighted in zip(*columns, strict=True)
    }


def _own(runs: Sequence[Run], without: frozenset[str]) -> list[Scatter]:
    later = [
        0 if r.status != "ok" or r.run_id in without else (r.epochs_measured or 1) - 1 for r in runs
    ]
    return scatters(later, [_variation(r, n) for r, n in zip(runs, later, strict=True)])


def _variation(run: Run, later: int) -> float:
    if later < 2 or run.later_epoch_sd_s is None or not run.later_epoch_mean_s:
        return np.nan
    return run.later_epoch_sd_s / run.later_epoch_mean_s * math.sqrt(later / (later - 1))
