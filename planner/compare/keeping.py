"""Why this file exists: which options keep to the deadline and the budget, in one sentence."""

from __future__ import annotations

from typing import Final

from planner.compare.reckon import LIKELY_IN_TIME, Comparison, Row
from planner.compare.sentences import ALMOST_SURE
from planner.cost import Display, price
from planner.cost.display import DOLLARS

SURE: Final = 0.9
MOST: Final = 3
_SURELY: Final = f"with {SURE:.0%} or more".replace("%", " %")


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
    """'Finish by Fri 27 Nov for at most 500 USD: 2 of 6 do, best first ...'; "" if not asked.

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
        best = max(known, key=lambda r: r.in_time or 0.0)
        return f"{limits}: none of these. {best.candidate.label} comes closest, {_chance(best)}."
    sure = sum((r.in_time or 0.0) >= SURE for r in known)
    named = ", ".join(f"{r.candidate.label} ({_chance(r)})" for r in kept)
    if not sure:
        return f"{limits}: none for sure; more likely than not: {named}."
    if len(told.rows) == 1:
        return f"{limits}: {kept[0].candidate.label} does ({_chance(kept[0])})."
    if sure == 1:
        return f"{limits}: of {len(told.rows)} only one does {_SURELY}: {named}."
    return f"{limits}: {sure} of {len(told.rows)} do {_SURELY}, best first {named}."


def budget_words(budget_usd: float, display: Display = DOLLARS) -> str:
    """A budget as it was typed, in the currency that is shown: '500 EUR with tax'."""
    return f"{price(budget_usd, display)}{' with tax' if display.tax_share else ''}"


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
    return f"{share:.0%}".replace("%", " %") if share >= 1.0 - ALMOST_SURE else "hardly ever"
