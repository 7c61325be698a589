"""Cached queries of the store, shared by all reruns of the pages.

A slider changes the answer, not the data behind it. Results about a workload are cached until one
of its runs changes, results about all runs until any run changes (decision 0030). Everything that
depends on the user is computed anew.

Draw a few pages at a time, first come, first served (decision 0030).

Python runs one thread at a time, and drawing a page yields at each of its sixty messages. If thirty
pages are drawn at once, each message of each page waits for the twenty-nine others.
"""

import hashlib
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa

from pages.visitor import identity
from planner.answers import (
    ScalingOutAnswer,
    facts,
    scaling_out_answered,
    series_by_slug,
    usual_driver,
)
from planner.answers.runs import priors_of, suspects_of, with_priors
from planner.catalog import Catalog
from planner.convergence import goal_text, set_labels, targets_of, usual_target
from planner.core import Record, several
from planner.core.slugs import UNOFFICIAL, slugs
from planner.effects import FactorEffect, effects_of
from planner.epochs import EpochSize, Option, offered
from planner.epochs import usual_options as usual_of
from planner.epochs.epoch_size import epoch_size, needs_field
from planner.job import shares
from planner.runs import Placement, Run, Trials, TrialSet, form_rows
from planner.store import Store, folders_from_environment, queries
from planner.store.disk.access import EVERYONE, OWNER, Access, Viewer
from planner.store.kept import Kept
from planner.store.queries import StoredWorkload
from planner.throughput import (
    SystemCurve,
    curves_of,
    systems_of,
    usual_systems,
    with_step_times,
)
from planner.time_to_target import (
    Families,
    OptimizerComparison,
    TargetWords,
    alike,
    compare,
    easiest_target,
    families_of,
)

Answer = TypeVar("Answer")
_DRAWN: Final = Kept(256)
"""Figures and rows of pages; each holds some kilobytes."""
_WORK: Final = (
    "stated_mfu", "throughput", "train_flops_per_sample", "accelerator_model_name",
    "accelerators_per_node", "number_of_nodes", "precision", "system",
)  # fmt: skip
"""Columns of listed runs from which their MFU follows."""
_TABLES: Final = Kept(32)
"""Tables of the Results page; each holds some hundred kilobytes."""


totals: Final = queries.totals
workloads: Final = queries.workloads
about_workloads: Final = queries.about_workloads
trial_sets: Final = queries.trial_sets
timed_workloads: Final = queries.timed_workloads
facets: Final = queries.facets
suspects: Final = suspects_of
library: Final = facts.library_key
"""These are cached by the store itself."""


def _of(shared: Store, workload: str, question: Hashable, query: Callable[[], Answer]) -> Answer:
    """Return a result about one workload, cached until its runs change."""
    return shared.kept.once((question, workload), query, shared.version(workload))


def _about(query: Callable[[Store, str], Answer]) -> Callable[[Store, str], Answer]:
    """Return a query about one workload that is cached until its runs change."""
    return lambda shared, workload: _of(
        shared, workload, query.__name__, lambda: query(shared, workload)
    )


patterns: Final = _about(queries.patterns)
longest: Final = _about(queries.longest)
stated_samples: Final = _about(queries.stated_samples)
timed_systems: Final = _about(queries.timed_systems)


def forms(shared: Store, workload: str) -> list[Record]:
    """Return `planner.runs.form_rows` of a workload's forms, cached until its runs change."""
    return _of(shared, workload, "forms", lambda: form_rows(queries.forms(shared, workload)))


def recent_sets(shared: Store, most: int) -> list[queries.RecentSet]:
    """Return `planner.store.queries.recent_sets`, cached until its runs change."""
    return shared.once(("recent sets", most), lambda: queries.recent_sets(shared, most))


def workload_names(shared: Store) -> dict[str, str]:
    """Return names of `about_workloads` by slug, in its order: the user's own first."""

    def query() -> dict[str, str]:
        return slugs(about_workloads(shared))

    return shared.once("workload names", query)


def workload_labels(shared: Store, names: Mapping[str, str]) -> dict[str, str]:
    """Return labels by slug: the workload's name with its run and accelerator counts.

    `names` are some of `workload_names`, and names of no workload.
    """

    def query() -> dict[str, str]:
        about = about_workloads(shared)
        return {short: _label(name, about.get(name)) for short, name in names.items()}

    return shared.once(("workload labels", tuple(names)), query)


def _label(name: str, about: StoredWorkload | None) -> str:
    if about is None:
        return name
    runs = several(about.runs, "run")
    cards = f", {about.accelerators:,} accelerators" if about.accelerators > 1 else ""
    standing = f", {UNOFFICIAL}" if about.is_unofficial else ""
    return f"{name} ({runs}{cards}{standing})"


def workload_kinds(shared: Store, names: Mapping[str, str]) -> dict[str, str]:
    """Return the kind of each workload that has one; arguments as `workload_labels`."""

    def query() -> dict[str, str]:
        about = about_workloads(shared)
        return {short: about[name].kind for short, name in names.items() if name in about}

    return shared.once(("workload kinds", tuple(names)), query)


def usual_workload(shared: Store) -> str:
    """Return the slug of the default workload: that of most systems."""
    first = next(iter(workloads(shared)))
    return next(s for s, name in workload_names(shared).items() if name == first)


def trained_workloads(shared: Store) -> dict[str, int]:
    """Return the trained ones of `workloads`, in their order."""

    def query() -> dict[str, int]:
        trained = queries.trained(shared)
        return {name: runs for name, runs in workloads(shared).items() if name in trained}

    return shared.once("trained", query)


def trained_names(shared: Store) -> dict[str, str]:
    """Return the trained ones of `workload_names`, in its order."""

    def query() -> dict[str, str]:
        trained = trained_workloads(shared)
        return {s: name for s, name in workload_names(shared).items() if name in trained}

    return shared.once("trained names", query)


def usual_trained(shared: Store) -> str:
    """Return the slug of the default trained workload; "" where none is trained."""
    first = next(iter(trained_workloads(shared)), None)
    return next((s for s, name in workload_names(shared).items() if name == first), "")


def runs_of(shared: Store, workload: str, pattern: str) -> list[Run]:
    """Return `planner.store.queries.runs_of`, cached until its runs change."""
    question = ("runs", pattern)
    return _of(shared, workload, question, lambda: queries.runs_of(shared, workload, pattern))


def _kinds_of_runs(shared: Store, workload: str) -> list[Run]:
    names = list(patterns(shared, workload))
    if not shared.in_file:
        return [run for name in names for run in runs_of(shared, workload, name)]
    query = lambda: queries.kinds_of_runs(shared, workload, names)  # noqa: E731
    return _of(shared, workload, "kinds of runs", query)


def runs_with_priors(
    shared: Store, workload: str, pattern: str, without: frozenset[str]
) -> list[Run]:
    """Return `runs_of`, with priors of the scatter of epochs from other runs."""
    question = ("runs with priors", pattern, priors(shared, workload, pattern, without))
    runs = partial(runs_of, shared, workload, pattern)
    return _of(shared, workload, question, lambda: with_priors(shared, runs(), without))


def options(shared: Store, workload: str, pattern: str, without: frozenset[str]) -> list[Option]:
    """Return `planner.epochs.how_long.offered` of `runs_with_priors`, cached as those are."""
    runs = runs_with_priors(shared, workload, pattern, without)
    question = ("options", pattern, priors(shared, workload, pattern, without))
    seconds = partial(epochs_of, shared, workload)
    return _of(shared, workload, question, lambda: offered(runs, seconds))


def usual_options(
    shared: Store, workload: str, options: Mapping[str, Option], size: EpochSize
) -> list[str]:
    """Return `planner.epochs.usual_options`, cached for the same options and size."""
    question = ("usual options", tuple(options), tuple(map(id, options.values())), size)
    # The cached value holds the options, so no others can get the same ids.
    return _of(shared, workload, question, lambda: (usual_of(options, size), options))[0]


def size_of(
    shared: Store, workload: str, pattern: str, entered: float | None
) -> tuple[EpochSize, bool]:
    """Return the epoch size of the options, and whether to show its field, cached as those are."""

    def query() -> tuple[EpochSize, bool]:
        runs = [o.run for o in options(shared, workload, pattern, frozenset())]
        size = epoch_size(runs, entered, stated_samples(shared, workload))
        return size, needs_field(runs, size)

    return _of(shared, workload, ("size", pattern, entered), query)


def priors(
    shared: Store, workload: str, pattern: str, without: frozenset[str] = frozenset()
) -> Hashable:
    """Return a key of what other workloads' runs contribute to answers about these runs."""

    def query() -> bytes:
        given = priors_of(shared, runs_of(shared, workload, pattern), without)
        return hashlib.sha256(repr(given).encode()).digest()  # a long tuple is hashed at each use

    return shared.once(("priors", workload, pattern, without), query)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSystems:
    """The systems of a workload: all, and the default ones; and its epoch size."""

    names: Sequence[str]
    usual: Sequence[str]
    size: EpochSize


def curve_systems(shared: Store, workload: str, samples: float | None = None) -> TimedSystems:
    """Return the systems of a workload with their step times; no curve is fitted.

    `samples` is the epoch size where entered [samples].
    """

    def query() -> TimedSystems:
        runs = _kinds_of_runs(shared, workload)
        size = epoch_size(runs, samples, stated_samples(shared, workload))
        timed = with_step_times(runs, size).runs
        return TimedSystems(
            names=systems_of(timed),
            usual=usual_systems(timed),
            size=size,
        )

    return _of(shared, workload, ("curve systems", samples), query)


def curves_of_set(shared: Store, result_set: str) -> list[SystemCurve]:
    """Return the curves of a result set, without runs that failed; those of most points first."""

    def query() -> list[SystemCurve]:
        ids = queries.which(shared, {"result_set": [result_set], "status": ["ok"]})
        runs = [run for i in ids[: queries.MOST_ROWS] if (run := queries.run(shared, i))]
        return sorted(curves_of(runs), key=lambda curve: -curve.batch.size)

    return shared.once(("curves of set", result_set), query)


def set_names(shared: Store) -> list[str]:
    """Return `planner.convergence.set_labels` of `trial_sets`, cached until a run changes."""
    return shared.once("names of trial sets", lambda: set_labels(trial_sets(shared)))


def trials(shared: Store, of: TrialSet) -> Trials:
    """Return `planner.store.queries.trials`: flat arrays for every target."""
    version = trials_version(shared, of)
    return shared.kept.once(("trials", of), lambda: queries.trials(shared, of), version)


def trials_version(shared: Store, of: TrialSet) -> int:
    """Return a number that grows whenever a run of that network changes."""
    begin = f"{of.network} · "

    def query() -> int:
        names = (w for w in shared.workloads if w.startswith(begin) or w == of.network)
        return shared.version(*names)

    return shared.once(("trials version", of.network), query)


def optimizer_comparison(
    shared: Store, of: TrialSet, target: float, optimizers: tuple[str, ...]
) -> OptimizerComparison:
    """Return the comparison of optimisers of these trials, cached until one changes."""
    return shared.kept.once(
        ("compared", of, target, optimizers),
        lambda: compare(trials(shared, of), target, optimizers),
        trials_version(shared, of),
    )


def families(
    shared: Store, of: TrialSet, target: float, goal: TargetWords, optimizer: str
) -> Families | None:
    """Return the networks on the data of these trials, with one optimiser to `target`."""
    sets = alike_sets(shared, of)
    compared = [(s, optimizer_comparison(shared, s, target, (optimizer,))) for s in sets]
    return families_of(
        goal,
        optimizer,
        family_optimizers(shared, of),
        compared,
        easiest=goal_text(trials(shared, of), easiest_target(sets) or target),
    )


def alike_sets(shared: Store, of: TrialSet) -> list[TrialSet]:
    """Return all sets of trials on the data of `of`, with the same metric."""
    return alike(of, trial_sets(shared))


def family_optimizers(shared: Store, of: TrialSet) -> list[str]:
    """Return the optimisers of all networks on the data of these trials, most networks first."""

    def query() -> list[str]:
        every = [of, *(s for s in alike_sets(shared, of) if s != of)]
        networks = Counter(o for s in every for o in trials(shared, s).optimizers)
        return [name for name, _ in networks.most_common()]

    return shared.once(("family optimizers", of), query)


def fitted_curves(
    shared: Store, runs: Sequence[Run], left_out: Collection[str]
) -> list[SystemCurve]:
    """Return `planner.throughput.curves.curves_of` these runs, cached for the same runs."""
    gone = frozenset(r.run_id for r in runs) & frozenset(left_out)
    series = frozenset((r.workload, r.system, r.pattern) for r in runs)
    version = tuple(runs), gone
    return shared.kept.once(("fitted", series), lambda: curves_of(runs, left_out), version)


def trial_set_of(shared: Store, workload: str) -> TrialSet | None:
    """Return `planner.answers.comparison.facts.trial_set_of`, cached until its runs change."""
    return next(iter(trial_sets_of(shared, workload)), None)


def trial_sets_of(shared: Store, workload: str) -> list[TrialSet]:
    """Return all sets of trials of a workload's network on its data."""
    return [of for of in trial_sets(shared) if facts.is_of(workload, of)]


def targets(shared: Store, of: TrialSet) -> tuple[list[float], float | None]:
    """Return `planner.convergence.targets_of` and `usual_target` of these trials, cached."""
    read = trials(shared, of)
    version = trials_version(shared, of)
    return shared.kept.once(
        ("targets", of), lambda: (targets_of(read), usual_target(read)), version
    )


def target_times(shared: Store, of: TrialSet) -> list[dict[str, Any]]:
    """Return `planner.store.queries.target_times`, cached until its runs change."""
    version = trials_version(shared, of)
    return shared.kept.once(("target times", of), lambda: queries.target_times(shared, of), version)


def placements(shared: Store, workload: str, pattern: str) -> dict[str, Placement]:
    """Return `planner.store.queries.placements`, cached until its runs change."""
    question = ("placements", pattern)
    return _of(shared, workload, question, lambda: queries.placements(shared, workload, pattern))


def scaling_series(shared: Store, workload: str) -> dict[str, tuple[str, int]]:
    """Return label and number of device counts of a workload's series, by slug; cached."""

    def query() -> dict[str, tuple[str, int]]:
        every = series_by_slug(shared, workload)
        return {short: (x.label, len(x.counts)) for short, x in every.items()}

    return _of(shared, workload, "series", query)


def scaling_driver(shared: Store, workload: str, series: str) -> str:
    """Return the slug of the usual driver of a series; "" without one. Cached."""
    query = lambda: usual_driver(shared, workload, series)  # noqa: E731
    return _of(shared, workload, ("driver", series), query)


def scaling_out_of(
    shared: Store, question: Mapping[str, Sequence[str]], catalog: Catalog, stamp: Hashable
) -> ScalingOutAnswer:
    """Return `planner.answers.scaling_out_answered`, cached until its runs or prices change.

    `stamp` changes with the catalogue.
    """
    key = tuple(sorted((name, tuple(texts)) for name, texts in question.items()))
    query = lambda: scaling_out_answered(shared, question, catalog)  # noqa: E731
    return shared.once(("scaling out", key, stamp), query)


def drawn(shared: Store, what: str, of: Hashable, make: Callable[[], Answer]) -> Answer:
    """Return a figure or rows of a page, cached until any run changes.

    Args:
        shared: the store.
        what: name of page and figure.
        of: all else that they depend on: the question, the theme.
        make: makes them; its result must not be changed.
    """
    return _DRAWN.once((shared.serial, shared.generation, what, of), make)


def epochs_of(shared: Store, workload: str, run_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Return `planner.store.queries.epochs_of` of runs of that workload, cached."""
    question = ("epochs", tuple(run_ids))
    return _of(shared, workload, question, lambda: queries.epochs_of(shared, run_ids))


def which(shared: Store, filters: queries.Filters) -> list[str]:
    """Return `planner.store.queries.which`, cached until its runs change."""
    return shared.once(("which", _key(filters)), lambda: queries.which(shared, filters))


def count(shared: Store, filters: queries.Filters) -> int:
    """Return `planner.store.queries.count`, cached until its runs change."""
    return shared.once(("count", _key(filters)), lambda: queries.count(shared, filters))


def listed(
    shared: Store, filters: queries.Filters, skip: int, catalog: Catalog, stamp: Hashable
) -> tuple[pa.Table, Hashable]:
    """Return a page of `planner.store.queries.listed` with flags and MFU, and its key; cached.

    `stamp` changes with the catalogue.
    """
    key = (shared.serial, shared.generation, _key(filters), skip, stamp)

    def query() -> pa.Table:
        return with_flags(shared, with_mfu(queries.listed(shared, filters, skip=skip), catalog))

    return _TABLES.once(key, query), key


def every_listed(shared: Store, filters: queries.Filters, most: int, catalog: Catalog) -> pa.Table:
    """Return all filtered runs with MFU and suspect flags, for downloads."""
    return with_flags(shared, with_mfu(queries.listed(shared, filters, most=most), catalog))


def with_mfu(runs: pa.Table, catalog: Catalog) -> pa.Table:
    """Return listed runs with a column of their MFU [0..1], without those it follows from."""
    values = pa.array(shares(runs.select(_WORK).to_pylist(), catalog), pa.float64())
    kept = [
        name for name in runs.column_names if name not in _WORK or name in ("precision", "system")
    ]
    return runs.select(kept).append_column("mfu", values)


def with_flags(shared: Store, runs: pa.Table) -> pa.Table:
    """Return runs with a column of suspect flags."""
    names = suspects(shared).names
    flags = [names.get(run) for run in runs["run_id"].to_pylist()]
    return runs.append_column("suspect", pa.array(flags, pa.string()))


def effects(
    shared: Store, workload: str, without: frozenset[str]
) -> dict[str, tuple[FactorEffect, ...]]:
    """Return the effect of each factor in a workload, from runs that are not in `without`."""
    rows = _of(shared, workload, "factors", lambda: queries.factor_rows(shared, workload))
    ids = _of(shared, workload, "factor ids", lambda: frozenset(r["run_id"] for r in rows))
    gone = ids & without

    def query() -> dict[str, tuple[FactorEffect, ...]]:
        return effects_of([r for r in rows if r["run_id"] not in gone], workload)

    return _of(shared, workload, ("effects", gone), query)


def _key(filters: queries.Filters) -> Hashable:
    """Return filters as a key; an empty facet is no filter, but an empty `only` is one."""
    kept = ((n, tuple(v)) for n, v in sorted(filters.items()) if v or n == "only")
    return tuple(kept)


ROOT: Final = Path(__file__).parent.parent.parent


_STORE_LOCK: Final = threading.Lock()


MOST_VIEWERS: Final = 8
"""Stores that are kept: one for what everyone sees, one for each further choice of sets."""


@lru_cache(maxsize=4)
def _store(environment: tuple[tuple[str, str], ...]) -> Store:
    return Store(folders_from_environment(ROOT, dict(environment)), viewer=EVERYONE)


@lru_cache(maxsize=MOST_VIEWERS)
def _store_of(environment: tuple[tuple[str, str], ...], viewer: Viewer) -> Store:
    return Store(folders_from_environment(ROOT, dict(environment)), viewer=viewer)


def store(viewer: Callable[[], Viewer] = identity.viewer) -> Store:
    """Return the refreshed store of what a viewer may see, by default the session of the page.

    Every question of pages and HTTP interface goes to this store, which holds nothing else
    (docs/decisions/0061). While a page is drawn, it keeps the state of the start of drawing
    (pages/shell.py).
    """
    held: Store | None = getattr(_RUN, "store", None)
    if held is not None and held.is_held:
        return held
    shared = _seen(viewer)
    if not shared.is_held:
        shared.refresh()
    return shared


@contextmanager
def at_one_moment(requested_s: float) -> Iterator[None]:
    """Show this thread one state of the store until the block ends: `requested_s` or later."""
    shared = _seen(identity.viewer, requested_s)
    with shared.at_one_moment(requested_s):
        _RUN.answers, _RUN.store = {}, shared
        try:
            yield
        finally:
            _RUN.answers = _RUN.store = None


def _seen(viewer: Callable[[], Viewer], requested_s: float | None = None) -> Store:
    """Return the store of a viewer: that of everyone while every set is open."""
    everyone = _shared()
    everyone.look(requested_s)
    if not everyone.restricted:
        return everyone
    seen = _grants(viewer(), everyone.restricted)
    if seen == everyone.viewer:
        return everyone
    with _STORE_LOCK:
        return _store_of(_environment(), seen)


def _grants(viewer: Viewer, restricted: Mapping[str, Access]) -> Viewer:
    """Return what counts of a viewer's grants, so that those who see the same share a store."""
    if viewer.sees_all:
        return OWNER
    groups = frozenset[str]().union(*(access.groups for access in restricted.values()))
    slugs = {Path(place).name for place in restricted}
    sets = frozenset(s for s in viewer.sets if s.partition("/")[0] in slugs)
    return Viewer(groups=viewer.groups & groups, sets=sets)


_RUN: Final = threading.local()
"""What `once_a_run` keeps of the page that this thread draws."""


def once_a_run(question: Hashable, answer: Callable[[], Answer]) -> Answer:
    """Return a result that stays the same while a page is drawn; outside of it, compute it anew."""
    answers: dict[Hashable, Any] | None = getattr(_RUN, "answers", None)
    if answers is None:
        return answer()
    if question not in answers:
        answers[question] = answer()
    result: Answer = answers[question]
    return result


def still_shown() -> Callable[[], bool]:
    """Return a check for a later click: whether the visitor still sees every set of this page.

    What a click saves or downloads is of the sets that were there when the page was drawn. Since
    then a share link may be revoked, a role withdrawn, or a set made private.
    """
    shared = store()
    drawn = shared.once(
        "slugs", lambda: frozenset(s.slug for s in shared.sets if s.folder != "shipped")
    )
    if not drawn:  # a shipped set is for everyone
        return lambda: True
    viewer = once_a_run("session", identity.session)
    return lambda: drawn.isdisjoint(store(viewer).hidden)


def _environment() -> tuple[tuple[str, str], ...]:
    return tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("EPOCHWISE_")))


def _shared() -> Store:
    with _STORE_LOCK:  # simultaneous first sessions share one store
        return _store(_environment())


AT_ONCE: Final = 2
"""Pages that are drawn at the same time: one works in Python, one waits for DuckDB or numpy."""
LONGEST_S: Final = 1.0
"""Longest turn [s]; a slower page waits for something else, such as a child process."""
_LOOK_S: Final = 0.1
BUSY_S: Final = 0.25
"""Wait for a turn from which on a server is busy [s]."""
LATE_S: Final = 2.0
"""A busy server looks for new runs this often at most [s]; every look costs each page's answers."""


class Turns:
    """Turns for threads, in the order of their requests."""

    def __init__(self, at_once: int = AT_ONCE, longest_s: float = LONGEST_S) -> None:
        self._at_once, self._longest_s = at_once, longest_s
        self._lock = threading.Lock()
        self._queue: deque[tuple[object, threading.Event]] = deque()
        self._running: dict[object, float] = {}

    @contextmanager
    def turn(self, late_s: float = 0.0) -> Iterator[float]:
        """Wait for a turn, and hold it until the block ends or the longest turn is over.

        Yields the time of the request by the monotonic clock [s], less `late_s` on a busy server.
        """
        requested_s = time.monotonic()
        me, mine = object(), threading.Event()
        with self._lock:
            self._queue.append((me, mine))
            self._next()
        while not mine.wait(_LOOK_S):
            with self._lock:
                self._next()
        try:
            busy = time.monotonic() - requested_s > BUSY_S
            yield requested_s - late_s if busy else requested_s
        finally:
            with self._lock:
                self._running.pop(me, None)
                self._next()

    def _next(self) -> None:
        """Give free turns to the threads that have waited longest."""
        now = time.monotonic()
        for thread, began in list(self._running.items()):
            if now - began > self._longest_s:
                del self._running[thread]
        while self._queue and len(self._running) < self._at_once:
            thread, event = self._queue.popleft()
            self._running[thread] = now
            event.set()


TURNS: Final = Turns()
"""The turns of all sessions of this server."""
