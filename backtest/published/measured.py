"""Questions on published series: another device count, a batch left out, twice the largest batch.

What is hidden was measured in the same series as what is shown. Device counts are asked as times
of a step, fitted on the smaller half of the counts; batches are asked as speeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from backtest.data.cases import TASKS, cases_of
from backtest.published.answers import Answer, answer_of
from backtest.published.series import Series, batch_curves, series_of
from backtest.questions.batch import may_answer
from backtest.questions.methods import corrected_line
from planner.core import Refusal
from planner.published import PublishedRow
from planner.scaling import fit_scaling

LEFT_OUT: Final = "one batch left out between others"
TWICE: Final = "twice the largest"


def device_scaling(rows: Sequence[PublishedRow]) -> list[Answer]:
    """Return step times on the larger half of each series' counts, from the smaller half [s]."""
    return [answer for one in series_of(rows) for answer in _of_series(one)]


def _of_series(series: Series) -> Iterator[Answer]:
    """The middle count of an odd number of counts is shown."""
    runs = series.runs
    counts = np.unique(runs.devices)
    shown = runs.devices <= counts[-(-counts.size // 2) - 1]
    known, hidden = runs.only(shown), runs.only(~shown)
    try:
        curve = fit_scaling(known.batch, known.devices, known.nodes, known.step_s)
    except ValueError as problem:  # a table may hold any number
        curve = Refusal(reason=str(problem), measure_next="")
    for batch, devices, nodes, step_s in zip(
        hidden.batch, hidden.devices, hidden.nodes, hidden.step_s, strict=True
    ):
        found = curve if isinstance(curve, Refusal) else curve.step_time(batch, devices, nodes)
        name = f"{series.name}, {devices:g} devices"
        yield answer_of((series.source, name), float(step_s), found)


def batch_left_out(rows: Sequence[PublishedRow]) -> list[Answer]:
    """Return speeds at each batch between others, from all others of its curve [samples/s]."""
    return _of_curves(rows, LEFT_OUT)


def batch_twice(rows: Sequence[PublishedRow]) -> list[Answer]:
    """Return speeds at the largest batch from those at most half of it [samples/s]."""
    return _of_curves(rows, TWICE)


def _of_curves(rows: Sequence[PublishedRow], task: str) -> list[Answer]:
    answers = []
    for source, curves in batch_curves(rows).items():
        cases = cases_of(curves, TASKS[task])
        if not cases.asked_batch.size:
            continue
        told, answered = corrected_line(cases), may_answer(cases)
        for i, batch in enumerate(cases.asked_batch.tolist()):
            name = f"{curves[int(cases.asked_curve[i])].name}, batch {batch:g}"
            truth = batch / float(cases.asked_value[i])
            if not answered[i]:
                answers.append(Answer(source=source, name=name, truth=truth, why="refused"))
                continue
            value, low, high = (
                batch / float(part[i]) for part in (told.value, told.high, told.low)
            )
            answers.append(
                Answer(source=source, name=name, truth=truth, value=value, low=low, high=high)
            )
    return answers
