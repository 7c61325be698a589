"""The cheapest fleet that keeps every deadline: a mixed-integer program, then simulation.

Program, with runs x[j, k, p] a month of job j on kind k in period p, and b[k, p] machines of a
standing kind k that are added at the start of p:

    minimise    sum_p months[p] * sum_jk x[j, k, p]*run_cost[j, k] + sum_kp b[k, p]*held_cost[k, p]
    such that   sum_k x[j, k, p] = runs[j, p]                               every run somewhere
                sum_j x[j, k, p]*hours[j, k]*part[j, k] <= 730*u*(there[k] + sum_{q<=p} b[k, q])
                sum_kp b[k, p]*price[k] <= purchases
                x[j, k, p] = 0 where a run on k alone is in time less often than required

solved by `scipy.optimize.milp`. `u` (`LOADED`) leaves room for the queue, which the program does
not see.

1. Rentals by the hour: every set of at most three kinds gets a cost without a queue. The sets with
   the smallest one are simulated, on a few months with few scenarios.
2. The program adds standing machines to the cheapest set; it knows no queue.
3. Every fleet that differs by one standing machine or one kind of rental is simulated, on the same
   months with the same draws; the cheapest that keeps the deadlines counts, until none is cheaper.
4. The chosen fleet is simulated in full, and enlarged until it keeps the deadlines.

A shared machine is paid for while any run is on it. With `a` runs at work on average that need one
of `n` parts each, a kind of machine is in use for about max(1 - exp(-a), a/n) of the time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final

import numpy as np

from planner.capacity._months import (
    ENDLESS_USD,
    Simulated,
    Simulation,
    part_of,
    simulate,
    simulate_all,
)
from planner.capacity._queue import Flags
from planner.capacity._records import (
    STANDING,
    Fleet,
    Horizon,
    Machine,
    PlanProgress,
    Stock,
    Tell,
    Term,
    silent,
)
from planner.capacity._spend import MONTHS_PER_YEAR, monthly_capital, months_paid, spend
from planner.core import Floats, Text
from planner.cost import HOURS_PER_MONTH, capex, idle_energy_per_hour, likely, money

QUARTER: Final = 3
"""Months whose runs are taken together to judge a deadline."""


def late_shares(simulated: Simulated, together: int = QUARTER) -> tuple[Floats, Floats]:
    """Return late share of each job over the horizon, and in its worst quarter, shape (jobs,).

    `together` are the months that make a quarter.
    """
    weights = simulated.scale  # a simulated window may be a part of its month
    runs = (simulated.by_job_and_month() * weights).sum(axis=2)
    late = (simulated.by_job_and_month(simulated.served.late) * weights).sum(axis=2)
    whole = _share(late.sum(axis=1), runs.sum(axis=1))
    quarter = simulated.case.at // together
    parts = [
        _share(late[:, quarter == q].sum(axis=1), runs[:, quarter == q].sum(axis=1))
        for q in np.unique(quarter)
    ]
    return whole, np.max(parts, axis=0)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0.0)


def keeps(simulated: Simulated, probability: float) -> bool:
    """Return whether every job with a deadline ends in time often enough in every quarter."""
    return bool((late_shares(simulated)[1] <= 1.0 - probability + 1e-12).all())


LOADED: Final = 0.85
"""Largest planned utilisation of a machine, before simulation."""
PERIOD: Final = 6
"""Months between two dates at which machines may be added."""
FEW_SCENARIOS: Final = 8
"""Scenarios of a fleet that is only compared with others."""
WEEK_H: Final = 168.0
MOST_ROUNDS: Final = 12
ROUNDS_BESIDE: Final = 4
"""Rounds of renting only and buying only, which are compared with."""
FEW_RUNS: Final = 140.0
"""Mean runs of a month of a fleet that is only compared."""
MOST_ENLARGED: Final = 12
"""Fleets that are simulated in full."""
MOST_RENTALS: Final = 3
"""Kinds that are rented by the hour in one fleet that is compared."""
SETS: Final = 12
"""Sets of rentals that are simulated at first."""
FIRST_SETS: Final = 3
"""Sets of rentals that are simulated for the first estimate."""
GROWN: Final = (1.25, 1.5, 1.75, 2.0)
"""Factors of the program's machines in the first estimate, where all fleets are late."""
SPARE: Final = 5
"""Kinds of rentals that a compared fleet may get in place of one of its own."""
COMPARING: Final = 0.6
"""Share of the steps that are done when all fleets are compared."""
CHEAPER: Final = 0.999
"""A compared fleet counts from this factor of the cost of the best one."""
AT_ONCE: Final = 16
"""Compared fleets that are simulated side by side."""
MOST_OF_KIND: Final = 16
"""Machines of a standing kind in a fleet that is only compared with."""
LEAST_RENTED: Final = 8
"""Rented machines of a kind that such a fleet may have at least."""
TOGETHER: Final = 12
"""Months whose runs are judged together where few are simulated."""
SECONDS: Final = 3.0
"""Longest time of the program; the best fleet until then counts."""
GAP: Final = 0.005
"""Share of the cost within which the program may stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenFleet:
    """A fleet, whether it keeps every deadline, and how many fleets were simulated.

    simulated: in full; None where it was only compared.
    """

    stocks: tuple[Stock, ...]
    keeps: bool
    compared: int
    simulated: Simulated | None = None


Looked = tuple[float, float, int]
"""How much a job is late beyond the limit in the worst quarter, 0 within [share]; cost [USD]; and
lines of the fleet, so that of two that cost the same the simpler one counts."""
_DIGITS: Final = 7
"""Of a cost: beyond these two fleets cost the same."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Few months and scenarios, for many fleets; late share of the worst job, and cost, of each.

    `full` has more scenarios: what no machine of a fleet does in time there is late too.
    `ruled_out` are the fleets of comparisons that one in time has won: late ones need no result.
    """

    case: Simulation
    full: Simulation
    results: dict[tuple[Stock, ...], tuple[float, float]]
    tell: Tell = silent
    ruled_out: set[tuple[Stock, ...]] = field(default_factory=set)

    def say(self, what: str, share: float) -> None:
        """Tell a step of the search."""
        self.tell(PlanProgress(words=what, share=share))

    def look_at(self, fleets: Iterable[Sequence[Stock]], limit: float) -> list[Looked]:
        """Return lateness and cost of each fleet; unknown ones are simulated side by side.

        `limit` is the share of runs that may be late.
        """
        keys = [_in_order(stocks) for stocks in fleets]
        unknown = [k for k in dict.fromkeys(keys) if k not in self.results]
        for begin in range(0, len(unknown), AT_ONCE):
            part = unknown[begin : begin + AT_ONCE]
            for key, simulated in zip(
                part, simulate_all(self.case, [(k, 1.0) for k in part]), strict=True
            ):
                # the last month judges lateness only
                cost = float(spend(simulated).total[:-1].mean())
                self.results[key] = float(late_in_full(self.full, simulated).max(initial=0.0)), cost
        return [(max(late - limit - 1e-12, 0.0), float(f"{cost:.{_DIGITS}g}"), len(k))
                for k in keys for late, cost in (self.results[k],)]  # fmt: skip

    def best_of(
        self, fleets: Sequence[tuple[Stock, ...]], limit: float, than: _Best | None = None
    ) -> _Best:
        """Return the cheapest fleet in time, else the least late one; `than` is one more.

        A fleet that is late without any queue is simulated only where no other one is in time.
        """
        most = limit + 1e-12
        able = [f for f in fleets if float(_late_alone(self.full, f).max(initial=0.0)) <= most]
        before = [] if than is None else [than]
        best = min([*before, *zip(self.look_at(able, limit), able, strict=True)],
                   key=itemgetter(0), default=None)  # fmt: skip
        if best is not None and best[0][0] == 0.0:
            self.ruled_out.update(map(_in_order, fleets))
            return best
        return min([*before, *zip(self.look_at(fleets, limit), fleets, strict=True)],
                   key=itemgetter(0))  # fmt: skip

    @property
    def compared(self) -> int:
        """Number of fleets that were simulated or ruled out."""
        return len(self.results.keys() | self.ruled_out)


_Best = tuple[Looked, tuple[Stock, ...]]


def late_in_full(full: Simulation, simulated: Simulated) -> Floats:
    """Return the late share of each job in its worst quarter, shape (jobs,).

    What waiting adds is that of the simulated months, the rest that of all scenarios of `full`.
    """
    few_late = late_shares(simulated, TOGETHER)[1]
    waited = few_late - _late_alone(simulated.case, simulated.stocks)
    return np.maximum(waited, 0.0) + _late_alone(full, simulated.stocks)


def _late_alone(case: Simulation, stocks: Sequence[Stock]) -> Floats:
    """Return the late share of each job without a queue, shape (jobs,)."""
    names = {s.machine for s in stocks}
    kinds = [k for k, m in enumerate(case.machines) if m.id in names]
    within = np.array([math.inf if j.within_h is None else j.within_h for j in case.jobs])
    quickest = case.hours[kinds].min(axis=0, initial=np.inf)
    late = (quickest > within[:, None] * (1.0 + 1e-12)).mean(axis=1)
    return np.asarray(late * (case.runs.max(axis=1, initial=0.0) > 0.0))


def _in_order(stocks: Sequence[Stock]) -> tuple[Stock, ...]:
    return tuple(sorted(merged(stocks), key=lambda s: (s.machine, s.from_month)))


def merged(stocks: Sequence[Stock]) -> tuple[Stock, ...]:
    """Return stocks of one machine and month together; empty ones are left out."""
    counts: dict[tuple[str, int], int] = {}
    for s in stocks:
        counts[s.machine, s.from_month] = counts.get((s.machine, s.from_month), 0) + s.count
    return tuple(Stock(machine=m, count=n, from_month=f) for (m, f), n in counts.items() if n > 0)


def few(case: Simulation) -> Simulation:
    """Return the case with few scenarios, in the middle of each period and in the last month."""
    starts = range(0, case.months, PERIOD)
    middles = [(p + min(p + PERIOD, case.months) - 1) // 2 for p in starts]
    only = (*middles, case.months - 1)
    return replace(case, only=only, columns=1, least_scenarios=FEW_SCENARIOS, most_runs=FEW_RUNS)


def compared_in(case: Simulation, tell: Tell = silent) -> Compared:
    """Return an empty memory of compared fleets; searches for one case may share it."""
    return Compared(few(case), case, {}, tell)


def cheapest(
    case: Simulation, fleet: Fleet, horizon: Horizon, fast: Compared | None = None
) -> ChosenFleet:
    """Return the cheapest fleet that keeps every deadline.

    Args:
        case: jobs, times, and the kinds of machines to choose from.
        fleet: owned machines stay; stocks of other terms are the most of their kinds.
        horizon: with the probability.
        fast: fleets that were compared before.
    """
    fast = fast or compared_in(case)
    return _cheapest(fleet, horizon, _limits(case, fleet, ()), fast, case)


def first_guess(fast: Compared, fleet: Fleet, horizon: Horizon) -> tuple[Stock, ...]:
    """Return the cheapest fleet in time of a few, without a search.

    They have the rentals with the smallest costs without a queue, and the program's machines; more
    of these where all are late.
    """
    limits, late = _limits(fast.full, fleet, ()), 1.0 - horizon.probability
    sets = _ranked_sets(fast.full, limits, horizon.probability)[:FIRST_SETS] or [()]
    begin = _first_fleets(fast.full, fleet, horizon, limits, sets[0])
    owned = _owned(fast.full, fleet.stocks)
    begin += [merged([*owned, *_stocks_of(rented, limits)]) for rented in sets[1:]]
    best = fast.best_of(_allowed_of(fast.full, begin, limits, fleet), late)
    if best[0][0] > 0.0:
        last = 1 + fast.full.months * 2 // 3  # where demand grows, the last third is late first
        grown = [_grown(fast.full, begin[0], f, since) for f in GROWN for since in (1, last)]
        grown = [s for s in grown if _allowed(fast.full, s, limits, fleet)]
        best = fast.best_of(grown, late, best) if grown else best
    return best[1]


def _grown(
    case: Simulation, stocks: Sequence[Stock], factor: float, since: int
) -> tuple[Stock, ...]:
    """Return a fleet with so many times the machines that are added, from a month on."""
    added = [s for s in stocks if _is_standing(case, s.machine) and s not in _owned(case, stocks)]
    more = [math.ceil(factor * s.count) - s.count for s in added]
    return merged([*stocks, *(replace(s, count=n, from_month=max(since, s.from_month))
                              for s, n in zip(added, more, strict=True))])  # fmt: skip


def alternative(
    case: Simulation, fleet: Fleet, horizon: Horizon, terms: Collection[Term],
    fast: Compared | None = None,
) -> ChosenFleet:  # fmt: skip
    """Return the cheapest fleet of owned machines and these terms, whatever the fleet's limits.

    It is checked on few months and scenarios only: it is compared with, not advised.
    """
    most = {m.id: MOST_OF_KIND if m.term in STANDING else max(fleet.rent_most, LEAST_RENTED)
            for m in case.machines}  # fmt: skip
    limits = {name: most[name] for name in _limits(case, Fleet(), terms)}
    free = replace(fleet, purchases_usd=None)
    fast = replace(fast or compared_in(case), tell=silent)
    return _cheapest(free, horizon, limits, fast, fast.case, rounds=ROUNDS_BESIDE)


def _cheapest(
    fleet: Fleet, horizon: Horizon, limits: dict[str, int], fast: Compared, exact: Simulation,
    *, rounds: int = MOST_ROUNDS,
) -> ChosenFleet:  # fmt: skip
    """Return the cheapest fleet with these limits, confirmed on `exact`."""
    case, late = fast.full, 1.0 - horizon.probability
    fast.say("Choosing what may be rented by the hour", 0.1)
    rented = _rented(fast, limits, _owned(case, fleet.stocks), late)
    begin = _first_fleets(case, fleet, horizon, limits, rented)
    best = _improved(fast, begin, limits, fleet, late, most=rounds)
    first, kept, n = best, False, 0
    busiest = _busiest(exact)
    while True:
        # a fleet that is late in the busiest quarter is not simulated in full
        simulated = simulate(busiest, best)
        worst = late_shares(simulated)[1]
        if bool((worst <= late + 1e-12).all()) and busiest is not exact:
            months = len(exact.at) * exact.scenarios
            fast.say(Text("Simulating {months:,} months of the chosen fleet", months=months),
                     COMPARING)  # fmt: skip
            simulated = simulate(exact, best)
            worst = late_shares(simulated)[1]
        n += 1
        if kept := bool((worst <= late + 1e-12).all()):
            break
        larger = _enlarged(fast, best, limits, fleet, (int(np.argmax(worst)), late))
        if larger is None or n > MOST_ENLARGED:
            break
        best = larger
    # machines that did not help are not bought
    return ChosenFleet(stocks=best if kept else first, keeps=kept, compared=fast.compared + n,
                 simulated=simulated if kept and exact is case else None)  # fmt: skip


def _owned(case: Simulation, stocks: Sequence[Stock]) -> tuple[Stock, ...]:
    return tuple(s for s in stocks if _machine(case, s.machine).term == "owned")


def _first_fleets(
    case: Simulation, fleet: Fleet, horizon: Horizon, limits: dict[str, int], rented: Sequence[str]
) -> list[tuple[Stock, ...]]:
    """Return the owned machines with some rentals: with the program's machines, and without."""
    there, rentals = _owned(case, fleet.stocks), _stocks_of(rented, limits)
    usable = {m: n for m, n in limits.items() if _is_standing(case, m) or m in rented}
    key = (*usable.items(), *there, fleet.purchases_usd, horizon.probability)
    if (added := case.programs.get(key)) is None:
        added = case.programs[key] = _program(case, fleet, horizon, usable, there)
    return [merged([*there, *added, *rentals]), merged([*there, *rentals])]


def _busiest(case: Simulation) -> Simulation:
    """Return the quarter of a case with the most runs; the case where it has no other months."""
    quarters = case.at // QUARTER
    if not case.jobs or len(np.unique(quarters)) == 1 or case.only:
        return case
    runs = np.bincount(quarters, weights=case.runs.sum(axis=0))
    return part_of(case, np.flatnonzero(quarters == int(np.argmax(runs))))


def _is_standing(case: Simulation, name: str) -> bool:
    return _machine(case, name).term in STANDING


def _stocks_of(names: Iterable[str], limits: Mapping[str, int]) -> list[Stock]:
    """Return rentals up to their limits: unused ones cost nothing."""
    return [Stock(machine=name, count=limits[name]) for name in names]


def _machine(case: Simulation, name: str) -> Machine:
    return next(m for m in case.machines if m.id == name)


def _limits(case: Simulation, fleet: Fleet, terms: Collection[Term]) -> dict[str, int]:
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


def _rented(
    fast: Compared, limits: Mapping[str, int], there: Sequence[Stock], late: float
) -> tuple[str, ...]:
    """Return the kinds of rentals by the hour with which a fleet begins; () without any.

    Of all sets of at most `MOST_RENTALS` kinds those with the smallest cost without a queue are
    simulated: `SETS` of them that leave fewest jobs without a machine. The cheapest in time
    counts, else the least late.
    """
    sets = _ranked_sets(fast.full, limits, 1.0 - late)
    if not sets:
        return ()
    fleets = {(*there, *_stocks_of(names, limits)): names for names in sets}
    return fleets[fast.best_of(list(fleets), late)[1]]


def _ranked_sets(
    case: Simulation, limits: Mapping[str, int], probability: float
) -> list[tuple[str, ...]]:
    """Return the `SETS` sets of rentals with the smallest cost without a queue; [] without any."""
    hourly = [k for k, m in enumerate(case.machines)
              if m.term not in STANDING and limits.get(m.id, 0) > 0]  # fmt: skip
    if not hourly or not case.jobs:
        return []
    if (sets := case.ranked.get((tuple(hourly), probability))) is not None:
        return sets
    can = _eligible(case, probability)
    ranked: list[tuple[tuple[int, float], tuple[int, ...]]] = []
    for size in range(1, MOST_RENTALS + 1):
        ranked += [(_cost_without_queue(case, kinds, can), kinds)
                   for kinds in itertools.combinations(hourly, size)]  # fmt: skip
    ranked.sort()
    best = [tuple(case.machines[k].id for k in kinds) for _, kinds in ranked[:SETS]]
    return case.ranked.setdefault((tuple(hourly), probability), best)


def _cost_without_queue(case: Simulation, kinds: Sequence[int], can: Flags) -> tuple[int, float]:
    """Return how many jobs these rentals cannot do, and what a month of the others costs [USD]."""
    price = np.where(can[:, kinds].T, case.run_costs[list(kinds)], np.inf)
    chosen = price.argmin(axis=0)
    able = np.isfinite(price.min(axis=0))
    runs = case.usual_runs
    cost = 0.0
    for n, k in enumerate(kinds):
        here = able & (chosen == n)
        if not here.any():
            continue
        each = float(case.run_costs[k, here] @ runs[here])
        part = case.needs[k, here] / case.machines[k].accelerators
        load = case.usual_hours[k, here] * runs[here] / HOURS_PER_MONTH
        shared = part < 1.0
        work = float((load * part).sum())
        busy = float((load * part)[~shared].sum())
        if shared.any():
            alone = 1.0 - math.exp(-float(load[shared].sum()))
            busy += max(alone, float((load * part)[shared].sum()))
        cost += each * (busy / work if work else 1.0)
    return int((~able).sum()), cost


def _eligible(case: Simulation, probability: float) -> Flags:
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

    case: Simulation
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
        each = case.run_costs.T
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
    case: Simulation, fleet: Fleet, horizon: Horizon, limits: dict[str, int], there: Sequence[Stock]
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
    fast: Compared, begin: Sequence[tuple[Stock, ...]], limits: dict[str, int], fleet: Fleet,
    late: float, *, most: int,
) -> tuple[Stock, ...]:  # fmt: skip
    """Return the cheapest fleet in time that single changes lead to.

    While no fleet is in time, the least late one counts; equally late ones by cost.
    """
    case = fast.case
    now, best = fast.best_of(_allowed_of(case, begin, limits, fleet), late)
    for rounds in range(most):
        fast.say(_so_far(fast.compared, now), COMPARING - 0.4 * 0.7**rounds)
        tried = [s for s in _neighbours(case, best, limits, fleet)
                 if now[0] > 0.0 or _least_cost(case, s) <= now[1]]  # fmt: skip
        then, other = now, best
        for k in range(0, len(tried), AT_ONCE):  # the first better ones are followed
            part = tried[k : k + AT_ONCE]
            then, other = fast.best_of(part, late, (now, best))
            if _is_better(then, now):
                break
        if not _is_better(then, now):
            break
        now, best = then, other
    return best


def _so_far(compared: int, now: Looked) -> str:
    """Return how many fleets were compared, and what the best one costs."""
    if now[0] > 0.0:
        return Text("Compared {compared} fleets: none is in time yet", compared=compared)
    return Text("Compared {compared} fleets: the best costs {cost} a month",
                compared=compared, cost=money(now[1]))  # fmt: skip


def _is_better(then: Looked, now: Looked) -> bool:
    """Return whether a fleet is less late, clearly cheaper, or as cheap and simpler."""
    if then[0] != now[0]:
        return then[0] < now[0]
    return then[1] < now[1] * CHEAPER or (then[1] <= now[1] and then[2] < now[2])


def _least_cost(case: Simulation, stocks: Sequence[Stock]) -> float:
    """Return the mean cost of a month without any run: no fleet costs less [USD]."""
    return sum(
        s.count * held_cost(machine, max(case.months - s.from_month + 1, 1)) / case.months
        for s in stocks
        if (machine := _machine(case, s.machine)).term in STANDING
    )


def _neighbours(
    case: Simulation, stocks: tuple[Stock, ...], limits: dict[str, int], fleet: Fleet
) -> Iterator[tuple[Stock, ...]]:
    """Yield fleets that differ by one standing machine or by one kind of rental."""
    spare = _spare(case, stocks, limits)
    for n, stock in enumerate(stocks):
        term = _machine(case, stock.machine).term
        others = [*stocks[:n], *stocks[n + 1 :]]
        if term in STANDING and term != "owned":
            rest = [*others, replace(stock, count=stock.count - 1)]
            yield merged(rest)
            later = stock.from_month + PERIOD
            if later <= case.months:
                yield merged([*rest, Stock(machine=stock.machine, from_month=later)])
        elif term != "owned":
            yield merged(others)
            yield from (merged([*others, other]) for other in spare)
    if sum(1 for s in stocks if not _is_standing(case, s.machine)) < MOST_RENTALS:
        yield from (merged([*stocks, other]) for other in spare)
    for machine in case.machines:
        if machine.term in STANDING and machine.id in limits:
            more = merged([*stocks, Stock(machine=machine.id)])
            if _allowed(case, more, limits, fleet):
                yield more


def _spare(case: Simulation, stocks: Sequence[Stock], limits: Mapping[str, int]) -> list[Stock]:
    """Return the rentals that a fleet does not have, the cheapest `SPARE` of them."""
    there = {s.machine for s in stocks}
    kinds = [
        m for m in case.machines
        if m.term not in STANDING and m.id not in there and limits.get(m.id, 0) > 0
    ]  # fmt: skip
    kinds = sorted(kinds, key=lambda m: _dearness(case, m))[:SPARE]
    return [Stock(machine=m.id, count=limits[m.id]) for m in kinds]


def _dearness(case: Simulation, machine: Machine) -> float:
    """Return the mean cost of the runs that a kind can do, against the cheapest kind for each."""
    k = case.machines.index(machine)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = case.run_costs[k] / np.maximum(case.run_costs.min(axis=0), 1e-9)
    can = case.run_costs[k] < ENDLESS_USD
    return float(ratio[can].min()) if can.any() else math.inf


def _allowed(
    case: Simulation, stocks: Sequence[Stock], limits: dict[str, int], fleet: Fleet
) -> bool:
    """Return whether a fleet keeps the limits of its kinds and of purchases."""
    counts: dict[str, int] = {}
    for s in stocks:
        counts[s.machine] = counts.get(s.machine, 0) + s.count
    paid = purchases(case, stocks)
    within = all(counts[m] <= most for m, most in limits.items() if m in counts)
    return within and (fleet.purchases_usd is None or paid <= fleet.purchases_usd)


def _allowed_of(
    case: Simulation, fleets: Sequence[tuple[Stock, ...]], limits: dict[str, int], fleet: Fleet
) -> list[tuple[Stock, ...]]:
    """Return the fleets that keep the limits, or the first one."""
    return [s for s in fleets if _allowed(case, s, limits, fleet)] or [fleets[0]]


def within_a_week(case: Simulation) -> Simulation:
    """Return the case with a limit for jobs without one, or their queue could grow for ever.

    A week, or twice the longest time on the machine that is quickest.
    """
    longest = case.hours.min(axis=0, initial=np.inf).max(axis=1, initial=0.0)
    jobs = [
        replace(job, within_h=max(WEEK_H, 2.0 * float(hours))) if job.within_h is None else job
        for job, hours in zip(case.jobs, longest, strict=True)
    ]
    return replace(case, jobs=tuple(jobs))


def within_limits(case: Simulation, fleet: Fleet, stocks: Sequence[Stock]) -> bool:
    """Return whether a fleet keeps all limits of the question."""
    return _allowed(case, stocks, _limits(case, fleet, ()), fleet)


def purchases(case: Simulation, stocks: Sequence[Stock]) -> float:
    """Return what the bought machines of a fleet cost at first [USD]."""
    total = 0.0
    for s in stocks:
        machine = _machine(case, s.machine)
        if machine.term == "bought" and machine.owned is not None:
            total += s.count * float(capex(machine.owned))
    return total


def _enlarged(
    fast: Compared, stocks: tuple[Stock, ...], limits: dict[str, int], fleet: Fleet,
    of: tuple[int, float],
) -> tuple[Stock, ...] | None:  # fmt: skip
    """Return the fleet with what a late job needs; None where nothing may be added.

    `of` is the number of the job, and the share of runs that may be late.

    The cheapest fleet with one more rental or standing machine that can run the job counts, of
    those that do not make it later on the compared months.
    """
    case, (job, late) = fast.case, of
    there = {s.machine for s in stocks}
    larger = []
    for k, machine in enumerate(case.machines):
        if machine.id not in limits or not np.isfinite(case.hours[k, job]).all():
            continue
        standing = machine.term in STANDING
        if not standing and (machine.id in there or limits[machine.id] < 1):
            continue
        count = 1 if standing else limits[machine.id]
        more = merged([*stocks, Stock(machine=machine.id, count=count)])
        if _allowed(case, more, limits, fleet):
            slow = float((case.hours[k, job] > (case.jobs[job].within_h or math.inf)).mean())
            larger.append((slow > late, more))
    if not larger:
        return None
    quick = [more for slow, more in larger if not slow] or [more for _, more in larger]
    return fast.best_of(quick, late)[1]
