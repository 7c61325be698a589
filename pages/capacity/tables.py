"""Tables of a plan: machines, jobs and lines of money; on a telephone they are cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from pages.capacity.state import PlanReply, drawn
from pages.common import narrow, widgets
from pages.common.link import Link
from planner.capacity import CapacityAnswer, CostLines
from planner.core import Text
from planner.cost import Display
from planner.figures import Card
from planner.report import capacity as tables

LIST: Final = "list"
"""Parameter of the open list in a link."""
_TABS: Final = {"machines": "Machines", "jobs": "Jobs", "lines": "Rent or buy only"}


def declare(link: Link) -> None:
    """Declare the open list as a part of the link."""
    widgets.declare_tab(link, _TABS, LIST)


def draw(link: Link, of: PlanReply) -> None:
    """Draw the machines of the fleet, the jobs, and the fleet beside renting and buying only."""
    answer, display = of.answer, of.question.display
    with st.container(border=True):
        tab = widgets.open_tab(link, _TABS, LIST)
        with tab.place:
            if tab.name == "jobs":
                narrow.table(tables.job_rows(answer), "capacity.job-rows",
                             "Jobs with time of a run, machine and late share",
                             job_cards(answer))  # fmt: skip
            elif tab.name == "lines" and answer.costs is not None:
                lines(answer.costs, display, "capacity.cost-lines",
                      "This fleet, renting only and buying only")  # fmt: skip
            else:
                narrow.table(
                    drawn(of, "fleet", lambda: tuple(tables.fleet_rows(answer, display))),
                    "capacity.stocks", "Machines of the fleet with cost and utilisation",
                    drawn(of, "machines", lambda: tuple(machine_cards(answer, display))),
                )  # fmt: skip


def months(of: PlanReply) -> None:
    """Draw cost, utilisation and late share of each month."""
    rows = tables.month_table(of.answer, of.question.display)
    narrow.table(rows, "capacity.month-rows", "Cost, utilisation and late share by month",
                 month_cards(of))  # fmt: skip


def waiting(answer: CapacityAnswer) -> None:
    """Draw the waiting times of each job."""
    narrow.table(tables.waiting_rows(answer), "capacity.waits", "Waiting times of each job",
                 waiting_cards(answer))  # fmt: skip


def lines(of: CostLines, display: Display, key: str, alt: str) -> None:
    """Draw the ends of cost lines with resale value, energy and CO2."""
    narrow.table(tables.line_rows(of, display), key, alt, line_cards(of, display))
    st.caption(
        "Expected values. What is bought counts in its month. Net: spent with interest, less the "
        "resale value."
    )
    if any(x.energy_kwh and x.co2_kg is None for x in of.lines):
        st.caption("CO2 needs the country of the electricity, under Assumed.")


def month_cards(of: PlanReply) -> list[Card]:
    """Return a card for each month: its cost with the interval, utilisation and late share."""
    money = of.question.display.currency
    return [
        Card(
            title=Text("Month {month}", month=_text(row, "Month")),
            values=(
                (f"{_text(row, f'Cost ({money})')} {money}", _text(row, "90 % interval")),
                (_text(row, "Utilisation"), "utilised"),
                (_text(row, "Late"), "late"),
            ),
        )
        for row in tables.month_table(of.answer, of.question.display)
    ]


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
                (_text(row, "Utilisation") if "Utilisation" in row else "", "of its hours"),
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
        for resale in (f"{_text(row, Text('Resale value ({money})', money=money))} {money}",)
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
