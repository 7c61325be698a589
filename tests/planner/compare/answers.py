"""A comparison of made options, for what is told about one."""

from __future__ import annotations

from planner.compare import Assumptions, Shop, candidates_of, compare
from planner.compare.comparison import CHEAPEST, CompareQuestion, Comparison, Limits
from planner.job import Goal, TimeSources, library_of
from tests.planner.compare.made import CATALOG, RUN, TODAY, job, row


def compared(limits: Limits = CHEAPEST, assumed: Assumptions | None = None) -> Comparison:
    """All made options for 360 epochs, 36,100 s where it was measured."""
    assumed = Assumptions() if assumed is None else assumed
    shop = Shop(catalog=CATALOG, assumed=assumed, today=TODAY)
    known = TimeSources(library=library_of(CATALOG, [row(RUN)]))
    goal = Goal(words="360 epochs", epochs=360)
    question = CompareQuestion(
        job=job(), goal=goal, measurements=known, assumed=assumed, limits=limits
    )
    return compare(question, candidates_of(job(), shop))
