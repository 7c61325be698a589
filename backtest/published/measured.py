"""Questions on published series: more devices, a batch left out, twice the largest batch.

Hidden points are of the same series as shown ones. Device counts are predicted as step times, from
fits on the smaller half of the counts; batches are predicted as speeds.
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
    """Return step times [s] on the larger half of each series' counts, from the smaller half."""
    return [answer for series in series_of(rows) for answer in _of_series(series)]


def _of_series(series: Series) -> Iterator[Answer]:
    """Yield the answers of one series; the middle of an odd number of counts is shown."""
    runs = series.runs
    counts = np.unique(runs.devices)
    is_shown = runs.devices <= counts[-(-counts.size // 2) - 1]
    shown, hidden = runs.only(is_shown), runs.only(~is_shown)
    try:
        curve = fit_scaling(shown.batch, shown.devices, shown.nodes, shown.step_s)
    except ValueError as problem:  # a table may hold any number
        curve = Refusal(reason=str(problem), measure_next="")
    for batch, devices, nodes, step_s in zip(
        hidden.batch, hidden.devices, hidden.nodes, hidden.step_s, strict=True
    ):
        estimate = curve if isinstance(curve, Refusal) else curve.step_time(batch, devices, nodes)
        name = f"{series.name}, {devices:g} devices"
        yield answer_of((series.source, name), float(step_s), estimate)


def batch_left_out(rows: Sequence[PublishedRow]) -> list[Answer]:
    """Return the speeds at each batch between others, from all others of its curve [samples/s]."""
    return _of_curves(rows, LEFT_OUT)


def batch_twice(rows: Sequence[PublishedRow]) -> list[Answer]:
    """Return the speeds at the largest batch from those at most half of it [samples/s]."""
    return _of_curves(rows, TWICE)


def _of_curves(rows: Sequence[PublishedRow], task: str) -> list[Answer]:
    answers = []
    for source, curves in batch_curves(rows).items():
        cases = cases_of(curves, TASKS[task])
        if not cases.hidden_batch.size:
            continue
        prediction, answered = corrected_line(cases), may_answer(cases)
        for i, batch in enumerate(cases.hidden_batch.tolist()):
            name = f"{curves[int(cases.hidden_curve[i])].name}, batch {batch:g}"
            truth = batch / float(cases.hidden_value[i])
            if not answered[i]:
                answers.append(Answer(source=source, name=name, truth=truth, why="refused"))
                continue
            value, low, high = (
                batch / float(part[i])
                for part in (prediction.value, prediction.high, prediction.low)
            )
            answers.append(
                Answer(source=source, name=name, truth=truth, value=value, low=low, high=high)
            )
    return answers
