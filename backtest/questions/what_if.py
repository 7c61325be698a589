"""Errors of the what-if models of Scaling out against runs of uneven workers.

    crossover      global batch from which n workers beat one; runs at one batch bracket it
    slow worker    step or samples/s with one worker stopped a share of the time, from even workers
    staleness      mean age of gradients [updates], (n - 1)(compute + link/2)/step by the model
    pipeline       step with m micro-batches from the step with one: (m + p - 1)/(m p) of it; of
                   stages that wait, as devices of their own, and of stages that share cores
    best count     the step at the device count that is predicted to be fastest, over the least step
    idle devices   n T_n - m T_m [device-s a step], m the smallest count
    total          start-up + epochs x steps x step, over start-up and all measured epochs. The
                   first start-up has what the first epoch takes longer, from other batches
    link           step over a limited link from that without a limit: + 2(n - 1)/n x bytes/rate
    scatter        step of workers with random waits: E[max(T_1 ... T_n)], from equal waits
    server link    updates/s of workers across a limited link from their server, from no limit
    stale          updates to a target with gradients s updates old: Smin (1 + Bcrit/b + s)
    tensor traffic what a device sends in a step to the others of its layers, beside the operations
                   that were compiled; gradient traffic the same of copies of the network
    state          weights and optimiser state on a device, beside what the compiled step takes in;
                   with gradients, beside the part of its memory that does not grow with the batch
    activations    of a sample on a device, beside the growth of that memory with the batch

The models of best count, idle devices and total do not see the runs at the batch of their case,
at any count. So do the counts advised for a deadline or a budget (`LimitCheck`).

A run with a slow worker names the stopped share in its system: "..., one stopped 25 % of the time".
Its even counterpart has the same workers, batch and software. The model scales the measured even
run, so that only the effect of the slow worker is predicted.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from planner.convergence import best_learning_rates, fit_convergence, steps_of
from planner.core import Estimate, Text
from planner.job import Job
from planner.networks import activations_of
from planner.runs import Placement, Run, TrialSet
from planner.scaling import (
    Workers,
    asynchronous,
    ring_step_s,
    server_limit,
    synchronous_step_s,
    update_ratio,
    workers,
)
from planner.scaling_out import (
    CountAnswer,
    DeviceSeries,
    Point,
    SeriesAnswer,
    SeriesQuestion,
    answer_of,
    idle_device_s,
    later,
    series_of,
)
from planner.scaling_out import slow_answer as with_slow_worker
from planner.splits import Cut, data_bytes, state_on_device, tensor_bytes
from planner.store import Folder, Store, queries

STOPPED: Final = re.compile(r", one stopped (\d+(?:\.\d+)?) % of the time$")
LINK: Final = re.compile(
    r", two namespaces with (?:an unlimited link|a link of ([\d.]+) ([GM])bit/s)$"
)
WAITING: Final = re.compile(r", each waiting ([\d.]+) ± ([\d.]+) ms a step$")
SERVED: Final = re.compile(
    r", the parameter server behind (?:an unlimited link|a link of ([\d.]+) ([GM])bit/s)$"
)
STALE: Final = re.compile(r" gradients (\d+) updates? old$")
TRANSFORMER: Final = re.compile(r"Transformer (\d+)x(\d+), \d+ heads$")
TOKENS: Final = re.compile(r"(\d+) tokens$")
UNITS: Final = {"G": 1e9, "M": 1e6}
_Timed = tuple[str, Run, int]
"""The name of a system, a run of it, and its number of devices."""
KINDS: Final = ("crossover", "slow worker, synchronous", "slow worker, asynchronous", "staleness",
                "pipeline", "best count", "idle devices", "total", "link", "scatter of steps",
                "server link", "stale gradients", "pipeline on shared cores", "tensor traffic",
                "gradient traffic", "state of a device", "state and gradients",
                "activations")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One prediction of a what-if model beside what was measured, in `unit`.

    For a crossover `measured` is None and `low` to `high` the batches between which runs show it;
    `right` says whether the interval reaches into them. Otherwise `low` and `high` are the ends of
    the predicted interval and `right` says whether it has the measured number; None without one.
    `whole` is what a difference is a part of: of idle devices all measured device-s.
    """

    kind: str
    case: str
    unit: str
    predicted: float
    measured: float | None
    low: float | None = None
    high: float | None = None
    right: bool | None = None
    whole: float | None = None

    @property
    def share(self) -> float | None:
        """Error of a difference as a share of its whole; None for other predictions."""
        if self.measured is None or self.whole is None:
            return None
        return abs(self.predicted - self.measured) / self.whole

    @property
    def error(self) -> float | None:
        """Relative error of the prediction [share]; None without one measured number."""
        if self.measured is None or self.measured == 0.0:
            return None
        return abs(self.predicted / self.measured - 1.0)


LIMITS: Final = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Deadlines and budgets of a case, as multiples of the least measured total or cost."""
PRICE_USD_PER_H: Final = 1.0
"""Price of a device in the budgets of the checks."""


Kind: TypeAlias = Literal["deadline", "budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCheck:
    """The count that is advised for a deadline or a budget, beside the measured totals.

    `limit` is its multiple of the least measured total or cost. `advised` is the advised count,
    None where no count is said to keep the limit. `best` is the count that the measured totals
    advise: the fewest devices in time, or the fastest within the budget. `kept` says whether the
    measured total or cost of the advised count is within the limit.
    """

    kind: Kind
    case: str
    limit: float
    advised: int | None
    best: int
    kept: bool | None


def what_if_checks(folder: Path) -> list[Check]:
    """Return the checks of all measured runs of a folder; none where no set has such runs."""
    store, timed_here, scaled_here = _measured_here(folder)
    uneven = [c for name in scaled_here for c in _of_workload(store, name)]
    cut = [c for name in timed_here for c in _pipelines(store, name)]
    timed = [list(_runs(store, name)) for name in timed_here]
    linked = [c for runs in timed for c in _links(store, runs)]
    waiting = [c for runs in timed for c in _waiting(runs)]
    served = [c for runs in timed for c in _served(store, runs)]
    divided = [c for runs in timed for c in _divided(store, runs)]
    return uneven + cut + linked + waiting + served + list(_stale(store)) + divided


def limit_checks(folder: Path) -> list[LimitCheck]:
    """Return the counts advised for deadlines and budgets, from runs at other batches."""
    store, _, scaled_here = _measured_here(folder)
    return [
        check
        for name in scaled_here
        for even in _evens(store, name)[1].values()
        for check in _limited(even, queries.placements(store, name, even.label))
    ]


def _measured_here(folder: Path) -> tuple[Store, list[str], list[str]]:
    """Return the store of a folder, and its measured workloads that are timed, and scaled."""
    store = Store((Folder(path=folder, label="results", kind="shipped"),))
    store.refresh()
    measured = queries.facets(store, {"basis": ["measured"]})["workload"]
    timed, scaled = queries.timed_workloads(store), queries.scaled_workloads(store)
    return store, [n for n in timed if n in measured], [n for n in scaled if n in measured]


def _evens(
    store: Store, workload: str
) -> tuple[list[_Timed], dict[tuple[str, str, str], DeviceSeries]]:
    """Return the runs of a workload and its series of even workers; none without a slow one."""
    every = list(_runs(store, workload))
    if not any(STOPPED.search(name) for name, *_ in every):
        return every, {}
    return every, _even_series(store, workload, every)


def _of_workload(store: Store, workload: str) -> Iterator[Check]:
    every, series = _evens(store, workload)
    for (system, _, _), even in series.items():
        answer = answer_of(even, SeriesQuestion())
        yield from _crossovers(answer)
        yield from _staleness(store, even)
        yield from _counts(even, queries.placements(store, workload, even.label))
        for name, run, place_devices in every:
            match = STOPPED.search(name)
            same = match and name.removesuffix(match[0]) == system
            if match and same and run.pattern == even.runs[0].pattern:
                yield from _slowed(store, even, run, place_devices, float(match[1]) / 100.0)


def _runs(store: Store, workload: str) -> Iterator[_Timed]:
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
) -> dict[tuple[str, str, str], DeviceSeries]:
    groups: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for name, run, _ in every:
        if not STOPPED.search(name):
            groups[name, run.pattern, run.software].append(run)
    by_key = {}
    for key, runs in groups.items():
        made = series_of(key[1], runs, queries.placements(store, workload, key[1]))
        if made is not None and len(made.counts) > 1:
            by_key[key] = made
    return by_key


def _crossovers(answer: SeriesAnswer) -> Iterator[Check]:
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


def _slowed(
    store: Store, even: DeviceSeries, run: Run, devices: int, slow: float
) -> Iterator[Check]:
    """Yield the step of a run with a slow worker, predicted from its even counterpart."""
    batch = float(run.global_batch_size or 0)
    answer = answer_of(even, SeriesQuestion(batches=(batch,), hold="global"))
    row = next((r for r in answer.rows if r.devices == devices), None)
    if row is None or not row.measured_s or not run.step_time_s:
        return
    waits = facts(store, run).get("sync") != "asynchronous"
    yield Check(
        kind=KINDS[1] if waits else KINDS[2],
        case=Text(
            "{devices} workers, batch {batch:g}, one stopped {share:g} %",
            devices=devices,
            batch=batch,
            share=100 * slow,
        ),
        unit="s",
        predicted=row.measured_s[0] * _slowdown(row, slow, waits=waits),
        measured=run.step_time_s,
    )


def _slowdown(row: CountAnswer, slow: float, *, waits: bool) -> float:
    """Return the step with a slow worker over that without one."""
    with_one, without = (with_slow_worker(row, SeriesQuestion(slow=s)) for s in (slow, 0.0))
    if waits:
        return with_one.step_s / without.step_s
    return without.free.samples_per_s / with_one.free.samples_per_s


def _staleness(store: Store, even: DeviceSeries) -> Iterator[Check]:
    batches = tuple(float(b) for b in sorted({p.batch for p in even.points}))
    answer = answer_of(even, SeriesQuestion(batches=batches, hold="global"))
    rows = {(r.devices, r.batch): r for r in answer.rows if isinstance(r.step, Estimate)}
    for point in even.points:
        stated, row = _stated(store, point.run), rows.get((point.devices, float(point.batch)))
        if row is not None and point.devices > 1 and "staleness_mean" in stated:
            yield Check(
                kind=KINDS[3],
                case=Text(
                    "{devices} workers, batch {batch:g}", devices=point.devices, batch=point.batch
                ),
                unit="updates",
                predicted=with_slow_worker(row, SeriesQuestion()).free.staleness,
                measured=float(stated["staleness_mean"]),
            )


def _counts(even: DeviceSeries, placements: Mapping[str, Placement]) -> Iterator[Check]:
    """Yield best count, idle devices and totals at each batch, from the runs at other batches."""
    for batch, here, others, steps in _hidden_batches(even, placements):
        fitted = {n: float(s.value) for n, s in steps.items()}
        best, base = min(fitted, key=lambda n: fitted[n]), min(here)
        where = f"{even.launch}, {_strategy(even)}, batch {batch}"
        yield Check(
            kind=KINDS[5],
            case=f"{where}: {best} devices",
            unit="s",
            predicted=here[best].step_s,
            measured=min(p.step_s for p in here.values()),
        )
        for n, point in here.items():
            case = f"{where}, {n} devices"
            if n > base:
                waits_s = idle_device_s((n, steps[n]), (base, steps[base]))
                more_s = max(n * point.step_s - base * here[base].step_s, 0.0)
                idle = _estimated(KINDS[6], case, "device-s", waits_s, more_s)
                yield replace(idle, whole=n * point.step_s)
            own_s = placements[point.run.run_id].startup_s
            yield from _whole(others, point, own_s, case=case, step=steps[n])


def _hidden_batches(
    even: DeviceSeries, placements: Mapping[str, Placement]
) -> Iterator[tuple[int, dict[int, Point], DeviceSeries, dict[int, Estimate]]]:
    """Yield each batch, its runs by count, the series without them, and its steps at the batch."""
    for batch in sorted({p.batch for p in even.points}):
        here = {p.devices: p for p in even.points if p.batch == batch}
        hidden = {p.run.run_id for p in even.points if p.batch == batch}
        others = series_of(even.label, even.runs, placements, hidden)
        answers = {n: others.step(float(batch), n) for n in here} if others else {}
        steps = {n: s for n, s in answers.items() if isinstance(s, Estimate)}
        if others is not None and len(steps) > 1 and steps.keys() == here.keys():
            yield batch, here, others, steps


def _limited(even: DeviceSeries, placements: Mapping[str, Placement]) -> Iterator[LimitCheck]:
    """Yield the counts that are advised at each batch, as the page would advise them."""
    for batch, here, others, _ in _hidden_batches(even, placements):
        totals_s = {n: _ran_s(p.run, placements[p.run.run_id].startup_s) for n, p in here.items()}
        finished_s = {n: total for n, total in totals_s.items() if total is not None}
        point = next(iter(here.values()))
        steps, epochs = _steps_per_epoch(point.run), point.run.epochs_measured
        if finished_s.keys() != here.keys() or not steps or not epochs:
            continue
        question = SeriesQuestion(
            batches=(float(batch),), hold="global", epochs=epochs,
            samples_per_epoch=float(steps * batch), price_usd_per_hour=PRICE_USD_PER_H,
        )  # fmt: skip
        usd = {n: n * total / 3600.0 * PRICE_USD_PER_H for n, total in finished_s.items()}
        case = f"{even.launch}, {_strategy(even)}, batch {batch}"
        for limit in LIMITS:
            latest_s, most_usd = limit * min(finished_s.values()), limit * min(usd.values())
            answer = answer_of(others, replace(question, deadline_s=latest_s, budget_usd=most_usd))
            timely = [n for n in finished_s if finished_s[n] <= latest_s]
            paid = [n for n in usd if usd[n] <= most_usd]
            advice: tuple[tuple[Kind, CountAnswer | None, int, list[int]], ...] = (
                ("deadline", answer.best_in_time, min(timely), timely),
                ("budget", answer.best_in_budget, min(paid, key=lambda n: finished_s[n]), paid),
            )
            for kind, row, best, keeping in advice:
                advised = None if row is None else row.devices
                kept = None if row is None else row.devices in keeping
                yield LimitCheck(
                    kind=kind, case=case, limit=limit, advised=advised, best=best, kept=kept
                )


def _ran_s(run: Run, startup_s: float | None) -> float | None:
    """Return how long a run took [s], with its start-up where one is stated; None if unknown."""
    if not (run.first_epoch_s and run.later_epoch_mean_s and run.epochs_measured):
        return None
    if startup_s is None:
        return run.epochs_measured * run.later_epoch_mean_s
    return startup_s + run.first_epoch_s + (run.epochs_measured - 1) * run.later_epoch_mean_s


def _steps_per_epoch(run: Run) -> int | None:
    later_s, step_s = run.later_epoch_mean_s, run.step_time_s
    return round(later_s / step_s) if later_s and step_s else None


def _whole(
    others: DeviceSeries, point: Point, own_s: float | None, *, case: str, step: Estimate
) -> Iterator[Check]:
    """Yield the total of a run: start-up, all of its epochs, and the extra of the first one."""
    run, start = point.run, others.startup(point.devices)
    steps, epochs = _steps_per_epoch(run), run.epochs_measured
    ran_s = None if own_s is None else _ran_s(run, own_s)
    if start is None or steps is None or epochs is None or ran_s is None:
        return
    total = later(step.scaled(float(epochs * steps)), *start)
    yield _estimated(KINDS[7], case, "s", total, ran_s)


def _estimated(kind: str, case: str, unit: str, estimate: Estimate, measured: float) -> Check:
    """Return the check of a number with an interval."""
    value, low, high = estimate.ends
    return Check(kind=kind, case=case, unit=unit, predicted=value, measured=measured, low=low,
                 high=high, right=low <= measured <= high)  # fmt: skip


def _links(store: Store, timed: Iterable[_Timed]) -> Iterator[Check]:
    """Yield the step over each limited link, from the step of the same workers without a limit.

    Two namespaces name their link in the system: "... with a link of 100 Mbit/s". Steps are
    medians, as those of the command `links`: a mean has the waits for a busy processor.
    """
    by_rate: dict[float, tuple[Run, int, dict[str, Any]]] = {}
    for name, run, devices in timed:
        match = LINK.search(name)
        if match and run.step_time_s:
            rate = np.inf if match[1] is None else float(match[1]) * UNITS[match[2]]
            by_rate[rate] = run, devices, _stated(store, run)
    if np.inf not in by_rate:
        return
    free, _, facts_free = by_rate.pop(np.inf)
    for rate, (run, devices, stated) in sorted(by_rate.items(), reverse=True):
        later_s = stated["link_latency_s"] - facts_free["link_latency_s"]
        yield Check(
            kind=KINDS[8],
            case=_at_rate(devices, rate),
            unit="s",
            predicted=ring_step_s(
                _median_step_s(store, free),
                devices,
                stated["gradient_bytes"],
                rate,
                max(later_s, 0.0),
            ),
            measured=_median_step_s(store, run),
        )


def _median_step_s(store: Store, run: Run) -> float:
    return float(facts(store, run)["step_p50_s"])


def _waiting(timed: Iterable[_Timed]) -> Iterator[Check]:
    """Yield the step of workers that wait at random, from that of workers that wait alike."""
    by_wait: dict[tuple[str, str, int, int | None], dict[float, float]] = defaultdict(dict)
    for name, run, devices in timed:
        match = WAITING.search(name)
        if match and run.step_time_s:
            key = name.removesuffix(match[0]), match[1], devices, run.global_batch_size
            by_wait[key][float(match[2]) / 1e3] = run.step_time_s
    for (_, mean, devices, batch), steps in sorted(by_wait.items(), key=lambda item: item[0][2]):
        alike_s = steps.pop(0.0, None)
        for sd_s, step_s in sorted(steps.items()) if alike_s else ():
            alike = workers(devices, batch=float(batch or 1) / devices, step_s=alike_s or 1.0,
                            slow=0.0, spread=sd_s / (alike_s or 1.0))  # fmt: skip
            yield Check(
                kind=KINDS[9],
                case=Text(
                    "{devices} workers, waits of {mean} ± {sd_ms:g} ms",
                    devices=devices,
                    mean=mean,
                    sd_ms=1e3 * sd_s,
                ),
                unit="s",
                predicted=synchronous_step_s(alike),
                measured=step_s,
            )


def _at_rate(devices: int, rate: float) -> Text:
    mbit = rate / 1e6
    return Text("{devices} workers, {mbit:,.0f} Mbit/s", devices=devices, mbit=mbit)


def _served(store: Store, timed: Iterable[_Timed]) -> Iterator[Check]:
    """Yield the updates over each limited link, from those of the same workers without a limit."""
    by_count: dict[int, dict[float, Run]] = defaultdict(dict)
    for name, run, devices in timed:
        match = SERVED.search(name)
        if match:
            rate = np.inf if match[1] is None else float(match[1]) * UNITS[match[2]]
            by_count[devices][rate] = run
    for devices, runs in sorted(by_count.items()):
        free = runs.pop(np.inf, None)
        for rate, run in sorted(runs.items(), reverse=True) if free else ():
            size, bytes_per_s = int(_stated(store, run)["gradient_bytes"]), rate / 8.0
            alike = Workers(batch=1.0, times_s=np.full(devices, devices / _updates(store, free)))
            made = asynchronous(alike, server_limit(size, 1, 2.0 * bytes_per_s))
            yield Check(
                kind=KINDS[10],
                case=_at_rate(devices, rate),
                unit="updates/s",
                predicted=made.updates_per_s,
                measured=_updates(store, run),
            )


def _updates(store: Store, run: Run | None) -> float:
    """Return the updates/s of all asynchronous workers: each has its part of the batch."""
    columns = facts(store, run) if run else {}
    return float(columns["throughput"]) / float(columns["per_device_batch_size"])


def _stale(store: Store) -> Iterator[Check]:
    """Yield updates to the target of stale gradients, from those of fresh ones in the same set.

    The learning rate is the best of each age and batch.
    """
    sets = queries.trial_sets(store)
    fresh = {(s.network, s.dataset, s.result_set): s for s in sets}
    for of in sorted(sets, key=lambda s: (s.result_set, s.network)):
        match = STALE.search(of.network)
        alike = match and fresh.get((of.network.removesuffix(match[0]), of.dataset, of.result_set))
        if not match or not alike or of.target is None:
            continue
        base, curve = _tuned(store, alike, of.target)
        age = int(match[1])
        for batch, steps in sorted(_tuned(store, of, of.target)[0].items()):
            if batch in base and np.isfinite([steps, base[batch]]).all():
                cost = update_ratio(batch, float(curve.critical_batch_size.value), age)
                yield Check(
                    kind=KINDS[11],
                    case=Text("batch {batch:g}, gradients {age} old", batch=batch, age=age),
                    unit="updates",
                    predicted=base[batch] * cost,
                    measured=steps,
                )


def _tuned(store: Store, of: TrialSet, target: float) -> tuple[dict[float, float], Any]:
    """Return steps to a target by batch at the best learning rates, and their law."""
    trials = queries.trials(store, of)
    every = np.arange(trials.batch.size)
    tuned = best_learning_rates(
        trials.batch, trials.learning_rate, every, steps_of(trials, target).steps
    )
    steps = dict(zip(tuned.tuned_batch.tolist(), tuned.median_steps.tolist(), strict=True))
    return steps, fit_convergence(tuned.batch, tuned.samples_to_target)


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
    for (name, _, batch, stages), steps in sorted(groups.items(), key=lambda item: item[0][3]):
        for m in sorted(steps):
            if m > 1 and 1 in steps:
                yield Check(
                    kind=KINDS[4] if WAITING.search(name) else KINDS[12],
                    case=Text(
                        "{stages} stages, batch {batch}, {micro_batches} micro-batches",
                        stages=stages,
                        batch=batch,
                        micro_batches=m,
                    ),
                    unit="s",
                    predicted=median(steps[1]) * (m + stages - 1) / (m * stages),
                    measured=median(steps[m]),
                )


def _divided(store: Store, timed: Iterable[_Timed]) -> Iterator[Check]:
    """Yield bytes of a device in a step of divided and copied Transformers, by the compiled step.

    Copies here keep the whole optimiser state each, where the model divides it (ZeRO stage 1), so
    memory is checked of divided networks only. What grows with the batch are activations.
    """
    held: dict[tuple[str, int], dict[float, float]] = defaultdict(dict)
    jobs: dict[str, tuple[Job, int, float]] = {}
    for columns, stated, devices in _compiled(store, timed):
        model, batch = str(columns["model"]), float(columns["global_batch_size"])
        job, layers, activations = jobs.setdefault(
            model, _transformer(columns, stated["vocabulary"])
        )
        case = Text(
            "{model}, batch {batch:g}, {devices} devices", model=model, batch=batch, devices=devices
        )
        sent = stated["step_sent_bytes"]
        if columns["strategy"] != "tensor":
            yield _bytes(KINDS[14], case, data_bytes(job, Cut(tensor=1, pipeline=1, data=devices)),
                         sent)  # fmt: skip
            continue
        cut, taken = Cut(tensor=devices, pipeline=1, data=1), stated["step_argument_bytes"]
        if devices > 1:
            yield _bytes(KINDS[13], case, tensor_bytes(job, cut, batch, layers), sent)
        yield _bytes(KINDS[15], case, state_on_device(job, cut)[0], taken)
        held[model, devices][batch] = taken + stated["step_temporary_bytes"]
    for (model, devices), by_batch in held.items():
        (few, least), (many, most) = min(by_batch.items()), max(by_batch.items())
        if many > few:
            (job, _, activations), sample = jobs[model], (most - least) / (many - few)
            state = sum(state_on_device(job, Cut(tensor=devices, pipeline=1, data=1)))
            case = Text("{model}, {devices} devices", model=model, devices=devices)
            yield _bytes(KINDS[16], case, state, least - few * sample)
            yield _bytes(KINDS[17], case, activations / devices, sample)


def _bytes(kind: str, case: str, predicted: float, measured: float) -> Check:
    return Check(
        kind=kind, case=case, unit="MB", predicted=predicted / 1e6, measured=measured / 1e6
    )


def _compiled(
    store: Store, timed: Iterable[_Timed]
) -> list[tuple[dict[str, Any], dict[str, Any], int]]:
    """Return columns, other facts and devices of the runs that state what a step sends."""
    runs = [(facts(store, run), _stated(store, run), devices) for _, run, devices in timed]
    return sorted(
        (run for run in runs if "step_sent_bytes" in run[1]),
        key=lambda run: (run[0]["strategy"], run[0]["model"], run[2], run[0]["global_batch_size"]),
    )


def _transformer(columns: Mapping[str, Any], vocabulary: float) -> tuple[Job, int, float]:
    """Return the job of a run of a Transformer, its layers and a sample's activations [bytes].

    Its name has layers and width.
    """
    size, tokens = TRANSFORMER.match(columns["model"]), TOKENS.match(columns["input_shape"])
    if size is None or tokens is None:
        raise ValueError(
            Text(
                "{model} of {input_shape} is no known Transformer.",
                model=columns["model"],
                input_shape=columns["input_shape"],
            )
        )
    job = Job(
        workload=columns["model"],
        precision=columns["precision"],
        samples_per_epoch=None,
        params=float(columns["params"]),
        tokens_per_sample=float(tokens[1]),
        family="dense",
        layers_width=float(size[1]) * float(size[2]),
        optimizer=columns["optimizer"],
    )
    sample = activations_of(
        job.family, train_flops_per_sample=None, tokens=job.tokens_per_sample,
        layers_width=job.layers_width, vocabulary=vocabulary, half=False,
    )  # fmt: skip
    return job, int(size[1]), sample.kept if sample else 0.0


def _stated(store: Store, run: Run) -> dict[str, Any]:
    """Return the facts in the column `extra` of a run."""
    stated: dict[str, Any] = json.loads(str(facts(store, run).get("extra") or "{}"))
    return stated


def facts(store: Store, run: Run) -> dict[str, Any]:
    """Return the summary columns of a run."""
    return queries.all_columns(store, run.run_id)


def _strategy(series: DeviceSeries) -> str:
    parts = series.runs[0].pattern.split(", ")
    return next((p for p in parts if "mirrored" in p or "server" in p), parts[-1])
