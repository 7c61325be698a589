"""Attach each problem to the parameter that caused it.

A note on offers without an exchange rate is dropped where the user chose the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import Final

from planner.answers.comparison.question import (
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
from planner.catalog import Catalog
from planner.compare import entry_of, left_out
from planner.core import Problem

__all__ = ["answered_whole", "problems_of", "too_many", "with_own"]
_BEGINNINGS: Final[Mapping[str, str]] = MappingProxyType(
    {NO_TARIFF: "country", NO_OPTION: "options"}
)
_COUNTS: Final[Mapping[str, str]] = MappingProxyType({MANY_ENTRIES: "own", MANY_OPTIONS: "options"})


def answered_whole(
    asked: Asked, facts: Facts, today: date, shown: Offered | None = None
) -> Answered:
    """As `answered`, without notes on options that the user did not choose.

    Args:
        asked: the question as it was asked.
        facts: what is known.
        today: the day from which the age of a price is counted.
        shown: what there is to choose from, where that is known already.
    """
    shown = offered(asked, facts, today) if shown is None else shown
    found = answered(asked, facts, today, shown)
    # A shared link names the usual options: they are not a choice of the user either.
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
