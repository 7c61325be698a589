"""The cheapest fleet that keeps every deadline: a mixed-integer program, then simulation.

Program, with runs x[j, k, p] a month of job j on kind k in period p, and b[k, p] machines of a
standing kind k that are added at the start of p:

    minimise    sum_p months[p] * sum_jk x[j, k, p]*run_cost[j, k] + sum_kp b[k, p]*held_cost[k, p]
    such that   sum_k x[j, k, p] = runs[j, p]                               every run somewhere
                sum_j x[j, k, p]*hours[j, k]*part[j, k] <= 730*u*(there[k] + sum_{q<=p} b[k, q])
                sum_kp b[k, p]*price[k] <= purchases
                x[j, k, p] = 0 where a run on k alone is in time less often than required

solved by `scipy.optimize.milp`. `u` (`LOADED`) leaves room for the queue, which the program does
not see. A fleet that is late first gets quicker rentals. Then every fleet that differs by one
machine is simulated, on a few months with few scenarios; the cheapest that keeps the deadlines
counts, until none is cheaper. The chosen fleet is simulated in full, and enlarged until it keeps
them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.capacity._judge import late_shares
from planner.capacity._months import ENDLESS_USD, Case, run_cost, simulate
from planner.capacity._queue import Flags
from planner.capacity._spend import MONTHS_PER_YEAR, monthly_capital, months_paid, spend
from planner.capacity.records import STANDING, Fleet, Horizon, Machine, Stock, Term
from planner.core import Floats
from planner.cost import HOURS_PER_MONTH, capex, idle_energy_per_hour, likely

LOADED: Final = 0.85
"""Largest planned utilisation of a machine, before simulation."""
PERIOD: Final = 6
"""Months between two dates at which machines may be added."""
FEW_SCENARIOS: Final = 8
"""Scenarios of a fleet that is only compared with others."""
MOST_ROUNDS: Final = 6
FEW_RUNS: Final = 300.0
"""Mean runs of a month of a fleet that is only compared."""
MOST_ENLARGED: Final = 12
MOST_RENTALS: Final = 3
"""Kinds that are rented by the hour in one fleet."""
MOST_OF_KIND: Final = 16
"""Machines of a kind in a fleet that is only compared with."""
SECONDS: Final = 3.0
"""Longest time of the program; the best fleet until then counts."""
GAP: Final = 0.005
"""Share of the cost within which the program may stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A fleet, whether it keeps every deadline, and how many fleets were simulated."""

    stocks: tuple[Stock, ...]
    keeps: bool
    compared: int


@dataclass(frozen=True, slots=True)
class _Fast:
    """Few months and scenarios, for many fleets; cost and worst lateness by fleet."""

    case: Case
    probability: float
    known: dict[tuple[Stock, ...], tuple[bool, float]]

    def look(self, stocks: Sequence[Stock]) -> tuple[bool, float]:
        """Return how late a fleet is beyond its limit, 0 within; and its cost [USD]."""
        key = tuple(sorted(merged(stocks), key=lambda s: (s.machine, s.from_month)))
        if key not in self.known:
            simulated = simulate(self.case, key)
            worst = late_shares(simulated)[1]
            late = bool((worst > 1.0 - self.probability + 1e-12).any())
            cost = float(spend(simulated).total[::2].mean())  # ends of periods judge lateness only
            self.known[key] = late, cost
        return self.known[key]


def merged(stocks: Sequence[Stock]) -> tuple[Stock, ...]:
    """Return stocks of one machine and month together; empty ones are left out."""
    counts: dict[tuple[str, int], int] = {}
    for s in stocks:
        counts[s.machine, s.from_month] = counts.get((s.machine, s.from_month), 0) + s.count
    return tuple(Stock(machine=m, count=n, from_month=f) for (m, f), n in counts.items() if n > 0)


def few(case: Case) -> Case:
    """Return the case with few scenarios, in the middle and at the end of each period."""
    starts = range(0, case.months, PERIOD)
    ends = [min(p + PERIOD, case.months) - 1 for p in starts]
    only = tuple(m for p, end in zip(starts, ends, strict=True) for m in ((p + end) // 2, end))
    return replace(case, only=only, columns=1, least_scenarios=FEW_SCENARIOS, most_runs=FEW_RUNS)


def cheapest(case: Case, fleet: Fleet, horizon: Horizon) -> Found:
    """Return the cheapest fleet that keeps every deadline.

    Args:
        case: jobs, times, and the kinds of machines to choose from.
        fleet: owned machines stay; stocks of other terms are the most of their kinds.
        horizon: with the probability.
    """
    return _cheapest(case, fleet, horizon, _limits(case, fleet, ()), case)


def alternative(
    case: Case, fleet: Fleet, horizon: Horizon, terms: Collection[Term], most: int = MOST_OF_KIND
) -> Found:
    """Return the cheapest fleet of owned machines and these terms, whatever the fleet's limits.

    It is checked on few months and scenarios only: it is compared with, not advised.
    """
    limits = dict.fromkeys(_limits(case, Fleet(), terms), most)
    free = replace(fleet, purchases_usd=None)
    return _cheapest(case, free, horizon, limits, few(case))


def _cheapest(
    case: Case, fleet: Fleet, horizon: Horizon, limits: dict[str, int], exact: Case
) -> Found:
    there = tuple(s for s in fleet.stocks if _machine(case, s.machine).term == "owned")
    every, limits = limits, _few_rentals(case, limits, horizon.probability)
    fast = _Fast(few(case), horizon.probability, {})
    begin = _program(case, fleet, horizon, limits, there)
    best = merged([*there, *begin, *_rentals(case, limits)])
    best = _improved(fast, _quicker_rentals(fast, best, every), limits, fleet)
    first, kept, n = best, False, 0
    while n <= MOST_ENLARGED:
        worst = late_shares(simulate(exact, best))[1]
        if kept := bool((worst <= 1.0 - horizon.probability + 1e-12).all()):
            break
        larger = _enlarged(case, best, limits, fleet, int(np.argmax(worst)))
        if larger is None:
            break
        best, n = larger, n + 1
    # machines that did not help are not bought
    return Found(stocks=best if kept else first, keeps=kept, compared=len(fast.known) + n + 1)


def _machine(case: Case, name: str) -> Machine:
    return next(m for m in case.machines if m.id == name)


def _limits(case: Case, fleet: Fleet, terms: Collection[Term]) -> dict[str, int]:
    """Return the most machines of each kind that may be added."""
    named: dict[str, int] = {}
    for s in fleet.stocks:
        named[s.machine] = named.get(s.machine, 0) + s.count
    limits = {}
    for machine in case.machines:
        if machine.term == "owned" or (terms and machine.term not in terms):
            continue
        usual = 64 if machine.term in STANDING else fleet.rent_most
        limits[machine.id] = named.get(machine.id, usual)
    return limits


def _few_rentals(case: Case, limits: dict[str, int], probability: float) -> dict[str, int]:
    """Return the limits with `MOST_RENTALS` rentals by the hour at most.

    They are added one by one: that with which renting for all runs would cost least, those that
    leave fewest jobs without a machine first.
    """
    hourly = [k for k, m in enumerate(case.machines)
              if m.id in limits and m.term not in STANDING]  # fmt: skip
    if len(hourly) <= MOST_RENTALS:
        return limits
    can = _eligible(case, probability)
    runs = case.runs.mean(axis=1)
    each = np.array([run_cost(case, k) for k in range(len(case.machines))])
    kept: list[int] = []

    def cost(kinds: list[int]) -> tuple[int, float]:
        prices = np.where(can[:, kinds].T, each[kinds], np.inf).min(axis=0)
        rentable = np.isfinite(prices)
        return int((~rentable).sum()), float((prices[rentable] * runs[rentable]).sum())

    for _ in range(MOST_RENTALS):
        best = min((k for k in hourly if k not in kept), key=lambda k: cost([*kept, k]))
        if kept and cost([*kept, best]) >= cost(kept):
            break
        kept.append(best)
    gone = {case.machines[k].id for k in hourly if k not in kept}
    return {name: most for name, most in limits.items() if name not in gone}


def _quicker_rentals(
    fast: _Fast, stocks: tuple[Stock, ...], limits: Mapping[str, int]
) -> tuple[Stock, ...]:
    """Return a late fleet with further rentals by the hour, on which the late job is in time.

    They cost only what they work, so they come before one more standing machine.
    """
    case = fast.case
    worst = late_shares(simulate(case, stocks))[1]
    for _ in range(MOST_RENTALS):
        if not (worst > 1.0 - fast.probability + 1e-12).any():
            break
        job = int(np.argmax(worst))
        within = case.jobs[job].within_h or math.inf
        there = {s.machine for s in stocks}
        kinds = [
            (float((case.hours[k, job] > within).mean()), float(run_cost(case, k)[job]), m.id)
            for k, m in enumerate(case.machines)
            if m.term not in STANDING and limits.get(m.id, 0) > 0 and m.id not in there
            if np.isfinite(case.hours[k, job]).all()
        ]
        if not kinds:
            break
        name = min(kinds)[2]
        more = merged([*stocks, Stock(machine=name, count=limits[name])])
        less = late_shares(simulate(case, more))[1]
        if less[job] >= worst[job]:
            break
        stocks, worst = more, less
    return stocks


def _rentals(case: Case, limits: dict[str, int]) -> list[Stock]:
    """Return every rental by the hour up to its limit: unused ones cost nothing."""
    return [
        Stock(machine=m.id, count=limits[m.id])
        for m in case.machines
        if m.term not in STANDING and limits.get(m.id, 0) > 0
    ]


def _eligible(case: Case, probability: float) -> Flags:
    """Return where a run alone is in time often enough, shape (jobs, kinds).

    A job that no kind can do in time may use the kinds that are in time most often.
    """
    within = np.array([math.inf if j.within_h is None else j.within_h for j in case.jobs])
    share = (case.hours <= within[:, None]).mean(axis=2).T
    finite = np.isfinite(case.hours).all(axis=2).T
    share = np.where(finite, share, -1.0)
    best = share.max(axis=1, initial=-1.0)
    least = np.minimum(probability, np.maximum(best, 0.0))
    return np.asarray(share >= least[:, None] - 1e-12)


@dataclass(frozen=True, kw_only=True)
class _Program:
    """The sizes and numbers of the program; variables are x[j, k, p], then b[n, p].

    added: numbers of the standing kinds that may be added.
    starts: first months of the periods, from 0.
    """

    case: Case
    limits: Mapping[str, int]
    added: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def lengths(self) -> list[int]:
        """Months of each period."""
        return [min(PERIOD, self.case.months - s) for s in self.starts]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Jobs, kinds, periods."""
        return len(self.case.jobs), len(self.case.machines), len(self.starts)

    def costs(self) -> Floats:
        """Return the cost of each variable [USD]."""
        case = self.case
        each = np.array([run_cost(case, k) for k in range(len(case.machines))]).T
        x = np.minimum(each, ENDLESS_USD / 1e9)[:, :, None] * np.array(self.lengths)
        b = [[held_cost(case.machines[k], case.months - s) for s in self.starts]
             for k in self.added]  # fmt: skip
        return np.concatenate([x.ravel(), np.array(b, dtype=np.float64).ravel()])

    def most(self, can: Flags) -> Floats:
        """Return the largest value of each variable; `can` has shape (jobs, kinds)."""
        runs = np.broadcast_to(np.where(can, np.inf, 0.0)[:, :, None], self.shape)
        machines = [self.limits[self.case.machines[k].id] for k in self.added]
        return np.concatenate(
            [runs.ravel(), np.repeat(np.array(machines, float), len(self.starts))]
        )

    def every_run(self) -> tuple[Floats, Floats]:
        """Return rows and right sides: all runs of a job in a period, in its busiest month."""
        jobs, kinds, periods = self.shape
        rows = np.kron(np.eye(jobs), np.kron(np.ones((1, kinds)), np.eye(periods)))
        none = np.zeros((len(rows), len(self.added) * periods))
        busiest = [self.case.runs[:, s : s + n].max(axis=1)
                   for s, n in zip(self.starts, self.lengths, strict=True)]  # fmt: skip
        return np.hstack([rows, none]), np.array(busiest).T.ravel()

    def capacity(self, have: Mapping[str, int]) -> tuple[Floats, Floats]:
        """Return rows and right sides: work on a kind in a period, in machines."""
        jobs, kinds, periods = self.shape
        case = self.case
        hours = np.where(np.isfinite(case.hours), case.hours, 0.0).mean(axis=2)
        size = np.array([m.accelerators for m in case.machines])
        machines = hours * case.needs / size[:, None] / (HOURS_PER_MONTH * LOADED)
        rows = np.hstack([
            np.kron(np.diag(machines[:, j]), np.eye(periods)) for j in range(jobs)
        ])  # fmt: skip
        which = np.zeros((kinds, len(self.added)))
        which[list(self.added), range(len(self.added))] = -1.0
        until = np.tril(np.ones((periods, periods)))
        there = [have.get(m.id, 0) + (0 if m.term in STANDING else self.limits.get(m.id, 0))
                 for m in case.machines]  # fmt: skip
        return np.hstack([rows, np.kron(which, until)]), np.repeat(np.array(there, float), periods)

    def purchases(self, limit: float | None) -> tuple[Floats, Floats]:
        """Return rows and right sides: price of all purchases, machines of a kind."""
        jobs, kinds, periods = self.shape
        machines = [self.case.machines[k] for k in self.added]
        price = [0.0 if m.owned is None else float(capex(m.owned)) for m in machines]
        counts = np.kron(np.eye(len(machines)), np.ones((1, periods)))
        rows = np.vstack([np.repeat(np.array(price, float), periods)[None, :], counts])
        most = [np.inf if limit is None else limit, *(self.limits[m.id] for m in machines)]
        return np.hstack([np.zeros((len(rows), jobs * kinds * periods)), rows]), np.array(
            most, float
        )


def _program(
    case: Case, fleet: Fleet, horizon: Horizon, limits: dict[str, int], there: Sequence[Stock]
) -> tuple[Stock, ...]:
    """Return the standing machines of the program's solution; () where it has none."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    added = tuple(k for k, m in enumerate(case.machines) if m.term in STANDING and m.id in limits)
    if not added or not case.jobs:
        return ()
    program = _Program(case=case, limits=limits, added=added,
                       starts=tuple(range(0, case.months, PERIOD)))  # fmt: skip
    have = {s.machine: s.count for s in there}
    usable = np.array([m.id in limits or m.id in have for m in case.machines], dtype=np.bool_)
    costs, most = program.costs(), program.most(_eligible(case, horizon.probability) & usable)
    runs, every = program.every_run()
    constraints = [LinearConstraint(csr_array(runs), every, every)]
    for rows, right in (program.capacity(have), program.purchases(fleet.purchases_usd)):
        constraints.append(LinearConstraint(csr_array(rows), -np.inf, right))
    whole = np.arange(len(costs)) >= math.prod(program.shape)
    solved = milp(
        costs, integrality=whole.astype(np.intp), bounds=Bounds(0.0, most), constraints=constraints,
        options={"time_limit": SECONDS, "mip_rel_gap": GAP},
    )  # fmt: skip
    if solved.x is None:
        return ()
    counts = np.round(solved.x[whole]).astype(int).reshape(len(added), len(program.starts))
    return tuple(
        Stock(machine=case.machines[k].id, count=int(counts[n, p]), from_month=start + 1)
        for n, k in enumerate(added)
        for p, start in enumerate(program.starts)
        if counts[n, p] > 0
    )


def held_cost(machine: Machine, months: int) -> float:
    """Return what a standing machine costs for so many months without any run [USD]."""
    if machine.rental is not None:
        paid = months_paid(machine, months)
        return float(likely(machine.rental.price_per_hour)) * HOURS_PER_MONTH * paid
    if machine.owned is None:
        return 0.0
    idle = float(idle_energy_per_hour(machine.owned)) * HOURS_PER_MONTH
    upkeep = float(likely(machine.owned.upkeep_usd_per_year)) / MONTHS_PER_YEAR
    return months * (float(monthly_capital(machine.owned, months)) + idle + upkeep)


def _improved(
    fast: _Fast, best: tuple[Stock, ...], limits: dict[str, int], fleet: Fleet
) -> tuple[Stock, ...]:
    """Return the cheapest fleet in time that single changes lead to."""
    late, cost = fast.look(best)
    for _ in range(MOST_ROUNDS):
        tried = [(fast.look(s), s) for s in _neighbours(fast.case, best, limits, fleet)]
        better = [(c, s) for (wrong, c), s in tried if not wrong and (late or c < cost * 0.999)]
        if not better:
            break
        cost, best = min(better, key=lambda found: found[0])
        late = False
    return best


def _neighbours(
    case: Case, stocks: tuple[Stock, ...], limits: dict[str, int], fleet: Fleet
) -> Iterator[tuple[Stock, ...]]:
    """Yield the fleets with one standing machine less, later, or more."""
    for n, stock in enumerate(stocks):
        if _machine(case, stock.machine).term in ("owned", "on demand", "spot"):
            continue
        rest = [*stocks[:n], *stocks[n + 1 :], replace(stock, count=stock.count - 1)]
        yield merged(rest)
        later = stock.from_month + PERIOD
        if later <= case.months:
            yield merged([*rest, Stock(machine=stock.machine, from_month=later)])
    for machine in case.machines:
        if machine.term in STANDING and machine.id in limits:
            more = merged([*stocks, Stock(machine=machine.id)])
            if _allowed(case, more, limits, fleet):
                yield more


def _allowed(case: Case, stocks: Sequence[Stock], limits: dict[str, int], fleet: Fleet) -> bool:
    """Return whether a fleet keeps the limits of its kinds and of purchases."""
    counts: dict[str, int] = {}
    for s in stocks:
        counts[s.machine] = counts.get(s.machine, 0) + s.count
    paid = purchases(case, stocks)
    within = all(counts[m] <= most for m, most in limits.items() if m in counts)
    return within and (fleet.purchases_usd is None or paid <= fleet.purchases_usd)


def purchases(case: Case, stocks: Sequence[Stock]) -> float:
    """Return what the bought machines of a fleet cost at first [USD]."""
    total = 0.0
    for s in stocks:
        machine = _machine(case, s.machine)
        if machine.term == "bought" and machine.owned is not None:
            total += s.count * float(capex(machine.owned))
    return total


def _enlarged(
    case: Case, stocks: tuple[Stock, ...], limits: dict[str, int], fleet: Fleet, job: int
) -> tuple[Stock, ...] | None:
    """Return the fleet with one more machine for a job that is late; None where none may be added.

    The cheapest kind that can run the job counts.
    """
    costs = []
    for k, machine in enumerate(case.machines):
        if machine.id not in limits or not np.isfinite(case.hours[k, job]).all():
            continue
        if machine.term not in STANDING:
            continue
        more = merged([*stocks, Stock(machine=machine.id)])
        if _allowed(case, more, limits, fleet):
            costs.append((held_cost(machine, case.months), more))
    return min(costs, key=lambda found: found[0])[1] if costs else None
