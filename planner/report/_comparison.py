"""An answer to hand to a customer: what is best, how sure, and why.

Every number is read off the same comparison as the page's, the command's and the HTTP interface's;
nothing is reckoned here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from planner.answers.comparison import HOUR_S, Answered, moment_words
from planner.compare import (
    RentOrBuy,
    budget_words,
    buying,
    electricity_lines,
    electricity_pages,
    keeping_sentence,
    sentence,
)
from planner.compare.reckon import Comparison
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.core import plain
from planner.cost import DOLLARS, Display
from planner.report import _tables
from planner.report._charts import charts
from planner.report._job import described_job
from planner.report._logo import logo_uri
from planner.report._page import (
    document,
    escaped,
    items,
    linked,
    linked_text,
    paragraphs,
    section,
)

MOST_NAME: Final = 120
LONG_H: Final = 1000.0
OPEN: Final = "open it in Epochwise"
CREDITS: Final = (
    "Specifications of accelerators: the makers' data sheets, linked above; checked against Epoch "
    "AI, “Data on Machine Learning Hardware”, epoch.ai/data/machine-learning-hardware, CC BY 4.0.",
    "Rental prices: the providers' price pages, linked above; a price older than 12 months is "
    "marked stale and doubted more.",
    "Carbon of electricity: Ember, yearly electricity data, CC BY 4.0, read through co2.js of the "
    "Green Web Foundation, Apache 2.0. Prices of electricity: Eurostat (CC BY 4.0), EIA (public "
    "domain), UK Department for Energy Security and Net Zero (Open Government Licence 3.0).",
)


def compare_page(
    answered: Answered,
    *,
    link: str,
    made: str,
    display: Display = DOLLARS,
    company: str = "",
    logo: bytes | None = None,
    begins: datetime | None = None,
    by: datetime | None = None,
) -> str:
    """The comparison as one HTML file: it needs no network, no script and no other file.

    Args:
        answered: as `planner.answers.comparison.question.answered` gives it.
        link: the address that restores this very question, or "".
        made: when the page is made, in words.
        display: currency and tax of all amounts.
        company: whose name stands above, at most `MOST_NAME` letters of it.
        logo: PNG, JPEG or plain SVG.
        begins: when the work starts, with its zone; None shows no dates.
        by: the deadline where it was asked for as a date, with its zone.

    Raises:
        ValueError: the logo is none, or is not harmless; says what to do.
    """
    told = answered.comparison
    picture = logo_uri(logo) if logo is not None else ""
    head = _head(made, company, picture)
    foot = _foot(link, made)
    if told is None:
        body = "<h1>No option to compare</h1>" + _problems(answered.problems)
        return document("No option to compare", head, body, foot)
    title = question(told, display, by)
    parts = [
        f"<h1>{escaped(title)}</h1>",
        f'<p class="answer">{escaped(sentence(told, display))}</p>',
        paragraphs(answers(told, display, begins, by)[1:]),
        _problems(answered.problems),
        paragraphs(told.question.notes),
        described_job(told),
        charts(told, display),
        _tables.ranked(told, display, _in_zone_of(by, begins)),
        _tables.details(told, display),
        _tables.assumed(told),
        _electricity(told),
        _tables.bases(told),
    ]
    last = section("Where these numbers come from", _tables.sources(told))
    foot = items(CREDITS) + foot  # together: a last page must not hold these few lines alone
    return document(f"{title} · Epochwise", head, "".join(parts), foot, last)


def question(told: Comparison, display: Display = DOLLARS, by: datetime | None = None) -> str:
    """What was asked, as a heading; a deadline that was a date is told as one."""
    goal, job, wanted = told.question.goal, told.question.job, told.question.wanted
    using = f" with {goal.optimizer}" if goal.optimizer else ""
    what = "finishes" if goal.epochs is not None else "reaches"
    asked = f"Which hardware {what} {goal.words} of {job.name}{using}"
    limits = []
    if wanted.deadline_s is not None:
        hours = f"{_hours(wanted.deadline_s / HOUR_S)} h"
        limits.append(f"by {moment_words(by)} ({hours})" if by else f"within {hours}")
    if wanted.budget_usd is not None:
        limits.append(f"for at most {budget_words(wanted.budget_usd, display)}")
    if wanted.cost_limit_usd is not None:
        limits.append(f"at a cost of at most {budget_words(wanted.cost_limit_usd, display)} a run")
    best = "cheapest" if wanted.order == "cost" else "soonest"
    return f"{' '.join([asked, *limits])}, {best}?"


def _hours(hours: float) -> str:
    """Whole ones from a thousand on: 0.5, 62.25, 12,345."""
    return f"{hours:,.0f}" if hours >= LONG_H else plain(hours, 4)


def answers(
    told: Comparison,
    display: Display = DOLLARS,
    begins: datetime | None = None,
    by: datetime | None = None,
) -> list[str]:
    """All sentences of the answer: the best, what keeps to the limits, rent or buy, what is open.

    `begins` tells a deadline in hours as a date, `by` is one that was asked for as a date.
    """
    bought: RentOrBuy | None = rent_or_buy(told, display)
    texts = [sentence(told, display), keeping_sentence(told, _until(told, begins, by), display),
             buying(bought) if bought else "", *undecided(told)]  # fmt: skip
    return [t for t in (*texts, f"{display.note[:1].upper()}{display.note[1:]}.") if t]


def _until(told: Comparison, begins: datetime | None, by: datetime | None) -> str:
    """The deadline as a date; "" where there is none, or none that a calendar knows."""
    if by is not None:
        return moment_words(by)
    seconds = told.question.wanted.deadline_s
    if seconds is None or begins is None:
        return ""
    try:
        return moment_words(begins + timedelta(seconds=seconds))
    except OverflowError:
        return ""


def _in_zone_of(by: datetime | None, begins: datetime | None) -> datetime | None:
    """When work begins, on the clock by which somebody asked to be done."""
    return begins if begins is None or by is None else begins.astimezone(by.tzinfo)


def _electricity(told: Comparison) -> str:
    """Whose electricity is paid, with its sources as links; nothing without a country."""
    used = told.question.electricity
    if used is None:
        return ""
    lines = electricity_lines(told.question.assumed, used)
    texts = "".join(f"<li>{linked_text(t, electricity_pages(used))}</li>" for t in lines)
    return section("Electricity", f"<ul>{texts}</ul>")


def _head(made: str, company: str, picture: str) -> str:
    name = escaped(company[:MOST_NAME])
    shown = f'<img src="{picture}" alt="{name or "logo"}">' if picture else ""
    who = f'<span class="from">{name}</span>' if name else ""
    return f'<div>{shown}{who}</div><span class="made">{escaped(made)}</span>'


def _foot(link: str, made: str) -> str:
    view = f"<p>This question, live: {linked(link, OPEN)}</p>" if link else ""
    return f"{view}<p>Made by Epochwise on {escaped(made)}.</p>"


def _problems(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    return f"<p>Part of the question could not be used:</p>{items(problems)}"
