"""What a sweep would take: runs, hours, memory, energy, money, and the smallest that answers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.runs import Row
from planner.store.disk.queue import Turn
from planner.store.sealed.commit import commit_runs
from planner.store.summaries import summaries
from runners.machine import facts
from runners.plan import design
from runners.plan.cases import Case
from runners.process.supervise import Stopped
from runners.sweep.context import Context, known_rows, measurer
from runners.sweep.forecast import (
    EPOCH_EXTRA,
    ROUGHLY,
    Forecast,
    alike,
    as_probe,
    as_the_others,
    forecast,
)
from runners.sweep.measure import Hooks
from runners.sweep.sweep import Done, done_in
from runners.workloads import DATASETS

Stop = Callable[[], bool]
PROBES: Final = "probes"
"""The folder of the state where probes are kept, sealed like any run."""
PROBE_S: Final = 180.0
"""Most time a probe of two steps may take [s]; a longer one tells enough by not ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One case of the plan, what it would take, and whether it is there already."""

    case: Case
    expected: Forecast | None
    done: bool

    @property
    def rough(self) -> bool:
        """Whether only runs of other networks of its sweep tell its time."""
        return self.expected is not None and not self.expected.alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A sweep before it runs. Sums are over what is still to be measured; None is not known."""

    planned: tuple[Planned, ...]
    smallest: tuple[Planned, ...]
    automatic: int
    """Groups whose batch sizes a search will find first."""
    basis: str | None

    @property
    def left(self) -> tuple[Planned, ...]:
        """What is not measured yet."""
        return tuple(p for p in self.planned if not p.done)


def plan(known: Context, *, probe: bool = False, stop: Stop = lambda: False) -> Plan:
    """Forecast every case from the rows that are there; with `probe`, make those that are not.

    Probes are kept in the state folder: they tell times, and are no results.
    """
    rows, done = [*known_rows(known), *_kept_probes(known)], done_of(known)
    cases = known.expanded.cases
    if probe:
        rows += _probes(known, rows, stop)
    probed = any(EPOCH_EXTRA in r for c in cases for r in alike(c, rows))
    planned = [_planned(c, known, rows, done) for c in cases]
    fitting = [p.case for p in planned if _fits(p.expected, known)]
    small = [_planned(c, known, rows, done) for c in design.smallest(fitting)]
    return Plan(
        planned=tuple(planned),
        smallest=tuple(small),
        automatic=len(known.expanded.automatic),
        basis=_basis(planned, probed=probed),
    )


def _basis(planned: Sequence[Planned], *, probed: bool) -> str | None:
    """What the times are predicted from; None where there are none."""
    told = [p.expected for p in planned if p.expected]
    if not told:
        return None
    basis = "measured runs of this machine" + (" and probes of two steps" if probed else "")
    rough = sum(not p.done and p.rough for p in planned)
    if not rough:
        return basis
    runs = "1 run" if rough == 1 else f"{rough} runs"
    return (
        f"{basis}; {runs} of networks that are not measured yet as long as those of this sweep so "
        f"far, within a factor of {ROUGHLY:g}"
    )


def done_of(known: Context) -> Done:
    """What the result set holds already, by what counts as done for this command."""
    return done_in(known.folder, memory_bytes=memory_end(known), retry_failed=known.retry_failed)


def _planned(case: Case, known: Context, rows: Sequence[Row], done: Done) -> Planned:
    system = known.system_of(case.device)
    others = (r for tries in done.rows.values() for r in tries if r.get("system_name") == system)
    return Planned(
        case=case,
        expected=forecast(case, rows, system) or as_the_others(others),
        done=done.settled(case, known.spec.limits.attempts),
    )


def _fits(expected: Forecast | None, known: Context) -> bool:
    """Whether a run would fit, as far as anybody knows."""
    memory = expected.memory_bytes if expected else None
    end = memory_end(known)
    return memory is None or end is None or memory <= end


def memory_end(known: Context) -> float | None:
    """Where memory ends [bytes]: as asked, the card's, or this process's limit on a host."""
    if known.memory_bytes:
        return float(known.memory_bytes)
    if known.host.device != "cpu":
        return known.facts.get("accelerator_memory_bytes")
    return known.spec.limits.memory_share * facts.memory_limit_bytes()


def _kept_probes(known: Context) -> list[Row]:
    return [as_probe(row) for row in summaries(known.state / PROBES)]


def _probes(known: Context, rows: Sequence[Row], stop: Stop) -> list[Row]:
    """Probes at the smallest and the largest batch of every group nothing tells of.

    They wait for their turn like a sweep: two measurements at once would tell of each other.
    """
    made: list[Row] = []
    turn, run = Turn(known.state), measurer(known, timeout_s=PROBE_S)
    try:
        for case in _unknown(known, rows):
            while not turn.take("probe"):
                if stop():
                    raise Stopped
                time.sleep(0.2)
            row = {**run(_probe(case), Hooks(stop=stop)), "result_set": PROBES}
            commit_runs(known.state / PROBES, [row], first_wins=True)
            made.append(as_probe(row))
    finally:
        turn.give_back()
    return made


def _unknown(known: Context, rows: Sequence[Row]) -> list[Case]:
    """Smallest and largest batch of each group without forecasts."""
    found: list[Case] = []
    for group in design.groups(known.expanded.cases):
        if not all(forecast(c, rows, known.system_of(c.device)) for c in group):
            by_size = sorted(group, key=lambda c: c.batch)
            found += {c.batch: c for c in (by_size[0], by_size[-1])}.values()
    return found


def _probe(case: Case) -> Case:
    """Three epochs of two steps, each step waited for: its time alone, without an epoch's."""
    name = f"{case.sweep} probe"
    return replace(two_steps(case), epochs=3, timing="per step", sweep=name)


def two_steps(case: Case) -> Case:
    """The probe of a case: two epochs of two steps each (one, where the data set holds no more)."""
    data = DATASETS[case.dataset]
    most = 2 * case.batch if data.synthetic else min(2 * case.batch, data.train_samples)
    return replace(case, train_samples=most, epochs=2, repeat=0, validation=False)


# -- sums ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over runs: hours with bounds, largest memory, energy, money. None is not known."""

    runs: int
    hours: float | None = None
    low_hours: float | None = None
    high_hours: float | None = None
    memory_bytes: float | None = None
    energy_kwh: float | None = None
    cost: float | None = None


def totals(known: Context, runs: Sequence[Planned], price_per_hour: float | None = None) -> Totals:
    """What these runs take together; times only where every run has a forecast."""
    told = [p.expected for p in runs if p.expected]
    memory = max((t.memory_bytes for t in told if t.memory_bytes), default=None)
    if any(p.rough for p in runs):
        memory = None  # of networks that were not measured it is not known
    if not runs or len(told) < len(runs):
        return Totals(runs=len(runs), memory_bytes=memory, **({} if runs else {"hours": 0.0}))
    hours = sum(t.seconds for t in told) / 3600
    energy = _energy_kwh(known, told)
    return Totals(
        runs=len(runs), hours=hours, low_hours=sum(t.low_s for t in told) / 3600,
        high_hours=sum(t.high_s for t in told) / 3600, memory_bytes=memory, energy_kwh=energy,
        cost=_cost(known, hours, energy, price_per_hour),
    )  # fmt: skip


def _energy_kwh(known: Context, told: Sequence[Forecast]) -> float | None:
    powers = [t.power_watts or known.spec.cost.power_watts for t in told]
    pairs = [(t.seconds, p) for t, p in zip(told, powers, strict=True) if p]
    return math.fsum(s * p for s, p in pairs) / 3.6e6 if len(pairs) == len(told) else None


def _cost(
    known: Context, hours: float, energy_kwh: float | None, price_per_hour: float | None
) -> float | None:
    """Hours and energy at the sweep's prices; None where none was said, or a part is not known."""
    cost, hourly = known.spec.cost, _hourly(known, price_per_hour)
    if cost.price_per_kwh is None:
        return None if hourly is None else hourly * hours
    if energy_kwh is None:
        return None
    return (hourly or 0.0) * hours + cost.price_per_kwh * energy_kwh


def _hourly(known: Context, price_per_hour: float | None) -> float | None:
    return price_per_hour if price_per_hour is not None else known.spec.cost.price_per_hour


def as_json(known: Context, made: Plan, price_per_hour: float | None = None) -> dict[str, Any]:
    """The plan as one JSON object, as the Measure page reads it."""
    left = totals(known, made.left, price_per_hour)
    full = totals(known, made.planned, price_per_hour)
    small = totals(known, made.smallest, price_per_hour)
    return {
        "name": known.spec.name, "title": known.spec.title, "about": known.spec.about,
        "result_set": known.folder.name, "system": known.system_name,
        "planned": len(made.planned), "finished": len(made.planned) - len(made.left),
        "left": len(made.left), "automatic": made.automatic,
        "hours": left.hours, "hours_low": left.low_hours, "hours_high": left.high_hours,
        "hours_basis": made.basis, "rough": sum(p.rough for p in made.left),
        "priced": _hourly(known, price_per_hour) is not None
        or known.spec.cost.price_per_kwh is not None,
        "memory_bytes": left.memory_bytes,
        "energy_kwh": left.energy_kwh, "cost": left.cost, "currency": known.spec.cost.currency,
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
