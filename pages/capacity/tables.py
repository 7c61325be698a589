"""Tables of a plan: machines, jobs and lines of money; on a telephone they are cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from pages.capacity.state import Reply
from pages.common import narrow, widgets
from planner.capacity import CapacityAnswer, CostLines
from planner.core import Record, Text
from planner.cost import Display
from planner.figures import Card
from planner.report import capacity as tables

_TABS: Final = {"machines": "Machines", "jobs": "Jobs", "lines": "Rent or buy only"}


def draw(of: Reply) -> None:
    """Draw the machines of the fleet, the jobs, and the fleet beside renting and buying only."""
    answer, display = of.answer, of.question.display
    with st.container(border=True):
        tab = widgets.chart_or_table("capacity.table-tabs", _TABS)
        with tab.place:
            if tab.name == "jobs":
                _both("capacity-job-rows", tables.job_rows(answer), job_cards(answer),
                      "Jobs with time of a run, machine and late share")  # fmt: skip
            elif tab.name == "lines" and answer.costs is not None:
                lines(answer.costs, display, "capacity-cost-lines",
                      "This fleet, renting only and buying only")  # fmt: skip
            else:
                _both("capacity-stocks", tables.fleet_rows(answer, display),
                      machine_cards(answer, display),
                      "Machines of the fleet with cost and utilisation")  # fmt: skip


def months(of: Reply) -> None:
    """Draw cost, utilisation and late share of each month."""
    rows = tables.month_table(of.answer, of.question.display)
    widgets.table(rows, key="capacity.month-rows", alt="Cost, utilisation and late share by month")


def waiting(answer: CapacityAnswer) -> None:
    """Draw the waiting times of each job."""
    _both("capacity-waits", tables.waiting_rows(answer), waiting_cards(answer),
          "Waiting times of each job")  # fmt: skip


def lines(of: CostLines, display: Display, key: str, alt: str) -> None:
    """Draw the ends of cost lines with resale value, energy and CO2."""
    _both(key, tables.line_rows(of, display), line_cards(of, display), alt)
    if any(x.energy_kwh and x.co2_kg is None for x in of.lines):
        st.caption("CO2 needs the country of the electricity, under Assumed.")


def _both(key: str, rows: Sequence[Record], cards: Sequence[Card], alt: str) -> None:
    narrow.draw_cards(f"{key}-cards", cards)
    with narrow.wide(f"{key}-table"):
        widgets.table(rows, key=key.replace("capacity-", "capacity."), alt=alt)


def machine_cards(answer: CapacityAnswer, display: Display) -> list[Card]:
    """Return a card for each machine of the fleet: its number, cost, hours and price."""
    money = display.currency
    return [
        Card(
            title=_text(row, "Machines"),
            end=_text(row, "Count"),
            values=(
                (f"{_text(row, f'{money} a month')} {money}", "a month"),
                (f"{_text(row, 'Hours a month')} h", "a month"),
                (_text(row, "Utilisation"), "of its hours"),
            ),
            note=_text(row, "Price"),
        )
        for row in tables.fleet_rows(answer, display)
    ]


def job_cards(answer: CapacityAnswer) -> list[Card]:
    """Return a card for each job: time of a run, runs, late share and machine."""
    cards = []
    for job, row in zip(answer.jobs, tables.job_rows(answer), strict=True):
        limit = "late"
        if job.within_h is not None:
            limit = Text("late, within {hours:g} h", hours=job.within_h)
        late = _text(row, "Late")
        cards.append(
            Card(
                title=job.job,
                values=(
                    (f"{_text(row, 'Time of a run (h)')} h" if job.machine else "", "a run"),
                    (_text(row, "Runs a month"), "runs a month"),
                    (late, limit),
                ),
                note=" · ".join(filter(None, (job.words, job.machine or "no machine can run it"))),
            )
        )
    return cards


def line_cards(of: CostLines, display: Display) -> list[Card]:
    """Return a card for each line of money: spent, net, energy and CO2."""
    money = display.currency
    return [
        Card(
            title=_text(row, "Way"),
            values=(
                (f"{_text(row, f'Net ({money})')} {money}", "net of the resale value"),
                (resale if line.resale else "", "resale value"),
                (_text(row, "Energy (MWh)"), "MWh"),
                (_text(row, "CO2 (t)"), "t CO2"),
            ),
            note=" · ".join(
                filter(None, (f"spent {_text(row, f'Spent ({money})')} {money}",
                              _text(row, "Limit")))
            ),
        )
        for line, row in zip(of.lines, tables.line_rows(of, display), strict=True)
        for resale in (f"{_text(row, f'Resale value ({money})')} {money}",)
    ]  # fmt: skip


def waiting_cards(answer: CapacityAnswer) -> list[Card]:
    """Return a card for each job: how many runs start at once, and how long the others wait."""
    return [
        Card(
            title=_text(row, "Job"),
            values=(
                (_text(row, "At once"), "start at once"),
                (f"{_text(row, 'Median wait (h)')} h", "median wait"),
                (f"{_text(row, '95 % wait less than (h)')} h", "95 % wait less"),
            ),
            note=Text("{runs} simulated runs", runs=_text(row, "Simulated runs")),
        )
        for row in tables.waiting_rows(answer)
    ]


def _text(row: Mapping[str, object], name: str) -> str:
    """Return a cell as text; "" where unknown."""
    value = row[name]
    return "" if value is None else str(value)
