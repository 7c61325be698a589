"""The tables of a comparison's report: ranked options, details, assumptions, basis, sources."""

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
    limits_phrase,
    pays_up_front,
    probability_help,
    probability_titles,
    runs_a_month,
    session_note,
)
from planner.compare.evaluation import Comparison, Row
from planner.core import (
    Basis,
    Estimate,
    Refusal,
    Text,
    between,
    paragraph,
    percent,
    plain,
    with_ends,
)
from planner.cost import Display, money_about, money_ends
from planner.report._page import (
    escaped,
    linked,
    section,
    table,
)

NOT_KNOWN: Final = "–"
MOST_BEST: Final = 3
"""Options on the page of summary."""
_EMPTY: Final = (TARIFF, "kg_co2_per_kwh")
"""Assumptions that may be empty."""
BASES: Final = MappingProxyType[Basis, str](
    {
        "measured": "timed on that system; epochs beyond the timed ones are projected",
        "interpolated": "a fitted curve between points measured there",
        "extrapolated": "measured there and projected: to more epochs, or beyond those batch sizes",
        "similar workload": "from runs of similar workloads there and elsewhere",
        "transferred from another GPU": "timed on other accelerators, scaled by specifications",
        "estimated from FLOPs": "from the FLOPs of a sample, the peak and its usual utilisation",
        "published": "published figures; more epochs are projected",
    }
)
"""What each basis of a number means."""
STATED: Final = "the time to the target that published runs state on this accelerator and count"
STATED_ELSEWHERE: Final = (
    "the time to the target that published runs state on another count of this accelerator, scaled"
)
CHANGED: Final = "its epochs had another sample count and are converted"


def ranked(comparison: Comparison, display: Display, begins: datetime | None = None) -> str:
    """Return the table of options, best first; the charts use the numbers of its first column.

    With `begins`, each option has its end.
    """
    timely = any(r.in_time is not None for r in comparison.rows)
    head = [
        "No.",
        "Rank",
        "Option",
        "Time",
        Text("Cost of a run ({currency})", currency=display.currency),
        *probability_titles(comparison),
        *(["Meets limits"] if timely else []),
        "Basis",
    ]
    rows = [
        [*_ranked(n, r, display, begins, timely=timely), _basis(r, comparison)]
        for n, r in enumerate(comparison.rows, 1)
    ]
    ends = (
        Text(
            " Ends: if work begins {begins:%-d %b %Y, %H:%M} {tzname}.",
            begins=begins,
            tzname=begins.tzname(),
        )
        if begins
        else ""
    )
    within = limits_phrase(comparison.question.limits)
    meets = (
        Text(" Meets limits: probability of finishing {within}.", within=within) if within else ""
    )
    caption = Text(
        "In brackets: 90 % intervals. {probability_help}{meets} Equal ranks are "
        "tied: the intervals overlap too much to rank.{ends}",
        probability_help=probability_help(comparison),
        meets=meets,
        ends=ends,
    )
    return section("The options, ranked", table(head, rows, caption))


def best(comparison: Comparison, display: Display) -> str:
    """Return the best options in few columns, for the page of summary."""
    timely = any(r.in_time is not None for r in comparison.rows)
    head = [
        "Rank",
        "Option",
        "Time",
        Text("Cost of a run ({currency})", currency=display.currency),
        *(["Meets limits"] if timely else []),
    ]
    rows = [
        [_rank(r), f'<span class="name">{escaped(r.candidate.label)}</span>', _time(r),
         _cost(r, display), *([_share(r.in_time)] if timely else [])]
        for r in comparison.rows[:MOST_BEST]
    ]  # fmt: skip
    left = len(comparison.rows) - MOST_BEST
    more = Text(" The other {left:,} are in the appendix.", left=left) if left > 0 else ""
    return section(
        "Best options", table(head, rows, Text("In brackets: 90 % intervals.{more}", more=more))
    )


def details(comparison: Comparison, display: Display) -> str:
    """Return the section on each option: price, monthly cost, energy, memory, remarks."""
    blocks = [_details(n, r, display) for n, r in enumerate(comparison.rows, 1)]
    often = runs_a_month(comparison.question.assumed.runs_per_month)
    note = Text("{often}; energy and CO2e are of one run.", often=often)
    return section("Each option", f'<p class="note">{escaped(note)}</p>', *blocks)


def assumed(comparison: Comparison) -> str:
    """Return the table of assumptions, with reasons; values set by the user are marked."""
    used, usual = comparison.question.assumed, Assumptions()
    used_country = comparison.question.electricity
    rows = []
    for field in fields(used):
        words, value = ASSUMPTION_TEXTS[field.name], getattr(used, field.name)
        own = value != getattr(usual, field.name) or _typed(used_country, field.name)
        why = words.why
        if own:
            reason = "" if field.name in _EMPTY else f"; {words.why}"
            why = Text("set for this question{reason}", reason=reason)
        if used_country is not None and field.name in _of_country(used_country):
            why = Text("of {country}, see Electricity", country=used_country.tariff.country)
        shown = NOT_KNOWN if value is None else plain(value)
        rows.append([escaped(words.words), shown, _unit(words.unit), escaped(why)])
    head = ["Assumption", "Value", "Unit", "Why"]
    return section("What is assumed", table(head, rows, "Change any of them in the live view."))


def _unit(unit: str) -> str:
    """Return a unit for display; a ratio has none."""
    return "" if unit == "1" else escaped(unit)


def _typed(used: Electricity | None, name: str) -> bool:
    """Return whether a number counts because it was entered, even if equal to the default."""
    return used is not None and used.typed and name == TARIFF


def _of_country(used: Electricity) -> list[str]:
    """Return the assumptions set by the country."""
    each = (("tariff_usd_per_kwh", used.priced), ("kg_co2_per_kwh", used.carbon))
    return [name for name, counts in each if counts]


def bases(comparison: Comparison) -> str:
    """Return the table of the bases that occur, with their meaning."""
    used = dict(_meant(r, comparison) for r in comparison.rows if isinstance(r.time, Estimate))
    rows = [[escaped(basis), escaped(meaning)] for basis, meaning in used.items()]
    caption = Text(
        "Values of the column Basis. {session_note}", session_note=session_note(comparison)
    ).rstrip()
    meanings = table(["Basis", "Meaning"], rows, caption)
    return section("Basis of each number", meanings) if rows else ""


def _meant(row: Row, comparison: Comparison) -> tuple[str, str]:
    """Return the basis of a time in the words of its column, and its meaning."""
    assert isinstance(row.time, Estimate)  # noqa: S101 - only such rows have one
    words, run = basis_words(row, comparison.question.goal), row.candidate.run
    if row.timed.stated_runs:
        return words, STATED if row.timed.scaling is None else STATED_ELSEWHERE
    if run is None or words == row.time.basis:
        return words, BASES[row.time.basis]
    basis: Basis = "published" if run.run.basis == "published" else "measured"
    return words, f"{BASES[basis]}; {CHANGED}" if ", converted" in words else BASES[basis]


def sources(comparison: Comparison) -> str:
    """Return the sources of times, prices and data sheets, with dates and licences."""
    lines = []
    for number, record in enumerate(source_rows(comparison), 1):
        parts = [
            f"<b>{escaped(name)}</b> {linked(str(value))}"
            for name, value in record.items()
            if value not in (None, "") and name != "Option"
        ]
        lines.append(
            f"<li value={number}>{escaped(str(record['Option']))}: {', '.join(parts)}</li>"
        )
    return f"<ol>{''.join(lines)}</ol>"


def _rank(row: Row) -> str:
    return NOT_KNOWN if row.rank is None else f"{row.rank}{'&nbsp;tied' if row.tied else ''}"


def _ranked(
    number: int, row: Row, display: Display, begins: datetime | None, *, timely: bool
) -> list[str]:
    many = f"<small>{row.machines} machines</small>" if row.machines > 1 else ""
    stale = "<small>price older than 12 months</small>" if row.candidate.stale else ""
    name = f'<span class="name">{escaped(row.candidate.label)}</span>'
    batch = "" if row.timed.batch is None else f"<small>batch {row.timed.batch:,.0f}</small>"
    cells = [str(number), _rank(row), f"{name}{many}{batch}{stale}"]
    cells += [
        _time(row) + _ends(row, begins),
        _cost(row, display),
        _share(row.cheapest),
        _share(row.fastest),
    ]
    cells += [_share(row.in_time)] if timely else []
    return cells


def _basis(row: Row, comparison: Comparison) -> str:
    if isinstance(row.time, Refusal):
        return NOT_KNOWN
    return escaped(basis_words(row, comparison.question.goal))


def _details(number: int, row: Row, display: Display) -> str:
    month, energy, carbon = row.cost_per_month, row.energy_kwh, row.co2_kg
    facts = [
        row.candidate.price,
        "" if month is None else f"{money_about(month, display)} a month",
        _paid(row, display),
        "" if row.timed.batch is None else f"batch {row.timed.batch:,.0f}",
        "" if energy is None else f"{plain(float(energy.value), 3)} kWh",
        "" if carbon is None else Text("{carbon} kg CO2e", carbon=plain(float(carbon.value), 3)),
        f"{row.machines} machines" if row.machines > 1 else "",
    ]
    line = " · ".join(escaped(f) for f in facts if f)
    fit, remarks = row.timed.fit, _to_know(row)
    way = "" if fit.way_out and fit.way_out in remarks else fit.way_out
    room = paragraph(fit.sentence, way)
    return (
        f'<div class="option"><b>{number}. {escaped(row.candidate.label)}</b><br>{line}'
        f"<small>{escaped(room)} {escaped(remarks)}</small></div>"
    )


def _paid(row: Row, display: Display) -> str:
    """Return the total to pay for the job, where a run costs only a part; else ""."""
    if row.to_pay is None or not pays_up_front(row):
        return ""
    return Text(
        "{money_about} to be paid for the job", money_about=money_about(row.to_pay, display)
    )


def _ends(row: Row, begins: datetime | None) -> str:
    """Return the end of a run that starts at `begins`; "" where unknown."""
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
    value, low, high = money_ends(row.cost, display)
    return f"{escaped(value)}{'' if low == high else _whole(f'({low} to {high})')}"


def _whole(text: str) -> str:
    """Return small text on one line."""
    return f'<small class="line">{escaped(text)}</small>'


def _to_know(row: Row) -> str:
    """Return remarks on the time, and the run that would narrow it."""
    if isinstance(row.time, Refusal):
        return row.time.measure_next
    run = row.timed.next_run
    lines = [*row.time.reasons, "" if run is None or run.stated else run.sentence()]
    return paragraph(*lines)


def _share(value: float | None) -> str:
    if value is None:
        return NOT_KNOWN
    text = "<1 %" if 0.0 < value < 0.005 else percent(value)
    return f'<span class="line">{escaped(text)}</span>'
