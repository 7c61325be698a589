"""The tables of a comparison's hand-out: ranked options, details, assumptions, basis, sources."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from types import MappingProxyType
from typing import Final

from planner.answers.comparison import TARIFF, end_of, source_rows
from planner.compare import (
    ASSUMPTION_TEXTS,
    Assumptions,
    Electricity,
    basis_words,
    kept_to,
    odds_heads,
    odds_words,
    pays_up_front,
    runs_a_month,
    session_note,
)
from planner.compare.reckon import Comparison, Row
from planner.core import Basis, Estimate, Refusal, between, plain, with_ends
from planner.cost import Display, money_about, money_with_interval
from planner.report._page import (
    escaped,
    linked,
    section,
    table,
)

NOT_KNOWN: Final = "–"
_EMPTY: Final = (TARIFF, "kg_co2_per_kwh")
"""Assumptions that may be left empty."""
BASES: Final = MappingProxyType[Basis, str](
    {
        "measured": "timed on that very system; more epochs than were timed are projected",
        "interpolated": "a fitted curve between points that were measured there",
        "extrapolated": "measured there and projected: to more epochs, or beyond those batch sizes",
        "similar workload": "from how workloads like this one ran there and elsewhere",
        "transferred from another GPU": "timed on other accelerators, scaled by specifications",
        "estimated from FLOPs": "from the work of a sample, the maker's peak and its usual share",
        "published": "somebody else's figures, as printed; more epochs are projected",
    }
)
"""What each basis of a number means."""
CHANGED: Final = "its epochs had another number of samples and are converted by them"


def ranked(told: Comparison, display: Display, begins: datetime | None = None) -> str:
    """The options, best first; the numbers of the first column stand in the charts too.

    Where it is known when the work begins, each tells when it ends.
    """
    timely = any(r.in_time is not None for r in told.rows)
    head = ["No.", "Rank", "Option", "Time", f"Cost of a run ({display.currency})",
            *odds_heads(told), *(["Meets limits"] if timely else []), "Basis"]  # fmt: skip
    rows = [
        [*_ranked(n, r, display, begins, timely=timely), _basis(r, told)]
        for n, r in enumerate(told.rows, 1)
    ]
    ends = f" Ends: if work begins {begins:%-d %b %Y, %H:%M} {begins.tzname()}." if begins else ""
    limits = kept_to(told.question.wanted)
    meets = f" Meets limits: how likely it finishes {limits}." if limits else ""
    caption = (
        f"In brackets: 90 % intervals. {odds_words(told)}{meets} Equal ranks are tied: the "
        f"intervals overlap too much to rank.{ends}"
    )
    return section("The options, ranked", table(head, rows, caption))


def details(told: Comparison, display: Display) -> str:
    """What each option takes besides time and money of one run, and what to know of it."""
    blocks = [_details(n, r, display) for n, r in enumerate(told.rows, 1)]
    often = runs_a_month(told.question.assumed.runs_per_month)
    note = f"{often}; energy and CO2e are of one run."
    return section("Each option", f'<p class="note">{escaped(note)}</p>', *blocks)


def assumed(told: Comparison) -> str:
    """Everything that was assumed, with its reason; what somebody set is told."""
    used, usual = told.question.assumed, Assumptions()
    used_country = told.question.electricity
    rows = []
    for one in fields(used):
        words, value = ASSUMPTION_TEXTS[one.name], getattr(used, one.name)
        own = value != getattr(usual, one.name) or _typed(used_country, one.name)
        why = words.why
        if own:  # why a number stands where none is given says nothing about one that is
            told_why = "" if one.name in _EMPTY else f"; {words.why}"
            why = f"set for this question{told_why}"
        if used_country is not None and one.name in _of_country(used_country):
            why = f"of {used_country.tariff.country}, see Electricity"
        shown = NOT_KNOWN if value is None else plain(value)
        rows.append([escaped(words.words), shown, _unit(words.unit), escaped(why)])
    head = ["Assumption", "Value", "Unit", "Why"]
    return section("What is assumed", table(head, rows, "Change any of them in the live view."))


def _unit(unit: str) -> str:
    """A ratio has none."""
    return "" if unit == "1" else escaped(unit)


def _typed(used: Electricity | None, name: str) -> bool:
    """Whether a number counts because it was typed, be it the usual one."""
    return used is not None and used.typed and name == TARIFF


def _of_country(used: Electricity) -> list[str]:
    """The assumptions that are the country's."""
    each = (("tariff_usd_per_kwh", used.priced), ("kg_co2_per_kwh", used.carbon))
    return [name for name, counts in each if counts]


def bases(told: Comparison) -> str:
    """What the bases that occur mean."""
    used = dict(_meant(r, told) for r in told.rows if isinstance(r.time, Estimate))
    rows = [[escaped(basis), escaped(meaning)] for basis, meaning in used.items()]
    caption = f"As the column Basis names it. {session_note(told)}".rstrip()
    told_all = table(["Basis", "Meaning"], rows, caption)
    return section("How each number is known", told_all) if rows else ""


def _meant(row: Row, told: Comparison) -> tuple[str, str]:
    """The basis of a time as its column names it, and what that means."""
    assert isinstance(row.time, Estimate)  # noqa: S101 - only such rows have one
    words, run = basis_words(row, told.question.goal), row.candidate.run
    if run is None or words == row.time.basis:
        return words, BASES[row.time.basis]
    known: Basis = "published" if run.run.basis == "published" else "measured"
    return words, f"{BASES[known]}; {CHANGED}" if ", converted" in words else BASES[known]


def sources(told: Comparison) -> str:
    """Where times, prices and data sheets are from, with dates and licences."""
    lines = []
    for number, record in enumerate(source_rows(told), 1):
        parts = [
            f"<b>{escaped(name)}</b> {linked(str(value))}"
            for name, value in record.items()
            if value not in (None, "") and name != "Option"
        ]
        lines.append(
            f"<li value={number}>{escaped(str(record['Option']))}: {', '.join(parts)}</li>"
        )
    return f"<ol>{''.join(lines)}</ol>"


def _ranked(
    number: int, row: Row, display: Display, begins: datetime | None, *, timely: bool
) -> list[str]:
    rank = NOT_KNOWN if row.rank is None else f"{row.rank}{'&nbsp;tied' if row.tied else ''}"
    many = f"<small>{row.machines} machines</small>" if row.machines > 1 else ""
    stale = "<small>price older than 12 months</small>" if row.candidate.stale else ""
    name = f'<span class="name">{escaped(row.candidate.label)}</span>'
    batch = "" if row.timed.batch is None else f"<small>batch {row.timed.batch:,.0f}</small>"
    cells = [str(number), rank, f"{name}{many}{batch}{stale}"]
    cells += [
        _time(row) + _ends(row, begins),
        _cost(row, display),
        _share(row.cheapest),
        _share(row.fastest),
    ]
    cells += [_share(row.in_time)] if timely else []
    return cells


def _basis(row: Row, told: Comparison) -> str:
    if isinstance(row.time, Refusal):
        return NOT_KNOWN
    return escaped(basis_words(row, told.question.goal))


def _details(number: int, row: Row, display: Display) -> str:
    month, energy, carbon = row.cost_per_month, row.energy_kwh, row.co2_kg
    facts = [
        row.candidate.price,
        "" if month is None else f"{money_about(month, display)} a month",
        _paid(row, display),
        "" if row.timed.batch is None else f"batch {row.timed.batch:,.0f}",
        "" if energy is None else f"{plain(float(energy.value), 3)} kWh",
        "" if carbon is None else f"{plain(float(carbon.value), 3)} kg CO2e",
        f"{row.machines} machines" if row.machines > 1 else "",
    ]
    known = " · ".join(escaped(f) for f in facts if f)
    fit, known_way = row.timed.fit, _to_know(row)
    way = "" if fit.way_out and fit.way_out in known_way else fit.way_out
    room = f"{fit.sentence} {way}".strip()
    return (
        f'<div class="option"><b>{number}. {escaped(row.candidate.label)}</b><br>{known}'
        f"<small>{escaped(room)} {escaped(known_way)}</small></div>"
    )


def _paid(row: Row, display: Display) -> str:
    """What is paid so that the job is done, where a run costs only a part of that."""
    if row.to_pay is None or not pays_up_front(row):
        return ""
    return f"{money_about(row.to_pay, display)} to be paid for the job"


def _ends(row: Row, begins: datetime | None) -> str:
    """When it ends, where it begins now; "" where that is not known."""
    end = end_of(row.time, begins)
    return "" if end is None else _whole(f"ends {end:%-d %b %Y, %H:%M}")


def _time(row: Row) -> str:
    if isinstance(row.time, Refusal):
        return escaped(row.time.reason)
    time = row.time
    value, low, high = with_ends(float(time.value), float(time.low), float(time.high))
    return escaped(value) if low == high else f"{value}{_whole(f'({between(low, high)})')}"


def _cost(row: Row, display: Display) -> str:
    if isinstance(row.cost, Refusal):
        return NOT_KNOWN if row.cost is row.time else escaped(row.cost.reason)
    told = money_with_interval(row.cost, display).replace(f" {display.currency}", "")
    value, _, ends = told.partition(" ")
    return f"{escaped(value)}{_whole(ends) if ends else ''}"


def _whole(text: str) -> str:
    """Beneath what it is of, small and on one line."""
    return f'<small class="line">{escaped(text)}</small>'


def _to_know(row: Row) -> str:
    """Remarks on the time, and the one run that would narrow it."""
    if isinstance(row.time, Refusal):
        return row.time.measure_next
    reasons, run = " ".join(row.time.reasons), row.timed.measure_next
    known = run.removeprefix("Measure ").rstrip(".").replace(" on one ", " on ")
    told = [*row.time.reasons, "" if known in reasons else run]
    return " ".join(x if x.endswith(".") else f"{x}." for x in told if x)


def _share(value: float | None) -> str:
    if value is None:
        return NOT_KNOWN
    told = "<1 %" if 0.0 < value < 0.005 else f"{value:.0%}".replace("%", " %")
    return f'<span class="line">{escaped(told)}</span>'
