"""Verdicts of the back-test: headline figures compared with their targets.

The figures are those of `python -m planner backtest`; nothing is measured or chosen here.
`backtest.accuracy.rows` selects rows, `backtest.accuracy.sentences` words them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from backtest.accuracy.page import Timing
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
    """One figure and its target, as texts of the back-test; `why` explains a miss.

    `measured` and `short_by` (distance outside the target, 0 if reached) are shares.
    """

    what: str
    target: str
    measured: float
    reached: bool
    short_by: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """All figures, their verdicts in the order of the targets, and summary sentences.

    `timings` are the seconds of the methods, if recorded. `sentences` are paragraphs: errors,
    intervals, missed targets and worst task, and the rest.
    """

    rows: tuple[Row, ...]
    timings: tuple[Timing, ...]
    verdicts: tuple[Verdict, ...]
    sentences: tuple[str, ...]

    @property
    def missed(self) -> tuple[Verdict, ...]:
        """Verdicts that miss their target."""
        return tuple(v for v in self.verdicts if not v.reached)


def accuracy_of(rows: Sequence[Row], timings: Sequence[Timing] = ()) -> Accuracy:
    """Return figures, verdicts and sentences; parts with missing data sets are left out."""
    verdicts = verdicts_of(rows)
    return Accuracy(
        rows=tuple(rows),
        timings=tuple(timings),
        verdicts=verdicts,
        sentences=sentences_of(rows, verdicts),
    )


def verdicts_of(rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """Return the verdict of every target whose data are present."""
    measured = ((t, t.measured(rows)) for t in TARGETS)
    return tuple(_verdict(t, value, rows) for t, value in measured if value is not None)


def _verdict(target: Target, value: float, rows: Sequence[Row]) -> Verdict:
    reached = target.reached(rows)
    high = target.high if target.high is not None else _best_other(target, rows)
    return Verdict(
        what=target.what,
        target=target.range_text(rows),
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


def verdict_record(verdict: Verdict) -> dict[str, str]:
    """Return a verdict as the back-test prints it."""
    return {
        "Figure": verdict.what,
        "Target": verdict.target,
        "Measured": f"{100 * verdict.measured:.3g} %",
        "Verdict": "reached" if verdict.reached else "missed",
    }
