"""The table of the back-test: its headline figures and comparisons.

The figures are those of `python -m planner backtest`; nothing is measured or chosen here. Which
rows there are to compare is told in `backtest.accuracy.rows`, what to say in
`backtest.accuracy.sentences`; here each figure meets what is wanted of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from backtest.accuracy.rows import (
    SIDES,
    Side,
    data_sets_of,
    is_ours,
    is_regret,
    methods_of,
    on_side,
    ours,
    per_cent,
    records,
    shown_rows,
    tasks_of,
    titles,
)
from backtest.accuracy.seconds_page import Timing
from backtest.accuracy.sentences import (
    AFTER,
    AHEAD,
    FIRST,
    REGRETS,
    SHEET,
    THEN,
    sentences_of,
)
from backtest.accuracy.targets import TARGETS, Target
from backtest.questions.figure import Row

__all__ = [
    "AFTER", "AHEAD", "FIRST", "REGRETS", "SHEET", "SIDES", "THEN", "Accuracy", "Side", "Verdict",
    "accuracy_of", "data_sets_of", "is_ours", "is_regret", "methods_of", "on_side", "ours",
    "per_cent", "records", "shown_rows", "tasks_of", "titles", "verdict_record", "verdicts_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One figure beside what is wanted of it, both as texts of the back-test; `why` it is missed.

    `measured` and `short_by`, how far it lies outside (0 where reached), are shares.
    """

    what: str
    wanted: str
    measured: float
    reached: bool
    short_by: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """All figures, the verdicts in the order of the back-test's targets, and what to say of them.

    `timings` are the seconds of the methods, where they were kept. `sentences` are paragraphs:
    errors, intervals, what is missed and what is worst, and the rest.
    """

    rows: tuple[Row, ...]
    timings: tuple[Timing, ...]
    verdicts: tuple[Verdict, ...]
    sentences: tuple[str, ...]

    @property
    def missed(self) -> tuple[Verdict, ...]:
        """The figures that are not what is wanted of them."""
        return tuple(v for v in self.verdicts if not v.reached)


def accuracy_of(rows: Sequence[Row], timings: Sequence[Timing] = ()) -> Accuracy:
    """Everything that is said of the figures; parts whose data set is missing are left out."""
    verdicts = verdicts_of(rows)
    return Accuracy(
        rows=tuple(rows),
        timings=tuple(timings),
        verdicts=verdicts,
        sentences=sentences_of(rows, verdicts),
    )


def verdicts_of(rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """Every target of the back-test whose data are there."""
    found = ((t, t.measured(rows)) for t in TARGETS)
    return tuple(_verdict(t, value, rows) for t, value in found if value is not None)


def _verdict(target: Target, value: float, rows: Sequence[Row]) -> Verdict:
    reached = target.reached(rows)
    high = target.high if target.high is not None else _best_other(target, rows)
    return Verdict(
        what=target.what,
        wanted=target.wanted(rows),
        measured=value,
        reached=reached,
        short_by=0.0 if reached else max(target.low - value, value - high),
        why="" if reached else target.why,
    )


def _best_other(target: Target, rows: Sequence[Row]) -> float:
    place = (target.question, target.task, target.data_set)
    others = [
        float(getattr(r, target.field))
        for r in rows
        if (r.question, r.task, r.data_set) == place
        and r.points
        and not r.method.startswith("ours")
    ]
    return min(others, default=math.inf)


def verdict_record(one: Verdict) -> dict[str, str]:
    """A verdict as the back-test prints it."""
    return {
        "Figure": one.what,
        "Target": one.wanted,
        "Measured": f"{100 * one.measured:.3g} %",
        "Verdict": "reached" if one.reached else "missed",
    }
