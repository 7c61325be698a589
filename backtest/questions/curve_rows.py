"""Rows of one data set: hidden points of curves over the batch, predicted by every method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import TASKS, Cases, cases_of
from backtest.data.source import Curve
from backtest.questions.figure import Asked, Row, scored
from backtest.questions.methods import Method
from backtest.questions.watch import Watch, told_by

Answerable = Callable[[Cases], NDArray[np.bool_]]
"""Which of the points asked for the planner answers, shape (asked,)."""


def curve_rows(
    of: tuple[str, str],
    curves: Sequence[Curve],
    methods: Mapping[str, Method],
    may_answer: Answerable,
    watch: Watch,
) -> list[Row]:
    """Every task of the question and the data set in `of`; none where its curves are too short."""
    question, name = of
    rows = []
    for task, splits in TASKS.items():
        cases = cases_of(curves, splits)
        if cases.asked_batch.size:
            asked = Asked(
                truth=cases.asked_value, curve=cases.asked_curve, answered=may_answer(cases)
            )
            place = question, task, name
            asks = {m: partial(ask, cases) for m, ask in methods.items()}
            rows += scored(place, told_by(asks, place, cases.asked_batch.size, watch), asked)
    return rows
