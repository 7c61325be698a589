"""The options that meet the deadline and the budget, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.compare._sentences import (
    ALMOST_SURE,
    closest,
    limits_words,
    none_in_reach,
)
from planner.compare._words import budget_words, counted
from planner.compare.evaluation import LIKELY_IN_TIME, Comparison, Row
from planner.core import Text, percent
from planner.cost import DOLLARS, Display

__all__ = ["budget_words", "keeping", "limits_sentence"]

SURE: Final = 0.9
MOST: Final = 3
_SURE_WORDS: Final = Text("with at least {sure} probability", sure=percent(SURE))


def keeping(comparison: Comparison) -> tuple[Row, ...]:
    """Return up to three options that meet the limits, best ranked first.

    Options that meet them in `SURE` of the draws; where there are none, those above 50 %.
    """
    for least in (SURE, LIKELY_IN_TIME):
        kept = [r for r in comparison.answered if r.in_time is not None and r.in_time >= least]
        if kept:
            return tuple(kept[:MOST])
    return ()


def limits_sentence(comparison: Comparison, until: str = "", display: Display = DOLLARS) -> str:
    """Return which options meet the limits, in one sentence; "" without limits.

    'Finish within 72 h for at most 500 USD: two of six do ...'. Also "" where `sentence` says so.

    Args:
        comparison: the ranked options.
        until: the deadline as a date, in words; with "" it is stated in hours.
        display: currency of budget and cost limit.
    """
    within = limits_words(comparison.question.limits, display, until)
    checked = [r for r in comparison.answered if r.in_time is not None]
    if not within or not checked or none_in_reach(comparison):
        return ""
    return f"Finish {within}: {_kept_by(comparison, checked)}"


def _kept_by(comparison: Comparison, checked: Sequence[Row]) -> str:
    """Return which options meet the limits: 'two of six do ..., best first: ...'."""
    kept = keeping(comparison)
    if not kept and len(comparison.rows) == 1:
        return Text(
            "{candidate} {seldom}.",
            candidate=checked[0].candidate.label,
            seldom=_seldom(checked[0]),
        )
    if not kept:
        return _closest(comparison, checked)
    sure, every = sum((r.in_time or 0.0) >= SURE for r in checked), len(comparison.rows)
    named = ", ".join(f"{r.candidate.label} {_chance(r)}" for r in kept)
    if not sure:
        return Text("none for sure; more likely than not: {named}.", named=named)
    if every == 1:
        return Text(
            "{candidate} does, {chance}.",
            candidate=kept[0].candidate.label,
            chance=_chance(kept[0]),
        )
    if sure == 1:
        return Text(
            "of {every} only one does {sure_words}: {named}.",
            every=counted(every),
            sure_words=_SURE_WORDS,
            named=named,
        )
    return Text(
        "{so_many} {sure_words}, best first: {named}.",
        so_many=_so_many(sure, every),
        sure_words=_SURE_WORDS,
        named=named,
    )


def _so_many(sure: int, every: int) -> str:
    """Return 'both do', 'all six do', 'five of six do'."""
    if sure == every:
        return "both do" if every == 2 else Text("all {every} do", every=counted(every))
    return Text("{sure} of {every} do", sure=counted(sure), every=counted(every))


def _closest(comparison: Comparison, checked: Sequence[Row]) -> str:
    """Return that none meets them, and the closest option with its probability.

    An option of unknown cost may meet them.
    """
    does = "does" if len(checked) == len(comparison.answered) else "is known to"
    best = closest(comparison, 1.0 - ALMOST_SURE)
    share = 0.0 if best is None else best.in_time or 0.0
    if best is None or share < 1.0 - ALMOST_SURE:
        return Text("none of these {does}.", does=does)
    return Text(
        "none of these {does}. {candidate} comes closest, {chance}.",
        does=does,
        candidate=best.candidate.label,
        chance=_chance(best),
    )


def _chance(row: Row) -> str:
    share = row.in_time or 0.0
    if share > ALMOST_SURE:
        return "with > 99 %"
    return f"with {_percent(row)}"


def _percent(row: Row) -> str:
    return percent(row.in_time or 0.0)


def _seldom(row: Row) -> str:
    """Return 'has only a 30 % chance', 'is very unlikely to'."""
    seldom = (row.in_time or 0.0) < 1.0 - ALMOST_SURE
    return (
        "is very unlikely to"
        if seldom
        else Text("has only a {percent} chance", percent=_percent(row))
    )
