"""The answer: a sentence, tiles, jobs, machines, months, waiting times, money, what if."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from planner.capacity._lines import (
    Course,
    by_use,
    compared_lines,
    course_of,
    line_of,
    rough_course,
    side_by_side,
)
from planner.capacity._months import Simulated, Simulation, simulate
from planner.capacity._queue import NONE, Ints
from planner.capacity._records import (
    STANDING,
    CapacityAnswer,
    CapacityTile,
    FirstAnswer,
    Fleet,
    Horizon,
    JobRow,
    Line,
    MonthRow,
    PlanProgress,
    StockRow,
    Tell,
    Term,
    Waiting,
    silent,
)
from planner.capacity._search import (
    COMPARING,
    ChosenFleet,
    Compared,
    alternative,
    cheapest,
    compared_in,
    first_guess,
    late_shares,
    merged,
    purchases,
    within_a_week,
    within_limits,
)
from planner.capacity._spend import Spend, spend
from planner.capacity._what_if import breaks_first, influences, measure_next, model_of
from planner.core import (
    HOUR_S,
    Estimate,
    Floats,
    Refusal,
    Text,
    joined,
    paragraph,
    percent,
    plain,
    plural,
)
from planner.core.slugs import BADGE, UNOFFICIAL
from planner.cost import (
    DOLLARS,
    HOURS_PER_MONTH,
    Display,
    expected,
    money_ends,
    money_with_interval,
    probability_cheaper,
    quantiles,
    shown,
)

EDGES: Final = tuple(float(e) for e in np.geomspace(36.0, 3.6e6, 41))
"""Bins of waiting times, from 36 s to 1,000 h [s]."""
TIMES: Final = 2.0
"""Factor of a cost from which it is stated as a factor, not in per cent."""
NEAR_EVEN: Final = (1.0 / 3.0, 2.0 / 3.0)
"""Chances to be cheaper between which two fleets are too close to call."""
CLOSE: Final = 1.05
"""Renting or buying only is simulated in full where few months leave it below this factor."""
ALIKE: Final = 0.005
"""Costs that differ by less are about the same: it would be stated as 0 %."""
SELDOM: Final = 0.01
"""A rented machine that fewer months need is not counted."""
USUAL_USE: Final = 0.6
"""Utilisation of one machine in the cost lines, where a fleet has no standing machine."""
_WAYS: Final[tuple[tuple[str, Line, frozenset[Term]], ...]] = (
    ("Rent only", "rent only", frozenset({"on demand", "spot"})),
    ("Buy only", "buy only", frozenset({"bought"})),
)
_WAY_WORDS: Final = {"rent only": "renting only", "buy only": "buying only"}
_ACT_OF: Final = {
    "owned": "use", "bought": "buy", "reserved": "reserve", "on demand": "rent", "spot": "rent",
}  # fmt: skip
_ACTS: Final = tuple(_ACT_OF.values())


@dataclass(frozen=True, kw_only=True)
class _Result:
    """A simulated fleet with its money and lateness, as the parts of the answer read them.

    `sought` is a fleet that was not entered.
    """

    simulated: Simulated
    spent: Spend
    horizon: Horizon
    display: Display
    whole: Floats
    worst: Floats
    used: Ints
    sought: bool

    @cached_property
    def months(self) -> tuple[MonthRow, ...]:
        """Work, cost and late runs of each month."""
        return _months(self)

    @cached_property
    def course(self) -> Course:
        """Money over the months of the plan."""
        return course_of(self.simulated, self.spent, keeps=self.keeps)

    @property
    def cost(self) -> Estimate:
        """The cost of a month [USD]."""
        return expected(self.spent.total.mean(axis=0))

    @property
    def keeps(self) -> bool:
        """Whether every job keeps its deadline in every quarter."""
        return bool((self.worst <= 1.0 - self.horizon.probability + 1e-12).all())

    @property
    def late(self) -> float:
        """Share of all runs that end too late."""
        runs = self.simulated.by_job_and_month()
        late = self.simulated.by_job_and_month(self.simulated.served.late)
        weights = self.simulated.scale
        every = float((runs * weights).sum())
        return float((late * weights).sum()) / every if every else 0.0

    @property
    def standing(self) -> int:
        """Standing machines at the end of the plan."""
        return sum(s.count for s in self.simulated.stocks
                   if self.simulated.machine(s).term in STANDING)  # fmt: skip

    @property
    def rented(self) -> int:
        """Rented machines at the same time, at most."""
        return sum(int(self.used[n]) for n, s in enumerate(self.simulated.stocks)
                   if self.simulated.machine(s).term not in STANDING)  # fmt: skip


def plan(
    case: Simulation,
    fleet: Fleet,
    horizon: Horizon,
    display: Display = DOLLARS,
    tell: Tell = silent,
) -> CapacityAnswer:
    """Return the answer for a fleet, or for the cheapest one.

    `tell` takes what is being done, for those who wait.
    """
    patient = [j.name for j in case.jobs if j.within_h is None]
    case = within_a_week(case) if fleet.find else case
    fast = compared_in(case, tell)
    if fleet.find:
        tell(PlanProgress(words="Comparing fleets", share=0.05,
                          first=_first(fast, fleet, horizon, display)))  # fmt: skip
        chosen = cheapest(case, fleet, horizon, fast)
    else:
        chosen = ChosenFleet(stocks=merged(fleet.stocks), keeps=True, compared=1)
        fast.say("Simulating the fleet", COMPARING)
    simulated = chosen.simulated or simulate(case, chosen.stocks)
    result = _result(simulated, horizon, display, sought=fleet.find)
    _show(result, tell)
    taken, others = _with_alternatives(fast, fleet, result)
    if taken is not result:
        result, simulated = taken, taken.simulated
        _show(result, tell)
    course = result.course
    lines = [line_of("This fleet", "fleet", course, "" if result.keeps else _LATE)]
    lines += [line_of(o.name, o.kind, o.course, o.problem) for o in others]
    only_rents = result.keeps and not result.standing
    rent = next((o for o in others if o.kind == "rent only" and o.keeps), None)
    against = None if rent is None or only_rents else rent.course
    fast.say("Looking for what breaks first", 0.9)
    model = model_of(simulated, _paid_hours(simulated, result.spent), result.cost)
    by_machine = _hours_by_kind(simulated, result.spent)
    use = result.spent.utilisation
    share = horizon.utilisation if horizon.utilisation is not None else use
    share = None if share is None else min(share, 1.0)  # hours count in the month of the arrival
    return CapacityAnswer(
        sentence=_sentence(result),
        keeps=result.keeps,
        fleet=_fleet_words(result),
        late="" if result.keeps else _late_sentence(result),
        tiles=_tiles(result),
        chips=_chips(course, against),
        jobs=_jobs(result),
        stocks=_stocks(result),
        months=result.months,
        waiting=_waiting(simulated),
        breaks=breaks_first(fast, simulated.stocks, horizon, keeps=result.keeps)
        if case.jobs
        else None,
        rent_or_buy=by_use(case.machines, by_machine, use, display),
        costs=compared_lines(course, lines, against, display, only_rents=only_rents),
        side_by_side=side_by_side(
            case.machines, horizon, USUAL_USE if share is None else share, display
        ),
        sensitivity=influences(model),
        measure_next=measure_next(case, model, simulated.stocks, result.cost, display),
        compared=chosen.compared,
        notes=_notes(result, patient if fleet.find else ()),
        horizon=horizon,
        sources=_sources(result),
    )


def _first(fast: Compared, fleet: Fleet, horizon: Horizon, display: Display) -> FirstAnswer:
    """Return the fleet with which the search begins, simulated on few months with all scenarios."""
    some = fast.case if len(fast.case.at) < 2 else replace(fast.case, only=fast.case.only[:-1])
    some = replace(some, least_scenarios=fast.full.scenarios)
    simulated = simulate(some, first_guess(fast, fleet, horizon))
    result = _result(simulated, horizon, display, sought=True)
    return FirstAnswer(
        fleet=_fleet_words(result),
        tiles=tuple(replace(t, note="") for t in _tiles(result)),
        keeps=result.keeps,
    )


def _show(result: _Result, tell: Tell) -> None:
    """Tell the fleet of the answer."""
    chosen = FirstAnswer(fleet=_fleet_words(result), tiles=_tiles(result), keeps=result.keeps)
    tell(PlanProgress(words="Adding up the costs", share=0.65, chosen=chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alternative:
    """Renting only or buying only, with its money."""

    name: str
    kind: Line
    keeps: bool
    course: Course
    problem: str


def _with_alternatives(
    fast: Compared, fleet: Fleet, result: _Result
) -> tuple[_Result, list[_Alternative]]:
    """Return the fleet of the answer, and renting only and buying only beside it.

    One of both that is in time within the limits is the answer where it costs less: the search
    compares on few months, and a difference of one per cent may turn round in all of them.
    """
    case, others = fast.full, []
    for name, kind, terms in _WAYS:
        only_rents = result.keeps and not result.standing
        if not any(m.term in terms for m in case.machines) or (
            kind == "rent only" and only_rents and fleet.find  # it is the cheapest that only rents
        ):
            continue
        fast.say(Text("Comparing with {way}", way=_WAY_WORDS[kind]), 0.7)
        other = alternative(case, fleet, result.horizon, terms, fast)
        if not other.stocks and not other.keeps:  # no alternative
            continue
        problem = _problem(case, fleet, other)
        course, keeps = rough_course(case, other), other.keeps
        if fleet.find and not problem and _costs_less(course, result, CLOSE):
            simulated = simulate(case, other.stocks)
            full = _result(simulated, result.horizon, result.display, sought=True)
            course, keeps, problem = full.course, full.keeps, "" if full.keeps else _LATE
            if keeps and _costs_less(course, result):
                result = full
                continue
        others.append(
            _Alternative(name=name, kind=kind, keeps=keeps, course=course, problem=problem)
        )
    return result, others


def _costs_less(course: Course, than: _Result, within: float = 1.0) -> bool:
    """Return whether the expected cost is below that of a fleet, or that one is late."""
    return not than.keeps or float(course.total.mean()) < within * float(than.course.total.mean())


def _problem(case: Simulation, fleet: Fleet, other: ChosenFleet) -> str:
    """Return why renting or buying only is no answer; "" where it is one."""
    limit = fleet.purchases_usd
    if not other.keeps:
        return _LATE
    if limit is not None and purchases(case, other.stocks) > limit:
        return "above the purchase limit"
    return "" if within_limits(case, fleet, other.stocks) else "more machines than allowed"


def _result(simulated: Simulated, horizon: Horizon, display: Display, *, sought: bool) -> _Result:
    whole, worst = late_shares(simulated)
    return _Result(simulated=simulated, spent=spend(simulated), horizon=horizon, display=display,
                   whole=whole, worst=worst, used=_used(simulated), sought=sought)  # fmt: skip


def _used(simulated: Simulated) -> Ints:
    """Return machines of each stock that more than `SELDOM` of the months use, shape (stocks,)."""
    machines = len(simulated.kind)
    columns = simulated.load.job.shape[1]
    used = np.zeros((machines, columns), dtype=np.bool_)
    run, column = np.nonzero(simulated.counted & (simulated.served.machine != NONE))
    used[simulated.served.machine[run, column], column] = True
    often = simulated.stock[used.mean(axis=1) > SELDOM] if machines else simulated.stock
    return np.bincount(often, minlength=len(simulated.stocks))


def _paid_hours(simulated: Simulated, spent: Spend) -> Floats:
    """Return busy hours of standing stocks and hours in use of rented ones."""
    rented = [simulated.machine(s).term not in STANDING for s in simulated.stocks]
    return np.where(np.array(rented, dtype=np.bool_)[:, None, None], spent.hours, spent.busy)


def _hours_by_kind(simulated: Simulated, spent: Spend) -> list[float]:
    hours = dict.fromkeys((m.id for m in simulated.case.machines), 0.0)
    for n, stock in enumerate(simulated.stocks):
        hours[stock.machine] += float(spent.hours[n].mean())
    return list(hours.values())


# -- words ---------------------------------------------------------------------------------------


def _sentence(result: _Result) -> str:
    """Return the fleet, its cost a month, and whether it keeps the deadlines."""
    cost = money_with_interval(result.cost, result.display)
    fleet = _fleet_words(result)
    if result.keeps:
        return Text(
            "{fleet}: {cost} a month, {share} of all runs late.",
            fleet=fleet,
            cost=cost,
            share=_late_words(result.late),
        )
    first = (
        Text("{fleet}: {cost} a month.", fleet=fleet, cost=cost)
        if result.used.any() or result.standing
        else Text("{fleet}.", fleet=fleet)
    )
    return paragraph(first, _late_sentence(result))


def _late_sentence(result: _Result) -> str:
    """Return which job misses its deadlines most often."""
    job = result.simulated.case.jobs[int(np.argmax(result.worst))]
    share = float(result.whole[int(np.argmax(result.worst))])
    limit = percent(1.0 - result.horizon.probability)
    return Text(
        "{job} is late in {share} of its runs, above {limit}.",
        job=job.name,
        share=_late_words(share),
        limit=limit,
    )


def _fleet_words(result: _Result) -> str:
    """Return 'Use 1 machine with 8 x A, buy 2 with 8 x B, rent up to 3 with 8 x B'."""
    counts: dict[tuple[str, str], int] = {}
    for n, stock in enumerate(result.simulated.stocks):
        machine = result.simulated.machine(stock)
        count = stock.count if machine.term in STANDING else int(result.used[n])
        if count:
            key = (_ACT_OF[machine.term], machine.hardware or machine.label)
            counts[key] = counts.get(key, 0) + count
    if not counts and result.sought and not result.keeps:
        return Text("No fleet within these limits meets the deadlines")
    if not counts:
        return Text("No machine")
    ordered = sorted(counts.items(), key=lambda c: _ACTS.index(c[0][0]))
    words = joined(", ", [
        _machines_words(*key, n, first=k == 0) for k, (key, n) in enumerate(ordered)
    ])  # fmt: skip
    if not any(row.standing for row in _jobs(result)):
        return words
    return Text("{fleet} ({standing} times)", fleet=words, standing=UNOFFICIAL)


def _machines_words(act: str, hardware: str, n: int, *, first: bool) -> Text:
    """Return 'Use 2 machines with 8 x A', and 'buy 2 with 8 x B' after the first."""
    if not first:
        return {
            "use": Text("use {count} with {hardware}", count=n, hardware=hardware),
            "buy": Text("buy {count} with {hardware}", count=n, hardware=hardware),
            "reserve": Text("reserve {count} with {hardware}", count=n, hardware=hardware),
            "rent": Text("rent up to {count} with {hardware}", count=n, hardware=hardware),
        }[act]
    return {
        "use": plural(
            n,
            "Use {count} machine with {hardware}",
            "Use {count} machines with {hardware}",
            hardware=hardware,
        ),
        "buy": plural(
            n,
            "Buy {count} machine with {hardware}",
            "Buy {count} machines with {hardware}",
            hardware=hardware,
        ),
        "reserve": plural(
            n,
            "Reserve {count} machine with {hardware}",
            "Reserve {count} machines with {hardware}",
            hardware=hardware,
        ),
        "rent": plural(
            n,
            "Rent up to {count} machine with {hardware}",
            "Rent up to {count} machines with {hardware}",
            hardware=hardware,
        ),
    }[act]


def _late_words(share: float) -> str:
    """Return '1.5 %' with two digits, or '< 0.1 %'."""
    return Text("{number} %", number=_late_number(share))


def _late_number(share: float) -> str:
    """Return a share without its unit: '1.5', or '< 0.1'."""
    return "< 0.1" if 0.0 < share < 0.001 else f"{float(f'{100.0 * share:.2g}'):g}"


def _chips(course: Course, rent: Course | None) -> tuple[str, ...]:
    """Return how likely the fleet is cheaper than renting only, and its expected cost beside it."""
    if rent is None:
        return ()
    chance = probability_cheaper(course.total, rent.total)
    likely_cheaper = (
        Text("too close to call with renting only")
        if NEAR_EVEN[0] <= chance <= NEAR_EVEN[1]
        else Text("{chance} likely cheaper than renting only", chance=percent(chance))
    )
    renting = float(rent.total.mean())
    ratio = float(course.total.mean()) / renting if renting > 0.0 else np.inf
    if ratio >= TIMES:
        beside = Text("{ratio} x the expected cost of renting only", ratio=plain(ratio, 2))
    elif abs(1.0 - ratio) < ALIKE:
        beside = Text("about the expected cost of renting only")
    else:
        way = "below" if ratio <= 1.0 else "above"
        saved = percent(abs(1.0 - ratio))
        beside = Text("expected cost {saved} {way} renting only", saved=saved, way=way)
    return (likely_cheaper, beside)


def _tiles(result: _Result) -> tuple[CapacityTile, ...]:
    display, horizon = result.display, result.horizon
    cost = result.cost
    value = money_ends(cost, display)[0]
    whole = expected(result.spent.total.mean(axis=0) * result.simulated.case.months)
    total = money_with_interval(whole, display)
    used, limit = result.spent.utilisation, 100.0 * (1.0 - horizon.probability)
    months = [m for m in result.months if m.utilisation is not None]
    ends = ""
    if months:
        # hours of a run count in the month it arrives, so a full month may have some more
        first, last = (percent(min(m.utilisation or 0.0, 1.0)) for m in (months[0], months[-1]))
        ends = Text(
            "{first} in month 1, {last} in month {month}",
            first=first,
            last=last,
            month=months[-1].month,
        )
    rented = Text("own + 0 to {rented} rented", rented=result.rented) if result.rented else "own"
    worst = 100.0 * float(result.worst.max(initial=0.0))
    return (
        CapacityTile(
            title="Machines", text=f"{result.standing}", unit=rented, note=_bought_words(result)
        ),
        CapacityTile(
            title="Cost a month",
            text=value,
            unit=display.currency,
            note=Text("{total} in all", total=total),
            value=shown(float(cost.value), display),
            low=shown(float(cost.low), display),
            high=shown(float(cost.high), display),
        ),
        CapacityTile(
            title="Utilisation of own machines",
            text="–" if used is None else f"{100.0 * used:.0f}",
            unit="" if used is None else "%",
            note="no own machines" if used is None else ends,
            value=None if used is None else 100.0 * used,
        ),
        CapacityTile(
            title="Runs late",
            text=_late_number(result.late),
            unit="%",
            note=Text("{worst} % in a job's worst quarter", worst=plain(worst, 2)),
            value=100.0 * result.late,
            high=worst,
            limit=limit,
        ),
    )


def _bought_words(result: _Result) -> str:
    """Return how many standing machines there are of each term: '1 owned, 2 bought'."""
    counts: dict[str, int] = {}
    for stock in result.simulated.stocks:
        term = result.simulated.machine(stock).term
        if term in STANDING:
            counts[term] = counts.get(term, 0) + stock.count
    return ", ".join(f"{n} {term}" for term, n in counts.items())


def _notes(result: _Result, patient: Sequence[str]) -> tuple[str, ...]:
    """Return what is assumed, and what is special about this answer.

    `patient` are the jobs that were planned within a week, as they state no deadline.
    """
    case = result.simulated.case
    spots = [m for m in case.machines if m.term == "spot" and m.rental is not None]
    notes = [
        Text(
            "{at:,} simulated months, seed {seed}. Runs arrive at random and start in "
            "order of arrival.",
            at=len(case.at) * case.scenarios,
            seed=case.seed,
        ),
        "A run takes the cheapest machine that finishes in time, else the first to finish.",
    ]
    if spots and spots[0].rental is not None:
        often = float(np.mean(spots[0].rental.interruptions_per_hour))  # type: ignore[arg-type]
        notes.append(
            Text(
                "Spot machines are interrupted {often:g} times an hour: an assumption.", often=often
            )
        )
    if patient:
        notes.append(
            Text(
                "Without a deadline: {jobs}. A fleet is planned to end them within a week, or "
                "twice their longest time.",
                jobs=", ".join(patient),
            )
        )
    stale = [m.label for m in case.machines if m.stale]
    if stale:
        notes.append(Text("Older than 12 months: the prices of {stale}.", stale=", ".join(stale)))
    return tuple(notes)


def _sources(result: _Result) -> tuple[dict[str, str | None], ...]:
    rows = []
    for machine in dict.fromkeys(result.simulated.machine(s).id for s in result.simulated.stocks):
        of = result.simulated.case.machines[result.simulated.index[machine]]
        rows.append(
            {"Machine": of.label, "Price": of.price or None, "Price from": of.source or None}
        )
    return tuple(rows)


# -- tables --------------------------------------------------------------------------------------


def _jobs(result: _Result) -> tuple[JobRow, ...]:
    simulated, case = result.simulated, result.simulated.case
    done = simulated.by_job_and_stock().sum(axis=2)
    rows = []
    for j, job in enumerate(case.jobs):
        place = int(done[j].argmax()) if done[j].size and done[j].any() else None
        name = _any_machine(case, j) if place is None else simulated.stocks[place].machine
        time = None if name is None else case.times.get((job.name, name))
        standing = None if time is None else time.standing
        refused = Refusal(reason="No machine of the fleet can run it.", measure_next="")
        hours: Estimate | Refusal = refused
        if time is not None and time.work_s is not None:
            hours = quantiles(time.work_s / HOUR_S * time.accelerators * job.runs_a_month)
        rows.append(JobRow(
            job=job.name,
            words=f"{job.network or job.workload}{BADGE if standing else ''}",
            standing=standing,
            time=refused if time is None else time.time,
            machine="" if name is None or place is None else _label(case, name),
            accelerators=0 if time is None else time.accelerators,
            hours_a_month=hours,
            late=None if job.within_h is None else float(result.whole[j]),
            worst_late=None if job.within_h is None else float(result.worst[j]),
            runs_a_month=job.runs_a_month, within_h=job.within_h,
            interruptible=job.interruptible, growth=job.growth,
        ))  # fmt: skip
    return tuple(rows)


def _any_machine(case: Simulation, job: int) -> str | None:
    """Return the first machine with an answer for a job; the first one without any."""
    answered = [m.id for k, m in enumerate(case.machines) if np.isfinite(case.hours[k, job]).all()]
    return next(iter(answered or [m.id for m in case.machines]), None)


def _label(case: Simulation, name: str) -> str:
    return next(m.label for m in case.machines if m.id == name)


def _stocks(result: _Result) -> tuple[StockRow, ...]:
    rows = []
    of = result.simulated
    for n, stock in sorted(
        enumerate(of.stocks),
        key=lambda s: (_ACTS.index(_ACT_OF[of.machine(s[1]).term]), s[1].machine, s[1].from_month),
    ):
        machine = of.machine(stock)
        standing = machine.term in STANDING
        if not standing and not result.used[n]:
            continue
        there = float(result.spent.there[n].sum()) * HOURS_PER_MONTH
        share = float(result.spent.busy[n].mean(axis=1).sum()) / there if there else None
        rows.append(StockRow(
            machine=machine, count=stock.count if standing else int(result.used[n]),
            used=int(result.used[n]), from_month=stock.from_month,
            cost_a_month=float((result.spent.running[n] + result.spent.capital[n]).mean()),
            hours_a_month=float(result.spent.hours[n].mean()),
            utilisation=share if standing else None,
        ))  # fmt: skip
    return tuple(rows)


def _months(result: _Result) -> tuple[MonthRow, ...]:
    simulated, spent = result.simulated, result.spent
    runs = simulated.by_job_and_month().sum(axis=(0, 2))
    late = simulated.by_job_and_month(simulated.served.late).sum(axis=(0, 2))
    standing = np.array(
        [simulated.machine(s).term in STANDING for s in simulated.stocks], dtype=bool
    )
    busy = spent.busy.mean(axis=2)
    rows = []
    for m, month in enumerate(simulated.case.at):
        there = float(spent.there[standing, m].sum())
        unit = max(there, 1.0) * HOURS_PER_MONTH
        hours: dict[str, float] = {}
        for n, stock in enumerate(simulated.stocks):
            label = simulated.machine(stock).label
            hours[label] = hours.get(label, 0.0) + float(busy[n, m])
        rows.append(MonthRow(
            month=int(month) + 1, busy={k: v / unit for k, v in hours.items()}, hours=hours,
            utilisation=float(busy[standing, m].sum()) / unit if there else None,
            late=float(late[m] / runs[m]) if runs[m] else None,
            cost=expected(spent.total[m]),
        ))  # fmt: skip
    return tuple(rows)


def _waiting(simulated: Simulated) -> tuple[Waiting, ...]:
    rows = []
    for j, job in enumerate(simulated.case.jobs):
        here = simulated.counted & (simulated.load.job == j)
        wait, hours = simulated.served.wait_h[here] * HOUR_S, simulated.served.hours[here]
        if not wait.size:
            continue
        long = wait[(wait > 0.0) & np.isfinite(wait)]
        counts, _ = np.histogram(np.clip(long, EDGES[0], EDGES[-1]), bins=EDGES)
        allowed = None
        if job.within_h is not None:
            allowed = max(job.within_h - float(np.median(hours)), 0.0) * HOUR_S
        rows.append(Waiting(
            job=job.name, edges_s=EDGES, shares=tuple(float(c) / wait.size for c in counts),
            at_once=float((wait <= 0.0).mean()), median_s=float(np.median(wait)),
            p95_s=float(np.quantile(wait, 0.95, method="lower")), allowed_s=allowed,
            late=None if job.within_h is None else float(simulated.served.late[here].mean()),
            runs=int(wait.size),
        ))  # fmt: skip
    return tuple(rows)


_LATE: Final = "does not keep every deadline"
