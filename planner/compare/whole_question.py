"""Why this file exists: problems stand under the name they are about, and none is said in vain.

Offers without a rate are worth a word only to who left the choice to us; and every problem names
its parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import Final

from planner.catalog import Catalog
from planner.compare.ask import (
    MANY_ENTRIES,
    MANY_OPTIONS,
    NO_OPTION,
    NO_TARIFF,
    Answered,
    Asked,
    Facts,
    Offered,
    all_rates,
    answered,
    offered,
    too_many,
    with_own,
)
from planner.compare.entries import entry_of
from planner.compare.left_out import left_out
from planner.parameters import Problem

__all__ = ["answered_whole", "problems_of", "too_many", "with_own"]
_BEGINNINGS: Final[Mapping[str, str]] = MappingProxyType(
    {NO_TARIFF: "country", NO_OPTION: "options"}
)
_COUNTS: Final[Mapping[str, str]] = MappingProxyType({MANY_ENTRIES: "own", MANY_OPTIONS: "options"})


def answered_whole(
    asked: Asked, facts: Facts, today: date, shown: Offered | None = None
) -> Answered:
    """`answered`, without a word on what nobody chose from.

    Args:
        asked: the question as it was asked.
        facts: what is known.
        today: to tell old prices from fresh ones.
        shown: what there is to choose from, where that is known already.
    """
    shown = offered(asked, facts, today) if shown is None else shown
    found = answered(asked, facts, today, shown)
    # A shared link names the usual options: they are nobody's choice either.
    if not asked.options or found.comparison is None or found.chosen == shown.usual:
        return found
    question = found.comparison.question
    unsaid = left_out(facts.catalog, all_rates(asked))
    notes = tuple(n for n in question.notes if n not in unsaid)
    said = replace(found.comparison, question=replace(question, notes=notes))
    return replace(found, comparison=said)


def problems_of(told: Sequence[str], asked: Asked, catalog: Catalog) -> list[Problem]:
    """Each sentence of an answer as a problem of the parameter it is about."""
    rates = dict(asked.usd_per)
    entries = {entry_of(text, catalog, rates) for text in asked.entries}
    wrong = {e for e in entries if isinstance(e, str)}
    return [
        Problem(parameter="own" if text in wrong else _parameter(text), message=text)
        for text in told
    ]


def _parameter(text: str) -> str:
    """What a sentence is about; "" where it is about several."""
    for start, name in _BEGINNINGS.items():
        if text.startswith(start):
            return name
    return next((name for part, name in _COUNTS.items() if part in text), "")
