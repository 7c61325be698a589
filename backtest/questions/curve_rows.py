"""Rows of one data set: hidden points of curves over the batch, predicted by every method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import TASKS, Cases, cases_of
from backtest.data.source import Curve
from backtest.questions.figure import HiddenPoints, Row, scored
from backtest.questions.methods import Method
from backtest.questions.watch import Watch, predictions_of

Answerable = Callable[[Cases], NDArray[np.bool_]]
"""Returns which hidden points the product answers, shape (hidden,)."""


def curve_rows(
    of: tuple[str, str],
    curves: Sequence[Curve],
    methods: Mapping[str, Method],
    may_answer: Answerable,
    watch: Watch,
) -> list[Row]:
    """Return the rows of all tasks for the question and data set in `of`; none for short curves."""
    question, name = of
    rows = []
    for task, splits in TASKS.items():
        cases = cases_of(curves, splits)
        if cases.hidden_batch.size:
            hidden = HiddenPoints(
                truth=cases.hidden_value, curve=cases.hidden_curve, answered=may_answer(cases)
            )
            place = question, task, name
            answers = {m: partial(method, cases) for m, method in methods.items()}
            rows += scored(
                place, predictions_of(answers, place, cases.hidden_batch.size, watch), hidden
            )
    return rows
