"""What would each candidate take and cost, and how sure is their order?

Times and prices are drawn together, `planner.cost.DRAWS` times with one seed, so that what two
candidates share (the same accelerator's time, one tariff) moves both and decides nothing. Every
number of the comparison is read off those draws: medians, 90 % intervals, and the probabilities
to be the cheapest, the fastest, or in time.

    planner.compare.comparison   question and answer as records
    planner.compare.rows         what one candidate takes and costs
    planner.compare.ranking      which is better, how surely, in which order
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.compare.comparison import (
    CHEAPEST,
    NOTHING,
    USUAL,
    Comparison,
    Drawn,
    Question,
    Row,
    Wanted,
    by_id,
)
from planner.compare.ranking import DECIDED, LIKELY_IN_TIME, better, ranked, standing
from planner.compare.records import Candidate, Fit, Timed
from planner.compare.rows import busy_share, cost_draws, row_of
from planner.guarded import or_refusal

__all__ = [
    "CHEAPEST",
    "DECIDED",
    "LIKELY_IN_TIME",
    "NOTHING",
    "USUAL",
    "Comparison",
    "Drawn",
    "Question",
    "Row",
    "Wanted",
    "better",
    "busy_share",
    "by_id",
    "compare",
    "cost_draws",
    "standing",
]


def compare(question: Question, candidates: Sequence[Candidate]) -> Comparison:
    """Rank the candidates for a job.

    Raises:
        ValueError: there is no candidate.
    """
    if not candidates:
        raise ValueError("There is nothing to compare. Choose at least one option.")
    rows = [_row(question, c) for c in candidates]
    return Comparison(question=question, rows=ranked(rows, question.wanted))


def _row(question: Question, candidate: Candidate) -> Row:
    """What one candidate takes and costs; whatever is wrong with its numbers refuses it alone."""
    found = or_refusal(candidate.label, lambda: row_of(question, candidate))
    if isinstance(found, Row):
        return found
    fit = Fit(fits=None, need_bytes=None, have_bytes=None, at_least=False, sentence="Not known.")
    refused = Timed(total=found, batch=None, fit=fit)
    return Row(candidate=candidate, timed=refused, time=found, cost=found)
