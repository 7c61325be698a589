"""Errors of the samples to target at a hidden batch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import Cases, MeasuredCurve, Read, curves_of
from backtest.questions.batch import curve_rows
from backtest.questions.figure import FigureRow, Prediction, Watch, unwatched, with_means
from backtest.questions.methods import (
    Method,
    answered,
    constant_samples,
    corrected_line,
    interpolation,
    power_law,
    straight_line,
    textbook,
)
from planner.convergence import MAX_SCATTER, NARROW, PRIOR, TOO_FAR
from planner.core import Text
from planner.fits import TWICE, Prior

QUESTION: Final = "steps to target"
SHARPER: Final = 1.25


def powers(sharpness: float) -> Method:
    """Return a line through powers of batch and samples; above 1 its corner is sharper."""

    def method(cases: Cases) -> Prediction:
        raised = replace(
            cases,
            shown_batch=cases.shown_batch**sharpness,
            shown_value=cases.shown_value**sharpness,
            hidden_batch=cases.hidden_batch**sharpness,
        )
        prediction = straight_line(Prior(sd=sharpness * PRIOR.sd))(raised)
        value, low, high = (
            v ** (1.0 / sharpness) for v in (prediction.value, prediction.low, prediction.high)
        )
        return Prediction(value=value, low=low, high=high)

    return method


METHODS: Final[Mapping[str, Method]] = {
    "ours: line, prior": straight_line(PRIOR),
    "ours with the prior of step times": straight_line(),
    Text("sharper corner, a = {sharpness:g}", sharpness=SHARPER): powers(SHARPER),
    "corrected line": corrected_line,
    "line, textbook interval": textbook,
    "linear interpolation": interpolation,
    "power law": power_law,
    "constant epochs": constant_samples,
}


def convergence_rows(read: Read, watch: Watch = unwatched) -> list[FigureRow]:
    """Return the rows of every task and data set, for every method."""
    sets = convergence_curves(read)
    rows = [r for name, curves in sets.items() for r in rows_of(name, curves, watch)]
    return with_means(rows, list(sets))


def rows_of(
    name: str, curves: Sequence[MeasuredCurve], watch: Watch = unwatched
) -> list[FigureRow]:
    """Return the rows of one data set, as `curve_rows` in `batch`."""
    return curve_rows((QUESTION, name), curves, METHODS, may_answer, watch)


def may_answer(cases: Cases) -> NDArray[np.bool_]:
    """Return which points `planner.convergence.fit` answers, shape (hidden,)."""
    return answered(cases, max_scatter=MAX_SCATTER, narrow=NARROW, near=TWICE, too_far=TOO_FAR)


def convergence_curves(read: Read) -> dict[str, list[MeasuredCurve]]:
    """Return samples to target over at least 4 batches, medians over seeds, by data set."""
    sets = {
        "Shallue (digitised)": _published(
            read, "shallue_digitised/steps_to_target.csv", "steps_to_target_digitised"
        ),
        "C4 language models": _published(
            read, "critical_batch_size_lm/steps_to_target.csv", "steps_to_target"
        ),
        "MLPerf reference points": _reference_points(read),
    }
    return {name: curves for name, curves in sets.items() if curves}


def _published(read: Read, path: str, column: str) -> list[MeasuredCurve]:
    points: dict[str, list[tuple[float, float]]] = {}
    for row in read(path):
        batch = float(row["batch_size"])
        points.setdefault(row["workload"], []).append((batch, batch * float(row[column])))
    return curves_of(points, 4)


def _reference_points(read: Read) -> list[MeasuredCurve]:
    """Return the last revision of a list at each batch size; rows without samples are left out."""
    last: dict[str, dict[float, float]] = {}
    usable = [row for row in read("mlperf_rcp/rcp.csv") if row["samples_to_target_mean"]]
    for row in sorted(usable, key=lambda r: (r["rulesets"].split(";")[-1], r["first_ruleset"])):
        unit = float(row["samples_to_target_mean"]) / float(row["conv_mean"])
        median = unit * float(np.median([float(v) for v in row["conv_values"].split(";")]))
        last.setdefault(row["workload"], {})[float(row["batch_size"])] = median
    return curves_of({name: list(points.items()) for name, points in last.items()}, 4)
