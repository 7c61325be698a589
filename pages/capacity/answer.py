"""The answer of a plan: tiles, what breaks first, charts, tables, what to measure next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import streamlit as st

from pages.capacity import fleet, state
from pages.capacity import tables as page_tables
from pages.capacity.state import PlanReply
from pages.common import fields, handout, narrow, tiles, widgets
from pages.common.link import Link
from planner import figures
from planner.answers.capacity_jobs import jobs_csv
from planner.capacity import CapacityAnswer
from planner.core import Record, Text, csv_text, plain
from planner.cost import Display
from planner.figures import ChartSpec
from planner.figures.frame import Theme
from planner.report import capacity as plan
from planner.report import capacity_page, comparison_charts

_MONEY: Final = {
    "plan": "Over the plan",
    "machine": "One machine over years",
    "use": "Rent or buy by utilisation",
    "matters": "What matters most",
}
"""Views of the first chart."""
_Make = Callable[[CapacityAnswer, Display, Theme], ChartSpec]


def sentence(answer: CapacityAnswer) -> str:
    """Return the answer to paste: the fleet, its cost, and what qualifies it."""
    breaks = "" if answer.breaks is None else answer.breaks.words
    return "\n".join(line for line in (answer.sentence, *answer.chips, breaks) if line)


def draw(link: Link, of: PlanReply) -> None:
    """Draw the answer."""
    answer = of.answer
    badge = answer.chips[0] if answer.chips else ""
    with st.container(border=True):
        tiles.draw(answer.fleet, plan.tiles(answer), badge=badge if answer.keeps else "")
        if not answer.keeps:
            late = widgets.answer_text(answer.late)
            st.markdown(f":orange[:material/warning:] {late}")
        elif answer.breaks is not None:
            breaks = widgets.answer_text(answer.breaks.words)
            st.markdown(f":orange[:material/trending_up:] {breaks}")
        with widgets.actions():
            widgets.share(link, sentence(answer), "content")
            handout.draw("capacity", _maker(link, of), _files(of))
    _money(link, of)
    _months(link, of)
    _waiting(link, of)
    _next(answer)
    page_tables.draw(link, of)
    _origin(answer)


def _maker(link: Link, of: PlanReply) -> handout.Make:
    """Return a function that makes the report at the click, when no page is being drawn."""
    address, chart = link.url(), str(link.held("chart"))
    return lambda letterhead, made: capacity_page(
        of.answer, of.question.display, link=address, made=made, chart=chart, letterhead=letterhead
    )


def _files(of: PlanReply) -> list[widgets.File]:
    answer, display = of.answer, of.question.display
    named: Mapping[str, Callable[[], str]] = {
        "Jobs": lambda: jobs_csv(of.question.jobs, plan.job_rows(answer)),
        "Fleet": lambda: csv_text(plan.fleet_rows(answer, display)),
        "Months": lambda: csv_text(plan.month_rows(answer, display)),
    }
    return [
        widgets.File(
            Text("{name} as CSV", name=name),
            make,
            f"epochwise-capacity-{name.lower()}.csv",
            f"capacity.{name.lower()}.csv",
        )
        for name, make in named.items()
    ]


def _chart(of: PlanReply, name: str, alt: str, make: _Make) -> None:
    widgets.chart(_spec(of, name, make), f"capacity.chart.{name}", alt)


def _spec(of: PlanReply, name: str, make: _Make) -> ChartSpec:
    theme = widgets.theme()
    return state.drawn(of, (name, theme.text),
                       lambda: make(of.answer, of.question.display, theme))  # fmt: skip


def _both(
    link: Link, of: PlanReply, name: str, alt: str, *, make: _Make, rows: Callable[[], list[Record]]
) -> None:
    """Draw a chart and its table as tabs."""
    narrow.chart_and_table(_spec(of, name, make), f"capacity.chart.{name}", alt, rows, link=link)


def _money(link: Link, of: PlanReply) -> None:
    """Draw the lines of money, or what moves them."""
    with st.container(border=True):
        with widgets.spread():
            widgets.heading("Cost", width="content")
            view = link.held("chart")
            fields.segments(link, "chart", "Chart", _MONEY)
        _VIEWS[view](link, of)


def declare(link: Link) -> None:
    """Declare the view of the first chart, and the fields of one machine."""
    link.choice("chart", list(_MONEY), "plan")
    widgets.declare_tab(link)
    widgets.declare_tables(link, ["costs", "machine", "use", "matters", "wait"])
    page_tables.declare(link)
    if link.held("chart") != "machine":
        fleet.declare(link, "years", "utilisation")


def _plan(link: Link, of: PlanReply) -> None:
    lines, display = of.answer.costs, of.question.display
    if lines is None:
        _chart(of, "costs", "No cost", plan.costs)
        return
    _both(
        link,
        of,
        "costs",
        lines.sentence,
        make=plan.costs,
        rows=lambda: plan.course_rows(lines, display),
    )
    _unmarked(plan.without_break_even(lines))


def _unmarked(sentence: str) -> None:
    """Draw the sentence of a chart that has no break-even to mark."""
    if sentence:
        st.markdown(widgets.answer_text(sentence))


def _machine(link: Link, of: PlanReply) -> None:
    lines = of.answer.side_by_side
    with st.grid(4, min_column_width=150):
        fleet.number(link, "years")
        used = None if lines is None or lines.utilisation is None else 100.0 * lines.utilisation
        fleet.number(link, "utilisation", "" if used is None else plain(used, 2))
    if lines is None:
        st.caption("No machine here is bought. Add one under Machines.")
        return
    tab = widgets.chart_or_table("capacity.machine", link=link)
    with tab.place:
        if tab.name == "chart":
            _chart(of, "machine", lines.sentence, plan.side_by_side)
            _unmarked(plan.without_break_even(lines))
            return
        page_tables.lines(
            lines, of.question.display, "capacity.lines",
            "Cost, resale value, energy and CO2 of one machine of each kind",
        )  # fmt: skip
        if lines.pairs:
            narrow.table(
                plan.pair_rows(lines), "capacity.pairs",
                "Month from which each bought machine has cost less than each rented one like it",
            )  # fmt: skip


def _use(link: Link, of: PlanReply) -> None:
    curves = of.answer.rent_or_buy
    if curves is None:
        st.caption("No machine here can be both bought and rented.")
        return
    display = of.question.display
    _both(
        link,
        of,
        "use",
        curves.sentence,
        make=plan.by_use,
        rows=lambda: plan.use_rows(curves, display),
    )
    _unmarked(plan.without_break_even(curves))


def _matters(link: Link, of: PlanReply) -> None:
    if not of.answer.sensitivity:
        st.caption("Nothing about the cost of this fleet is uncertain.")
        return
    display = of.question.display
    bars = comparison_charts.influence_bars(of.answer.sensitivity, display)
    alt = "How far each input moves the cost of a month"
    _both(
        link,
        of,
        "matters",
        alt,
        make=plan.matters,
        rows=lambda: figures.bar_rows(bars, display.currency),
    )


_VIEWS: Final[Mapping[Any, Callable[[Link, PlanReply], None]]] = {
    "plan": _plan, "machine": _machine, "use": _use, "matters": _matters,
}  # fmt: skip


def _months(link: Link, of: PlanReply) -> None:
    with st.container(border=True):
        widgets.heading("Utilisation by month")
        tab = widgets.open_tab(link)
        with tab.place:
            if tab.name == "table":
                page_tables.months(of)
            else:
                _chart(of, "months",
                       "Work of each month by machine, as a share of the own capacity",
                       lambda answer, _, theme: plan.months(answer, theme))  # fmt: skip


def _waiting(link: Link, of: PlanReply) -> None:
    if not of.answer.waiting:
        return
    with st.container(border=True):
        widgets.heading("Waiting time by job")
        tab = widgets.chart_or_table("capacity.wait", link=link)
        with tab.place:
            if tab.name == "table":
                page_tables.waiting(of.answer)
                return
            _chart(of, "waiting",
                   "Distribution of the waiting time of each job, with the longest wait",
                   lambda answer, _, theme: plan.waiting(answer, theme))  # fmt: skip


def _next(answer: CapacityAnswer) -> None:
    if answer.measure_next is not None:
        with st.container(border=True):
            widgets.heading("What to measure next")
            st.markdown(
                f":material/bolt: **{widgets.answer_text(answer.measure_next.job)}.** "
                f"{widgets.answer_text(answer.measure_next.sentence)}"
            )


def _origin(answer: CapacityAnswer) -> None:
    """Draw what is assumed, prices with their sources, and waiting times."""
    with widgets.details():
        for note in answer.notes:
            st.markdown(widgets.answer_text(note))
        st.caption(Text("{compared} fleets were compared.", compared=answer.compared))
    narrow.sources(lambda: answer.sources, "capacity", "Prices of the machines and their sources")
