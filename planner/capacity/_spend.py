"""What a fleet costs in each month and scenario, from its simulated hours.

    owned, bought   electricity of busy and idle hours + upkeep/12, and capital     [USD/month]
    reserved        price x 730 h, for whole terms
    on demand, spot price x hours, rounded up for billing, + set-up and egress of each run

`capital` is the purchase with its interest less its value at the end of the plan, in equal months:
`planner.cost.fixed_per_year` with the time it is held as life, at most its own life. The value
falls evenly to the residual value at the end of the life. An owned machine has no price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.capacity._months import Simulated
from planner.capacity._queue import Ints
from planner.capacity._records import STANDING, Machine, Stock
from planner.core import HOUR_S, Floats, Text
from planner.cost import (
    HOURS_PER_MONTH,
    Owned,
    billed_s,
    busy_energy_per_hour,
    capex,
    draw_record,
    energy_kwh,
    fixed_per_year,
    idle_energy_per_hour,
    likely,
)

MONTHS_PER_YEAR: Final = 12.0


@dataclass(frozen=True, kw_only=True)
class Spend:
    """Money and hours of a simulated fleet, each of shape (stocks, months, scenarios).

    running: rent, electricity, upkeep [USD].
    capital: a month's part of purchases [USD].
    hours: machine-hours in use [h].
    busy: the same without the idle parts of shared machines [h].
    there: machines of each stock in each month, shape (stocks, months).
    utilisation: busy share of standing machines; None without any.
    """

    running: Floats
    capital: Floats
    hours: Floats
    busy: Floats
    there: Floats
    utilisation: float | None

    @property
    def total(self) -> Floats:
        """Cost of each month and scenario [USD]."""
        return np.asarray((self.running + self.capital).sum(axis=0))


def value_left(owned: Owned, years: float) -> float:
    """Return the share of the price that a machine is worth after some years, falling evenly."""
    life, kept = float(likely(owned.life_years)), float(likely(owned.residual_share))
    return 1.0 - (1.0 - kept) * min(years / life, 1.0) if life > 0.0 else kept


def monthly_capital(owned: Owned, months: float) -> Floats:
    """Return the capital cost of a month, when held for so many months [USD/month]."""
    years = min(months / MONTHS_PER_YEAR, float(likely(owned.life_years)))
    held = replace(owned, life_years=years, residual_share=value_left(owned, years),
                   upkeep_usd_per_year=0.0)  # fmt: skip
    return np.asarray(fixed_per_year(held) / MONTHS_PER_YEAR)


def months_paid(machine: Machine, months: int) -> int:
    """Return the months that a reservation is paid for: whole terms."""
    term = 12 * machine.committed_years
    return math.ceil(months / term) * term if term else months


def spend(simulated: Simulated) -> Spend:
    """Return costs and hours of every month and scenario."""
    case, served = simulated.case, simulated.served
    shape = (len(simulated.stocks), len(case.at), case.scenarios)
    there = np.array([
        s.count * (case.at >= s.from_month - 1) for s in simulated.stocks
    ], dtype=np.float64).reshape(shape[:2])  # fmt: skip
    if not simulated.stocks:
        none = np.zeros(shape)
        return Spend(running=none, capital=none, hours=none, busy=none, there=there,
                     utilisation=None)  # fmt: skip
    sizes = np.array([m.accelerators for m in case.machines])
    at = simulated.with_machine
    kind = simulated.kind[served.machine.take(at)]
    part = (case.needs / sizes[:, None])[kind, simulated.load.job.take(at)]
    used_h = served.used_h.take(at)
    busy, used, runs, billed = (
        simulated.by_stock_and_month(of) * simulated.scale
        for of in (served.hours.take(at) * part, used_h, None, _billed(simulated, kind, used_h))
    )
    running, capital = np.zeros(shape), np.zeros(shape)
    for n, stock in enumerate(simulated.stocks):
        machine = simulated.machine(stock)
        if machine.rental is not None:
            running[n] = _rent(simulated, stock, there[n], billed[n], runs[n])
            continue
        owned = owned_in(machine, simulated)
        idle = np.maximum(there[n][:, None] * HOURS_PER_MONTH - busy[n], 0.0)
        energy = busy_energy_per_hour(owned) * busy[n] + idle_energy_per_hour(owned) * idle
        upkeep = likely(owned.upkeep_usd_per_year) / MONTHS_PER_YEAR
        running[n] = energy + there[n][:, None] * upkeep
        held = max(case.months - stock.from_month + 1, 1)
        capital[n] = there[n][:, None] * monthly_capital(owned, held)
    return Spend(running=running, capital=capital, hours=used, busy=busy, there=there,
                 utilisation=_utilisation(simulated, busy, there))  # fmt: skip


def bought_at(simulated: Simulated) -> tuple[Floats, Floats]:
    """Return purchases by month (months of the plan, scenarios), and their value at its end [USD].

    A machine that is worn out is replaced, and sold for its residual value.
    """
    case = simulated.case
    paid = np.zeros((case.months, case.scenarios))
    left = np.zeros(case.scenarios)
    for stock in simulated.stocks:
        machine = simulated.machine(stock)
        if machine.term != "bought" or machine.owned is None:
            continue
        price = stock.count * capex(owned_in(machine, simulated))
        life = max(float(likely(machine.owned.life_years)) * MONTHS_PER_YEAR, 1.0)
        sold = float(likely(machine.owned.residual_share))
        start = stock.from_month - 1.0
        first = True
        while start < case.months:
            paid[int(start)] += price * (1.0 if first else 1.0 - sold)
            years = min(case.months - start, life) / MONTHS_PER_YEAR
            last = start + life >= case.months
            left += price * value_left(machine.owned, years) if last else 0.0
            start, first = start + life, False
    return paid, left


def energy_of(simulated: Simulated, spent: Spend) -> tuple[float, float | None]:
    """Return electricity of own machines over the plan [kWh], and its CO2 [kg]; None if unknown."""
    case, total, carbon = simulated.case, 0.0, 0.0
    unknown = False
    every = case.months / len(case.at)
    for n, stock in enumerate(simulated.stocks):
        owned = simulated.machine(stock).owned
        if owned is None:
            continue
        busy = float(spent.busy[n].mean(axis=1).sum()) * every
        idle = max(float(spent.there[n].sum()) * HOURS_PER_MONTH * every - busy, 0.0)
        waiting = replace(owned, power_watts=likely(owned.idle_watts), idle_watts=0.0)
        kwh = float(energy_kwh(owned, busy * HOUR_S) + energy_kwh(waiting, idle * HOUR_S))
        total += kwh
        unknown |= owned.kg_co2_per_kwh is None
        carbon += 0.0 if owned.kg_co2_per_kwh is None else kwh * float(likely(owned.kg_co2_per_kwh))
    return total, None if unknown else carbon


def _billed(simulated: Simulated, kind: Ints, used_h: Floats) -> Floats:
    """Return billed hours of runs on machines of these kinds, from their hours in use [h]."""
    hours = used_h.copy()
    for k in np.unique(kind):
        if (rental := simulated.case.machines[k].rental) is not None:
            here = (kind == k) & (hours > 0.0)
            hours[here] = billed_s(rental, hours[here] * HOUR_S) / HOUR_S
    return hours


def _rent(
    simulated: Simulated, stock: Stock, there: Floats, billed: Floats, runs: Floats
) -> Floats:
    """Return the rent of a stock, shape (months, scenarios) [USD]."""
    machine, case = simulated.machine(stock), simulated.case
    if machine.rental is None:
        return np.zeros(billed.shape)
    rental = draw_record(machine.rental, machine.id)
    price = chosen(rental.price_per_hour, simulated)
    around = float(likely(rental.setup_usd) + likely(rental.egress_usd)) * runs
    if machine.term not in STANDING:
        return np.asarray(price * billed + around)
    held = max(case.months - stock.from_month + 1, 1)
    beyond = months_paid(machine, held) / held
    return np.asarray(there[:, None] * price * HOURS_PER_MONTH * beyond + around)


def owned_in(machine: Machine, simulated: Simulated) -> Owned:
    """Return the costs of an own machine in the chosen scenarios.

    Raises:
        ValueError: it is neither rented nor owned.
    """
    if machine.owned is None:
        raise ValueError(
            Text("{machine} has neither rent nor costs of an own machine.", machine=machine.label)
        )
    drawn = draw_record(machine.owned, machine.id)
    names = ("price_usd", "tariff_usd_per_kwh", "upkeep_usd_per_year")
    values = {name: chosen(getattr(drawn, name), simulated) for name in names}
    return replace(drawn, life_years=float(likely(machine.owned.life_years)), **values)


def chosen(amount: object, simulated: Simulated) -> Floats:
    """Return a quantity in the chosen scenarios, shape (scenarios,)."""
    values = np.asarray(amount, dtype=np.float64)
    case = simulated.case
    return np.asarray(values[case.draws] if values.ndim else np.full(case.scenarios, values))


def _utilisation(simulated: Simulated, busy: Floats, there: Floats) -> float | None:
    own = [n for n, s in enumerate(simulated.stocks) if simulated.machine(s).term in STANDING]
    hours = float(there[own].sum()) * HOURS_PER_MONTH
    return float(busy[own].mean(axis=2).sum()) / hours if hours else None
