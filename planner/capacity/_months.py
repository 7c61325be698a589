"""A fleet with a month of jobs, simulated: columns are months of the plan times scenarios.

A scenario is one draw of everything uncertain (times, prices), the same in all of its months; so
the cost of a plan has an interval. Scenarios are chosen among the draws of `planner.cost` at equal
steps of the total work, so that few of them cover its distribution.

Each column starts empty some time before its month. Hours of a run count in the month it arrives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from planner.capacity._queue import NONE, Flags, Ints, Load, Served, Work, Yard, arrivals, serve
from planner.capacity.records import STANDING, Job, Machine, Stock
from planner.core import Estimate, Floats, Refusal
from planner.cost import (
    HOURS_PER_MONTH,
    busy_energy_per_hour,
    idle_energy_per_hour,
    likely,
    lost_share,
)

HOUR_S: Final = 3600.0
ENDLESS_USD: Final = 1e18
SEED: Final = 1
COLUMNS: Final = 1000
"""Simulated months at least."""
SCENARIOS: Final = 28
"""Draws of times and prices at least: the 5 % and 95 % points of fewer are one draw each."""
MOST_RUNS: Final = 700.0
"""Mean runs of a column; of a month with more runs a part is simulated."""
WARM_UPS: Final = 8.0
"""Longest durations before the counted month starts."""
LEAST_WARM_UP_H: Final = 50.0
MOST_WARM_UP_H: Final = 1460.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTime:
    """A job on a kind of machine.

    work_s: draws of the undisturbed duration, shape (draws,) [s]; None where refused.
    time: as Compare hardware gives it, with the start of a rented machine [s].
    accelerators: that a run uses there.
    measure_next: the measurement that narrows it; "" without one.
    """

    time: Estimate | Refusal
    work_s: Floats | None = None
    accelerators: int = 1
    measure_next: str = ""


Times = Mapping[tuple[str, str], RunTime]
"""By name of the job and id of the machine."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything a simulation needs, apart from the fleet.

    machines: kinds, in a fixed order; `times` are by their ids.
    months: of the plan.
    variation: standard deviation of ln of a run's own duration.
    only: months that are simulated, from 0; all of them where empty.
    most_runs: mean runs of a simulated month; of a busier one a part is simulated.
    columns, least_scenarios: simulated months, and draws of everything uncertain, at least.
    """

    jobs: tuple[Job, ...]
    machines: tuple[Machine, ...]
    times: Times
    months: int
    variation: float = 0.0
    seed: int = SEED
    columns: int = COLUMNS
    least_scenarios: int = SCENARIOS
    only: tuple[int, ...] = ()
    most_runs: float = MOST_RUNS

    @cached_property
    def at(self) -> Ints:
        """Simulated months, from 0."""
        return np.array(self.only or range(self.months), dtype=np.intp)

    @cached_property
    def scenarios(self) -> int:
        """Number of scenarios: at least `SCENARIOS`, and enough for all columns."""
        return max(math.ceil(self.columns / len(self.at)), self.least_scenarios)

    @cached_property
    def draws(self) -> Ints:
        """Numbers of the chosen draws, shape (scenarios,)."""
        every = [t.work_s for t in self.times.values() if t.work_s is not None]
        if not every:
            return np.zeros(self.scenarios, dtype=np.intp)
        runs = {j.name: j.runs_a_month for j in self.jobs}
        work = np.zeros(len(every[0]))
        for (job, _), time in self.times.items():
            if time.work_s is not None:
                work += runs[job] * time.work_s / np.median(time.work_s)
        order = np.argsort(work, kind="stable")
        places = (np.arange(self.scenarios) + 0.5) / self.scenarios * len(order)
        return np.asarray(order[places.astype(np.intp)])

    @cached_property
    def hours(self) -> Floats:
        """Expected wall hours, shape (kinds, jobs, scenarios); infinite where it may not run."""
        table = np.full((len(self.machines), len(self.jobs), self.scenarios), np.inf)
        for k, machine in enumerate(self.machines):
            for j, job in enumerate(self.jobs):
                table[k, j] = wall_hours(job, machine, self.times.get((job.name, machine.id)),
                                         self.draws)  # fmt: skip
        return table

    @cached_property
    def runs(self) -> Floats:
        """Mean runs of each job in each simulated month, shape (jobs, months)."""
        grown = [j.runs_a_month * (1.0 + j.growth) ** self.at for j in self.jobs]
        return np.array(grown).reshape(len(self.jobs), len(self.at))

    @cached_property
    def needs(self) -> Ints:
        """Accelerators of a run, shape (kinds, jobs)."""
        return np.array(
            [[_need(self.times.get((j.name, m.id)), m) for j in self.jobs] for m in self.machines],
            dtype=np.intp,
        ).reshape(len(self.machines), len(self.jobs))


def wall_hours(job: Job, machine: Machine, time: RunTime | None, draws: Ints) -> Floats:
    """Return expected hours from start to end, shape (draws,); infinite where it may not run."""
    never = np.full(len(draws), np.inf)
    if time is None or time.work_s is None:
        return never
    work = time.work_s[draws] / HOUR_S
    if machine.rental is None:
        return np.asarray(work)
    if machine.term == "spot" and not job.interruptible:
        return never
    left = 1.0 - float(lost_share(machine.rental))
    if left <= 0.0:
        return never
    return np.asarray(work / left + float(likely(machine.rental.startup_s)) / HOUR_S)


def _need(time: RunTime | None, machine: Machine) -> int:
    return machine.accelerators if time is None else min(time.accelerators, machine.accelerators)


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """The simulated months of a fleet.

    Arrays over columns are months x scenarios, the month changing slowest. `counted` marks runs of
    the month itself; `scale` is the month over its simulated part, shape (months, scenarios).
    """

    case: Case
    stocks: tuple[Stock, ...]
    load: Load
    served: Served
    counted: Flags
    kind: Ints
    stock: Ints
    scale: Floats
    index: Mapping[str, int] = field(default_factory=dict)

    def machine(self, stock: Stock) -> Machine:
        """Return the kind of machine of a stock."""
        return self.case.machines[self.index[stock.machine]]

    @cached_property
    def month(self) -> Ints:
        """Month of each column, from 0."""
        return np.repeat(np.arange(len(self.case.at)), self.case.scenarios)

    def by_job_and_month(self, what: Floats | Flags) -> Floats:
        """Return the sum over counted runs, shape (jobs, months, scenarios)."""
        return self._sum(what, self.load.job, len(self.case.jobs))

    def by_stock_and_month(self, what: Floats | Flags) -> Floats:
        """Return the sum over counted runs with a machine, shape (stocks, months, scenarios)."""
        stock = np.where(self.served.machine == NONE, NONE, self.stock[self.served.machine])
        return self._sum(what, stock, len(self.stocks))

    def by_job_and_stock(self, what: Floats | Flags) -> Floats:
        """Return the sum over counted runs and columns, shape (jobs, stocks, months)."""
        jobs, stocks, months = len(self.case.jobs), len(self.stocks), len(self.case.at)
        there = self.counted & (self.served.machine != NONE)
        month = np.broadcast_to(self.month, there.shape)[there]
        key = (self.load.job[there] * stocks + self.stock[self.served.machine[there]]) * months
        total = np.bincount(key + month, weights=np.asarray(what, dtype=np.float64)[there],
                            minlength=jobs * stocks * months)  # fmt: skip
        return np.asarray(total.reshape(jobs, stocks, months))

    def _sum(self, what: Floats | Flags, group: Ints, groups: int) -> Floats:
        columns = len(self.case.at) * self.case.scenarios
        there = self.counted & (group != NONE)
        column = np.broadcast_to(np.arange(columns), there.shape)[there]
        total = np.bincount(group[there] * columns + column,
                            weights=np.asarray(what, dtype=np.float64)[there],
                            minlength=groups * columns)  # fmt: skip
        return np.asarray(total.reshape(groups, len(self.case.at), self.case.scenarios))


def simulate(case: Case, stocks: Sequence[Stock], factor: float = 1.0) -> Simulated:
    """Return the simulated months of a fleet.

    Args:
        case: jobs, machines, times and months.
        stocks: the fleet, by id of the machines; empty ones are left out.
        factor: of all runs.
    """
    index = {m.id: k for k, m in enumerate(case.machines)}
    stocks = tuple(s for s in stocks if s.count > 0)
    counts = [s.count for s in stocks]
    stock = np.repeat(np.arange(len(stocks)), counts)
    kind = np.repeat(np.array([index[s.machine] for s in stocks], dtype=np.intp), counts)
    months = len(case.at)
    hours = np.repeat(case.hours[:, :, None, :], months, axis=2)
    hours = hours.reshape(len(case.machines), len(case.jobs), months * case.scenarios)
    month = np.repeat(case.at, case.scenarios)
    from_month = np.repeat(np.array([s.from_month for s in stocks], dtype=np.intp), counts)
    opens = np.where(month >= from_month[:, None] - 1, 0.0, np.inf)
    runs = np.repeat(case.runs, case.scenarios, axis=1) * factor
    window, warm_up = _window(case, runs)
    length = window + warm_up
    load = arrivals(runs * length / HOURS_PER_MONTH, length, case.seed, case.variation)
    slots, need = _slots(case, kind)
    often = [m.rental.interruptions_per_hour if m.rental else 0.0 for m in case.machines]
    work = Work(
        plan_h=hours,
        need=need,
        rank=_rank(case),
        within_h=np.array([np.inf if j.within_h is None else j.within_h for j in case.jobs]),
        starts_h=_of_rental(case, "startup_s"),
        interruptions_per_hour=np.array([float(likely(o)) for o in often]),
        lost_h=_of_rental(case, "lost_work_s") + _of_rental(case, "restart_s"),
    )
    return Simulated(
        case=case,
        stocks=stocks,
        load=load,
        served=serve(load, Yard(kind=kind, slots=slots, opens_h=opens), work),
        counted=load.real & (load.arrival_h >= warm_up),
        kind=kind,
        stock=stock,
        scale=(HOURS_PER_MONTH / window).reshape(months, case.scenarios),
        index=index,
    )


def _window(case: Case, runs: Floats) -> tuple[Floats, Floats]:
    """Return hours of each column that are counted, and hours before them.

    Both are shortened in months with more than `most_runs` runs, the hours before to no less than
    the longest of the jobs' shortest durations.
    """
    fastest = case.hours.min(axis=0, initial=np.inf)
    longest = np.where(np.isfinite(fastest), fastest, 0.0).max(axis=0, initial=0.0)
    longest = np.tile(longest, len(case.at))
    total = runs.sum(axis=0)
    most = np.divide(case.most_runs, total, out=np.full(len(total), np.inf), where=total > 0.0)
    warm_up = np.clip(WARM_UPS * longest, LEAST_WARM_UP_H, MOST_WARM_UP_H)
    warm_up = np.minimum(warm_up, np.maximum(HOURS_PER_MONTH * most, longest))
    return np.asarray(HOURS_PER_MONTH * np.minimum(1.0, most)), warm_up


def _slots(case: Case, kind: Ints) -> tuple[Ints, Ints]:
    """Return slots of each machine, and slots that each job needs.

    A slot is the largest part that all runs are multiples of.
    """
    sizes = np.array([m.accelerators for m in case.machines], dtype=np.intp)
    used = np.unique(np.concatenate([case.needs.ravel(), sizes[kind]])) if kind.size else sizes
    size = math.gcd(*(int(u) for u in used)) if used.size else 1
    if (case.needs == sizes[:, None]).all():
        return np.ones(len(kind), dtype=np.intp), np.ones_like(case.needs)
    return sizes[kind] // size, -(-case.needs // size)


def _rank(case: Case) -> Floats:
    """Return the place of each kind in the order of a run's own cost, shape (kinds, jobs)."""
    each = np.array([run_cost(case, k) for k in range(len(case.machines))])
    return np.asarray(np.argsort(np.argsort(each, axis=0, kind="stable"), axis=0), dtype=np.float64)


def run_cost(case: Case, kind: int) -> Floats:
    """Return the usual cost of one more run of each job on a machine, shape (jobs,) [USD].

    Of standing machines it is the electricity of work above that of waiting. Where a run shares a
    rented machine it counts its part of the price.
    """
    machine = case.machines[kind]
    hours = np.median(case.hours[kind], axis=-1)
    part = case.needs[kind] / machine.accelerators
    if machine.owned is not None:
        hour = float(busy_energy_per_hour(machine.owned) - idle_energy_per_hour(machine.owned))
    elif machine.rental is not None and machine.term not in STANDING:
        hour = float(likely(machine.rental.price_per_hour))
    else:
        hour = 0.0
    around = 0.0
    if machine.rental is not None:
        around = float(likely(machine.rental.setup_usd) + likely(machine.rental.egress_usd))
    return np.where(np.isfinite(hours), hour * part * hours + around, ENDLESS_USD)


def _of_rental(case: Case, name: str) -> Floats:
    """Return a duration of each kind's rental [h]; 0 for own machines."""
    return np.array(
        [float(likely(getattr(m.rental, name))) / HOUR_S if m.rental else 0.0
         for m in case.machines]
    )  # fmt: skip
