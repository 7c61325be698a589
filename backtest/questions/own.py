"""Back-test on result sets, half of them hidden, without public data.

Tasks for every result set: step times at a hidden batch, whole runs from their first epochs,
samples to target at a hidden batch, and step times on more devices than are shown. Hidden and
shown points are of the same systems, so the errors are of these measurements only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from backtest.data.cases import MeasuredCurve, curves_of
from backtest.questions import batch, convergence, devices, epochs
from backtest.questions.epochs import RunEpochs as EpochRun
from backtest.questions.figure import FigureRow, Watch, unwatched, with_means
from planner.answers.runs import with_priors
from planner.convergence import goal_text, usual_target
from planner.core import Floats
from planner.runs import Placement, Run, TrialSet
from planner.store import queries
from planner.store.disk.folders import Folder
from planner.store.reader import Store
from planner.store.sealed.result_set import NAME
from planner.throughput import curves_of as system_curves
from planner.time_to_target import compare

MEAN_OF_SETS: Final = "mean of the result sets"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCount:
    """Data of one result set that can be hidden; `title` names it in the table.

    `step_times` are sweeps over the batch [s], `runs` have stored epochs, `samples` are samples to
    target over the batch, `workloads` were timed on several device counts.
    """

    title: str
    step_times: Sequence[MeasuredCurve] = ()
    runs: Sequence[epochs.RunEpochs] = ()
    samples: Sequence[MeasuredCurve] = ()
    workloads: Sequence[devices.Runs] = ()


def own_rows(sets: Sequence[MeasuredCount], watch: Watch = unwatched) -> list[FigureRow]:
    """Return a row for every task, method and result set, and the means of several sets."""
    rows: list[FigureRow] = []
    names = [result_set.title for result_set in sets]
    for answers in (
        [
            r
            for result_set in sets
            for r in batch.rows_of(result_set.title, result_set.step_times, watch)
        ],
        [
            r
            for result_set in sets
            for r in devices.rows_of(result_set.title, result_set.workloads, watch=watch)
        ],
        [
            r
            for result_set in sets
            for r in epochs.rows_of(result_set.title, result_set.runs, watch)
        ],
        [
            r
            for result_set in sets
            for r in convergence.rows_of(result_set.title, result_set.samples, watch)
        ],
    ):
        rows += with_means(answers, names, MEAN_OF_SETS)
    return rows


LEAST_BATCHES: Final = 3
"""Smallest number of batches of a sweep from which one can be hidden."""
LEAST_TARGETS: Final = 4
"""Smallest number of batches that reached a target from which one can be hidden."""
LEAST_EPOCHS: Final = 3
"""Smallest number of epochs of a run from which one can be hidden."""

Placed = Mapping[str, tuple[Placement, str]]
"""Placement of a run and its system's name without the count, by run_id."""


def has_result_sets(folder: Path) -> bool:
    """Return whether `folder` is a result set or contains some."""
    return any(any(folder.glob(f"{place}*.parquet")) for place in ("", "*/"))


def result_sets(folder: Path) -> tuple[list[MeasuredCount], list[str]]:
    """Return the data of every result set that can be hidden, and refused files.

    `folder` is a result set or contains some. Sets with nothing to hide are left out.
    """
    alone = (folder / NAME).is_file() or not any(folder.glob("*/*.parquet"))
    root = folder.absolute().parent if alone else folder.absolute()
    store = Store([Folder(path=root, label=folder.name, kind="further")])
    store.refresh()
    chosen = [s for s in store.sets if not alone or s.slug == folder.absolute().name]
    slugs, titles = {s.slug for s in chosen}, Counter(s.title for s in chosen)
    runs = [r for r in _runs(store) if r.set_folder in slugs]
    placed = _placements(store, runs)
    trials = [t for t in queries.trial_sets(store) if t.set_folder in slugs]
    measured = [
        _measured(
            store,
            result_set.title
            if titles[result_set.title] == 1
            else f"{result_set.title} ({result_set.slug})",
            [r for r in runs if r.set_folder == result_set.slug],
            [t for t in trials if t.set_folder == result_set.slug],
            placed,
        )
        for result_set in chosen
    ]
    refused = [f"{Path(r.path).name}: {r.reason}" for r in store.refused]
    return [m for m in measured if m.step_times or m.runs or m.samples or m.workloads], refused


def _runs(store: Store) -> list[Run]:
    every = [
        run
        for workload in queries.workloads(store)
        for pattern in queries.patterns(store, workload)
        for run in queries.runs_of(store, workload, pattern)
    ]
    return with_priors(store, every)


def _placements(store: Store, runs: Iterable[Run]) -> Placed:
    """Return placements of runs with a step time, with the name of a single device."""
    runs = list(runs)
    named = {
        (t.workload, t.system, t.pattern, t.software): t.system_name
        for workload in dict.fromkeys(run.workload for run in runs)
        for t in queries.timed_systems(store, workload)
    }
    cases = ((r, named.get((r.workload, r.system, r.pattern, r.software))) for r in runs)
    timed = {run.run_id: (run, name) for run, name in cases if name is not None}
    pairs = dict.fromkeys((run.workload, run.pattern) for run, _ in timed.values())
    return {
        run_id: (place, timed[run_id][1])
        for pair in pairs
        for run_id, place in queries.placements(store, *pair).items()
        if run_id in timed
    }


def _measured(
    store: Store, title: str, runs: Sequence[Run], trials: Sequence[TrialSet], placed: Placed
) -> MeasuredCount:
    return MeasuredCount(
        title=title,
        step_times=_step_times(runs),
        runs=list(_whole_runs(store, runs)),
        samples=[curve for trial_set in trials for curve in _samples(store, trial_set)],
        workloads=list(_workloads(runs, placed)),
    )


def _step_times(runs: Sequence[Run]) -> list[MeasuredCurve]:
    """Return the sweeps, one per curve of the Throughput page."""
    points = {
        curve.key: list(zip(curve.batch.tolist(), curve.step_s.tolist(), strict=True))
        for curve in system_curves(runs)
        if curve.batch.size and (curve.step_s > 0.0).all()
    }
    return curves_of(points, LEAST_BATCHES)


def _whole_runs(store: Store, runs: Iterable[Run]) -> Iterator[EpochRun]:
    for run in runs:
        if run.status == "ok" and (run.epochs_measured or 0) >= LEAST_EPOCHS:
            epoch_s = queries.epoch_times(store, run.run_id)
            if epoch_s.size >= LEAST_EPOCHS and (np.isfinite(epoch_s) & (epoch_s > 0.0)).all():
                yield EpochRun(
                    group=run.system,
                    pre_train_s=run.pre_train_s or 0.0,
                    epoch_s=epoch_s,
                    system=run.system,
                    prior=run.epoch_prior,
                )


def _samples(store: Store, of: TrialSet) -> list[MeasuredCurve]:
    """Return samples to the usual target at the best learning rate, one curve per optimiser."""
    trials = queries.trials(store, of)
    target = usual_target(trials)
    if target is None:
        return []
    points = {
        f"{of.subject} · {curve.optimizer} · {goal_text(trials, target)}": _reached(
            curve.batch, curve.median_steps
        )
        for curve in compare(trials, target, trials.optimizers).curves
    }
    return curves_of({name: pairs for name, pairs in points.items() if pairs}, LEAST_TARGETS)


def _reached(batch: Floats, steps: Floats) -> list[tuple[float, float]]:
    valid = np.isfinite(steps) & (steps > 0.0)
    return list(zip(batch[valid].tolist(), (batch * steps)[valid].tolist(), strict=True))


def _workloads(runs: Sequence[Run], placed: Placed) -> Iterator[devices.Runs]:
    """Yield runs that differ only in batch and device count; each link includes one device."""
    groups: dict[tuple[str, ...], list[tuple[Run, Placement]]] = {}
    for run in runs:
        if run.run_id in placed and run.global_batch_size and (run.step_time_s or 0.0) > 0.0:
            place, name = placed[run.run_id]
            key = (run.workload, name, run.pattern, run.software)
            groups.setdefault(key, []).append((run, place))
    for members in groups.values():
        alone = [m for m in members if m[1].devices == 1]
        links = {(p.launch, p.peer_to_peer is False) for _, p in members if p.devices > 1}
        for link in sorted(links, key=str):
            linked = [
                (r, p)
                for r, p in members
                if p.devices > 1 and (p.launch, p.peer_to_peer is False) == link
            ]
            yield _together([*alone, *linked])


def _together(members: Sequence[tuple[Run, Placement]]) -> devices.Runs:
    columns = np.array(
        [
            (float(r.global_batch_size or 0) / p.devices, p.devices, p.nodes, r.step_time_s or 0.0)
            for r, p in members
        ]
    ).T
    return devices.Runs(
        batch=columns[0],
        devices=columns[1],
        nodes=columns[2],
        step_s=columns[3],
        compute_s=np.full(len(members), np.nan),
    )
