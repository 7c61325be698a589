"""Attach each problem to the parameter that caused it.

A note on offers without an exchange rate is dropped where the user chose the options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from planner.answers.comparison.question import (
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
from planner.compare import left_out
from planner.core import Problem, parameter_of

__all__ = ["answered_whole", "problems_of", "too_many", "with_own"]


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


def problems_of(sentences: Sequence[str]) -> list[Problem]:
    """Return each sentence of an answer as a problem of its parameter."""
    return [Problem(parameter=parameter_of(text), message=text) for text in sentences]
