"""The report of a comparison: the answer with its probabilities, charts, tables and sources.

All numbers come from the same comparison as those of the page, the command and the HTTP interface.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from types import MappingProxyType
from typing import Final

from planner.answers.comparison import TARIFF, Answered, after, end_of, moment_words, source_rows
from planner.compare import (
    ASSUMPTION_TEXTS,
    Assumptions,
    Electricity,
    RentOrBuy,
    basis_words,
    buying,
    electricity_lines,
    electricity_pages,
    hours_words,
    limits_phrase,
    limits_sentence,
    limits_title,
    limits_words,
    pays_up_front,
    probability_help,
    probability_titles,
    runs_a_month,
    sentence,
    session_note,
    tornado,
)
from planner.compare.comparison import Comparison, Row
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.core import (
    Basis,
    Estimate,
    Refusal,
    Text,
    between,
    large,
    paragraph,
    percent,
    plain,
    plural,
    with_ends,
    written_ends,
)
from planner.cost import (
    DIGITS,
    DOLLARS,
    Display,
    amount_texts,
    money,
    money_about,
    money_ends,
    shown,
)
from planner.epochs import is_converted
from planner.figures import card, number_tile, share_tile, time_tile
from planner.figures.frame import LIGHT_THEME
from planner.report import _charts
from planner.report._answer import Chart, appended, figure, first_page, foot, summarised
from planner.report._page import (
    NO_LETTERHEAD,
    Letterhead,
    document,
    escaped,
    free_text,
    head,
    items,
    linked,
    linked_text,
    paragraphs,
    section,
    table,
)


def described_job(comparison: Comparison) -> str:
    """Return the section on the job, a line per known property."""
    rows = [[escaped(name), escaped(value)] for name, value in job_lines(comparison) if value]
    caption = "As described; not measured."
    return section("The job", table(["What", "Value"], rows, _caption(comparison, caption)))


def job_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """Return name and value of each property, "" where unknown."""
    job, goal = comparison.question.job, comparison.question.goal
    patterns = sorted({m.run.pattern for m in job.measured if m.run.pattern})
    batch = goal.batch or goal.at_batch or (job.batch if job.described else None)
    fastest = "" if job.described else "the fastest measured one on each system"
    flops = job.train_flops_per_sample
    return [
        ("Workload", job.workload),
        ("Goal", f"{goal.words} with {goal.optimizer}" if goal.optimizer else goal.words),
        ("Input pattern", ", ".join(patterns)),
        ("Samples in an epoch", _counted(job.samples_per_epoch)),
        ("Global batch size", fastest if batch is None else _counted(batch)),
        ("Parameters", _counted(job.params)),
        ("Tokens in a sample", _counted(job.tokens_per_sample)),
        (
            "Work of a sample",
            ""
            if flops is None
            else Text("{flops} FLOPs, forward and backward", flops=large(flops, 3)),
        ),
        ("Precision", job.precision if job.precision_stated else "not stated"),
        ("Optimiser", job.optimizer),
    ]


def _caption(comparison: Comparison, described: str) -> str:
    job = comparison.question.job
    if job.described:
        return described
    systems = len({m.run.system for m in job.measured})
    return plural(systems, "Measured on {count} system.", "Measured on {count} systems.")


def _counted(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value < 1e9 else f"{plain(value)} ({large(value)})"


CREDITS: Final = (
    "Specifications of accelerators: the makers' data sheets, linked above; checked against Epoch "
    "AI, “Data on Machine Learning Hardware”, epoch.ai/data/machine-learning-hardware, CC BY 4.0.",
    "Rental prices: the providers' price pages, linked above; a price older than 12 months is "
    "marked stale and has a wider interval.",
    "Carbon of electricity: Ember, yearly electricity data, CC BY 4.0, read through co2.js of the "
    "Green Web Foundation, Apache 2.0. Prices of electricity: Eurostat (CC BY 4.0), EIA (public "
    "domain), UK Department for Energy Security and Net Zero (Open Government Licence 3.0).",
)


_BEST_MM: Final = 62.0
"""Height of the table of the best options on the first page [mm]."""


def compare_page(
    answered: Answered,
    *,
    link: str,
    made: str,
    display: Display = DOLLARS,
    letterhead: Letterhead = NO_LETTERHEAD,
    begins: datetime | None = None,
    by: datetime | None = None,
    by_use: bool = False,
) -> str:
    """Return the comparison as one HTML file: a page of summary, then an appendix.

    Args:
        answered: of `planner.answers.comparison.question.answered`.
        link: the address of this question, or "".
        made: date of the page, in words.
        display: currency and tax of all amounts.
        letterhead: who hands it out, to whom, under which reference, with a text of their own.
        begins: start of the work, with its zone; None shows no dates.
        by: the deadline where it is a date, with its zone.
        by_use: draw rent or buy against the utilisation of the machine, else against runs a month.

    Raises:
        ValueError: the logo is invalid or unsafe; the message has the next step.
    """
    comparison = answered.comparison
    above = head(letterhead, made)
    below = foot(link, made)
    if comparison is None:
        body = "<h1>No option to compare</h1>" + _problems(answered.problems)
        return document("No option to compare", above, body, below)
    title = question(comparison, display, by)
    first = sentence(comparison, display)
    fits = first_page(title, first, answered.problems, letterhead,
                      tiles=comparison.leader is not None, caption="",
                      other_mm=_BEST_MM)  # fmt: skip
    chart = _time_and_cost(comparison, display, fits.chart_mm)
    summary = [
        f"<h1>{escaped(title)}</h1>",
        f'<p class="answer">{escaped(first)}</p>',
        _tiles(comparison, display),
        free_text(fits.text),
        _problems(fits.notes),
        best(comparison, display),
        chart if fits.chart_mm else "",
    ]
    appendix = appended(
        free_text(fits.later_text),
        _problems(fits.later_notes),
        "" if fits.chart_mm else chart,
        section(
            "The answer in full",
            paragraphs(answers(comparison, display, begins, by)[1:]),
            paragraphs(comparison.question.notes),
        ),
        described_job(comparison),
        _rent_or_buy(comparison, display, by_use=by_use),
        _what_matters(comparison, display),
        ranked(comparison, display, _in_zone_of(by, begins)),
        details(comparison, display),
        assumed(comparison),
        _electricity(comparison),
        bases(comparison),
    )
    last = section("Where these numbers come from", sources(comparison))
    below = items(CREDITS) + below  # together, so that the last page is not nearly empty
    return document(f"{title} · Epochwise", above, summarised(*summary) + appendix, below, last)


def _tiles(comparison: Comparison, display: Display) -> str:
    """Return time, cost and the probability to meet the limits of the best option as tiles."""
    best = comparison.leader
    if best is None:
        return ""
    limits, factor = comparison.question.limits, shown(1.0, display)
    tiles = [
        time_tile("Time of a run", best.time, limit_s=limits.deadline_s),
        number_tile(
            "Cost of a run", best.cost, display.currency, factor=factor, write=amount_texts
        ),
    ]
    if best.in_time is not None:
        tiles.append(share_tile(limits_title(limits), best.in_time))
    return str(card(best.candidate.label, tiles, LIGHT_THEME))


def _time_and_cost(comparison: Comparison, display: Display, most_mm: float) -> str:
    """Return cost against time, the options by their numbers in the table; "" without one."""
    names = {r.candidate.id: str(n) for n, r in enumerate(comparison.rows, 1)}
    spec = _charts.time_cost(comparison, display, LIGHT_THEME, names)
    if spec is None:
        return ""
    alt = "Cost against time of every option, with 90 % intervals"
    title = "Time and cost, with the numbers of the table"
    return figure(Chart(title=title, spec=spec, alt=alt), most_mm)


def _rent_or_buy(comparison: Comparison, display: Display, *, by_use: bool) -> str:
    """Return the cost of renting and buying against use; "" unless both are compared."""
    pair = rent_or_buy(comparison)
    rows = _charts.compared(comparison)
    if pair is None or not rows:
        return ""
    spec, alt = _charts.use(comparison, pair, display, LIGHT_THEME, by_use=by_use)
    caption = _charts.use_caption(pair, rows, by_use=by_use)
    return figure(Chart(title="Rent or buy", spec=spec, alt=alt, caption=caption))


def _what_matters(comparison: Comparison, display: Display) -> str:
    """Return how far each uncertain input moves the answer; "" where none does."""
    influence = tornado(comparison)
    if influence is None or not influence.influences:
        return ""
    spec = _charts.matters(influence, display, LIGHT_THEME)
    caption = Text("{title}: {base}.", title=influence.title, base=money(influence.base, display))
    return figure(Chart(title="What matters most", spec=spec, alt=influence.title, caption=caption))


def question(comparison: Comparison, display: Display = DOLLARS, by: datetime | None = None) -> str:
    """Return the question as a heading."""
    goal, job, limits = (
        comparison.question.goal,
        comparison.question.job,
        comparison.question.limits,
    )
    using = f" with {goal.optimizer}" if goal.optimizer else ""
    what = "finishes" if goal.epochs is not None else "reaches"
    heading = Text(
        "Which hardware {what} {words} of {job}{using}",
        what=what,
        words=goal.words,
        job=job.name,
        using=using,
    )
    until = ""
    if by and limits.deadline_s is not None:
        until = f"{moment_words(by)} ({hours_words(limits.deadline_s)})"
    within = limits_words(limits, display, until)
    best = "cheapest" if limits.order == "cost" else "soonest"
    return Text("{names}, {best}?", names=" ".join(filter(None, (heading, within))), best=best)


def answers(
    comparison: Comparison,
    display: Display = DOLLARS,
    begins: datetime | None = None,
    by: datetime | None = None,
) -> list[str]:
    """Return all sentences of the answer: best option, limits, rent or buy, ties, money.

    `begins` converts a deadline in hours to a date; `by` is a deadline given as a date.
    """
    bought: RentOrBuy | None = rent_or_buy(comparison, display)
    until = _until(comparison, begins, by)
    texts = [sentence(comparison, display), limits_sentence(comparison, until, display),
             buying(bought) if bought else "", *undecided(comparison)]  # fmt: skip
    return [t for t in (*texts, display.sentence) if t]


def _until(comparison: Comparison, begins: datetime | None, by: datetime | None) -> str:
    """Return the deadline as a date; "" without one, or beyond the calendar."""
    if by is not None:
        return moment_words(by)
    seconds = comparison.question.limits.deadline_s
    if seconds is None or begins is None:
        return ""
    end = after(seconds, begins)
    return "" if end is None else moment_words(end)


def _in_zone_of(by: datetime | None, begins: datetime | None) -> datetime | None:
    """Return the start of the work in the zone of the deadline."""
    return begins if begins is None or by is None else begins.astimezone(by.tzinfo)


def _electricity(comparison: Comparison) -> str:
    """Return the section on electricity, with sources as links; "" without a country."""
    used = comparison.question.electricity
    if used is None:
        return ""
    lines = electricity_lines(comparison.question.assumed, used)
    texts = "".join(f"<li>{linked_text(t, electricity_pages(used))}</li>" for t in lines)
    return section("Electricity", f"<ul>{texts}</ul>")


def _problems(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    return f"<p>Part of the question could not be used:</p>{items(problems)}"


UNKNOWN_CELL: Final = "–"
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
            "Ends: if work begins {begins:%-d %b %Y, %H:%M} {tzname}.",
            begins=begins,
            tzname=begins.tzname(),
        )
        if begins
        else ""
    )
    within = limits_phrase(comparison.question.limits)
    meets = Text("Meets limits: probability of finishing {within}.", within=within)
    caption = paragraph(
        "In brackets: 90 % intervals.",
        probability_help(comparison),
        meets if within else "",
        "Equal ranks are tied: the intervals overlap too much to rank.",
        ends,
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
    more = Text("The other {left:,} are in the appendix.", left=left) if left > 0 else ""
    caption = paragraph("In brackets: 90 % intervals.", more)
    return section("Best options", table(head, rows, caption))


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
        shown = UNKNOWN_CELL if value is None else plain(value)
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
    return words, f"{BASES[basis]}; {CHANGED}" if is_converted(run) else BASES[basis]


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
    return UNKNOWN_CELL if row.rank is None else f"{row.rank}{'&nbsp;tied' if row.tied else ''}"


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
        return UNKNOWN_CELL
    return escaped(basis_words(row, comparison.question.goal))


def _details(number: int, row: Row, display: Display) -> str:
    month, energy, carbon = row.cost_per_month, row.energy_kwh, row.co2_kg
    facts = [
        row.candidate.price,
        "" if month is None else f"{money_about(month, display)} a month",
        _paid(row, display),
        "" if row.timed.batch is None else f"batch {row.timed.batch:,.0f}",
        "" if energy is None else f"{written_ends(*energy.ends, DIGITS)[0]} kWh",
        ""
        if carbon is None
        else Text("{carbon} kg CO2e", carbon=written_ends(*carbon.ends, DIGITS)[0]),
        f"{row.machines} machines" if row.machines > 1 else "",
    ]
    line = " · ".join(escaped(f) for f in facts if f)
    fit, remarks = row.timed.fit, _to_know(row)
    room = paragraph(fit.sentence, "" if fit.way_out == remarks else fit.way_out)
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
    value, low, high = with_ends(*row.time.ends)
    return escaped(value) if low == high else f"{value}{_whole(f'({between(low, high)})')}"


def _cost(row: Row, display: Display) -> str:
    if isinstance(row.cost, Refusal):
        return UNKNOWN_CELL if row.cost is row.time else escaped(row.cost.reason)
    value, low, high = money_ends(row.cost, display)
    return f"{escaped(value)}{'' if low == high else _whole(f'({low} to {high})')}"


def _whole(text: str) -> str:
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
        return UNKNOWN_CELL
    text = "<1 %" if 0.0 < value < 0.005 else percent(value)
    return f'<span class="line">{escaped(text)}</span>'
