"""Why this file exists: what a person chose by name is compared, and told by the name it was given.

An option of one's own is compared even where others are named beside it; offers without a rate are
worth a word only to who left the choice to us; and every problem names its parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import Final

from planner.catalog import Catalog
from planner.compare.ask import Answered, Asked, Facts, answered
from planner.compare.entries import Entry, entry_id, entry_of
from planner.compare.left_out import left_out
from planner.parameters import Problem

_BEGINNINGS: Final[Mapping[str, str]] = MappingProxyType(
    {"No electricity of ": "country", "There is no option ": "options"}
)
_COUNTS: Final[Mapping[str, str]] = MappingProxyType(
    {" own entries; the first ": "own", " options; the first ": "options"}
)


def answered_whole(asked: Asked, facts: Facts, today: date) -> Answered:
    """`answered`, with every option of one's own, and without a word on what nobody chose from.

    Args:
        asked: the question as it was asked.
        facts: what is known.
        today: to tell old prices from fresh ones.
    """
    if not asked.options:
        return answered(asked, facts, today)
    found = answered(replace(asked, options=with_own(asked, facts.catalog)), facts, today)
    if found.comparison is None:
        return found
    question = found.comparison.question
    unsaid = left_out(facts.catalog, dict(asked.usd_per))
    notes = tuple(n for n in question.notes if n not in unsaid)
    said = replace(found.comparison, question=replace(question, notes=notes))
    return replace(found, comparison=said)


def with_own(asked: Asked, catalog: Catalog) -> tuple[str, ...]:
    """The ids that are named and those of the own options, which come behind."""
    rates = dict(asked.usd_per)
    entries = (entry_of(text, catalog, rates) for text in asked.entries)
    own = (entry_id(e) for e in entries if isinstance(e, Entry))
    return tuple(dict.fromkeys([*asked.options, *own]))


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
