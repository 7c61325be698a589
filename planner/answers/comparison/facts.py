"""The store's data for a comparison of hardware."""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from planner.answers.comparison.question import JobFacts
from planner.answers.runs import with_priors
from planner.catalog import Catalog
from planner.convergence import goal_text, usual_target
from planner.core import Refusal
from planner.epochs import EpochSize, offered, with_epochs
from planner.epochs.epoch_size import epoch_size
from planner.job import Job, StatedTime, job_measured, library_of, stated_times
from planner.runs import Run, Trials, TrialSet
from planner.store import queries
from planner.store.kept import Kept
from planner.store.reader import Store
from planner.throughput import SystemCurve, curves_of
from planner.time_to_target import OptimizerCurve, compare
from planner.transfer import Library

_LIBRARIES: Final = Kept(16)
"""Tables of `library` by their rows: a new run elsewhere changes none, and each is large."""


def epoch_size_of(
    store: Store, workload: str, runs: Sequence[Run], entered: float | None = None
) -> EpochSize:
    """Return the epoch size of a workload; `entered` counts first, then `runs` of a pattern.

    Unofficial runs count only where a workload has no others.
    """
    checked = [run for run in runs if not run.standing]
    return epoch_size(checked or runs, entered, queries.stated_samples(store, workload))


def measured_job(
    store: Store, catalog: Catalog, workload: str, pattern: str, samples: float | None = None
) -> Job:
    """Return a workload under an input pattern, with its successful runs.

    `samples` is the epoch size where entered [samples].

    Raises:
        ValueError: there is no such workload.
    """
    timed = with_priors(store, queries.runs_of(store, workload, pattern))
    runs = [r for r in timed if r.status == "ok"]
    rows = queries.job_rows(store, workload)
    seconds = partial(queries.epochs_of, store)
    options = with_epochs(offered(runs, seconds), seconds)
    size = epoch_size_of(store, workload, runs, samples)
    return job_measured(workload, rows, options, catalog, size)


def system_curves(store: Store, workload: str, pattern: str) -> Mapping[str, SystemCurve]:
    """Return the first curve of step times of each system, by system."""
    runs = [r for r in queries.runs_of(store, workload, pattern) if r.mode == "training"]
    runs_by_system: dict[str, list[Run]] = {}
    for run in runs:
        runs_by_system.setdefault(run.system, []).append(run)
    by_system: dict[str, SystemCurve] = {}
    for system, of_one in runs_by_system.items():
        for curve in curves_of(of_one):
            by_system.setdefault(system, curve)
    return by_system


def trial_set_of(store: Store, workload: str) -> TrialSet | None:
    """Return the trials of the workload's network on its data; None without any."""
    return own_trials(queries.trial_sets(store), workload)


def own_trials(sets: Iterable[TrialSet], workload: str) -> TrialSet | None:
    """Return the first of these sets of the workload's network on its data; None without one."""
    return next((t for t in sets if is_of(workload, t)), None)


def is_of(workload: str, trials: TrialSet) -> bool:
    """Return whether trials are of the workload's network on its data."""
    return f"{workload} · ".startswith(f"{trials.subject} · ")


def steps_of(
    trials: Trials, target: float | None = None, optimizer: str | None = None
) -> tuple[OptimizerCurve, str] | None:
    """Return the law of steps to a target, and the target in words; None without evaluations.

    Args:
        trials: evaluations.
        target: the metric's value; None for the usual one.
        optimizer: None for the one with most trials.
    """
    value = usual_target(trials) if target is None else target
    names = [optimizer] if optimizer in trials.optimizers else trials.optimizers[:1]
    if value is None or not names:
        return None
    return compare(trials, value, [n for n in names if n]).curves[0], goal_text(trials, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target: in words, the law of steps to it, and the stated times to it.

    `steps` is None where the trials hold no evaluations. `standing` is that of their set.
    """

    words: str
    steps: OptimizerCurve | None = None
    stated: tuple[StatedTime, ...] = ()
    standing: str | None = None


def stated_of(
    store: Store, catalog: Catalog, of: TrialSet, target: float
) -> tuple[StatedTime, ...]:
    """Return the times to a target that published runs of these trials state."""
    return stated_times(catalog, queries.target_times(store, of), target)


def facts_of(
    store: Store, catalog: Catalog, job: Job, pattern: str = "", target: Target | None = None
) -> JobFacts:
    """Return the data on a job, measured or described; `target` None asks for epochs."""
    curves = {} if job.described else system_curves(store, job.workload, pattern)
    return JobFacts(
        job=replace(job, overhead_s=_least_overhead(curves)),
        catalog=catalog,
        library=library(store, catalog, job.workload, job.precision),
        curves=curves,
        steps=None if target is None else target.steps,
        target_words="" if target is None else target.words,
        stated=() if target is None else target.stated,
        target_standing=None if target is None else target.standing,
    )


def library(
    store: Store, catalog: Catalog, workload: str = "", precision: str = ""
) -> Library | None:
    """Return the throughput of all measured workloads on the catalogue's accelerators.

    One table serves all jobs, except published workloads, whose own rows are added. `precision` is
    that of the workload where its rows state none.
    """
    rows, key = _library_rows(store, workload)
    unstated = any(row["workload"] == workload and not row["precision"] for row in rows)
    if unstated:
        rows = [_in_precision(row, workload, precision) for row in rows]
    # The cached value holds its catalogue, so no other catalogue can get the same id.
    _, table = _LIBRARIES.once(
        (key, precision if unstated else "", id(catalog)),
        lambda: (catalog, library_of(catalog, rows)),
    )
    return table


def _in_precision(row: dict[str, Any], workload: str, precision: str) -> dict[str, Any]:
    """Return a row of a workload with its precision where it states none."""
    if row["workload"] != workload or row["precision"]:
        return row
    return row | {"precision": precision}


def library_key(store: Store) -> Hashable:
    """Return a key of the table of `library`, without one workload's own rows."""
    return _library_rows(store, "")[1]


def _library_rows(store: Store, workload: str) -> tuple[list[dict[str, Any]], Hashable]:
    def query() -> tuple[list[dict[str, Any]], Hashable]:
        rows = queries.library_rows(store, own)
        texts = "\n".join(repr(tuple(row.values())) for row in rows)
        return rows, hashlib.sha256(texts.encode("utf-8", "backslashreplace")).hexdigest()

    own = workload if workload in store.workloads else ""  # no other workload adds a row
    return store.once(("library rows", own), query)


def _least_overhead(curves: Mapping[str, SystemCurve]) -> float | None:
    """Return the smallest step overhead of the curves [s]; None without one."""
    laws = [c.curve for c in curves.values() if not isinstance(c.curve, Refusal)]
    return min((t for law in laws if (t := float(law.overhead_s.value)) > 0.0), default=None)
