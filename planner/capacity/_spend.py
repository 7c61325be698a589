"""What a fleet costs in each month and scenario, from its simulated hours.

    owned, bought   capital + upkeep/12 + electricity of busy and idle hours    [USD/month]
    reserved        price x 730 h
    on demand, spot price x hours, rounded up for billing, + set-up and egress of each run

`capital` is the purchase with its interest less its value at the end of the plan, in equal months:
`planner.cost.fixed_per_year` with the length of the plan as life. An owned machine has no price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.capacity._months import HOUR_S, Simulated
from planner.capacity.records import STANDING, Machine, Stock
from planner.core import Floats
from planner.cost import (
    HOURS_PER_MONTH,
    Owned,
    billed_s,
    busy_energy_per_hour,
    draw_record,
    fixed_per_year,
    idle_energy_per_hour,
    likely,
)

MONTHS_PER_YEAR = 12.0


@dataclass(frozen=True, kw_only=True)
class Spend:
    """Money and hours of a simulated fleet.

    by_stock: shape (stocks, months, scenarios) [USD].
    hours: machine-hours in use, rented ones as billed, same shape [h].
    busy: the same without the idle parts of shared machines [h].
    utilisation: busy share of standing machines; None without any.
    """

    by_stock: Floats
    hours: Floats
    busy: Floats
    utilisation: float | None

    @property
    def total(self) -> Floats:
        """Cost of each month and scenario [USD]."""
        return np.asarray(self.by_stock.sum(axis=0))


def value_left(owned: Owned, years: float) -> float:
    """Return the share of the price that a machine is worth after some years, falling evenly."""
    life, kept = float(likely(owned.life_years)), float(likely(owned.residual_share))
    return 1.0 - (1.0 - kept) * min(years / life, 1.0) if life > 0.0 else kept


def monthly_capital(owned: Owned, months: float) -> Floats:
    """Return capital and upkeep of a month, when bought for so many months [USD/month]."""
    years = months / MONTHS_PER_YEAR
    held = replace(owned, life_years=years, residual_share=value_left(owned, years))
    return np.asarray(fixed_per_year(held) / MONTHS_PER_YEAR)


def spend(simulated: Simulated) -> Spend:
    """Return costs and hours of every month and scenario."""
    case, served = simulated.case, simulated.served
    sizes = np.array([m.accelerators for m in case.machines])
    part = case.needs / sizes[:, None]
    kind = simulated.kind[np.maximum(served.machine, 0)] if simulated.kind.size else None
    if kind is None:
        shape = (0, len(case.at), case.scenarios)
        return Spend(by_stock=np.zeros(shape), hours=np.zeros(shape), busy=np.zeros(shape),
                     utilisation=None)  # fmt: skip
    job = np.maximum(simulated.load.job, 0)
    busy = simulated.by_stock_and_month(served.hours * part[kind, job]) * simulated.scale
    used = simulated.by_stock_and_month(served.used_h) * simulated.scale
    runs = simulated.by_stock_and_month(np.ones(job.shape)) * simulated.scale
    billed = simulated.by_stock_and_month(_billed(simulated)) * simulated.scale
    by_stock = np.array([
        _cost(simulated, n, stock, busy[n], billed[n], runs[n])
        for n, stock in enumerate(simulated.stocks)
    ]).reshape(busy.shape)  # fmt: skip
    return Spend(by_stock=by_stock, hours=used, busy=busy,
                 utilisation=_utilisation(simulated, busy))  # fmt: skip


def _billed(simulated: Simulated) -> Floats:
    """Return billed hours of every run [h]."""
    hours = simulated.served.used_h.copy()
    kinds = simulated.kind[np.maximum(simulated.served.machine, 0)]
    for k, machine in enumerate(simulated.case.machines):
        here = kinds == k
        if machine.rental is not None and here.any():
            hours[here] = np.where(
                hours[here] > 0.0, billed_s(machine.rental, hours[here] * HOUR_S) / HOUR_S, 0.0
            )
    return hours


def _cost(
    simulated: Simulated, n: int, stock: Stock, busy: Floats, billed: Floats, runs: Floats
) -> Floats:
    """Return the cost of one stock, shape (months, scenarios) [USD]."""
    case = simulated.case
    machine = case.machines[simulated.index[stock.machine]]
    month = case.at[:, None]
    there = month >= stock.from_month - 1
    del n
    if machine.rental is not None:
        rental = draw_record(machine.rental, machine.id)
        price = _chosen(rental.price_per_hour, simulated)
        around = float(likely(rental.setup_usd) + likely(rental.egress_usd)) * runs
        if machine.term in STANDING:
            return np.asarray(there * stock.count * price * HOURS_PER_MONTH + around)
        return np.asarray(price * billed + around)
    owned = _owned(machine, simulated)
    idle = np.maximum(there * stock.count * HOURS_PER_MONTH - busy, 0.0)
    energy = busy_energy_per_hour(owned) * busy + idle_energy_per_hour(owned) * idle
    held = max(case.months - stock.from_month + 1, 1)
    return np.asarray(energy + there * stock.count * monthly_capital(owned, held))


def _owned(machine: Machine, simulated: Simulated) -> Owned:
    """Return the machine's costs in the chosen scenarios."""
    if machine.owned is None:
        raise ValueError(f"{machine.label} has neither rent nor costs of an own machine.")
    drawn = draw_record(machine.owned, machine.id)
    names = ("price_usd", "tariff_usd_per_kwh", "upkeep_usd_per_year")
    chosen = {name: _chosen(getattr(drawn, name), simulated) for name in names}
    return replace(drawn, life_years=float(likely(machine.owned.life_years)), **chosen)


def _chosen(amount: object, simulated: Simulated) -> Floats:
    """Return a quantity in the chosen scenarios, shape (scenarios,)."""
    values = np.asarray(amount, dtype=np.float64)
    return np.asarray(values[simulated.case.draws] if values.ndim else
                      np.full(simulated.case.scenarios, float(values)))  # fmt: skip


def _utilisation(simulated: Simulated, busy: Floats) -> float | None:
    case, worked, there = simulated.case, 0.0, 0.0
    for n, stock in enumerate(simulated.stocks):
        if case.machines[simulated.index[stock.machine]].term in STANDING:
            worked += float(busy[n].mean(axis=1).sum())
            held = int((case.at >= stock.from_month - 1).sum())
            there += stock.count * held * HOURS_PER_MONTH
    return worked / there if there else None
