"""Rows of the tables of a plan, for the page, its files and its report."""

from __future__ import annotations

import math
from typing import Final

from planner.capacity import STANDING, CapacityAnswer, CostLines
from planner.core import Estimate, Record, Refusal, Text, percent, plain
from planner.cost import Display, shown

HOUR_S: Final = 3600.0


def job_rows(answer: CapacityAnswer) -> list[Record]:
    """Return the jobs with their times and late shares."""
    return [
        {
            "Job": row.job,
            "Trains": row.words or None,
            "Runs a month": plain(row.runs_a_month),
            "Time of a run (h)": _hours(row.time),
            "Machine": row.machine or None,
            "Accelerators": row.accelerators or None,
            "Accelerator-hours a month": _middle(row.hours_a_month),
            "Within (h)": row.within_h,
            "Late": None if row.late is None else percent(row.late, 1),
            "Worst quarter": None if row.worst_late is None else percent(row.worst_late, 1),
        }
        for row in answer.jobs
    ]


def fleet_rows(answer: CapacityAnswer, display: Display) -> list[Record]:
    """Return the machines with their cost and use."""
    return [
        {
            "Machines": row.machine.label,
            "Count": row.count
            if row.machine.term in STANDING
            else Text("up to {count}", count=row.count),
            "From month": row.from_month,
            f"{display.currency} a month": plain(shown(row.cost_a_month, display), 3),
            "Hours a month": plain(row.hours_a_month, 3),
            "Utilisation": None if row.utilisation is None else percent(row.utilisation),
            "Price": row.machine.price or None,
        }
        for row in answer.stocks
    ]


def line_rows(lines: CostLines, display: Display) -> list[Record]:
    """Return the ends of cost lines, with resale value, energy and CO2."""
    money = display.currency
    return [
        {
            "Way": line.name,
            f"Spent ({money})": _ends(line.usd[-1], line.low[-1], line.high[-1], display),
            Text("Resale value ({money})", money=money): _money(line.resale, display),
            f"Net ({money})": _money(line.net, display),
            "Energy (MWh)": None if not line.energy_kwh else plain(line.energy_kwh / 1e3, 3),
            "CO2 (t)": None if not line.co2_kg else plain(line.co2_kg / 1e3, 3),
            "Limit": line.problem or None,
        }
        for line in lines.lines
    ]


def month_rows(answer: CapacityAnswer, display: Display) -> list[Record]:
    """Return the months, for a file."""
    return [
        {
            "month": m.month,
            f"cost_{display.currency.lower()}": round(shown(float(m.cost.value), display), 2),
            "cost_low": round(shown(float(m.cost.low), display), 2),
            "cost_high": round(shown(float(m.cost.high), display), 2),
            "utilisation": m.utilisation,
            "late": m.late,
            **{f"hours {label}": round(hours, 3) for label, hours in m.hours.items()},
        }
        for m in answer.months
    ]


def month_table(answer: CapacityAnswer, display: Display) -> list[Record]:
    """Return the months, to be read."""
    money = display.currency
    return [
        {
            "Month": m.month,
            f"Cost ({money})": _money(float(m.cost.value), display),
            "90 % interval": f"{_money(float(m.cost.low), display)} – "
                             f"{_money(float(m.cost.high), display)}",
            "Utilisation": None if m.utilisation is None else percent(m.utilisation),
            "Late": None if m.late is None else percent(m.late, 1),
        }
        for m in answer.months
    ]  # fmt: skip


def waiting_rows(answer: CapacityAnswer) -> list[Record]:
    """Return the waiting times of each job."""
    return [
        {
            "Job": w.job,
            "At once": percent(w.at_once),
            "Median wait (h)": _wait(w.median_s),
            "95 % wait less than (h)": _wait(w.p95_s),
            "Simulated runs": w.runs,
        }
        for w in answer.waiting
    ]


def _wait(seconds: float) -> str:
    return plain(seconds / HOUR_S, 3) if math.isfinite(seconds) else "never"


def _hours(time: Estimate | Refusal) -> str:
    if isinstance(time, Refusal):
        return time.reason
    value, low, high = (float(v) / HOUR_S for v in (time.value, time.low, time.high))
    return f"{plain(value, 3)} ({plain(low, 2)} – {plain(high, 2)})"


def _middle(hours: Estimate | Refusal) -> str | None:
    return None if isinstance(hours, Refusal) else plain(float(hours.value), 2)


def _money(usd: float, display: Display) -> str:
    return plain(shown(usd, display), 3)


def _ends(value: float, low: float, high: float, display: Display) -> str:
    return f"{_money(value, display)} ({_money(low, display)} – {_money(high, display)})"
