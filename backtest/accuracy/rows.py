"""Selection and order of rows of the back-test's table.

Our method of a task has a name that begins with "ours:".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Final, Literal

from backtest.accuracy.page import ABOUT
from backtest.questions.figure import (
    MEAN,
    REFUSED,
    UNREFUSED,
    Row,
)
from planner.core import Record, sentence_case

Side = Literal["all", "ours", "others"]
SIDES: Final[tuple[Side, ...]] = ("all", "ours", "others")


def ours(rows: Iterable[Row], question: str, task: str, data_set: str) -> Row | None:
    """Return the row of our method for a task on a data set; None if missing or unanswered."""
    place = (question, task, data_set)
    matches = (r for r in rows if (r.question, r.task, r.data_set) == place)
    return next((r for r in matches if is_ours(r) and r.points), None)


def is_ours(row: Row) -> bool:
    """Return whether the row is of the shipped method, on the points that it answers."""
    return row.method.startswith("ours:")


def on_side(row: Row, side: Side) -> bool:
    """Return whether a row is on a side; ours includes variants and refused points."""
    return side == "all" or row.method.startswith("ours") == (side == "ours")


def is_regret(row: Row) -> bool:
    """Return whether errors are regrets: the excess of a choice over the best measured one."""
    return row.task.startswith("regret")


def titles(rows: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """Return title and data source of each question, in the order of the rows."""
    questions = dict.fromkeys(r.question for r in rows)
    return {q: ABOUT.get(q, (sentence_case(q), "")) for q in questions}


def tasks_of(rows: Iterable[Row], question: str) -> list[str]:
    """Return the tasks of a question in the order of the back-test."""
    return list(dict.fromkeys(r.task for r in rows if r.question == question))


def data_sets_of(rows: Iterable[Row], question: str, task: str) -> list[str]:
    """Return the data sets of a task; their mean comes first, if any."""
    names = dict.fromkeys(r.data_set for r in rows if (r.question, r.task) == (question, task))
    return sorted(names, key=lambda name: name != MEAN)


def shown_rows(
    rows: Iterable[Row], question: str, task: str, data_sets: Sequence[str], side: Side
) -> list[Row]:
    """Return the filtered rows, by data set in the given order, ours first."""
    left = [
        r
        for r in rows
        if (r.question, r.task) == (question, task) and r.data_set in data_sets and on_side(r, side)
    ]
    return sorted(left, key=lambda r: (data_sets.index(r.data_set), _rank(r)))


def methods_of(rows: Iterable[Row], question: str) -> list[str]:
    """Return the methods of a question, ours first, refused points last."""
    ranked = sorted((r for r in rows if r.question == question), key=_rank)
    return list(dict.fromkeys(r.method for r in ranked))


def records(rows: Iterable[Row]) -> list[Record]:
    """Return the rows as records; missing figures are None."""
    names = [f.name for f in fields(Row)]
    return [{name: _cell(getattr(row, name)) for name in names} for row in rows]


def per_cent(share: float) -> str:
    """Return a share in per cent with two significant digits: 0 %, 0.54 %, 3.0 %, 12 %, 837 %."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 9.95 or not value else f"{value:#.2g} %"


def _rank(row: Row) -> int:
    return 2 if row.method in {REFUSED, UNREFUSED} else 0 if row.method.startswith("ours") else 1


def _cell(value: object) -> str | float | int | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | float | int) else str(value)
