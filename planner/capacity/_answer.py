"""The answer about a fleet: sentence, tiles, months, waiting times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.capacity._judge import keeps, late_shares
from planner.capacity._months import Case, Simulated, simulate
from planner.capacity._search import cheapest
from planner.capacity._spend import Spend, spend
from planner.capacity.records import (
    STANDING,
    CapacityAnswer,
    Fleet,
    Horizon,
    JobRow,
    MonthRow,
    Stock,
    StockRow,
    Tile,
    Waiting,
)
from planner.core import Estimate, Floats, Refusal, percent
from planner.cost import DOLLARS, HOURS_PER_MONTH, Display, money, money_ends, quantiles, shown

EDGES: Final = tuple(float(e) for e in np.geomspace(36.0, 3.6e6, 41))
"""Bins of waiting times, from 36 s to 1,000 h [s]."""
HOUR_S: Final = 3600.0


def plan(
    case: Case, fleet: Fleet, horizon: Horizon, display: Display = DOLLARS
) -> CapacityAnswer:
    """Return the answer for a fleet, or for the cheapest one."""
    if not fleet.find:
        return answer_of(case, fleet.stocks, horizon, display)
    found = cheapest(case, fleet, horizon)
    return replace(answer_of(case, found.stocks, horizon, display), compared=found.compared)


def answer_of(
    case: Case, stocks: Sequence[Stock], horizon: Horizon, display: Display = DOLLARS
) -> CapacityAnswer:
    """Return the answer for a given fleet."""
    simulated = simulate(case, stocks)
    money_spent = spend(simulated)
    kept = keeps(simulated, horizon.probability)
    return CapacityAnswer(
        sentence=_sentence(simulated, money_spent, horizon, display),
        keeps=kept,
        tiles=_tiles(simulated, money_spent, horizon, display),
        jobs=_jobs(simulated),
        stocks=_stocks(simulated, money_spent),
        months=_months(simulated, money_spent, display),
        waiting=_waiting(simulated),
        horizon=horizon,
    )


def _sentence(simulated: Simulated, spent: Spend, horizon: Horizon, display: Display) -> str:
    whole, worst = late_shares(simulated)
    cost = money(float(np.median(spent.total.sum(axis=0))) / simulated.case.months, display)
    names = (
        ", ".join(f"{s.count} x {_machine(simulated, s).label}" for s in simulated.stocks)
        or "No machine"
    )
    late = worst > 1.0 - horizon.probability + 1e-12
    if not late.any():
        return (
            f"{names}: every job ends in time with at least {percent(horizon.probability)} "
            f"probability, at {cost} a month."
        )
    job = simulated.case.jobs[int(np.argmax(worst))]
    return (
        f"{names}: {job.name} is late in {percent(float(whole[int(np.argmax(worst))]))} of its "
        f"runs, at {cost} a month."
    )


def _machine(simulated: Simulated, stock: Stock):  # type: ignore[no-untyped-def]  # noqa: ANN202
    return simulated.case.machines[simulated.index[stock.machine]]


def _tiles(
    simulated: Simulated, spent: Spend, horizon: Horizon, display: Display
) -> tuple[Tile, ...]:
    months = simulated.case.months
    cost = quantiles(spent.total.sum(axis=0) / months)
    value, low, high = money_ends(cost, display)
    standing = sum(s.count for s in simulated.stocks if _machine(simulated, s).term in STANDING)
    rented = sum(s.count for s in simulated.stocks) - standing
    whole, worst = late_shares(simulated)
    ones = simulated.by_job_and_month(np.ones(simulated.load.job.shape)).sum()
    late = float(simulated.by_job_and_month(simulated.served.late).sum() / ones) if ones else 0.0
    used = spent.utilisation
    del whole
    return (
        Tile(title="Machines", text=f"{standing}", unit=f"standing + up to {rented} rented"),
        Tile(title="Cost a month", text=value, unit=display.currency, note=f"{low} to {high}",
             value=shown(float(cost.value), display), low=shown(float(cost.low), display),
             high=shown(float(cost.high), display)),
        Tile(title="Utilisation", text="–" if used is None else f"{100 * used:.0f}", unit="%",
             value=None if used is None else 100.0 * used),
        Tile(title="Jobs late", text=f"{100 * late:.2g}", unit="%", value=100.0 * late,
             high=100.0 * float(worst.max(initial=0.0)), limit=100.0 * (1.0 - horizon.probability)),
    )  # fmt: skip


def _jobs(simulated: Simulated) -> tuple[JobRow, ...]:
    case = simulated.case
    whole, worst = late_shares(simulated)
    done = simulated.by_job_and_stock(np.ones(simulated.load.job.shape)).sum(axis=2)
    rows = []
    for j, job in enumerate(case.jobs):
        place = int(done[j].argmax()) if done[j].size and done[j].sum() else None
        stock = None if place is None else simulated.stocks[place]
        time = None if stock is None else case.times.get((job.name, stock.machine))
        refused = Refusal(reason="No machine of the fleet can run it.", measure_next="")
        hours: Estimate | Refusal = refused
        if time is not None and time.work_s is not None:
            each = time.work_s / HOUR_S * time.accelerators * job.runs_a_month
            hours = quantiles(each)
        last = (1.0 + job.growth) ** (case.months - 1)
        rows.append(JobRow(
            job=job.name,
            words=job.network or job.workload,
            time=refused if time is None else time.time,
            machine="" if stock is None else _machine(simulated, stock).label,
            accelerators=0 if time is None else time.accelerators,
            hours_a_month=hours,
            hours_in_last_month=None if isinstance(hours, Refusal) else float(hours.value) * last,
            late=None if job.within_h is None else float(whole[j]),
            worst_late=None if job.within_h is None else float(worst[j]),
            runs_a_month=job.runs_a_month, within_h=job.within_h,
            interruptible=job.interruptible, growth=job.growth,
        ))  # fmt: skip
    return tuple(rows)


def _stocks(simulated: Simulated, spent: Spend) -> tuple[StockRow, ...]:
    months = simulated.case.months
    rows = []
    for n, stock in enumerate(simulated.stocks):
        machine = _machine(simulated, stock)
        hours = float(spent.hours[n].mean())
        share = spent.busy[n].mean() / (stock.count * HOURS_PER_MONTH)
        there = max(months - stock.from_month + 1, 1) / months
        rows.append(StockRow(
            machine=machine, count=stock.count, used=stock.count, from_month=stock.from_month,
            cost_a_month=float(np.median(spent.by_stock[n].mean(axis=0))),
            hours_a_month=hours,
            utilisation=float(share / there) if machine.term in STANDING else None,
        ))  # fmt: skip
    return tuple(rows)


def _months(simulated: Simulated, spent: Spend, display: Display) -> tuple[MonthRow, ...]:
    del display
    runs = simulated.by_job_and_month(np.ones(simulated.load.job.shape)).sum(axis=(0, 2))
    late = simulated.by_job_and_month(simulated.served.late).sum(axis=(0, 2))
    labels = [_machine(simulated, s).label for s in simulated.stocks]
    rows = []
    for m in range(simulated.case.months):
        standing = sum(
            s.count for s in simulated.stocks
            if _machine(simulated, s).term in STANDING and s.from_month <= m + 1
        )  # fmt: skip
        unit = max(standing, 1) * HOURS_PER_MONTH
        hours = {label: float(spent.busy[n, m].mean()) for n, label in enumerate(labels)}
        owned = sum(
            float(spent.busy[n, m].mean()) for n, s in enumerate(simulated.stocks)
            if _machine(simulated, s).term in STANDING
        )  # fmt: skip
        rows.append(MonthRow(
            month=m + 1, busy={k: v / unit for k, v in hours.items()}, hours=hours,
            utilisation=owned / unit if standing else None,
            late=float(late[m] / runs[m]) if runs[m] else None,
            cost=quantiles(spent.total[m]),
        ))  # fmt: skip
    return tuple(rows)


def _waiting(simulated: Simulated) -> tuple[Waiting, ...]:
    rows = []
    for j, job in enumerate(simulated.case.jobs):
        wait = simulated.served.wait_h[simulated.counted & (simulated.load.job == j)] * HOUR_S
        hours = simulated.served.hours[simulated.counted & (simulated.load.job == j)]
        late = simulated.served.late[simulated.counted & (simulated.load.job == j)]
        if not wait.size:
            continue
        counts, _ = np.histogram(np.clip(wait[wait > 0.0], EDGES[0], EDGES[-1]), bins=EDGES)
        allowed = None
        if job.within_h is not None:
            allowed = max(job.within_h - float(np.median(hours)), 0.0) * HOUR_S
        rows.append(Waiting(
            job=job.name, edges_s=EDGES, shares=tuple(float(c) / wait.size for c in counts),
            at_once=float((wait <= 0.0).mean()), median_s=float(np.median(wait)),
            p95_s=float(np.quantile(wait, 0.95, method="lower")), allowed_s=allowed,
            late=None if job.within_h is None else float(late.mean()), runs=wait.size,
        ))  # fmt: skip
    return tuple(rows)
