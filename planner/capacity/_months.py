"""A fleet with a month of jobs, simulated: columns are months of the plan times scenarios.

A scenario is one draw of everything uncertain (times, prices), the same in all of its months; so
the cost of a plan has an interval. Scenarios are chosen among the draws of `planner.cost` at equal
steps of the total work, so that few of them cover its distribution.

Each column starts empty some time before its month. Hours of a run count in the month it arrives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from planner.capacity._queue import (
    NO_RUNS,
    NONE,
    Flags,
    Ints,
    JobWork,
    Load,
    Served,
    Yard,
    arrivals,
    serve,
)
from planner.capacity._records import STANDING, Machine, MonthlyJob, Stock
from planner.core import HOUR_S, Estimate, Floats, Refusal
from planner.cost import (
    HOURS_PER_MONTH,
    busy_energy_per_hour,
    idle_energy_per_hour,
    likely,
    lost_share,
)

ENDLESS_USD: Final = 1e18
SEED: Final = 1
COLUMNS: Final = 1000
"""Simulated months at least."""
SCENARIOS: Final = 28
"""Draws of times and prices at least: the 5 % and 95 % points of fewer are one draw each."""
MOST_RUNS: Final = 400.0
"""Mean runs of a column; of a month with more runs a part is simulated."""
WARM_UPS: Final = 8.0
"""Longest durations before the counted month starts."""
FILLED: Final = 1.5
"""Most runs before the counted ones, in counted runs, to fill a queue."""
MOST_OF_BLOCK: Final = 8
"""Machines of a block: more of one kind are several blocks."""
LEAST_WARM_UP_H: Final = 50.0
MOST_WARM_UP_H: Final = 1460.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTime:
    """A job on a kind of machine.

    work_s: draws of the undisturbed duration, shape (draws,) [s]; None where refused.
    time: as Compare hardware gives it, with the start of a rented machine [s].
    accelerators: that a run uses there.
    measure_next: the measurement that narrows it; "" without one.
    standing: "unofficial" where the time rests on unofficial runs.
    """

    time: Estimate | Refusal
    work_s: Floats | None = None
    accelerators: int = 1
    measure_next: str = ""
    standing: str | None = None


Times = Mapping[tuple[str, str], RunTime]
"""By name of the job and id of the machine."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Everything a simulation needs, apart from the fleet.

    machines: kinds, in a fixed order; `times` are by their ids.
    months: of the plan.
    variation: standard deviation of ln of a run's own duration.
    only: months that are simulated, from 0; all of them where empty.
    most_runs: mean runs of a simulated month; of a busier one a part is simulated.
    columns, least_scenarios: simulated months, and draws of everything uncertain, at least.
    """

    jobs: tuple[MonthlyJob, ...]
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
    def arrived(self) -> dict[float, _Arrived]:
        """Runs that were drawn, by the factor of all runs."""
        return {}

    @cached_property
    def ranked(self) -> dict[tuple[tuple[int, ...], float], list[tuple[str, ...]]]:
        """Sets of rentals that were ranked, by their kinds and the probability."""
        return {}

    @cached_property
    def programs(self) -> dict[tuple[object, ...], tuple[Stock, ...]]:
        """Standing machines of solved programs, by their limits."""
        return {}

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
    def usual_hours(self) -> Floats:
        """Median wall hours, shape (kinds, jobs); infinite where it may not run."""
        return np.asarray(np.median(self.hours, axis=-1))

    @cached_property
    def usual_runs(self) -> Floats:
        """Mean runs of each job over the simulated months, shape (jobs,)."""
        return np.asarray(self.runs.mean(axis=1))

    @cached_property
    def runs(self) -> Floats:
        """Mean runs of each job in each simulated month, shape (jobs, months)."""
        grown = [j.runs_a_month * (1.0 + j.growth) ** self.at for j in self.jobs]
        return np.array(grown).reshape(len(self.jobs), len(self.at))

    @cached_property
    def run_costs(self) -> Floats:
        """Usual cost of one more run, shape (kinds, jobs) [USD]."""
        every = [run_cost(self, k) for k in range(len(self.machines))]
        return np.array(every).reshape(len(self.machines), len(self.jobs))

    @cached_property
    def rank(self) -> Floats:
        """Place of each kind in the order of a run's own cost, shape (kinds, jobs)."""
        order = np.argsort(self.run_costs, axis=0, kind="stable")
        return np.asarray(np.argsort(order, axis=0), dtype=np.float64)

    @cached_property
    def needs(self) -> Ints:
        """Accelerators of a run, shape (kinds, jobs)."""
        return np.array(
            [[_need(self.times.get((j.name, m.id)), m) for j in self.jobs] for m in self.machines],
            dtype=np.intp,
        ).reshape(len(self.machines), len(self.jobs))


def wall_hours(job: MonthlyJob, machine: Machine, time: RunTime | None, draws: Ints) -> Floats:
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

    case: Simulation
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

    @cached_property
    def with_machine(self) -> Ints:
        """Places of counted runs with a machine, in flattened arrays of runs and columns."""
        return np.flatnonzero(self.counted & (self.served.machine != NONE))

    def by_job_and_month(self, what: Flags | None = None) -> Floats:
        """Return how many counted runs there are, or such runs, shape (jobs, months, scenarios)."""
        at, place = self._of_jobs
        return self._sum(None if what is None else what.take(at), place, len(self.case.jobs))

    def by_stock_and_month(self, what: Floats | None = None) -> Floats:
        """Return the sum over `with_machine`, or their number, shape (stocks, months, scenarios).

        `what` is of these runs.
        """
        return self._sum(what, self._of_stocks, len(self.stocks))

    def by_job_and_stock(self, what: Floats | None = None) -> Floats:
        """Return the same sum over all columns, shape (jobs, stocks, months)."""
        jobs, stocks, months = len(self.case.jobs), len(self.stocks), len(self.case.at)
        at = self.with_machine
        stock = self.stock[self.served.machine.take(at)]
        key = (self.load.job.take(at) * stocks + stock) * months
        month = self.month[at % self.load.job.shape[1]]
        total = np.bincount(key + month, weights=what, minlength=jobs * stocks * months)
        return np.asarray(total.reshape(jobs, stocks, months), dtype=np.float64)

    @cached_property
    def _of_jobs(self) -> tuple[Ints, Ints]:
        """Places of counted runs, and the number of job, month and scenario of each."""
        at = np.flatnonzero(self.counted)
        return at, self._grouped(self.load.job.take(at), at)

    @cached_property
    def _of_stocks(self) -> Ints:
        """The number of stock, month and scenario of each counted run with a machine."""
        at = self.with_machine
        return self._grouped(self.stock[self.served.machine.take(at)], at)

    def _grouped(self, group: Ints, at: Ints) -> Ints:
        columns = self.load.job.shape[1]
        return np.asarray(group * columns + at % columns)

    def _sum(self, what: Floats | Flags | None, place: Ints, groups: int) -> Floats:
        total = np.bincount(place, weights=what, minlength=groups * self.load.job.shape[1])
        shape = (groups, len(self.case.at), self.case.scenarios)
        return np.asarray(total.reshape(shape), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class _Arrived:
    """Runs of all columns of a case, with the counted hours and those before them."""

    load: Load
    window: Floats
    warm_up: Floats


def _arrived(case: Simulation, factor: float) -> _Arrived:
    """Return the runs of a case, drawn once for all fleets; `factor` is of all runs."""
    if factor not in case.arrived:
        runs = np.repeat(case.runs, case.scenarios, axis=1) * factor
        window, warm_up = _window(case, runs)
        length = window + warm_up
        load = arrivals(runs * length / HOURS_PER_MONTH, length, case.seed, case.variation)
        case.arrived[factor] = _Arrived(load=load, window=window, warm_up=warm_up)
    return case.arrived[factor]


def part_of(case: Simulation, months: Ints) -> Simulation:
    """Return some simulated months of a case, with the runs that the whole case has in them.

    Months are independent: what becomes of a run is the same in the part and in the whole.
    """
    part = replace(case, only=tuple(int(m) for m in case.at[months]), columns=1,
                   least_scenarios=case.scenarios)  # fmt: skip
    whole = _arrived(case, 1.0)
    columns = (months[:, None] * case.scenarios + np.arange(case.scenarios)).ravel()
    job = whole.load.job[:, columns]
    runs = max(int((job != NONE).any(axis=1).sum()), 1)
    part.arrived[1.0] = _Arrived(
        load=Load(
            arrival_h=whole.load.arrival_h[:runs, columns], job=job[:runs],
            scatter=whole.load.scatter[:runs, columns], luck=whole.load.luck[:runs, columns],
        ),
        window=whole.window[columns], warm_up=whole.warm_up[columns],
    )  # fmt: skip
    return part


def simulate(case: Simulation, stocks: Sequence[Stock], factor: float = 1.0) -> Simulated:
    """Return the simulated months of a fleet.

    Args:
        case: jobs, machines, times and months.
        stocks: the fleet, by id of the machines; empty ones are left out.
        factor: of all runs.
    """
    return simulate_all(case, [(stocks, factor)])[0]


def simulate_all(
    case: Simulation, fleets: Sequence[tuple[Sequence[Stock], float]]
) -> list[Simulated]:
    """Return the simulated months of several fleets with their factors of all runs.

    They have the same runs and the same draws, and are simulated together, the columns of one
    beside those of the next.
    """
    index = {m.id: k for k, m in enumerate(case.machines)}
    blocks = [_blocks_of(case, index, stocks) for stocks, _ in fleets]
    arrived = {factor: _arrived(case, factor) for _, factor in fleets}
    size = max((len(b.stock) for of_fleet in blocks for b in of_fleet), default=0)
    shape = (len(fleets), size, max(map(len, blocks)))
    some = next(
        (b.kind for of_fleet in blocks for b in of_fleet), 0
    )  # of blocks that are not there
    kind, stock = np.full(shape, some), np.full(shape, NONE)
    begins = np.full(shape, case.months + 1)
    for n, of_fleet in enumerate(blocks):
        for place, block in enumerate(of_fleet):
            machines = slice(len(block.stock))
            kind[n, :, place] = block.kind
            stock[n, machines, place] = block.stock
            begins[n, machines, place] = block.begins
    load = arrived[fleets[0][1]].load
    if len(arrived) > 1:
        load = _beside([arrived[factor].load for _, factor in fleets])
    served = _served(case, kind, begins, load)
    columns = len(case.at) * case.scenarios
    simulated = []
    for n, (stocks, factor) in enumerate(fleets):
        of = arrived[factor]
        runs, part = len(of.load.job), slice(n * columns, (n + 1) * columns)
        here = Served(
            wait_h=served.wait_h[:runs, part], hours=served.hours[:runs, part],
            used_h=served.used_h[:runs, part], machine=served.machine[:runs, part],
            late=served.late[:runs, part],
        )  # fmt: skip
        simulated.append(Simulated(
            case=case, stocks=tuple(s for s in stocks if s.count > 0), load=of.load, served=here,
            counted=of.load.real & (of.load.arrival_h >= of.warm_up),
            kind=kind[n].ravel(), stock=stock[n].ravel(),
            scale=(HOURS_PER_MONTH / of.window).reshape(len(case.at), case.scenarios), index=index,
        ))  # fmt: skip
    return simulated


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Machines of one kind in a fleet: number of the kind, place in the stocks, first month."""

    kind: int
    stock: Ints
    begins: Ints


def _blocks_of(case: Simulation, index: Mapping[str, int], stocks: Sequence[Stock]) -> list[_Block]:
    """Return the machines of a fleet in blocks, the largest number first."""
    kept = [s for s in stocks if s.count > 0]
    names = dict.fromkeys(s.machine for s in kept)
    blocks = []
    for name in names:
        here = [(n, s) for n, s in enumerate(kept) if s.machine == name]
        numbers = np.concatenate([np.full(s.count, n, dtype=np.intp) for n, s in here])
        begins = np.concatenate([np.full(s.count, s.from_month, dtype=np.intp) for _, s in here])
        blocks += [
            _Block(kind=index[name], stock=numbers[n : n + MOST_OF_BLOCK],
                   begins=begins[n : n + MOST_OF_BLOCK])
            for n in range(0, len(numbers), MOST_OF_BLOCK)
        ]  # fmt: skip
    return sorted(blocks, key=lambda b: (-len(b.stock), case.machines[b.kind].term in STANDING))


def _beside(loads: Sequence[Load]) -> Load:
    """Return loads as columns side by side, shorter ones padded."""
    runs = max(len(load.job) for load in loads)

    def joined(parts: Sequence[Floats | Ints], fill: float) -> Floats:
        padded = [np.pad(p, ((0, runs - len(p)), (0, 0)), constant_values=fill) for p in parts]
        return np.hstack(padded)

    return Load(
        arrival_h=joined([x.arrival_h for x in loads], np.inf),
        job=joined([x.job for x in loads], NONE).astype(np.intp),
        scatter=joined([x.scatter for x in loads], 1.0),
        luck=joined([x.luck for x in loads], 0.5),
    )


def _served(case: Simulation, kind: Ints, begins: Ints, load: Load) -> Served:
    """Return what became of every run, for fleets side by side.

    Args:
        case: jobs, machines and times.
        kind: number of the kind of each machine, shape (fleets, machines of a block, blocks).
        begins: first month of each machine, in the same shape.
        load: runs of all columns, or of those of one fleet.
    """
    month = np.repeat(case.at, case.scenarios)
    opens = np.where(month[:, None, None, None] >= begins - 1, 0.0, np.inf)  # columns first
    opens = opens.transpose(2, 3, 1, 0).reshape(*kind.shape[1:], len(month) * len(kind))
    used, of_used = np.unique(kind[:, :1].reshape(len(kind), -1), return_inverse=True)
    slots, need = _slots(case, used)
    often = [m.rental.interruptions_per_hour if m.rental else 0.0 for m in case.machines]
    work = JobWork(
        plan_h=case.hours[used], slots=slots, need=need[used], rank=case.rank[used],
        within_h=np.array([np.inf if j.within_h is None else j.within_h for j in case.jobs]),
        starts_h=_of_rental(case, "startup_s")[used],
        interruptions_per_hour=np.array([float(likely(o)) for o in often])[used],
        lost_h=(_of_rental(case, "lost_work_s") + _of_rental(case, "restart_s"))[used],
    )  # fmt: skip
    yard = Yard(kind=of_used.reshape(len(kind), -1).T, opens_h=np.ascontiguousarray(opens))
    return serve(load, yard, work)


def _window(case: Simulation, runs: Floats) -> tuple[Floats, Floats]:
    """Return hours of each column that are counted, and hours before them.

    Both are shortened in months with more than `most_runs` runs; the hours before to no less than
    the longest of the jobs' shortest durations, and the time in which a queue of the longest
    deadline fills, if that has no more than `FILLED` times the counted runs.
    """
    fastest = case.hours.min(axis=0, initial=np.inf)
    longest = np.where(np.isfinite(fastest), fastest, 0.0).max(axis=0, initial=0.0)
    longest = np.tile(longest, len(case.at))
    total = runs.sum(axis=0)
    most = np.divide(case.most_runs, total, out=np.full(len(total), np.inf), where=total > NO_RUNS)
    counted = HOURS_PER_MONTH * np.minimum(1.0, most)
    fills = np.minimum(max((j.within_h or 0.0 for j in case.jobs), default=0.0), FILLED * counted)
    warm_up = np.clip(WARM_UPS * longest, LEAST_WARM_UP_H, MOST_WARM_UP_H)
    warm_up = np.minimum(warm_up, np.maximum(HOURS_PER_MONTH * most, np.maximum(longest, fills)))
    return np.asarray(counted), warm_up


def _slots(case: Simulation, kind: Ints) -> tuple[Ints, Ints]:
    """Return slots of each machine, and slots that each job needs.

    A slot is the largest part that all runs are multiples of.
    """
    sizes = np.array([m.accelerators for m in case.machines], dtype=np.intp)
    used = np.unique(np.concatenate([case.needs.ravel(), sizes[kind]])) if kind.size else sizes
    size = math.gcd(*(int(u) for u in used)) if used.size else 1
    if (case.needs == sizes[:, None]).all():
        return np.ones(len(kind), dtype=np.intp), np.ones_like(case.needs)
    return sizes[kind] // size, -(-case.needs // size)


def run_cost(case: Simulation, kind: int) -> Floats:
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
    able = np.isfinite(hours)
    return np.where(able, hour * part * np.where(able, hours, 0.0) + around, ENDLESS_USD)


def _of_rental(case: Simulation, name: str) -> Floats:
    """Return a duration of each kind's rental [h]; 0 for own machines."""
    return np.array(
        [float(likely(getattr(m.rental, name))) / HOUR_S if m.rental else 0.0
         for m in case.machines]
    )  # fmt: skip
