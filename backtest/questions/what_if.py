"""Errors of the what-if models of Scaling out against runs of uneven workers.

    crossover      global batch from which n workers beat one; runs at one batch bracket it
    slow worker    step or samples/s with one worker stopped a share of the time, from even workers
    staleness      mean age of gradients [updates], n - 1 by the model
    pipeline       step with m micro-batches from the step with one: (m + p - 1)/(m p) of it

A run with a slow worker names the stopped share in its system: "..., one stopped 25 % of the time".
Its even counterpart has the same workers, batch and software. The model scales the measured even
run, so that only the effect of the slow worker is predicted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from planner.core import Estimate
from planner.runs import Run
from planner.scaling_out import Answer, CountAnswer, Question, Series, answer_of, series_of
from planner.scaling_out import slow_answer as with_slow_worker
from planner.store import Folder, Store, queries

STOPPED: Final = re.compile(r", one stopped (\d+(?:\.\d+)?) % of the time$")
KINDS: Final = ("crossover", "slow worker, synchronous", "slow worker, asynchronous", "staleness",
                "pipeline")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One prediction of a what-if model beside what was measured, in `unit`.

    For a crossover `measured` is None and `low` to `high` the batches between which runs show it;
    `right` says whether the interval reaches into them. Otherwise `right` is None.
    """

    kind: str
    case: str
    unit: str
    predicted: float
    measured: float | None
    low: float | None = None
    high: float | None = None
    right: bool | None = None

    @property
    def error(self) -> float | None:
        """Relative error of the prediction [share]; None without one measured number."""
        if self.measured is None or self.measured == 0.0:
            return None
        return abs(self.predicted / self.measured - 1.0)


def what_if_checks(folder: Path) -> list[Check]:
    """Return the checks of all result sets of a folder; none where no set has such runs."""
    store = Store((Folder(path=folder, label="results", kind="shipped"),))
    store.refresh()
    uneven = [c for name in queries.scaled_workloads(store) for c in _of_workload(store, name)]
    cut = [c for name in queries.timed_workloads(store) for c in _pipelines(store, name)]
    return uneven + cut


def _of_workload(store: Store, workload: str) -> Iterator[Check]:
    every = list(_runs(store, workload))
    if not any(STOPPED.search(name) for name, *_ in every):
        return
    series = _even_series(store, workload, every)
    for (system, _, _), even in series.items():
        answer = answer_of(even, Question())
        yield from _crossovers(answer)
        yield from _staleness(store, even)
        for name, run, place_devices in every:
            match = STOPPED.search(name)
            same = match and name.removesuffix(match[0]) == system
            if match and same and run.pattern == even.runs[0].pattern:
                yield from _slowed(store, even, run, place_devices, float(match[1]) / 100.0)


def _runs(store: Store, workload: str) -> Iterator[tuple[str, Run, int]]:
    """Yield the system name, the run and its device count of every timed run."""
    timed = queries.timed_systems(store, workload)
    for pattern in dict.fromkeys(t.pattern for t in timed):
        names = {(t.system, t.software): t.system_name for t in timed if t.pattern == pattern}
        places = queries.placements(store, workload, pattern)
        for run in queries.runs_of(store, workload, pattern):
            if run.run_id in places and (run.system, run.software) in names:
                yield names[run.system, run.software], run, places[run.run_id].devices


def _even_series(
    store: Store, workload: str, every: Sequence[tuple[str, Run, int]]
) -> dict[tuple[str, str, str], Series]:
    groups: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for name, run, _ in every:
        if not STOPPED.search(name):
            groups[name, run.pattern, run.software].append(run)
    found = {}
    for key, runs in groups.items():
        made = series_of(key[1], runs, queries.placements(store, workload, key[1]))
        if made is not None and len(made.counts) > 1:
            found[key] = made
    return found


def _crossovers(answer: Answer) -> Iterator[Check]:
    """Yield the crossovers that measured runs bracket."""
    for c in answer.crossings:
        if not isinstance(c.batch, Estimate) or (c.slower_at is None and c.faster_at is None):
            continue
        low, high = c.slower_at or 0.0, c.faster_at or np.inf
        yield Check(
            kind=KINDS[0],
            case=f"{answer.series.launch}, {_strategy(answer.series)}, {c.devices} devices",
            unit="samples",
            predicted=float(c.batch.value),
            measured=None,
            low=low,
            high=high if np.isfinite(high) else None,
            right=float(c.batch.high) > low and float(c.batch.low) <= high,
        )


def _slowed(store: Store, even: Series, run: Run, devices: int, slow: float) -> Iterator[Check]:
    """Yield the step of a run with a slow worker, predicted from its even counterpart."""
    batch = float(run.global_batch_size or 0)
    answer = answer_of(even, Question(batches=(batch,), hold="global"))
    row = next((r for r in answer.rows if r.devices == devices), None)
    if row is None or not row.measured_s or not run.step_time_s:
        return
    waits = facts(store, run).get("sync") != "asynchronous"
    yield Check(
        kind=KINDS[1] if waits else KINDS[2],
        case=f"{devices} workers, batch {batch:g}, one stopped {100 * slow:g} %",
        unit="s",
        predicted=row.measured_s[0] * _slowdown(row, slow, waits=waits),
        measured=run.step_time_s,
    )


def _slowdown(row: CountAnswer, slow: float, *, waits: bool) -> float:
    """Return the step with a slow worker over that without one."""
    with_one, without = (with_slow_worker(row, Question(slow=s)) for s in (slow, 0.0))
    if waits:
        return with_one.step_s / without.step_s
    return without.free.samples_per_s / with_one.free.samples_per_s


def _staleness(store: Store, even: Series) -> Iterator[Check]:
    for point in even.points:
        stated = _stated(store, point.run)
        if point.devices > 1 and "staleness_mean" in stated:
            yield Check(
                kind=KINDS[3],
                case=f"{point.devices} workers, batch {point.batch:g}",
                unit="updates",
                predicted=point.devices - 1.0,
                measured=float(stated["staleness_mean"]),
            )


def _pipelines(store: Store, workload: str) -> Iterator[Check]:
    """Yield the step of each run over several stages, from the run with one micro-batch."""
    if not any("stage" in pattern.split(", ") for pattern in queries.patterns(store, workload)):
        return
    groups: dict[tuple[str, str, int | None, int], dict[int, list[float]]]
    groups = defaultdict(lambda: defaultdict(list))
    for name, run, stages in _runs(store, workload):
        share = _stated(store, run).get("bubble_share")
        if share and run.step_time_s:
            micro_batches = round((stages - 1) / share - (stages - 1))
            key = name, run.software, run.global_batch_size, stages
            groups[key][micro_batches].append(run.step_time_s)
    for (_, _, batch, stages), steps in sorted(groups.items(), key=lambda item: item[0][3]):
        for m in sorted(steps):
            if m > 1 and 1 in steps:
                yield Check(
                    kind=KINDS[4],
                    case=f"{stages} stages, batch {batch}, {m} micro-batches",
                    unit="s",
                    predicted=median(steps[1]) * (m + stages - 1) / (m * stages),
                    measured=median(steps[m]),
                )


def _stated(store: Store, run: Run) -> dict[str, Any]:
    """Return the facts in the column `extra` of a run."""
    stated: dict[str, Any] = json.loads(str(facts(store, run).get("extra") or "{}"))
    return stated


def facts(store: Store, run: Run) -> dict[str, Any]:
    """Return the summary columns of a run."""
    return queries.all_columns(store, run.run_id)


def _strategy(series: Series) -> str:
    parts = series.runs[0].pattern.split(", ")
    return next((p for p in parts if "mirrored" in p or "server" in p), parts[-1])
