"""The report of a comparison: the answer with its probabilities, charts, tables and sources.

All numbers come from the same comparison as those of the page, the command and the HTTP interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from planner.answers.comparison import Answered, moment_words
from planner.compare import (
    RentOrBuy,
    buying,
    electricity_lines,
    electricity_pages,
    hours_words,
    limits_sentence,
    limits_title,
    limits_words,
    sentence,
)
from planner.compare.evaluation import Comparison
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.core import Text, large, plain, plural
from planner.cost import DOLLARS, Display, shown
from planner.figures import card, number_tile, share_tile, time_tile
from planner.figures.frame import LIGHT_THEME
from planner.report import _tables
from planner.report._answer import appended, foot, summarised
from planner.report._charts import further_charts, time_and_cost
from planner.report._first_page import first_page
from planner.report._letterhead import NO_LETTERHEAD, Letterhead, free_text, head
from planner.report._page import (
    document,
    escaped,
    items,
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
_OF_CHART: Final = "Marker, bars and dashed lines are explained below the chart in two lines." * 2
"""As long as that of the first chart."""


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
                      tiles=comparison.leader is not None, caption=_OF_CHART,
                      other_mm=_BEST_MM)  # fmt: skip
    chart = time_and_cost(comparison, display)
    summary = [
        f"<h1>{escaped(title)}</h1>",
        f'<p class="answer">{escaped(first)}</p>',
        _tiles(comparison, display),
        free_text(fits.text),
        _problems(fits.notes),
        _tables.best(comparison, display),
        chart if fits.chart else "",
    ]
    appendix = appended(
        free_text(fits.later_text),
        _problems(fits.later_notes),
        "" if fits.chart else chart,
        section(
            "The answer in full",
            paragraphs(answers(comparison, display, begins, by)[1:]),
            paragraphs(comparison.question.notes),
        ),
        described_job(comparison),
        further_charts(comparison, display, by_use=by_use),
        _tables.ranked(comparison, display, _in_zone_of(by, begins)),
        _tables.details(comparison, display),
        _tables.assumed(comparison),
        _electricity(comparison),
        _tables.bases(comparison),
    )
    last = section("Where these numbers come from", _tables.sources(comparison))
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
        number_tile("Cost of a run", best.cost, display.currency, factor=factor),
    ]
    if best.in_time is not None:
        tiles.append(share_tile(limits_title(limits), best.in_time))
    return str(card(best.candidate.label, tiles, LIGHT_THEME))


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
    try:
        return moment_words(begins + timedelta(seconds=seconds))
    except OverflowError:
        return ""


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
