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
    Facts,
    Offered,
    Request,
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
    request: Request, facts: Facts, today: date, shown: Offered | None = None
) -> Answered:
    """Return `answered`, without notes on offers left out where the user chose the options.

    Args:
        request: the question.
        facts: the data on the job.
        today: for the age of prices.
        shown: the options to choose from, where already computed.
    """
    shown = offered(request, facts, today) if shown is None else shown
    answer = answered(request, facts, today, shown)
    # A shared link names the default options; they are no choice of the user either.
    if not request.options or answer.comparison is None or answer.chosen == shown.usual:
        return answer
    question = answer.comparison.question
    omitted = left_out(facts.catalog, all_rates(request))
    notes = tuple(n for n in question.notes if n not in omitted)
    comparison = replace(answer.comparison, question=replace(question, notes=notes))
    return replace(answer, comparison=comparison)


def problems_of(sentences: Sequence[str], request: Request, catalog: Catalog) -> list[Problem]:
    """Return each sentence of an answer as a problem of its parameter."""
    rates = dict(request.usd_per)
    entries = {entry_of(text, catalog, rates) for text in request.entries}
    wrong = {e for e in entries if isinstance(e, str)}
    return [
        Problem(parameter="own" if text in wrong else _parameter(text), message=text)
        for text in sentences
    ]


def _parameter(text: str) -> str:
    """Return the parameter of a sentence; "" where there are several."""
    for start, name in _BEGINNINGS.items():
        if text.startswith(start):
            return name
    return next((name for part, name in _COUNTS.items() if part in text), "")
