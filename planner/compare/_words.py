"""Small words of the answer: numbers, labels and amounts in a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from planner.catalog import Catalog
from planner.compare.comparison import Comparison, Row, Wanted
from planner.core import Estimate, Refusal, plain
from planner.cost import DOLLARS, Display, price
from planner.epochs import basis_in_words
from planner.job import Candidate, Goal

SESSION: Final = (
    "Measured times include the variation between machines and sessions, about 3 % (SD). How long? "
    "adds it with “Another session or machine of the kind”."
)
"""Why an interval is wider here than How long? shows at first, and how to see the same there."""
_COUNTED: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip


def counted(count: int) -> str:
    """A small number as a word: 'two', '12'."""
    return _COUNTED[count] if 0 <= count < len(_COUNTED) else f"{count:,}"


def number(count: float) -> str:
    """Three digits at most: 6.2, 4,370."""
    return plain(count, 2) if count < 99.5 else f"{float(f'{count:.3g}'):,.0f}"


def lower(label: str) -> str:
    """A label inside a sentence: 'renting 1 x H100'."""
    way, rest = label.split(" ", 1)
    return f"{ {'Rent': 'renting', 'Buy': 'buying', 'Own': 'the own'}.get(way, way) } {rest}"


def runs_a_month(runs: float) -> str:
    """'1 run a month', '4 runs a month'."""
    return f"{plain(runs)} run{'' if runs == 1.0 else 's'} a month"


def machines(count: int) -> str:
    """'two machines', '12 machines'."""
    return f"{counted(count)} machines"


def comparative(wanted: Wanted) -> str:
    """What the better one is: 'cheaper', or 'faster' where time was asked."""
    return "cheaper" if wanted.order == "cost" else "faster"


def budget_words(budget_usd: float, display: Display = DOLLARS) -> str:
    """A budget as it was typed, in the currency that is shown: '500 EUR with tax'."""
    return f"{price(budget_usd, display)}{' with tax' if display.tax_share else ''}"


def odds_heads(told: Comparison) -> tuple[str, str]:
    """Heads of the columns of probabilities: 'Cheapest of 6', 'Fastest of 6'."""
    every = len(told.answered)
    return f"Cheapest of {every}", f"Fastest of {every}"


def odds_words(told: Comparison) -> str:
    """What such a column compares, and that the answer's probability is another one."""
    limits = kept_to(told.question.wanted)
    among = f" that finish {limits}" if limits else ""
    cheapest, fastest = odds_heads(told)
    return (
        f"{cheapest}, {fastest}: how likely it beats all others{among} at once. The answer "
        "compares two options, so its probability is higher."
    )


def basis_words(row: Row, goal: Goal) -> str:
    """How a time is known: of epochs that were measured there in the words of How long?."""
    if row.candidate.run is not None and goal.epochs is not None:
        return basis_in_words(row.candidate.run, goal.epochs)
    return "" if isinstance(row.time, Refusal) else row.time.basis


def session_note(told: Comparison) -> str:
    """That measured times include another session; "" where none was measured."""
    measured = any(r.candidate.run and not isinstance(r.time, Refusal) for r in told.rows)
    return SESSION if measured and told.question.goal.epochs is not None else ""


def kept_to(wanted: Wanted) -> str:
    """'in time', 'within the budget', 'in time and within the budget'; "" without limits."""
    limits = []
    if wanted.deadline_s is not None:
        limits.append("in time")
    if wanted.budget_usd is not None:
        limits.append("within the budget")
    if wanted.cost_limit_usd is not None:
        limits.append("below the cost limit")
    return " and ".join(limits) if len(limits) < 3 else ", ".join(limits[:2]) + f" and {limits[2]}"


def told_by_price(every: Sequence[Candidate]) -> list[Candidate]:
    """Return the options; labels that would be equal get their price."""
    shared = {label for label, n in Counter(c.label for c in every).items() if n > 1}
    return [_with_price(c) if c.label in shared else c for c in every]


def _with_price(one: Candidate) -> Candidate:
    """'Rent 8 x H100 (own entry, 20.00 USD/h)'."""
    price = one.price.removesuffix(f", {one.source}")
    label = one.label
    within = f"{label[:-1]}, {price})" if label.endswith(")") else f"{label} ({price})"
    return replace(one, label=within)


def with_names(told: Comparison, catalog: Catalog) -> Comparison:
    """The same comparison; ids of accelerators in its remarks are their names."""
    named = _namer(catalog)
    rows = tuple(_row(row, named) for row in told.rows)
    return replace(told, rows=rows)


def _namer(catalog: Catalog) -> Callable[[str], str]:
    names = {a.id: a.name for a in catalog.accelerators}
    longest = sorted(names, key=len, reverse=True)
    if not longest:
        return str
    every = re.compile(rf"(?<![\w/.-])({'|'.join(map(re.escape, longest))})(?![\w/-])")
    return lambda text: every.sub(lambda found: names[found[1]], text)


def _row(row: Row, named: Callable[[str], str]) -> Row:
    time = _told(row.time, named)
    cost = time if row.cost is row.time else _told(row.cost, named)
    next_run = named(row.timed.measure_next)
    return replace(row, time=time, cost=cost, timed=replace(row.timed, measure_next=next_run))


def _told(answer: Estimate | Refusal, named: Callable[[str], str]) -> Estimate | Refusal:
    if isinstance(answer, Refusal):
        return Refusal(reason=named(answer.reason), measure_next=named(answer.measure_next))
    return replace(answer, reasons=tuple(map(named, answer.reasons)))
