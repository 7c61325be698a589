"""Money over time: what is spent until each month, rent or buy over utilisation.

    spent(m) = purchases until month m + running costs until then                  [USD]

A purchase counts whole in the month in which it is made, so a line may be above another one that is
dearer over the plan. The value of what is bought, at the end, is stated beside the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from planner.capacity._months import Simulated, Simulation, simulate
from planner.capacity._records import (
    STANDING,
    CostLine,
    CostLines,
    Horizon,
    HourCurve,
    Line,
    Machine,
    MachinePair,
    RentOrBuyByUse,
)
from planner.capacity._search import FEW_RUNS, ChosenFleet
from planner.capacity._spend import (
    MONTHS_PER_YEAR,
    Spend,
    bought_at,
    energy_of,
    monthly_capital,
    months_paid,
    spend,
    value_left,
)
from planner.core import HOUR_S, Estimate, Floats, Refusal, Text, percent
from planner.cost import (
    DOLLARS,
    HOURS_PER_MONTH,
    Display,
    Owned,
    break_even,
    busy_energy_per_hour,
    capex,
    cost_per_busy_hour,
    draw_record,
    energy_kwh,
    expected,
    idle_energy_per_hour,
    likely,
    money,
    quantiles,
    wall_s,
)

STEP: Final = 3
"""Months between simulated months of a line that is only drawn."""
SHARES: Final = tuple(round(0.05 * k, 2) for k in range(1, 21))
"""Utilisations of the curves [share]."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """Money of a fleet over the months of the plan.

    spent: until the end of each month, shape (months + 1, scenarios) [USD].
    total: all costs with interest, less what is left, shape (scenarios,) [USD].
    """

    spent: Floats
    left: Floats
    total: Floats
    energy_kwh: float
    co2_kg: float | None
    keeps: bool


def course_of(simulated: Simulated, spent: Spend, *, keeps: bool) -> Course:
    """Return the money of a simulated fleet; months between simulated ones are interpolated."""
    case = simulated.case
    months = np.arange(case.months)
    running, total = spent.running.sum(axis=0), spent.total
    paid, left = bought_at(simulated)
    each = np.array([np.interp(months, case.at, running[:, s]) for s in range(case.scenarios)]).T
    every = np.array([np.interp(months, case.at, total[:, s]) for s in range(case.scenarios)])
    begin = np.vstack([np.zeros(case.scenarios), each])
    buys = np.vstack([paid, np.zeros(case.scenarios)])
    kwh, carbon = energy_of(simulated, spent)
    return Course(spent=np.cumsum(begin, axis=0) + np.cumsum(buys, axis=0), left=left,
                  total=every.sum(axis=1), energy_kwh=kwh, co2_kg=carbon, keeps=keeps)  # fmt: skip


def rough_course(case: Simulation, chosen: ChosenFleet) -> Course:
    """Return the money of another fleet, simulated in every third month."""
    some = tuple(range(min(1, case.months - 1), case.months, STEP))
    part = replace(case, only=some, columns=1, least_scenarios=case.scenarios, most_runs=FEW_RUNS)
    simulated = simulate(part, chosen.stocks)
    return course_of(simulated, spend(simulated), keeps=chosen.keeps)


def line_of(name: str, kind: Line | Literal["machine"], course: Course, problem: str) -> CostLine:
    """Return a line with its 90 % interval."""
    spent = expected(course.spent)
    low, middle, high = (np.atleast_1d(end) for end in (spent.low, spent.value, spent.high))
    return CostLine(
        name=name,
        kind=kind,
        months=tuple(float(m) for m in range(len(middle))),
        usd=tuple(map(float, middle)),
        low=tuple(map(float, low)),
        high=tuple(map(float, high)),
        resale=float(np.mean(course.left)),
        net=float(np.mean(course.total)),
        energy_kwh=course.energy_kwh,
        co2_kg=course.co2_kg,
        problem=problem,
    )


def crossing(first: Floats, other: Floats) -> Estimate | Refusal:
    """Return the month from which the first line stays at or below the other one.

    The value is where the expected lines cross, as they are drawn; the ends are of all scenarios.

    Args:
        first: money spent, shape (months + 1, scenarios) [USD].
        other: the same of the alternative.
    """
    first, other = np.broadcast_arrays(first, other)
    mean = float(_crossed(first.mean(axis=1)[:, None], other.mean(axis=1)[:, None])[0])
    if np.isfinite(mean):
        every = quantiles(_crossed(first, other))
        return replace(every, value=mean, low=min(float(every.low), mean),
                       high=max(float(every.high), mean))  # fmt: skip
    return Refusal(
        reason=Text("Renting only stays cheaper for all {months} months.", months=len(first) - 1),
        measure_next="Plan more months, or more runs.",
    )


def _crossed(first: Floats, other: Floats) -> Floats:
    """Return the month from which the first stays at or below the other, shape (scenarios,).

    Infinite where it does not.
    """
    above = first > other * (1.0 + 1e-12)
    months = len(first) - 1
    last = months - np.argmax(above[::-1], axis=0)
    month = np.where(above.any(axis=0), last + 1.0, 0.0)
    month = np.where(above[-1], np.inf, month)
    # between two months both lines are straight
    at = np.clip(last, 0, months - 1)
    rows = np.arange(first.shape[1])
    gap, next_gap = (first - other)[at, rows], (first - other)[at + 1, rows]
    part = np.divide(gap, gap - next_gap, out=np.ones(len(rows)), where=gap > next_gap)
    return np.where(above.any(axis=0) & ~above[-1], at + part, month)


def compared_lines(
    fleet: Course, lines: Sequence[CostLine], rent: Course | None, display: Display = DOLLARS,
    *, only_rents: bool = False,
) -> CostLines:  # fmt: skip
    """Return the lines of the fleet and its alternatives, with the break-even against renting."""
    nothing = Refusal(reason="No fleet of rented machines was found to compare with.",
                      measure_next="Choose Find it, or allow more rented machines.")  # fmt: skip
    if only_rents:  # no purchase to pay off
        nothing = Refusal(reason="The fleet rents all its machines.",
                          measure_next="Compare with the line of buying only.")  # fmt: skip
    if rent is None:
        return CostLines(title="Cost over the plan", lines=tuple(lines), break_even=nothing,
                         sentence=nothing.reason)  # fmt: skip
    even = crossing(fleet.spent, rent.spent)
    own = next(line for line in lines if line.kind == "fleet")
    rented = next(line for line in lines if line.kind == "rent only")
    sentence = even.reason if isinstance(even, Refusal) else _since(float(even.value))
    if isinstance(even, Refusal) and own.net < rented.net:
        worth = money(own.resale, display)
        sentence = Text(
            "With its resale value of {worth}, the fleet costs less than renting only.", worth=worth
        )
    return CostLines(title="Cost over the plan", lines=tuple(lines), break_even=even,
                     sentence=sentence)  # fmt: skip


def _since(month: float) -> str:
    if month <= 0.0:
        return "The fleet is cheaper than renting only from the first month."
    return Text("The fleet has cost less than renting only since month {month:.0f}.", month=month)


# -- one machine ---------------------------------------------------------------------------------


def _alike(machines: Sequence[Machine], like: Machine) -> list[Machine]:
    """Return the machines with the same accelerators."""
    of = (like.accelerator, like.accelerators)
    return [m for m in machines if (m.accelerator, m.accelerators) == of]


def _rivals(machines: Sequence[Machine], like: Machine) -> list[Machine]:
    """Return the rentals with the same accelerators on which an hour of work ends."""
    alike = [m for m in _alike(machines, like) if m.rental is not None]
    return [m for m in alike if all(map(math.isfinite, _rented(m)))]


def by_use(
    machines: Sequence[Machine], hours: Sequence[float], now: float | None,
    display: Display = DOLLARS,
) -> RentOrBuyByUse | None:  # fmt: skip
    """Return rent or buy over utilisation, for the bought hardware with the most work.

    Args:
        machines: kinds to choose from.
        hours: machine-hours of the plan on each.
        now: utilisation of the standing machines.
        display: currency of the sentences.
    """
    worked = dict(zip((m.id for m in machines), hours, strict=True))
    bought = [m for m in machines if m.term == "bought" and m.owned is not None]

    def work(machine: Machine) -> float:
        return sum(worked[m.id] for m in _alike(machines, machine))

    bought.sort(key=lambda m: (-work(m), m.stale))
    for machine in bought:
        rivals = _rivals(machines, machine)
        if rivals and machine.owned is not None:
            return _by_use(machine, machine.owned, rivals, now, display)
    return None


def _by_use(
    machine: Machine, owned: Owned, rivals: Sequence[Machine], now: float | None, display: Display
) -> RentOrBuyByUse:
    own = tuple(float(cost_per_busy_hour(owned, u)) for u in SHARES)
    curves = [HourCurve(machine=machine.label, term=machine.term, usd_per_hour=own)]
    curves += [HourCurve(machine=m.label, term=m.term, usd_per_hour=_rented(m)) for m in rivals]
    hourly = [m for m in rivals if m.term == "on demand"] or list(rivals)
    best = min(hourly, key=lambda m: float(likely(m.rental.price_per_hour)) if m.rental else 0.0)
    price = 0.0 if best.rental is None else best.rental.price_per_hour
    use = break_even(owned, price, key=machine.id, display=display)
    if isinstance(use, Refusal):
        sentence = use.reason
    else:
        sentence = Text(
            "Buying {machine} costs less than {best} from {use} utilisation.",
            machine=machine.label,
            best=best.label,
            use=percent(float(use.value)),
        )
    return RentOrBuyByUse(hardware=machine.label, utilisation=SHARES, curves=tuple(curves),
                          break_even=use, now=now, sentence=sentence)  # fmt: skip


def _rented(machine: Machine) -> tuple[float, ...]:
    """Return the rent of an hour of work at each utilisation [USD/h]."""
    rental = machine.rental
    if rental is None:
        return ()
    price = float(likely(rental.price_per_hour))
    if machine.term in STANDING:
        return tuple(price / u for u in SHARES)
    work = HOUR_S  # an hour without its start-up, but with its interruptions
    lost = float(wall_s(replace(rental, startup_s=0.0), work)) / work
    return tuple(price * lost for _ in SHARES)


def side_by_side(
    machines: Sequence[Machine], horizon: Horizon, utilisation: float,
    display: Display = DOLLARS,
) -> CostLines | None:  # fmt: skip
    """Return each bought machine and each rented one like it, over some years.

    The break-even is that of the bought machine with the smallest cost against its cheapest rental.
    """
    months = round(12.0 * horizon.years)
    bought = [m for m in machines if m.term == "bought" and m.owned is not None]
    lines: list[CostLine] = []
    best: tuple[float, Estimate | Refusal, CostLine, CostLine] | None = None
    pairs: list[MachinePair] = []
    shown: set[str] = set()
    for machine in bought:
        rivals = _rivals(machines, machine)
        course = _own_course(machine, months, utilisation)
        own_line = line_of(machine.label, "machine", course, "")
        lines.append(own_line)
        for rival in rivals:
            other = _rent_course(rival, months, utilisation)
            other_line = line_of(rival.label, "machine", other, "")
            if rival.id not in shown:
                lines.append(other_line)
                shown.add(rival.id)
            even = crossing(course.spent, other.spent)
            pairs.append(MachinePair(bought=machine.label, rented=rival.label, break_even=even))
            if rival.term != "on demand":
                continue
            place = even.value if isinstance(even, Estimate) else np.inf
            if best is None or float(place) < best[0]:
                best = float(place), even, own_line, other_line
    if not lines:
        return None
    title = Text(
        "{years:g} years at {utilisation} utilisation",
        years=horizon.years,
        utilisation=percent(utilisation),
    )
    if best is None:
        none = Refusal(reason="No machine here can be bought and rented.", measure_next="")
        return CostLines(title=title, lines=tuple(lines), break_even=none, sentence=none.reason,
                         pairs=tuple(pairs), utilisation=utilisation)  # fmt: skip
    _, even, bought_line, rented_line = best
    bought_name, rented_name = bought_line.name, rented_line.name
    if isinstance(even, Estimate):
        sentence = Text(
            "{bought} has cost less than {rented} since month {month:.0f}.",
            bought=bought_name,
            rented=rented_name,
            month=float(even.value),
        )
    elif bought_line.net < rented_line.net:
        sentence = Text(
            "With its resale value of {amount}, {bought} costs less than {rented}.",
            bought=bought_name,
            rented=rented_name,
            amount=money(bought_line.resale, display),
        )
    else:
        sentence = Text(
            "{rented} stays cheaper for {months} months.", rented=rented_name, months=months
        )
    return CostLines(title=title, lines=tuple(lines), break_even=even, sentence=sentence,
                     named=(bought_line.name, rented_line.name), pairs=tuple(pairs),
                     utilisation=utilisation)  # fmt: skip


def _own_course(machine: Machine, months: int, utilisation: float) -> Course:
    owned = machine.owned
    if owned is None:
        raise ValueError(Text("{machine} is not bought.", machine=machine.label))
    drawn = draw_record(owned, machine.id)
    busy, idle = HOURS_PER_MONTH * utilisation, HOURS_PER_MONTH * (1.0 - utilisation)
    each = busy_energy_per_hour(drawn) * busy + idle_energy_per_hour(drawn) * idle
    each = each + likely(drawn.upkeep_usd_per_year) / MONTHS_PER_YEAR
    # Of price and costs a month either may be certain, with one draw.
    price, each = np.broadcast_arrays(np.atleast_1d(capex(drawn)), np.atleast_1d(each))
    life = max(round(float(likely(owned.life_years)) * MONTHS_PER_YEAR), 1)
    sold = float(likely(owned.residual_share))
    month = np.arange(months + 1)[:, None]
    again = np.maximum((np.maximum(month - 1, 0)) // life, 0)
    spent = price + again * price * (1.0 - sold) + month * each
    held = months - life * ((months - 1) // life)
    left = price * value_left(owned, held / MONTHS_PER_YEAR)
    hours = HOUR_S * months
    waiting = replace(owned, power_watts=likely(owned.idle_watts), idle_watts=0.0)
    kwh = float(energy_kwh(owned, busy * hours) + energy_kwh(waiting, idle * hours))
    grid = owned.kg_co2_per_kwh
    carbon = None if grid is None else kwh * float(likely(grid))
    lived = replace(drawn, life_years=likely(owned.life_years), residual_share=sold)
    total = months * (monthly_capital(lived, months) + each)
    return Course(spent=spent, left=left, total=total, energy_kwh=kwh, co2_kg=carbon,
                  keeps=True)  # fmt: skip


def _rent_course(machine: Machine, months: int, utilisation: float) -> Course:
    rental = machine.rental
    if rental is None:
        raise ValueError(Text("{machine} is not rented.", machine=machine.label))
    price = np.atleast_1d(np.asarray(draw_record(rental, machine.id).price_per_hour))
    month = np.arange(months + 1)[:, None]
    if machine.term in STANDING:
        each, paid = price * HOURS_PER_MONTH, months_paid(machine, months)
        spent = np.minimum(month, months) * each
        spent[-1] += (paid - months) * each  # the rest of the term is owed at the end
    else:
        lost = float(wall_s(replace(rental, startup_s=0.0), HOUR_S)) / HOUR_S
        spent = month * price * HOURS_PER_MONTH * utilisation * lost
    none = np.zeros(spent.shape[1])
    return Course(spent=np.asarray(spent, dtype=np.float64), left=none, total=spent[-1],
                  energy_kwh=0.0, co2_kg=None, keeps=True)  # fmt: skip
