"""The rows of the back-test's table, picked and ordered: ours and the others, a task, a data set.

Ours is the method of a task whose name begins with "ours:", the others stand beside it.
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
from planner.core import Record

Side = Literal["all", "ours", "others"]
SIDES: Final[tuple[Side, ...]] = ("all", "ours", "others")


def ours(rows: Iterable[Row], question: str, task: str, data_set: str) -> Row | None:
    """The row of what ships for a task on a data set, None where it was not asked or answered."""
    place = (question, task, data_set)
    found = (r for r in rows if (r.question, r.task, r.data_set) == place)
    return next((r for r in found if is_ours(r) and r.points), None)


def is_ours(row: Row) -> bool:
    """Whether the row is of what ships, where it answers."""
    return row.method.startswith("ours:")


def on_side(row: Row, side: Side) -> bool:
    """Whether a row is shown; ours are also its variants and what it would say where it refuses."""
    return side == "all" or row.method.startswith("ours") == (side == "ours")


def is_regret(row: Row) -> bool:
    """Whether its errors are regrets: what a choice took beyond the best of all measured ones."""
    return row.task.startswith("regret")


def titles(rows: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """Each question of the rows with its title and where its data are from, in their order."""
    known = dict.fromkeys(r.question for r in rows)
    return {q: ABOUT.get(q, (q.capitalize(), "")) for q in known}


def tasks_of(rows: Iterable[Row], question: str) -> list[str]:
    """The tasks of a question in the order of the back-test."""
    return list(dict.fromkeys(r.task for r in rows if r.question == question))


def data_sets_of(rows: Iterable[Row], question: str, task: str) -> list[str]:
    """The data sets of a task, their mean first where there is one."""
    found = dict.fromkeys(r.data_set for r in rows if (r.question, r.task) == (question, task))
    return sorted(found, key=lambda name: name != MEAN)


def shown_rows(
    rows: Iterable[Row], question: str, task: str, data_sets: Sequence[str], side: Side
) -> list[Row]:
    """The rows that these filters leave, by data set in the order given, ours first."""
    left = [
        r
        for r in rows
        if (r.question, r.task) == (question, task) and r.data_set in data_sets and on_side(r, side)
    ]
    return sorted(left, key=lambda r: (data_sets.index(r.data_set), _rank(r)))


def methods_of(rows: Iterable[Row], question: str) -> list[str]:
    """The methods of a question, ours first; what it says where it refuses is last."""
    asked = sorted((r for r in rows if r.question == question), key=_rank)
    return list(dict.fromkeys(r.method for r in asked))


def records(rows: Iterable[Row]) -> list[Record]:
    """The rows as they are in the file, a figure that there is none of as None."""
    names = [f.name for f in fields(Row)]
    return [{name: _cell(getattr(row, name)) for name in names} for row in rows]


def per_cent(share: float) -> str:
    """A share with two digits that count: 0 %, 0.54 %, 3.0 %, 12 %, 837 %."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 9.95 or not value else f"{value:#.2g} %"


def _rank(row: Row) -> int:
    return 2 if row.method in {REFUSED, UNREFUSED} else 0 if row.method.startswith("ours") else 1


def _cell(value: object) -> str | float | int | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | float | int) else str(value)
