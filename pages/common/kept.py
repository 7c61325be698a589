"""Questions every rerun asks again, answered once for each state of the runs they are about.

A person moving a slider changes the answer, not the data behind it. What the store said of a
workload is kept until one of its runs changes, what it said of all runs until any of them does
(decision 0030); everything that depends on the person is worked out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from planner.answers import facts
from planner.answers.runs import Suspects, priors_of, suspects_of, with_priors
from planner.convergence import targets_of, usual_target
from planner.core.slugs import slugs
from planner.effects import FactorEffect, effects_of
from planner.epochs import EpochSize
from planner.epochs.epoch_size import epoch_size
from planner.runs import FormRun, Placement, Run, Trials, TrialSet
from planner.store import Store, queries
from planner.store.queries import KnownWorkload, TimedSystem
from planner.throughput import SystemCurve, curves_of, systems_of, usual_systems, with_step_times
from planner.time_to_target import Comparison, compare

Answer = TypeVar("Answer")


def totals(shared: Store) -> queries.Totals:
    """As `planner.store.queries.totals`."""
    return _once(shared, "totals", lambda: queries.totals(shared))


def workloads(shared: Store) -> dict[str, int]:
    """As `planner.store.queries.workloads`."""
    return _once(shared, "workloads", lambda: queries.workloads(shared))


def about_workloads(shared: Store) -> dict[str, KnownWorkload]:
    """As `planner.store.queries.about_workloads`."""
    return _once(shared, "about workloads", lambda: queries.about_workloads(shared))


def workload_names(shared: Store) -> dict[str, str]:
    """Slug and name of each of `about_workloads`, in its order: one's own first."""

    def ask() -> dict[str, str]:
        return slugs(about_workloads(shared))

    return _once(shared, "workload names", ask)


def workload_labels(shared: Store, names: Mapping[str, str]) -> dict[str, str]:
    """Return labels by slug: the workload's name with its run and accelerator counts.

    Args:
        shared: where the runs are.
        names: workload names by slug.
    """

    def ask() -> dict[str, str]:
        about = about_workloads(shared)
        return {short: _label(name, about.get(name)) for short, name in names.items()}

    return _once(shared, ("workload labels", tuple(names.items())), ask)


def _label(name: str, known: KnownWorkload | None) -> str:
    if known is None:
        return name
    runs = f"{known.runs:,} run{'' if known.runs == 1 else 's'}"
    cards = f", {known.accelerators:,} accelerators" if known.accelerators > 1 else ""
    return f"{name} ({runs}{cards})"


def workload_kinds(shared: Store, names: Mapping[str, str]) -> dict[str, str]:
    """Return the kind of each workload that has one; arguments as `workload_labels`."""

    def ask() -> dict[str, str]:
        about = about_workloads(shared)
        return {short: about[name].kind for short, name in names.items() if name in about}

    return _once(shared, ("workload kinds", tuple(names.items())), ask)


def usual_workload(shared: Store) -> str:
    """The slug of the workload that is shown where nothing is chosen: the one of most systems."""
    first = next(iter(workloads(shared)))
    return next(s for s, name in workload_names(shared).items() if name == first)


def trained_workloads(shared: Store) -> dict[str, int]:
    """Those of `workloads` that were trained, in their order."""

    def ask() -> dict[str, int]:
        trained = queries.trained(shared)
        return {name: runs for name, runs in workloads(shared).items() if name in trained}

    return _once(shared, "trained", ask)


def usual_trained(shared: Store) -> str:
    """As `usual_workload`, of those that were trained; empty where none was."""
    first = next(iter(trained_workloads(shared)), None)
    return next((s for s, name in workload_names(shared).items() if name == first), "")


def patterns(shared: Store, workload: str) -> dict[str, int]:
    """As `planner.store.queries.patterns`."""
    return _of(shared, workload, "patterns", lambda: queries.patterns(shared, workload))


def runs_of(shared: Store, workload: str, pattern: str) -> list[Run]:
    """As `planner.store.queries.runs_of`."""
    question = ("runs", pattern)
    return _of(shared, workload, question, lambda: queries.runs_of(shared, workload, pattern))


def stated_samples(shared: Store, workload: str) -> tuple[int, ...]:
    """As `planner.store.queries.stated_samples`."""
    ask = lambda: queries.stated_samples(shared, workload)  # noqa: E731
    return _of(shared, workload, "stated samples", ask)


def runs_with_priors(
    shared: Store, workload: str, pattern: str, without: frozenset[str]
) -> list[Run]:
    """As `runs_of`, with what other runs say of the scatter of their epochs."""
    runs = runs_of(shared, workload, pattern)
    priors = _priors(shared, runs, without)
    question = ("runs with priors", pattern, priors)
    return _of(shared, workload, question, lambda: with_priors(shared, runs, without))


def priors(shared: Store, workload: str, pattern: str) -> Hashable:
    """What the runs of other workloads change of the answers about these runs."""
    return _priors(shared, runs_of(shared, workload, pattern), frozenset())


def _priors(shared: Store, runs: list[Run], without: frozenset[str]) -> Hashable:
    ids = tuple(run.run_id for run in runs)
    question = ("priors", ids, without)
    return _once(shared, question, lambda: tuple(priors_of(shared, runs, without)))


def curves(
    shared: Store, workload: str, samples: float | None = None
) -> tuple[list[SystemCurve], list[str], list[str], EpochSize]:
    """Every curve of a workload under all its patterns, its systems, the usual ones, an epoch.

    `samples` is the size of an epoch where somebody entered it [samples].
    """

    def ask() -> tuple[list[SystemCurve], list[str], list[str], EpochSize]:
        found = [r for p in patterns(shared, workload) for r in runs_of(shared, workload, p)]
        size = epoch_size(found, samples, stated_samples(shared, workload))
        timed = with_step_times(found, size).runs
        return curves_of(timed), systems_of(timed), usual_systems(timed), size

    return _of(shared, workload, ("curves", samples), ask)


def forms(shared: Store, workload: str) -> list[FormRun]:
    """As `planner.store.queries.forms`."""
    return _of(shared, workload, "forms", lambda: queries.forms(shared, workload))


def trial_sets(shared: Store) -> list[TrialSet]:
    """As `planner.store.queries.trial_sets`."""
    return _once(shared, "trial sets", lambda: queries.trial_sets(shared))


def trials(shared: Store, of: TrialSet) -> Trials:
    """As `planner.store.queries.trials`: the flat arrays that every target is asked of."""
    question = ("trials", of, trials_version(shared, of))
    return shared.kept.once(question, lambda: queries.trials(shared, of))


def trials_version(shared: Store, of: TrialSet) -> int:
    """A number that grows whenever a run of that network changes."""
    begin = f"{of.network} · "
    return shared.version(*(w for w in shared.workloads if w.startswith(begin) or w == of.network))


def optimizer_comparison(
    shared: Store, of: TrialSet, target: float, optimizers: tuple[str, ...]
) -> Comparison:
    """Return the comparison of optimisers of these trials, kept until one changes."""
    question = ("compared", of, target, optimizers, trials_version(shared, of))
    return shared.kept.once(question, lambda: compare(trials(shared, of), target, optimizers))


def fitted_curves(
    shared: Store, runs: Sequence[Run], left_out: Collection[str]
) -> list[SystemCurve]:
    """Return `planner.throughput.curves.curves_of` these runs, kept for the same runs."""
    gone = frozenset(r.run_id for r in runs) & frozenset(left_out)
    return shared.kept.once(("fitted", tuple(runs), gone), lambda: curves_of(runs, left_out))


def trial_set_of(shared: Store, workload: str) -> TrialSet | None:
    """As `planner.answers.comparison.facts.trial_set_of`."""
    return facts.own_trials(trial_sets(shared), workload)


def targets(shared: Store, of: TrialSet) -> tuple[list[float], float | None]:
    """As `planner.convergence._trial_targets.targets_of` and `usual_target`."""
    known = trials(shared, of)
    question = ("targets", of, trials_version(shared, of))
    return shared.kept.once(question, lambda: (targets_of(known), usual_target(known)))


def target_times(shared: Store, of: TrialSet) -> list[dict[str, Any]]:
    """As `planner.store.queries.target_times`."""
    question = ("target times", of, trials_version(shared, of))
    return shared.kept.once(question, lambda: queries.target_times(shared, of))


def timed_workloads(shared: Store) -> list[str]:
    """As `planner.store.queries.timed_workloads`."""
    return _once(shared, "timed workloads", lambda: queries.timed_workloads(shared))


def timed_systems(shared: Store, workload: str) -> list[TimedSystem]:
    """As `planner.store.queries.timed_systems`."""
    return _of(shared, workload, "timed systems", lambda: queries.timed_systems(shared, workload))


def library(shared: Store) -> Hashable:
    """How fast every workload was on every system with accelerators, as a key."""
    return facts.library_key(shared)


def placements(shared: Store, workload: str, pattern: str) -> dict[str, Placement]:
    """As `planner.store.queries.placements`."""
    question = ("placements", pattern)
    return _of(shared, workload, question, lambda: queries.placements(shared, workload, pattern))


def facets(shared: Store, filters: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """As `planner.store.queries.facets`."""
    return _once(shared, ("facets", _asked(filters)), lambda: queries.facets(shared, filters))


def facet_names(shared: Store) -> dict[str, dict[str, str]]:
    """Return the values of each facet over all runs, by facet and slug."""

    def ask() -> dict[str, dict[str, str]]:
        return {facet: slugs(values) for facet, values in facets(shared, {}).items()}

    return _once(shared, "facet names", ask)


def epochs_of(shared: Store, workload: str, run_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """As `planner.store.queries.epochs_of`, of runs of that workload."""
    question = ("epochs", tuple(run_ids))
    return _of(shared, workload, question, lambda: queries.epochs_of(shared, run_ids))


def which(shared: Store, filters: queries.Filters) -> list[str]:
    """As `planner.store.queries.which`."""
    return _once(shared, ("which", _asked(filters)), lambda: queries.which(shared, filters))


def count(shared: Store, filters: queries.Filters) -> int:
    """As `planner.store.queries.count`."""
    return _once(shared, ("count", _asked(filters)), lambda: queries.count(shared, filters))


def suspects(shared: Store) -> Suspects:
    """As `planner.answers.runs._suspect_runs.suspects_of`."""
    return suspects_of(shared)


def effects(
    shared: Store, workload: str, without: frozenset[str]
) -> dict[str, tuple[FactorEffect, ...]]:
    """What each factor does in a workload, told by runs that are not among `without`."""
    rows = _of(shared, workload, "factors", lambda: queries.factor_rows(shared, workload))
    gone = frozenset(r["run_id"] for r in rows) & without

    def ask() -> dict[str, tuple[FactorEffect, ...]]:
        return effects_of([r for r in rows if r["run_id"] not in gone], workload)

    return _of(shared, workload, ("effects", gone), ask)


def _asked(filters: queries.Filters) -> Hashable:
    """Filters as a key; no value of a facet is no filter, but no run of `only` is one."""
    kept = ((n, tuple(v)) for n, v in sorted(filters.items()) if v or n == "only")
    return tuple(kept)


def _of(shared: Store, workload: str, question: Hashable, ask: Callable[[], Answer]) -> Answer:
    """The answer about one workload: until its runs change."""
    return shared.kept.once((question, workload, shared.version(workload)), ask)


def _once(shared: Store, question: Hashable, ask: Callable[[], Answer]) -> Answer:
    """The answer about all runs: until any of them changes."""
    return shared.kept.once((question, shared.generation), ask)
