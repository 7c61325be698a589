"""Why this file exists: what is to be kept to, in words, and who comes closest where none does."""

from __future__ import annotations

import math

from planner.compare.comparison import Comparison, Row, Wanted
from planner.compare.words import budget_words
from planner.cost import Display
from planner.cost.display import DOLLARS
from planner.estimate import Estimate, Refusal
from planner.written import plain

Key = tuple[float, float, float, float]


def closest(told: Comparison, least: float) -> Row | None:
    """The likeliest of those that keep the limits in a share `least` of the draws.

    Where none does, the one that least exceeds the limit it exceeds most, by its medians. None
    where no limit is asked for or nobody knows who keeps it.
    """
    wanted = told.question.wanted
    known = [r for r in told.answered if r.in_time is not None]
    return min(known, key=lambda r: _distance(r, wanted, least), default=None)


def none_can(told: Comparison, least: float) -> bool:
    """Whether all are known to keep the limits in less than a share `least` of the draws."""
    shares = [r.in_time for r in told.answered]
    return bool(shares) and all(share is not None and share < least for share in shares)


def _distance(row: Row, wanted: Wanted, least: float) -> Key:
    share = row.in_time or 0.0
    limits = (
        (row.time, wanted.deadline_s),
        (row.to_pay, wanted.budget_usd),
        (row.cost, wanted.cost_limit_usd),
    )
    exceeds = [_ratio(_value(told), most) for told, most in limits if most is not None]
    paid = row.cost if wanted.budget_usd is None else row.to_pay
    cost = _value(paid) if wanted.limits_money else 0.0
    told = share if share >= least else 0.0
    return -told, max(exceeds, default=0.0), cost, _value(row.time)


def _ratio(value: float, most: float) -> float:
    if value <= 0.0:
        return 0.0
    return value / most if most > 0.0 else math.inf


def _value(told: Estimate | Refusal | None) -> float:
    return float(told.value) if isinstance(told, Estimate) else math.inf


def limits_words(wanted: Wanted, display: Display = DOLLARS, until: str = "") -> str:
    """'within 72 h for at most 500 USD'; "" where there is no limit.

    Args:
        wanted: what is asked.
        display: currency of the budget.
        until: the deadline as a date, in words; "" tells it in hours.
    """
    parts = []
    if wanted.deadline_s is not None:
        parts.append(f"by {until}" if until else f"within {plain(wanted.deadline_s / 3600.0, 4)} h")
    if wanted.budget_usd is not None:
        parts.append(f"for at most {budget_words(wanted.budget_usd, display)}")
    if wanted.cost_limit_usd is not None:
        parts.append(f"at a cost of at most {budget_words(wanted.cost_limit_usd, display)} a run")
    return " ".join(parts)
