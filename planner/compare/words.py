"""Why this file exists: small words of the answer: numbers, labels and amounts in a sentence."""

from __future__ import annotations

from typing import Final

from planner.compare.comparison import Comparison, Wanted
from planner.cost import Display, price
from planner.cost.display import DOLLARS
from planner.written import plain

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
