"""Why this file exists: which options keep to the deadline and the budget, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from planner.compare.reckon import LIKELY_IN_TIME, Comparison, Row
from planner.compare.sentences import ALMOST_SURE, time_with_interval
from planner.compare.words import budget_words, counted
from planner.cost import Display, money_with_interval
from planner.cost.display import DOLLARS
from planner.estimate import Refusal

__all__ = ["budget_words", "keeping", "keeping_sentence"]

SURE: Final = 0.9
MOST: Final = 3
_SURELY: Final = f"with at least {SURE:.0%} probability".replace("%", " %")


def keeping(told: Comparison) -> tuple[Row, ...]:
    """Up to three options that keep to what is wanted, best ranked first; the surer class first.

    Those that keep to it in `SURE` of the draws; where there is none, those that more likely do
    than not.
    """
    for least in (SURE, LIKELY_IN_TIME):
        kept = [r for r in told.answered if r.in_time is not None and r.in_time >= least]
        if kept:
            return tuple(kept[:MOST])
    return ()


def keeping_sentence(told: Comparison, until: str = "", display: Display = DOLLARS) -> str:
    """'Finish within 72 h for at most 500 USD: two of six do ..., best first: ...'.

    "" where nothing is to be kept.

    Args:
        told: the comparison.
        until: the deadline as a date, in words; "" tells it in hours.
        display: currency of the budget.
    """
    limits = _limits(told, until, display)
    known = [r for r in told.answered if r.in_time is not None]
    if not limits or not known:
        return ""
    kept = keeping(told)
    if not kept:
        return f"{limits}: none of these does. {_closest(told, known, display)}."
    sure, every = sum((r.in_time or 0.0) >= SURE for r in known), len(told.rows)
    named = ", ".join(f"{r.candidate.label} {_chance(r)}" for r in kept)
    if not sure:
        return f"{limits}: none for sure; more likely than not: {named}."
    if every == 1:
        return f"{limits}: {kept[0].candidate.label} does, {_chance(kept[0])}."
    if sure == 1:
        return f"{limits}: of {counted(every)} only one does {_SURELY}: {named}."
    return f"{limits}: {_so_many(sure, every)} {_SURELY}, best first: {named}."


def _so_many(sure: int, every: int) -> str:
    """'both do', 'all six do', 'five of six do'."""
    if sure == every:
        return "both do" if every == 2 else f"all {counted(every)} do"
    return f"{counted(sure)} of {counted(every)} do"


def _closest(told: Comparison, known: Sequence[Row], display: Display) -> str:
    """The likeliest, or where none ever does the fastest (the cheapest, of a budget alone)."""
    by_cost = told.question.wanted.deadline_s is None
    best = min(known, key=lambda r: (-(r.in_time or 0.0), _size(r, by_cost=by_cost)))
    said = f"{best.candidate.label} comes closest"
    if (best.in_time or 0.0) >= 1.0 - ALMOST_SURE:
        return f"{said}, {_chance(best)}"
    answer = best.cost if by_cost else best.time
    if isinstance(answer, Refusal):
        return said
    return (
        f"{said}: {money_with_interval(answer, display) if by_cost else time_with_interval(answer)}"
    )


def _size(row: Row, *, by_cost: bool) -> float:
    answer = row.cost if by_cost else row.time
    return math.inf if isinstance(answer, Refusal) else float(answer.value)


def _limits(told: Comparison, until: str, display: Display) -> str:
    wanted = told.question.wanted
    parts = []
    if wanted.deadline_s is not None:
        parts.append(f"by {until}" if until else f"within {wanted.deadline_s / 3600.0:,.4g} h")
    if wanted.budget_usd is not None:
        parts.append(f"for at most {budget_words(wanted.budget_usd, display)}")
    return f"Finish {' '.join(parts)}" if parts else ""


def _chance(row: Row) -> str:
    share = row.in_time or 0.0
    if share > ALMOST_SURE:
        return "surely"
    return f"with {share:.0%}".replace("%", " %")
