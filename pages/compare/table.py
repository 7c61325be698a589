"""The ranked table of the page Compare hardware, with baseline and units to choose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import streamlit as st

from pages.common import fields, narrow, widgets
from pages.common.link import Link, as_text
from pages.compare import tiles
from pages.compare.state import CompareReply, drawn
from planner.answers.comparison import option_rows, source_rows
from planner.compare import (
    limits_phrase,
    pays_up_front,
    probability_help,
    probability_titles,
    times_better,
)
from planner.compare.comparison import Comparison, Row
from planner.core import (
    COST,
    SPEED,
    Cell,
    Estimate,
    Record,
    Refusal,
    Text,
    ahead_of,
    between,
    csv_text,
    ends_in_hours,
    joined,
    paragraph,
    rounded_ends,
    with_ends,
    written_ends,
)
from planner.cost import DIGITS, shown
from planner.job import Order
from planner.report import CREDITS, comparison_charts
from planner.store.export import records_file


def clocked(time: tuple[float, float, float], clock: str) -> tuple[str, str]:
    """Return '14 h' and '12 to 17 h'; no interval where its ends are equal as shown.

    Args:
        time: value, low and high [s].
        clock: "unit" for the unit that suits the time, or "hours".
    """
    value, low, high = ends_in_hours(*time) if clock == "hours" else with_ends(*time)
    return value, "" if low == high else between(low, high)


_PER: Final = {"run": "A run", "month": "A month", "epoch": "An epoch"}
_CLOCK: Final = {"unit": "Own unit", "hours": "Hours"}
_LETTER_PX, _PADDING_PX, _MOST_PX = 6.0, 20, 280
"""Width of a digit, padding of a cell, and largest width of a number column [px]."""
Shown = dict[str, str | float | int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """Settings of the table: baseline, what numbers are for, and unit of time."""

    base: Row | None
    per: str = "run"
    clock: str = "unit"


def declare(link: Link, comparison: Comparison) -> None:
    """Declare the initial values of the switches."""
    link.choice("baseline", ["", *(r.candidate.id for r in comparison.rows)], "")
    link.choice("view", list(_per(comparison)), "run")
    link.choice("show", list(_CLOCK), "unit")


def draw(link: Link, reply: CompareReply, comparison: Comparison, begins: datetime) -> None:
    """Draw the options, best first, with downloads."""
    ids = {r.candidate.id: r.candidate.label for r in comparison.rows}
    per = _per(comparison)
    baseline, view, clock = (
        str(st.session_state[link.key(n)]) for n in ("baseline", "view", "show")
    )
    with st.container():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.selectbox(
                "Compare with",
                ["", *ids],
                link.place("baseline", ["", *ids]),
                key=link.key("baseline"),
                format_func=lambda i: ids.get(i, "the first in rank"),
                width=280,
            )
            look: dict[str, Any] = {"width": "content", "label_visibility": "visible"}
            fields.segments(link, "view", "Numbers for", per, **look)
            fields.segments(link, "show", "Times in", _CLOCK, **look)
        seen = TableView(base=_baseline(comparison, baseline), per=view, clock=clock)
        shown_rows = drawn(
            reply,
            "rows",
            (seen.base.candidate.id if seen.base else "", view, clock, begins),
            lambda: rows(reply, comparison, seen, begins),
        )
        _table(shown_rows, reply, comparison, view)
        _caption(seen.base, reply, begins)
        records = records_of(reply, comparison, begins)
        with widgets.actions():
            widgets.download(
                "CSV", lambda: csv_text(records), "epochwise-compare.csv", key="compare.csv",
                width="content",
            )  # fmt: skip
            widgets.download(
                "Parquet", lambda: records_file(records), "epochwise-compare.parquet",
                key="compare.parquet", width="content",
            )  # fmt: skip


def records_of(reply: CompareReply, comparison: Comparison, begins: datetime) -> list[Record]:
    """Return `planner.answers.comparison.option_rows`, cached per answer and minute."""
    make = lambda: option_rows(comparison, reply.display, begins)  # noqa: E731
    return drawn(reply, "records", begins, make)


def _per(comparison: Comparison) -> dict[str, str]:
    """Return the choices of what numbers are for; an epoch only where the goal is epochs."""
    choices = dict(_PER)
    if comparison.question.goal.epochs is None:
        del choices["epoch"]
    return choices


def _baseline(comparison: Comparison, chosen: str) -> Row | None:
    """Return the chosen baseline, else the first option."""
    named = (r for r in comparison.rows if r.candidate.id == chosen)
    return next(named, comparison.leader)


def rows(
    reply: CompareReply, comparison: Comparison, view: TableView, begins: datetime
) -> list[Shown]:
    """Return the rows of the table; None is unknown and shown as a dash."""
    records = records_of(reply, comparison, begins)
    factor = comparison.runs_in(view.per)
    names = comparison_charts.short_names([r.candidate for r in comparison.rows])
    return [
        _shown(
            row, names[row.candidate.id], record, view,
            (factor, shown(factor, reply.display), shown(1.0, reply.display)),
        )
        for row, record in zip(comparison.rows, records, strict=True)
    ]  # fmt: skip


def _shown(
    row: Row, short: str, record: Record, view: TableView, factors: tuple[float, float, float]
) -> Shown:
    """Return one row; `factors` multiply times, money, and money that is not of the view's goal."""
    stale = "stale · " if row.candidate.stale else ""
    machines = Text("{machines} of them", machines=row.machines) if row.machines > 1 else ""
    why = " ".join(str(record[n]) for n in ("refused", "measure_next") if record[n])
    time, cost = _scaled(row.time, factors[0]), _scaled(row.cost, factors[1])
    at = clocked(time, view.clock) if time else ("", "")
    spent = written_ends(*cost, DIGITS) if cost else None
    return {
        "rank": _rank(row),
        "short": joined(" · ", (short, machines)),
        "option": joined(" · ", (row.candidate.label, machines)),
        "time": at[0] if time else None,
        "time_range": at[1] or None,
        "finishes": _moment(record["finishes"]),
        "cost": _middle(row.cost, factors[1]),
        "cost_range": between(spent[1], spent[2]) if spent else None,
        "to_pay": _middle(row.to_pay, factors[2]),
        "month": _middle(row.cost_per_month, factors[2]),
        "energy": _middle(row.energy_kwh, factors[0]),
        "cheaper": _ratio(row, view.base, "cost"),
        "faster": _ratio(row, view.base, "time"),
        "cheapest": _per_cent(row.cheapest),
        "fastest": _per_cent(row.fastest),
        "in_time": _per_cent(row.in_time),
        "basis": _text(record["basis"]),
        "memory": _per_cent(_free(row)),
        "batch": row.timed.batch,
        "price": f"{stale}{row.candidate.price}",
        "why": why if record["refused"] else row.timed.fit.way_out or None,
    }


def _free(row: Row) -> float | None:
    """Return the free share of memory; None where the job does not fit."""
    return None if row.timed.fit.fits is False else row.timed.fit.headroom


def _per_cent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _text(cell: Cell) -> str | None:
    return None if cell is None else str(cell)


def _moment(cell: Cell) -> str | None:
    """Return day and time; the caption has the zone."""
    return None if cell is None else str(cell)[:16].replace("T", " ")


def _middle(answer: Estimate | Refusal | None, factor: float) -> float | None:
    """Return a value times a factor, rounded as its interval allows."""
    if not isinstance(answer, Estimate):
        return None
    return rounded_ends(*answer.scaled(factor).ends, DIGITS)[0]


def _rank(row: Row) -> str | None:
    """Return the rank: '1', or '1=' for a tie."""
    return None if row.rank is None else f"{row.rank}{'=' if row.tied else ''}"


def _scaled(answer: Estimate | Refusal, factor: float) -> tuple[float, float, float] | None:
    return None if isinstance(answer, Refusal) else answer.scaled(factor).ends


def _ratio(row: Row, base: Row | None, order: Order) -> str | None:
    """Return cost or speed relative to the baseline, in words."""
    ratio = times_better(row, base, order) if base is not None else None
    return None if ratio is None else ahead_of(ratio, COST if order == "cost" else SPEED)


def _table(
    shown_rows: Sequence[Shown], reply: CompareReply, comparison: Comparison, view: str
) -> None:
    money, what = (
        reply.display.currency,
        {"run": "a run", "month": "a month", "epoch": "an epoch"},
    )
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    limits = comparison.question.limits
    within = limits_phrase(limits)
    (cheapest, fastest), words = probability_titles(comparison), probability_help(comparison)
    by_time = limits.order == "time"
    optional = {
        "month": view == "run",
        "finishes": view == "run",
        "in_time": bool(within),
        "to_pay": limits.budget_usd is not None or any(map(pays_up_front, comparison.rows)),
    }
    order = [
        "rank", "short", "time", "time_range", "cost", "cost_range", "to_pay", "in_time",
        *(("fastest", "price", "cheapest") if by_time else ("cheapest", "price", "fastest")),
        "batch",
        "finishes", "basis", "cheaper", "faster", "month", "energy", "memory",
        "option", "why",
    ]  # fmt: skip
    kept = [
        name for name in order
        if optional.get(name, True) and (any(r[name] is not None for r in shown_rows))
    ]  # fmt: skip
    narrow.table(
        list(shown_rows),
        key="compare.table",
        alt="All options, best first, with time, cost, energy, memory and how sure each is",
        made=tiles.cards(comparison, shown_rows, reply.display.currency),
        column_order=kept,
        column_config={
            "rank": text("#", width=34, pinned=True),
            "short": text("Option", pinned=True, width=125),
            "option": text("In full", width=300),
            "time": text(f"Time {what[view]}", width=84, alignment="right"),
            "time_range": text("Time, 90 %", width=_width(shown_rows, "time_range", 104)),
            "finishes": text("Finishes", width=116),
            "cost": number(f"{money} {what[view]}", format="localized", width=76),
            "cost_range": text(f"{money}, 90 %", width=_width(shown_rows, "cost_range", 92)),
            "month": number(f"{money} a month", format="localized", width=100),
            "energy": number(f"kWh {what[view]}", format="localized", width=90),
            "cheaper": text("Relative cost", width=150),
            "faster": text("Relative speed", width=110),
            "to_pay": number(
                Text("{money} to pay", money=money),
                format="localized",
                width=84,
                help="Total to pay for the job: the bill of a rental, the full price of a "
                "purchase. The budget is compared with it.",
            ),
            "cheapest": _share(cheapest, words),
            "fastest": _share(fastest, words),
            "in_time": _share(
                "Meets limits", Text("Probability of finishing {within}", within=within)
            ),
            "basis": text("Basis", width=150),
            "memory": number("Memory free", format="%.0f %%", width=90),
            "batch": number("Batch", format="localized", width=64),
            "price": text("Price", width=190),
            "why": text("Why not, and what to do", width=420),
        },
    )


def _width(shown_rows: Sequence[Shown], name: str, least: int) -> int:
    """Return the width of the longest text of a column [px], so that no interval is cut."""
    longest = max((len(str(r[name] or "")) for r in shown_rows), default=0)
    return min(max(least, round(_LETTER_PX * longest) + _PADDING_PX), _MOST_PX)


def _share(title: str, words: str) -> Any:  # noqa: ANN401 - Streamlit's own type has no name
    """Return a column of probabilities, in words on hover."""
    return st.column_config.ProgressColumn(
        title, min_value=0.0, max_value=100.0, format="%.0f %%", width=100, help=words
    )


def _caption(base: Row | None, reply: CompareReply, begins: datetime) -> None:
    against = (
        Text("Relative cost and speed: against {candidate}.", candidate=base.candidate.label)
        if base
        else ""
    )
    starts = Text(
        "Finish times are for a start now ({begins:%a %-d %b, %H:%M} {tzname}).",
        begins=begins,
        tzname=begins.tzname(),
    )
    tie = "1= means a tie: the intervals overlap too much to rank."
    st.caption(as_text(paragraph(tie, against, starts, reply.display.sentence)))


def sources(comparison: Comparison) -> None:
    """Draw the sources of times, prices and data sheets."""
    box = widgets.folded("Where these numbers come from", "source", "compare.origin")
    if box.open:
        with box:
            narrow.table(
                [_with_links_only(r) for r in source_rows(comparison)],
                key="compare.sources",
                alt="Sources of every time and price, with dates and licences",
                column_config=_LINKS,
            )
            for line in CREDITS:
                st.caption(as_text(line))


def _with_links_only(record: Record) -> Record:
    """Return a source row; a price source that is not a web address becomes None."""
    source = record["Price from"]
    address = source if isinstance(source, str) and source.startswith("http") else None
    return {**record, "Price from": address}


_LINKS: Final[Mapping[str, Any]] = {
    name: st.column_config.LinkColumn(name, display_text="open")
    for name in ("Price from", "Data sheet")
}
