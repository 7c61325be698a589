"""The answer in one line, and the options that meet the deadline and the budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.compare._sentences import (
    ALMOST_SURE,
    closest,
    likely_words,
    limits_words,
    none_in_reach,
    sentences,
)
from planner.compare.comparison import Comparison, Row, counted
from planner.compare.evaluation import LIKELY_IN_TIME
from planner.compare.undecided import NAMED, tied_options
from planner.core import Refusal, Text, listed_words, paragraph, percent, plural
from planner.cost import DOLLARS, Display

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
    none = (
        "none of these does."
        if len(checked) == len(comparison.answered)
        else "none of these is known to."
    )
    best = closest(comparison, 1.0 - ALMOST_SURE)
    share = 0.0 if best is None else best.in_time or 0.0
    if best is None or share < 1.0 - ALMOST_SURE:
        return none
    nearest = Text(
        "{candidate} comes closest, {chance}.",
        candidate=best.candidate.label,
        chance=_chance(best),
    )
    return paragraph(none, nearest)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortAnswer:
    """The option to name, a badge, and a line; `tied` where the line says so.

    The option is the first in rank, or the closest to the limits where none is likely to meet them;
    None without an answer.
    """

    row: Row | None
    badge: str
    line: str
    tied: bool = False


def short_answer(
    comparison: Comparison, names: Mapping[str, str], display: Display = DOLLARS
) -> ShortAnswer:
    """Return the answer to read at a glance; `names` are short names of the options by id."""
    leader = comparison.leader
    if leader is None or isinstance(leader.time, Refusal):
        return ShortAnswer(row=None, badge="", line=sentences(comparison, display)[0])
    if none_in_reach(comparison):
        row = closest(comparison, 1.0 - ALMOST_SURE) or leader
        return ShortAnswer(row=row, badge="comes closest", line="None of these meets the limits.")
    badge = _badge(comparison, leader)
    if tied := tied_options(comparison, leader):
        labels = [names[r.candidate.id] for r in tied]
        if len(labels) > NAMED:
            labels = [*labels[: NAMED - 1], f"{counted(len(labels) - NAMED + 1)} more"]
        line = Text("Too close to call with {listed_words}.", listed_words=listed_words(labels))
        return ShortAnswer(row=leader, badge=badge, line=line, tied=True)
    return ShortAnswer(row=leader, badge=badge, line=_decided(comparison))


def _badge(comparison: Comparison, leader: Row) -> str:
    """Return '57 % likely the cheapest', or the fastest where options are ranked by time."""
    by_cost = comparison.question.limits.order == "cost"
    chance = leader.cheapest if by_cost else leader.fastest
    if chance is None or len(comparison.answered) < 2:
        return ""
    return f"{likely_words(chance)} the {'cheapest' if by_cost else 'fastest'}"


def _decided(comparison: Comparison) -> str:
    """Return that the first is decided; "" where it is alone."""
    others = len(comparison.answered) - 1
    if others < 1:
        return ""
    what = "cheaper" if comparison.question.limits.order == "cost" else "faster"
    return plural(
        others,
        "Clearly {what} than the other option.",
        "Clearly {what} than the other {count} options.",
        what=what,
    )
