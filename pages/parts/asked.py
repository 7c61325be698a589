"""Questions every rerun asks again, answered once for each state of the data.

A person moving a slider changes the answer, not the data behind it. What the store said is kept
until its generation changes; everything that depends on the person is worked out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from planner.checked_runs import CheckedRun
from planner.curves import SystemCurve, curves_of
from planner.effect_tables import effects_of
from planner.effects import FactorEffect
from planner.forms import FormRun
from planner.runs import Run
from planner.scaling_runs import Placement
from planner.store import Store, facts, queries
from planner.store.queries import TimedSystem
from planner.store.scatter import with_priors
from planner.suspects import Flag, by_run, left_out, named
from planner.suspects import suspects as all_flags
from planner.trials import Trials, TrialSet, targets_of, usual_target

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


def trained_workloads(shared: Store) -> dict[str, int]:
    """Those of `workloads` that were trained, in their order."""

    def ask() -> dict[str, int]:
        trained = queries.trained(shared)
        return {name: runs for name, runs in workloads(shared).items() if name in trained}

    return _once(shared, "trained", ask)


def patterns(shared: Store, workload: str) -> dict[str, int]:
    """As `planner.store.queries.patterns`."""
    return _once(shared, ("patterns", workload), lambda: queries.patterns(shared, workload))


def runs_of(shared: Store, workload: str, pattern: str) -> list[Run]:
    """As `planner.store.queries.runs_of`."""
    question = ("runs", workload, pattern)
    return _once(shared, question, lambda: queries.runs_of(shared, workload, pattern))


def stated_samples(shared: Store, workload: str) -> tuple[int, ...]:
    """As `planner.store.queries.stated_samples`."""
    question = ("stated samples", workload)
    return _once(shared, question, lambda: queries.stated_samples(shared, workload))


def runs_with_priors(
    shared: Store, workload: str, pattern: str, without: frozenset[str]
) -> list[Run]:
    """As `runs_of`, with what other runs say of the scatter of their epochs."""
    runs = runs_of(shared, workload, pattern)
    question = ("runs with priors", workload, pattern, without)
    return _once(shared, question, lambda: with_priors(shared, runs, without))


def curves(shared: Store, workload: str) -> list[SystemCurve]:
    """Every curve of a workload, under all its input patterns."""

    def ask() -> list[SystemCurve]:
        found = (runs_of(shared, workload, pattern) for pattern in patterns(shared, workload))
        return curves_of([run for runs in found for run in runs])

    return _once(shared, ("curves", workload), ask)


def forms(shared: Store, workload: str) -> list[FormRun]:
    """As `planner.store.queries.forms`."""
    return _once(shared, ("forms", workload), lambda: queries.forms(shared, workload))


def trial_sets(shared: Store) -> list[TrialSet]:
    """As `planner.store.queries.trial_sets`."""
    return _once(shared, "trial sets", lambda: queries.trial_sets(shared))


def trials(shared: Store, of: TrialSet) -> Trials:
    """As `planner.store.queries.trials`: the flat arrays that every target is asked of."""
    return _once(shared, ("trials", of), lambda: queries.trials(shared, of))


def trial_set_of(shared: Store, workload: str) -> TrialSet | None:
    """As `planner.store.facts.trial_set_of`."""
    return _once(shared, ("trials of", workload), lambda: facts.trial_set_of(shared, workload))


def targets(shared: Store, of: TrialSet) -> tuple[list[float], float | None]:
    """As `planner.trials.targets_of` and `planner.trials.usual_target`."""
    known = trials(shared, of)
    return _once(shared, ("targets", of), lambda: (targets_of(known), usual_target(known)))


def timed_systems(shared: Store) -> list[TimedSystem]:
    """As `planner.store.queries.timed_systems`."""
    return _once(shared, "timed systems", lambda: queries.timed_systems(shared))


def placements(shared: Store, workload: str, pattern: str) -> dict[str, Placement]:
    """As `planner.store.queries.placements`."""
    question = ("placements", workload, pattern)
    return _once(shared, question, lambda: queries.placements(shared, workload, pattern))


def facets(shared: Store, filters: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """As `planner.store.queries.facets`."""
    return _once(shared, ("facets", _asked(filters)), lambda: queries.facets(shared, filters))


def epoch_times(shared: Store, run_id: str) -> tuple[float, ...]:
    """As `planner.store.queries.epoch_times`."""
    ask = lambda: tuple(queries.epoch_times(shared, run_id).tolist())  # noqa: E731
    return _once(shared, ("epochs", run_id), ask)


def which(shared: Store, filters: queries.Filters) -> list[str]:
    """As `planner.store.queries.which`."""
    return _once(shared, ("which", _asked(filters)), lambda: queries.which(shared, filters))


def count(shared: Store, filters: queries.Filters) -> int:
    """As `planner.store.queries.count`."""
    return _once(shared, ("count", _asked(filters)), lambda: queries.count(shared, filters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """The flags of every run that has any, by run_id, and the runs a fit can do without.

    `names` are the flags' names in one text; `cut_short` where there are more runs than are
    looked at.
    """

    flags: Mapping[str, Sequence[Flag]]
    names: Mapping[str, str]
    left_out: frozenset[str]
    cut_short: bool


def suspects(shared: Store) -> Suspects:
    """What is odd about the good runs: all are compared with all, so it is asked once."""
    return _once(shared, "suspects", lambda: _suspects(queries.checked_runs(shared)))


def effects(
    shared: Store, workload: str, without: frozenset[str]
) -> dict[str, tuple[FactorEffect, ...]]:
    """What each factor does in a workload, told by runs that are not among `without`."""

    def ask() -> dict[str, tuple[FactorEffect, ...]]:
        rows = queries.factor_rows(shared, workload)
        return effects_of([r for r in rows if r["run_id"] not in without], workload)

    return _once(shared, ("effects", workload, without), ask)


def _suspects(runs: Sequence[CheckedRun]) -> Suspects:
    flags = by_run(all_flags(runs))
    cut_short = len(runs) >= queries.MOST_CHECKED
    names = {run: named(own) for run, own in flags.items()}
    return Suspects(flags=flags, names=names, left_out=left_out(flags), cut_short=cut_short)


def _asked(filters: queries.Filters) -> Hashable:
    """Filters as a key; no value of a facet is no filter, but no run of `only` is one."""
    kept = ((n, tuple(v)) for n, v in sorted(filters.items()) if v or n == "only")
    return tuple(kept)


def _once(shared: Store, question: Hashable, ask: Callable[[], Answer]) -> Answer:
    generation, known = _KEPT.get(shared, (-1, {}))
    if generation != shared.generation or len(known) > _MOST:
        known = {}
        _KEPT[shared] = (shared.generation, known)
    if question not in known:
        known[question] = ask()
    answer: Answer = known[question]
    return answer
