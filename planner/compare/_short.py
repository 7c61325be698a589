"""The answer in five seconds: the option, a few words beside it, and one plain line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.compare._sentences import ALMOST_SURE, closest, likely_words, none_in_reach, sentences
from planner.compare._words import counted
from planner.compare.comparison import Comparison, Row
from planner.compare.undecided import NAMED, tied_options
from planner.core import Refusal, Text, listed_words, plural
from planner.cost import DOLLARS, Display


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
        "Decidedly {what} than the other option.",
        "Decidedly {what} than the other {count} options.",
        what=what,
    )
