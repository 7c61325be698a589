"""Plan of a sweep: runs, hours, memory, energy, cost, and the smallest sufficient design."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.runs import Row
from planner.store.disk.sweeps import Turn
from planner.store.sealed.commit import commit_runs
from planner.store.summaries import summaries
from runners.machine import facts
from runners.plan import design
from runners.plan.cases import Case
from runners.process.supervise import Stopped
from runners.sweep.context import Context, measurer, own_rows, shipped_rows
from runners.sweep.forecast import (
    EPOCH_EXTRA,
    ROUGHLY,
    Forecast,
    alike,
    as_probe,
    as_the_others,
    forecast,
    from_shipped,
)
from runners.sweep.measure import Hooks
from runners.sweep.sweep import Done, done_in
from runners.workloads import DATASETS

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
    small = [of.planned(c) for c in design.smallest(fitting)]
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
        return f"the shipped runs of this sweep on {system}, not measured here"
    basis = "measured runs of this machine" + (" and probes of two steps" if probed else "")
    rough = sum(not p.done and p.rough for p in planned)
    if not rough:
        return basis
    runs = "1 run" if rough == 1 else f"{rough} runs"
    return (
        f"{basis}; for {runs} of unmeasured networks, the mean of this sweep so far, within a "
        f"factor of {ROUGHLY:g}"
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
    for group in design.groups(context.expanded.cases):
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
