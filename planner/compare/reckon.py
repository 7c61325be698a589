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
from dataclasses import replace

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
from planner.estimate import Estimate
from planner.guarded import or_refusal
from planner.how_long import from_epoch_1, start_left_out
from planner.projection import START_NOT_INCLUDED

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
    if no_start := _without_start(rows):
        question = replace(
            question,
            job=replace(question.job, pre_train_s=0.0),
            notes=(*question.notes, start_left_out(no_start)),
        )
        alike = [c if c.run is None else replace(c, run=from_epoch_1(c.run)) for c in candidates]
        rows = [_row(question, c) for c in alike]
    return Comparison(question=question, rows=ranked(rows, question.wanted))


def _without_start(rows: Sequence[Row]) -> tuple[str, ...]:
    """Options whose run states no start-up time beside others that do; none where all are alike."""
    answered = [r for r in rows if isinstance(r.timed.total, Estimate)]
    lacking = tuple(r.candidate.label for r in answered if _states_no_start(r))
    return lacking if len(lacking) < len(answered) else ()


def _states_no_start(row: Row) -> bool:
    total, run = row.timed.total, row.candidate.run
    without = isinstance(total, Estimate) and START_NOT_INCLUDED in total.reasons
    return without or (run is not None and not run.run.start_known)


def _row(question: Question, candidate: Candidate) -> Row:
    """What one candidate takes and costs; whatever is wrong with its numbers refuses it alone."""
    found = or_refusal(candidate.label, lambda: row_of(question, candidate))
    if isinstance(found, Row):
        return found
    fit = Fit(fits=None, need_bytes=None, have_bytes=None, at_least=False, sentence="Not known.")
    refused = Timed(total=found, batch=None, fit=fit)
    return Row(candidate=candidate, timed=refused, time=found, cost=found)
