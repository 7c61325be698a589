"""Why this file exists: small words of the answer: numbers, labels and amounts in a sentence."""

from __future__ import annotations

from typing import Final

from planner.compare.comparison import Wanted
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


def kept_to(wanted: Wanted) -> str:
    """'in time', 'within the budget', 'in time and within the budget'; "" where none is asked."""
    limits = []
    if wanted.deadline_s is not None:
        limits.append("in time")
    if wanted.budget_usd is not None:
        limits.append("within the budget")
    return " and ".join(limits)
