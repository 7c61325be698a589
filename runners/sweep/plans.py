"""Plan of a sweep: runs, hours, memory, energy, cost, and the smallest sufficient design.

A forecast is from rows of the same network and machine: the step time from the throughput law
fitted to them, start-up from their mean. Without such rows, finished runs of the same
sweep give a rough time (`as_the_others`). Without those the forecast is None; a probe of two steps
at two batch sizes can make rows.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from planner.core import Refusal, Text
from planner.runs import Row
from planner.store.disk.sweeps import Turn
from planner.store.sealed.commit import commit_runs
from planner.store.summaries import summaries
from planner.throughput import fit_throughput
from runners.machine import facts
from runners.plan.cases import Case, groups, smallest_design
from runners.plan.expand import steps_in
from runners.process.supervise import Stopped
from runners.sweep.context import Context, measurer, own_rows, shipped_rows
from runners.sweep.measure import Hooks
from runners.sweep.rows import Done, case_id_of, done_in, extra_of, planned
from runners.workloads import DATASETS

_SAME: Final = ("model", "variant", "mode", "dataset", "backend", "engine", "precision",
                "optimizer", "jit")  # fmt: skip
"""Columns that must be equal to forecast one run from another; feed comes on top."""
EPOCH_EXTRA: Final = "epoch_extra_s"
"""Key that `as_probe` adds to a row; it is computed, so it is not a column."""
_UNCERTAINTY: Final = 2.0
"""Factor of uncertainty of a time guessed from one other batch size, either way."""
ROUGHLY: Final = 3.0
"""Factor of uncertainty of a run's time from other networks of its sweep, either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Forecast of one run: time with bounds [s], memory, power, number of rows used.

    `alike` is True if these rows are of the same network, False if only of the same sweep.
    `shipped` is the system of a shipped set of the same sweep, where the time is from there.
    """

    seconds: float
    low_s: float
    high_s: float
    memory_bytes: float | None
    power_watts: float | None
    rows: int
    alike: bool = True
    shipped: str | None = None


def as_the_others(rows: Iterable[Row]) -> Forecast | None:
    """Return a rough forecast from finished runs of the same sweep; None without any.

    The time is their mean, like the time left of a running sweep. Memory is None: it depends
    on the network.
    """
    finished = [r for r in rows if r.get("status") == "ok" and _wall_s(r) > 0.0]
    if not finished:
        return None
    taken = [_wall_s(r) for r in finished]
    powers = [r["mean_power_watts"] for r in finished if r.get("mean_power_watts")]
    return Forecast(
        seconds=statistics.fmean(taken), low_s=min(taken) / ROUGHLY, high_s=max(taken) * ROUGHLY,
        memory_bytes=None, power_watts=statistics.fmean(powers) if powers else None,
        rows=len(finished), alike=False,
    )  # fmt: skip


def from_shipped(case: Case, rows: Iterable[Row]) -> Forecast | None:
    """Return a rough forecast from runs of the same sweep on another machine; None without any.

    A run of the same case counts, else the mean of the sweep's runs.
    """
    of_sweep = [r for r in rows if r.get("sweep") == case.sweep]
    same = [r for r in of_sweep if case_id_of(r) == case.case_id and r.get("status") == "ok"]
    rough = as_the_others(same or of_sweep)
    if rough is None:
        return None
    memory = max((r["peak_memory_bytes"] for r in same if r.get("peak_memory_bytes")), default=None)
    systems = sorted({str(r["system_name"]) for r in same or of_sweep})
    return replace(rough, memory_bytes=memory, shipped=systems[0])


def forecast(case: Case, rows: Sequence[Row], system_name: str) -> Forecast | None:
    """Return the forecast of one case; None without rows of the same network."""
    here = [r for r in rows if r.get("system_name") == system_name]
    similar = alike(case, here)
    if not similar:
        return None
    step = _step_s(case, similar)
    starts = _start_s(case, here)
    if starts is None:
        return None
    steps = steps_in(case)
    looked_at = _looked_at(case.timing, steps) if any(r.get("step_p50_s") for r in similar) else 0
    passes = steps * case.epochs + looked_at
    checks = (_validation_s(case, similar, step[1]) + _epoch_extra_s(similar)) * case.epochs
    low, mid, high = (a + passes * s + checks for a, s in zip(starts, step, strict=True))
    powers = [r["mean_power_watts"] for r in similar if r.get("mean_power_watts")]
    return Forecast(
        seconds=mid, low_s=low, high_s=high, memory_bytes=memory_at(case.batch, similar),
        power_watts=statistics.fmean(powers) if powers else None, rows=len(similar),
    )  # fmt: skip


def alike(case: Case, rows: Iterable[Row]) -> list[Row]:
    """Return timed rows of the same network and software, with the same feed if any have it."""
    columns = planned(case)
    similar = [
        r
        for r in rows
        if r.get("step_s") and all(r.get(n) == columns[n] for n in _SAME) and r["status"] == "ok"
    ]
    fed = ("feed", "storage", "augmentation", "workers")
    exact = [r for r in similar if all(r.get(n) == columns[n] for n in fed)]
    return exact or similar


def _step_s(case: Case, rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return the low, middle and high step time [s]."""
    sizes = [float(r["global_batch_size"]) for r in rows]
    times = [float(r["step_s"]) for r in rows]
    if len(set(sizes)) > 1:
        curve = fit_throughput(sizes, times)
        at = None if isinstance(curve, Refusal) else curve.step_time([float(case.batch)])
        if at is not None and not isinstance(at, Refusal):
            low, mid, high = (np.ravel(x)[0] for x in (at.low, at.value, at.high))
            if np.isfinite([low, mid, high]).all():
                return float(low), float(mid), float(high)
    size, time_s = min(zip(sizes, times, strict=True), key=lambda p: abs(p[0] - case.batch))
    guess = time_s * max(case.batch / size, 1.0)
    factor = 1.1 if size == case.batch else _UNCERTAINTY
    return guess / factor, guess, guess * factor


def _start_s(case: Case, here: Sequence[Row]) -> tuple[float, float, float] | None:
    """Return the time outside steps (start, tracing, work after training), with bounds [s].

    None without rows: an unknown start is not a start of 0 s.
    """
    same = [r for r in here if r.get("backend") == case.backend and r.get("total_s")]
    model = planned(case)["model"]
    near = [r for r in same if r.get("model") == model] or same
    if not near:
        return None
    taken = [_not_steps_s(r) for r in near]
    mid = statistics.fmean(taken)
    # Few starts show no spread; measured starts differ by about a quarter.
    spread = max(2 * statistics.pstdev(taken), 0.05 * mid) if len(taken) > 2 else 0.25 * mid
    return max(mid - spread, 0.0), mid, mid + spread


def _not_steps_s(row: Row) -> float:
    wall = _wall_s(row)
    later = float(row.get("later_epoch_mean_s") or row.get("first_epoch_s") or 0.0)
    epochs = later * int(row.get("epochs_measured") or 1)
    steps = _looked_at(row.get("timing"), int(row.get("steps_per_epoch") or 0))
    return max(wall - epochs - steps * float(row.get("step_p50_s") or 0.0), 0.0)


def _wall_s(row: Row) -> float:
    """Return the wall time of a run [s]; 0 if unknown."""
    return _number(extra_of(row).get("wall_s")) or _number(row.get("total_s"))


def _looked_at(timing: str | None, steps: int) -> int:
    """Return the number of steps timed singly after the epochs (`runners.child.engines.pace`)."""
    return min(steps, 50) if timing == "per epoch" else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def as_probe(row: Row) -> Row:
    """Return a probe's row with the single-step time in `step_s` and the extra time per epoch.

    In an epoch of two steps, Keras's work per epoch would count as overhead per step and be
    multiplied by all steps of the planned run.
    """
    step_s, steps = row.get("step_p50_s"), row.get("steps_per_epoch")
    later = row.get("later_epoch_mean_s")
    if not (step_s and steps and later):
        return row
    return {**row, "step_s": step_s, EPOCH_EXTRA: max(later - steps * step_s, 0.0)}


def _epoch_extra_s(rows: Sequence[Row]) -> float:
    """Return the time of an epoch outside its steps [s], from probes; 0 without probes."""
    extras = [_number(r[EPOCH_EXTRA]) for r in rows if EPOCH_EXTRA in r]
    return statistics.fmean(extras) if extras else 0.0


def _validation_s(case: Case, rows: Sequence[Row], step_s: float) -> float:
    """Return the time of one validation [s]: measured, else a third of training on its samples.

    The first validation also traces; that extra time is part of the start, as for the first
    epoch.
    """
    if not case.validation:
        return 0.0
    per_sample = [
        r["validation_s"] / r["validation_samples_per_epoch"]
        for r in rows
        if r.get("validation_s") and r.get("validation_samples_per_epoch")
    ]
    each = statistics.fmean(per_sample) if per_sample else step_s / case.batch / 3
    return each * case.validation_samples


def memory_line(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return base [bytes] and slope [bytes/sample] of memory against batch; None for one size.

    Memory grows by the activations of each sample on top of parameters, gradients and framework.
    A slope below 0 is noise and counts as 0.
    """
    sizes = np.array([p[0] for p in points], dtype=float)
    if len(set(sizes)) < 2:
        return None
    peaks = np.array([p[1] for p in points], dtype=float)
    slope = max(float(np.cov(sizes, peaks, ddof=0)[0, 1] / sizes.var()), 0.0)
    return float(peaks.mean() - slope * sizes.mean()), slope


def memory_at(batch: int, rows: Iterable[Row]) -> float | None:
    """Return the expected peak memory at a batch size [bytes]; None without measured peaks."""
    points = [
        (float(r["global_batch_size"]), float(r["peak_memory_bytes"]))
        for r in rows
        if r.get("peak_memory_bytes")
    ]
    if line := memory_line(points):
        return line[0] + line[1] * batch
    return max((p[1] for p in points), default=None)


Stop = Callable[[], bool]
PROBES: Final = "probes"
"""Folder of probes inside the state folder; probes are sealed like runs."""
PROBE_S: Final = 180.0
"""Time limit of a probe of two steps [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One case of the plan, its forecast, and whether it is measured already."""

    case: Case
    expected: Forecast | None
    done: bool

    @property
    def rough(self) -> bool:
        """Whether the forecast is from other networks of its sweep."""
        return self.expected is not None and not self.expected.alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A sweep before it runs."""

    planned: tuple[Planned, ...]
    smallest: tuple[Planned, ...]
    automatic: int
    """Number of groups whose batch sizes are searched first."""
    basis: str | None

    @property
    def left(self) -> tuple[Planned, ...]:
        """Cases that are not measured yet."""
        return tuple(p for p in self.planned if not p.done)


def plan(context: Context, *, probe: bool = False, stop: Stop = lambda: False) -> Plan:
    """Return the plan with a forecast of every case; with `probe`, time cases without one.

    Probes are stored in the state folder; they are not results.
    """
    rows, done = [*own_rows(context), *_kept_probes(context)], done_of(context)
    cases = context.expanded.cases
    if probe:
        rows += _probes(context, rows, stop)
    probed = any(EPOCH_EXTRA in r for c in cases for r in alike(c, rows))
    of = _Basis(rows, done, context)
    planned = [of.planned(c) for c in cases]
    fitting = [p.case for p in planned if _fits(p.expected, context)]
    small = [of.planned(c) for c in smallest_design(fitting)]
    return Plan(
        planned=tuple(planned),
        smallest=tuple(small),
        automatic=len(context.expanded.automatic),
        basis=_basis(planned, probed=probed),
    )


def _basis(planned: Sequence[Planned], *, probed: bool) -> str | None:
    """Return a phrase for the basis of the times; None without forecasts."""
    forecasts = [p.expected for p in planned if p.expected]
    if not forecasts:
        return None
    shipped = {p.expected.shipped for p in planned if p.expected and p.expected.shipped}
    if shipped:
        system = min(filter(None, shipped), key=len)
        return Text("the shipped runs of this sweep on {system}, not measured here", system=system)
    basis = (
        "measured runs of this machine and probes of two steps"
        if probed
        else "measured runs of this machine"
    )
    rough = sum(not p.done and p.rough for p in planned)
    if not rough:
        return basis
    runs = "1 run" if rough == 1 else f"{rough} runs"
    return Text(
        "{basis}; for {runs} of unmeasured networks, the mean of this sweep so far, within a "
        "factor of {roughly:g}",
        basis=basis,
        runs=runs,
        roughly=ROUGHLY,
    )


def done_of(context: Context) -> Done:
    """Return the finished runs of the result set, by this command's settings."""
    return done_in(
        context.folder, memory_bytes=memory_end(context), retry_failed=context.retry_failed
    )


@dataclass(frozen=True, slots=True)
class _Basis:
    """Rows that the forecasts of a sweep are made from."""

    rows: Sequence[Row]
    done: Done
    context: Context

    def planned(self, case: Case) -> Planned:
        """Return a case with the best forecast there is."""
        system = self.context.system_of(case.device)
        tries = [row for rows in self.done.rows.values() for row in rows]
        others = [row for row in tries if row.get("system_name") == system]
        expected = forecast(case, self.rows, system) or as_the_others(others)
        return Planned(
            case=case,
            expected=expected or from_shipped(case, shipped_rows(case.sweep)),
            done=self.done.settled(case, self.context.spec.limits.attempts),
        )


def _fits(expected: Forecast | None, context: Context) -> bool:
    """Return whether a run is expected to fit; True if its memory is unknown."""
    memory = expected.memory_bytes if expected else None
    end = memory_end(context)
    return memory is None or end is None or memory <= end


def memory_end(context: Context) -> float | None:
    """Return the memory limit [bytes]: the requested one, the card's, or the process's share."""
    if context.memory_bytes:
        return float(context.memory_bytes)
    if context.host.accelerators is not None:
        return None  # each node has its own
    if context.host.device != "cpu":
        return context.facts.get("accelerator_memory_bytes")
    return context.spec.limits.memory_share * facts.memory_limit_bytes()


def _kept_probes(context: Context) -> list[Row]:
    return [as_probe(row) for row in summaries(context.state / PROBES)]


def _probes(context: Context, rows: Sequence[Row], stop: Stop) -> list[Row]:
    """Return probes at the smallest and largest batch of every group without forecasts.

    They queue like a sweep: two measurements at once would disturb each other.
    """
    made: list[Row] = []
    turn, run = Turn(context.state), measurer(context, timeout_s=PROBE_S)
    try:
        for case in _without_forecast(context, rows):
            while not turn.take("probe"):
                if stop():
                    raise Stopped
                time.sleep(0.2)
            row = {**run(_probe(case), Hooks(stop=stop)), "result_set": PROBES}
            commit_runs(context.state / PROBES, [row], first_wins=True)
            made.append(as_probe(row))
    finally:
        turn.give_back()
    return made


def _without_forecast(context: Context, rows: Sequence[Row]) -> list[Case]:
    """Return the smallest and largest batch of each group without forecasts."""
    cases: list[Case] = []
    for group in groups(context.expanded.cases):
        if not all(forecast(c, rows, context.system_of(c.device)) for c in group):
            by_size = sorted(group, key=lambda c: c.batch)
            cases += {c.batch: c for c in (by_size[0], by_size[-1])}.values()
    return cases


def _probe(case: Case) -> Case:
    """Return a case of three epochs of two steps that times every step singly."""
    name = f"{case.sweep} probe"
    return replace(two_steps(case), epochs=3, timing="per step", sweep=name)


def two_steps(case: Case) -> Case:
    """Return the probe of a case: two epochs of two steps, or one step in a small data set."""
    data = DATASETS[case.dataset]
    most = 2 * case.batch if data.synthetic else min(2 * case.batch, data.train_samples)
    return replace(case, train_samples=most, epochs=2, repeat=0, validation=False)


# -- sums ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Totals of runs: hours with bounds, largest memory, energy, cost. None means unknown."""

    runs: int
    hours: float | None = None
    low_hours: float | None = None
    high_hours: float | None = None
    memory_bytes: float | None = None
    energy_kwh: float | None = None
    cost: float | None = None


def totals(
    context: Context, runs: Sequence[Planned], price_per_hour: float | None = None
) -> Totals:
    """Return the totals of these runs; times only if every run has a forecast."""
    forecasts = [p.expected for p in runs if p.expected]
    memory = max((t.memory_bytes for t in forecasts if t.memory_bytes), default=None)
    if any(p.rough and not (p.expected and p.expected.shipped) for p in runs):
        memory = None  # unknown for unmeasured networks
    if not runs or len(forecasts) < len(runs):
        return Totals(runs=len(runs), memory_bytes=memory, **({} if runs else {"hours": 0.0}))
    hours = sum(t.seconds for t in forecasts) / 3600
    energy = _energy_kwh(context, forecasts)
    return Totals(
        runs=len(runs), hours=hours, low_hours=sum(t.low_s for t in forecasts) / 3600,
        high_hours=sum(t.high_s for t in forecasts) / 3600, memory_bytes=memory, energy_kwh=energy,
        cost=_cost(context, hours, energy, price_per_hour),
    )  # fmt: skip


def _energy_kwh(context: Context, forecasts: Sequence[Forecast]) -> float | None:
    powers = [t.power_watts or context.spec.cost.power_watts for t in forecasts]
    pairs = [(t.seconds, p) for t, p in zip(forecasts, powers, strict=True) if p]
    return math.fsum(s * p for s, p in pairs) / 3.6e6 if len(pairs) == len(forecasts) else None


def _cost(
    context: Context, hours: float, energy_kwh: float | None, price_per_hour: float | None
) -> float | None:
    """Return the cost at the sweep's prices; None without prices or with an unknown part."""
    cost, hourly = context.spec.cost, _hourly(context, price_per_hour)
    if cost.price_per_kwh is None:
        return None if hourly is None else hourly * hours
    if energy_kwh is None:
        return None
    return (hourly or 0.0) * hours + cost.price_per_kwh * energy_kwh


def cost_per_hour(context: Context, price_per_hour: float | None) -> float | None:
    """Return the cost of an hour of measuring; None without prices or with an unknown power."""
    cost, hourly = context.spec.cost, _hourly(context, price_per_hour)
    if cost.price_per_kwh is None:
        return hourly
    rows = (r for r in own_rows(context) if r.get("system_name") == context.system_name)
    powers = [r["mean_power_watts"] for r in rows if r.get("mean_power_watts")]
    power = cost.power_watts or (math.fsum(powers) / len(powers) if powers else None)
    return None if power is None else (hourly or 0.0) + cost.price_per_kwh * power / 1000.0


def _hourly(context: Context, price_per_hour: float | None) -> float | None:
    return price_per_hour if price_per_hour is not None else context.spec.cost.price_per_hour


def as_json(context: Context, made: Plan, price_per_hour: float | None = None) -> dict[str, Any]:
    """Return the plan as the JSON object that the Measure page reads."""
    left = totals(context, made.left, price_per_hour)
    full = totals(context, made.planned, price_per_hour)
    small = totals(context, made.smallest, price_per_hour)
    return {
        "name": context.spec.name, "title": context.spec.title, "about": context.spec.about,
        "result_set": context.folder.name, "system": context.system_name,
        "planned": len(made.planned), "finished": len(made.planned) - len(made.left),
        "left": len(made.left), "automatic": made.automatic,
        "hours": left.hours, "hours_low": left.low_hours, "hours_high": left.high_hours,
        "hours_basis": made.basis, "rough": sum(p.rough for p in made.left),
        "priced": _hourly(context, price_per_hour) is not None
        or context.spec.cost.price_per_kwh is not None,
        "memory_bytes": left.memory_bytes,
        "energy_kwh": left.energy_kwh, "cost": left.cost, "currency": context.spec.cost.currency,
        "smallest": {"runs": small.runs, "hours": small.hours,
                     "batches": sorted({p.case.batch for p in made.smallest})},
        "full": {"runs": full.runs, "hours": full.hours},
        "runs": [_run(p) for p in made.planned], "problems": [],
    }  # fmt: skip


def _run(p: Planned) -> dict[str, Any]:
    return {
        "case_id": p.case.case_id, "words": p.case.words, "workload": p.case.workload,
        "batch": p.case.batch, "backend": p.case.backend, "engine": p.case.engine,
        "seconds": p.expected.seconds if p.expected else None,
        "memory_bytes": p.expected.memory_bytes if p.expected else None, "done": p.done,
    }  # fmt: skip
