"""What breaks first, which input moves the cost most, and what to measure next.

The cost of a month is linear here: the shares of runs on each machine are those of the simulation,
and stay when a time or a price changes. So the sensitivity leaves out the runs that would move to
another machine. It is scaled to the simulated cost where all inputs are in their middle. A
measurement narrows the simulated interval as it narrows that of this model, in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import ndtri

from planner.capacity._months import Simulated, Simulation, simulate_all
from planner.capacity._records import STANDING, Breaks, Horizon, JobToMeasure, Machine, Stock
from planner.capacity._search import Compared, held_cost, late_in_full, merged
from planner.capacity._spend import MONTHS_PER_YEAR, monthly_capital
from planner.core import Estimate, Floats, Text, paragraph, percent, plain
from planner.cost import (
    DOLLARS,
    DRAWS,
    HOURS_PER_MONTH,
    Display,
    Influence,
    busy_energy_per_hour,
    draw_record,
    idle_energy_per_hour,
    likely,
    money_ends,
    quantiles,
    sensitivity,
)

MOST_FACTOR: Final = 4.0
"""Largest demand that is tried, as a factor of the planned runs."""
FACTOR_STEP: Final = 0.05
"""What breaks first is found to this step of the factor."""
DEMAND: Final = 0.2
"""The demand varies by this share in the sensitivity, up and down."""
LEAST_SWING: Final = 0.01
"""Inputs that move the cost less than this share of the first one are left out."""
MOST_INPUTS: Final = 10
AT_ONCE: Final = 4
"""Factors that are simulated side by side."""
MOST_FIXES: Final = 6
RUNS: Final = Text("Runs of all jobs (± {demand:.0f} %)", demand=100.0 * DEMAND)
POWER: Final = "Electricity"


def breaks_first(
    fast: Compared, stocks: Sequence[Stock], horizon: Horizon, *, keeps: bool
) -> Breaks:
    """Return the job that is late first when all runs grow by one factor, and what fixes it.

    `keeps` says whether the planned runs are in time, by all simulated months.
    """
    case, limit = fast.full, 1.0 - horizon.probability
    low, high, name, narrow = 1.0, MOST_FACTOR, "", False
    factors = [*np.linspace(1.0, MOST_FACTOR, AT_ONCE)]
    while True:
        late = _first_late(
            fast, stocks, [factors] if narrow else [factors[:2], factors[2:]], limit, keeps=keeps
        )
        if late is None and high == MOST_FACTOR:
            return Breaks(
                sentence=Text(
                    "Nothing breaks up to {most_factor} x the planned runs.",
                    most_factor=plain(MOST_FACTOR),
                ),
                job="",
                factor=None,
                fix="",
            )
        if late is not None:
            high, name = late[0], case.jobs[late[1]].name
        low = max((f for f in factors if f < high), default=high if high == 1.0 else low)
        if high - low <= FACTOR_STEP:
            break
        factors, narrow = [*np.linspace(low, high, AT_ONCE + 2)[1:-1]], True
    at = round(low / FACTOR_STEP) * FACTOR_STEP
    limits = percent(limit)
    when = (
        Text("Above {at} x the planned runs", at=plain(round(at, 2)))
        if high > 1.0
        else "As planned"
    )
    return Breaks(
        sentence=Text(
            "{when}, more than {limits} of its runs end too late.", when=when, limits=limits
        ),
        job=name,
        factor=at,
        fix=_fix(fast, stocks, high, limit),
    )


def _first_late(
    fast: Compared,
    stocks: Sequence[Stock],
    parts: Iterable[Sequence[float]],
    limit: float,
    *,
    keeps: bool,
) -> tuple[float, int] | None:
    """Return the first factor of all runs at which a fleet is late, with the latest job, or None.

    Factors of a part are simulated side by side, a part with more runs only where it is needed.
    """
    for part in parts:
        factors = [f for f in part if not (keeps and f == 1.0)]
        looked = _late(fast, [(stocks, f) for f in factors], limit)
        for factor, (late, job) in zip(factors, looked, strict=True):
            if late:
                return factor, job
    return None


def _late(
    fast: Compared, fleets: Sequence[tuple[Sequence[Stock], float]], limit: float
) -> list[tuple[bool, int]]:
    """Return whether each fleet is late at its factor of all runs, and the latest job."""
    simulated = simulate_all(fast.case, fleets) if fleets else []
    worst = [late_in_full(fast.full, s) for s in simulated]
    return [(bool((w > limit + 1e-12).any()), int(np.argmax(w))) for w in worst]


def _fix(fast: Compared, stocks: Sequence[Stock], factor: float, limit: float) -> str:
    """Return the cheapest single machine more that keeps the deadlines, in one sentence."""
    case = fast.full
    kinds = sorted(case.machines, key=lambda m: (m.term in STANDING, held_cost(m, case.months)
                                                 if m.term in STANDING else _price(m)))  # fmt: skip
    there = {s.machine for s in stocks}
    kinds = [m for m in kinds if m.term != "owned" and (m.id in there or m.term in STANDING)]
    kinds = kinds[:MOST_FIXES]
    tried = [(merged([*stocks, Stock(machine=m.id)]), factor) for m in kinds]
    for machine, (late, _) in zip(kinds, _late(fast, tried, limit), strict=True):
        if not late:
            return Text("One more {machine} fixes it.", machine=machine.label)
    return ""


def _price(machine: Machine) -> float:
    return 0.0 if machine.rental is None else float(likely(machine.rental.price_per_hour))


@dataclass(frozen=True, kw_only=True)
class _Model:
    """The cost of a month as a function of its uncertain inputs.

    fixed_usd: of machines without any uncertain price [USD/month].
    work_h: hours a month of each job on each stock, at usual times, shape (jobs, stocks) [h].
    scale: of all costs.
    """

    work_h: Floats
    jobs: tuple[str, ...]
    machines: tuple[Machine, ...]
    counts: Floats
    held: tuple[int, ...]
    months: int
    inputs: Mapping[str, Floats]
    scale: float = 1.0

    def cost(self, inputs: Mapping[str, Floats]) -> Floats:
        """Return the mean cost of a month [USD], element by element."""
        like = next(iter(inputs.values()))
        demand = inputs.get(RUNS, np.ones(like.shape))
        total = np.zeros(like.shape)
        for n, machine in enumerate(self.machines):
            hours = np.zeros(like.shape)
            for j, job in enumerate(self.jobs):
                hours = hours + self.work_h[j, n] * inputs.get(_time(job), 1.0) * demand
            total = total + self._machine(n, machine, hours, inputs)
        return np.asarray(self.scale * total)

    def _machine(
        self, n: int, machine: Machine, hours: Floats, inputs: Mapping[str, Floats]
    ) -> Floats:
        price = inputs.get(_price_of(machine), 1.0)
        if machine.rental is not None:
            rent = float(likely(machine.rental.price_per_hour)) * price
            if machine.term in STANDING:
                return np.asarray(rent * self.counts[n] * HOURS_PER_MONTH + 0.0 * hours)
            return np.asarray(rent * hours)
        if machine.owned is None:
            return np.zeros(hours.shape)
        busy, idle = (float(f(machine.owned)) for f in (busy_energy_per_hour, idle_energy_per_hour))
        waiting = np.maximum(self.counts[n] * HOURS_PER_MONTH - hours, 0.0)
        energy = inputs.get(POWER, 1.0) * (busy * hours + idle * waiting)
        capital = float(monthly_capital(machine.owned, self.held[n])) * price
        upkeep = float(likely(machine.owned.upkeep_usd_per_year)) / MONTHS_PER_YEAR
        return np.asarray(energy + self.counts[n] * (capital + upkeep))


def _time(job: str) -> str:
    return Text("Time of {job}", job=job)


def _price_of(machine: Machine) -> str:
    return Text("Price of {machine}", machine=machine.label)


def model_of(simulated: Simulated, busy_h: Floats, cost: Estimate) -> _Model:
    """Return the cost model of a simulated fleet.

    Args:
        simulated: with the runs of each job on each machine.
        busy_h: machine-hours of each stock, as rented or busy, shape (stocks, months, scenarios).
        cost: of a month, as simulated [USD].
    """
    case = simulated.case
    done = simulated.by_job_and_stock(simulated.served.hours.take(simulated.with_machine))
    every = done.sum(axis=0)
    share = np.divide(done, every, out=np.zeros(done.shape), where=every > 0.0)
    work = (share * busy_h.mean(axis=2)).mean(axis=2)
    machines = tuple(simulated.machine(s) for s in simulated.stocks)
    there = np.array([
        s.count * (case.at >= s.from_month - 1).mean() for s in simulated.stocks
    ])  # fmt: skip
    held = tuple(max(case.months - s.from_month + 1, 1) for s in simulated.stocks)
    jobs, inputs = tuple(j.name for j in case.jobs), _inputs(simulated, work)
    model = _Model(work_h=work, jobs=jobs, machines=machines, counts=there, held=held,
                   months=case.months, inputs=inputs)  # fmt: skip
    middle = float(model.cost({n: np.median(d, keepdims=True) for n, d in inputs.items()})[0])
    return replace(model, scale=float(cost.value) / middle) if middle > 0.0 else model


def _inputs(simulated: Simulated, work: Floats) -> dict[str, Floats]:
    """Return the draws of every uncertain input as factors around 1, shape (draws,)."""
    case = simulated.case
    inputs: dict[str, Floats] = {}
    for j, job in enumerate(case.jobs):
        if not work.size or not work[j].any():
            continue
        main = simulated.stocks[int(work[j].argmax())].machine
        time = case.times[job.name, main].work_s
        if time is not None and float(np.ptp(time)) > 0.0:
            inputs[_time(job.name)] = time / float(np.mean(time))
    for stock in simulated.stocks:
        machine = simulated.machine(stock)
        price = tariff = np.zeros(0)
        if machine.rental is not None:
            price = np.asarray(draw_record(machine.rental, machine.id).price_per_hour)
        elif machine.owned is not None:
            owned = draw_record(machine.owned, machine.id)
            price, tariff = np.asarray(owned.price_usd), np.asarray(owned.tariff_usd_per_kwh)
        if price.size > 1 and float(np.ptp(price)) > 0.0:
            inputs[_price_of(machine)] = price / float(np.mean(price))
        if tariff.size > 1 and float(np.ptp(tariff)) > 0.0:
            inputs[POWER] = tariff / float(np.mean(tariff))
    inputs[RUNS] = np.linspace(1.0 - DEMAND, 1.0 + DEMAND, DRAWS)
    return inputs


def influences(model: _Model) -> tuple[Influence, ...]:
    """Return how far each input moves the cost of a month, the largest first."""
    every = sensitivity(model.cost, model.inputs)
    least = LEAST_SWING * max(every[0].swing, 1e-9) if every else 0.0
    return tuple(i for i in every if i.swing > least)[:MOST_INPUTS]


def measure_next(
    case: Simulation,
    model: _Model,
    stocks: Sequence[Stock],
    cost: Estimate,
    display: Display = DOLLARS,
) -> JobToMeasure | None:
    """Return the job whose time narrows the cost of a month most; None without any."""
    times = {name: d for name, d in model.inputs.items() if name != RUNS}
    if not times:
        return None
    before = _width(quantiles(model.cost(times)))
    measured = np.exp(case.variation * ndtri((np.arange(DRAWS) + 0.5) / DRAWS))  # one run of it
    best: tuple[float, str, str] | None = None
    for j, job in enumerate(case.jobs):
        if _time(job.name) not in times or not model.work_h.size:
            continue
        main = stocks[int(model.work_h[j].argmax())].machine
        advice = case.times[job.name, main].measure_next
        if not advice:
            continue
        narrowed = {**times, _time(job.name): measured}
        width = _width(quantiles(model.cost(narrowed)))
        if best is None or width < best[0]:
            best = width, job.name, advice
    if best is None or not before > 0.0 or not float(cost.low) > 0.0:
        return None
    width, job_name, advice = best
    middle, ends = float(cost.value), np.array([cost.low, cost.high])
    narrower = middle * (ends / middle) ** min(width / before, 1.0)
    after = Estimate(value=middle, low=float(narrower[0]), high=float(narrower[1]))
    (_, low, high), (_, less, more) = (money_ends(e, display) for e in (cost, after))
    narrows = Text(
        "The cost of a month narrows from {low}–{high} to {less}–{more} {currency}.",
        low=low,
        high=high,
        less=less,
        more=more,
        currency=display.currency,
    )
    return JobToMeasure(sentence=paragraph(advice, narrows), job=job_name, before=cost,
                        after=after)  # fmt: skip


def _width(of: Estimate) -> float:
    """Return the natural logarithm of the ratio of an interval's ends."""
    return math.log(float(of.high) / float(of.low)) if float(of.low) > 0.0 else math.inf
