"""Cost of following a method's choice of devices and batch.

Every workload of the Pollux T4 tables has measured step times on many placements and measured
steps to a target at many batches; their product is the true time to target of every choice. A
method sees 12 timed runs (one device at 4 batches; 2 devices, 4 devices, and 2 and 4 nodes of one
device at 2 batches each) and steps to target at 3 batches (ends, middle), then chooses. Regret is
the excess of its choice over the best one. Time and device-hours are separate choices.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import MeasuredCurve, Read, curves_of, ends_and_middle
from backtest.questions.figure import (
    FigureRow,
    HiddenPoints,
    Prediction,
    Watch,
    predictions_of,
    rounded,
    scored,
    unwatched,
    with_means,
)
from backtest.questions.methods import fit_perfect_speed_up
from planner.convergence import ConvergenceCurve, fit_convergence
from planner.core import Estimate, Floats, Text
from planner.fits import product
from planner.scaling import ScalingCurve, fit_scaling

QUESTION: Final = "choice of devices and batch"
COUNTS: Final = (1, 2, 4, 8, 12, 16)
"""Device counts to choose from, on full nodes of 4."""
PER_NODE: Final = 4
TARGETS: Final = (0.9, 1.0, 0.75)
"""Share of the way from the metric after one epoch to the worst final one."""
TIMED: Final = (("1", 4), ("2", 2), ("4", 2), ("11", 2), ("1111", 2))
"""Devices on each node, one digit per node, and the number of timed batches."""
OURS: Final = "ours: scaling x steps to target"
NAIVE: Final = "perfect speed-up, constant epochs"
BIGGEST: Final = "most devices, largest batch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Choices for a workload and a target, shape (choices,), and the shown measurements.

    `batch` is global [samples]; `time_s` is the measured time to target [s]. `timed` are step
    times by placement; `shown` are samples to target at three batches.
    """

    workload: str
    target: float
    devices: Floats
    batch: Floats
    time_s: Floats
    timed: Mapping[str, MeasuredCurve]
    shown: MeasuredCurve


def task_of(figure: str, target: float) -> Text:
    """Return the name of the task: what is measured, and for which target."""
    return Text("{figure}, target {target:g}", figure=figure, target=target)


def regret_rows(read: Read, watch: Watch = unwatched) -> list[FigureRow]:
    """Return errors of the predicted times, and regrets, of every workload and method."""
    rows: list[FigureRow] = []
    for choices in (c for target in TARGETS for c in all_choices(read, target)):
        place = QUESTION, task_of("time to target", choices.target), choices.workload
        methods = {OURS: partial(_ours, choices), NAIVE: partial(_naive, choices)}
        predictions = predictions_of(methods, place, choices.time_s.size, watch)
        hidden = HiddenPoints(
            truth=choices.time_s,
            curve=np.zeros(choices.time_s.size, dtype=np.int64),
            answered=np.isfinite(predictions[OURS].value),
        )
        rows += scored(place, predictions, hidden)
        rows += _regrets(choices, predictions)
    return with_means(rows, list(dict.fromkeys(row.data_set for row in rows)))


def _regrets(choices: Choices, predictions: Mapping[str, Prediction]) -> list[FigureRow]:
    biggest = int(np.lexsort((choices.batch, choices.devices))[-1])
    costs = {task_of("regret in time", choices.target): np.ones(choices.devices.size),
             task_of("regret in device-hours", choices.target): choices.devices}  # fmt: skip
    rows = []
    for task, unit in costs.items():
        picks = {method: int(np.nanargmin(t.value * unit)) for method, t in predictions.items()}
        rows += [
            _regret_row((task, method, choices.workload), choices.time_s * unit, pick)
            for method, pick in (*picks.items(), (BIGGEST, biggest))
        ]
    return rows


def _regret_row(name: tuple[str, str, str], truth: Floats, chosen: int) -> FigureRow:
    regret = rounded(float(truth[chosen] / truth.min() - 1.0))
    return FigureRow(
        question=QUESTION,
        task=name[0],
        method=name[1],
        data_set=name[2],
        curves=1,
        hidden=truth.size,
        points=truth.size,
        answered=1.0,
        median_error=regret,
        mean_error=regret,
        p90_error=regret,
        coverage=np.nan,
        median_width=np.nan,
    )


# -- the methods -------------------------------------------------------------------------------


def _ours(choices: Choices) -> Prediction:
    timed = _runs(choices)
    scaling = fit_scaling(*timed)
    curve = fit_convergence(choices.shown.batch, choices.shown.value)
    if isinstance(scaling, ScalingCurve) and isinstance(curve, ConvergenceCurve):
        n, nodes = choices.devices, np.ceil(choices.devices / PER_NODE)
        step, steps = scaling.step_time(choices.batch / n, n, nodes), curve.steps(choices.batch)
        estimate = product(step, steps, ("Step time", "Steps to target"))
        if isinstance(estimate, Estimate):
            return Prediction.of(estimate)
    return Prediction.bare(np.full(choices.time_s.shape, np.nan))


def _naive(choices: Choices) -> Prediction:
    """Return a spreadsheet's prediction: n devices are n times as fast, equal epochs."""
    batch, devices, _, step_s = _runs(choices)
    fit = fit_perfect_speed_up(batch, devices, step_s)
    samples = float(choices.shown.value[0])
    steps = samples / choices.batch
    step_s = fit.step_s(choices.batch / choices.devices, choices.devices)
    return Prediction.bare(steps * step_s)


def _runs(choices: Choices) -> tuple[Floats, Floats, Floats, Floats]:
    """Return batch per device, devices, nodes and step time [s] of the timed runs."""
    rows = [
        (batch, sum(map(int, place)), len(place), step_s)
        for place, curve in choices.timed.items()
        for batch, step_s in zip(curve.batch, curve.value, strict=True)
    ]
    batch, devices, nodes, step_s = np.array(rows, dtype=np.float64).T
    return batch, devices, nodes, step_s


# -- measurements ------------------------------------------------------------------------------


def all_choices(read: Read, target: float) -> list[Choices]:
    """Return the workloads with step times and at least 4 batches that reached the target."""
    times, samples = _step_times(read), _samples_to_target(read, target)
    both = sorted(set(times) & set(samples))
    return [_choices(name, target, times[name], samples[name]) for name in both]


def _step_times(read: Read) -> dict[str, dict[str, MeasuredCurve]]:
    points: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in read("pollux_sia_traces/step_time.csv"):
        if row["cluster"] == "aws" and row["kind"] == "placements":
            places = points.setdefault(row["workload"], {})
            point = float(row["local_bsz"]), float(row["step_time_s"])
            places.setdefault(row["placement"], []).append(point)
    return {
        workload: {curve.name: curve for curve in curves_of(places, 2)}
        for workload, places in points.items()
    }


def _samples_to_target(read: Read, target: float) -> dict[str, MeasuredCurve]:
    points: dict[str, list[tuple[float, float]]] = {}
    for row in read("pollux_sia_traces/steps_to_target.csv"):
        if float(row["target_frac"]) == target and row["reached"] == "True":
            batch = float(row["batch_size"])
            point = batch, batch * float(row["steps_to_target"])
            points.setdefault(row["workload"], []).append(point)
    return {curve.name: curve for curve in curves_of(points, 4)}


def _choices(
    workload: str, target: float, times: Mapping[str, MeasuredCurve], samples: MeasuredCurve
) -> Choices:
    cells = [
        (n, batch, needed / batch * _step_s(times[_full(n)], batch / n))
        for n in COUNTS
        for batch, needed in zip(samples.batch, samples.value, strict=True)
    ]
    devices, batch, time_s = np.array(cells).T
    measured = np.isfinite(time_s)
    shown = next(ends_and_middle(samples.batch))[0]
    return Choices(
        workload=workload,
        target=target,
        devices=devices[measured],
        batch=batch[measured],
        time_s=time_s[measured],
        timed={place: _some(times[place], count) for place, count in TIMED},
        shown=MeasuredCurve(name=workload, batch=samples.batch[shown], value=samples.value[shown]),
    )


def _full(devices: int) -> str:
    """Return the placement that fills nodes: "444" for 12."""
    full, rest = divmod(devices, PER_NODE)
    return f"{PER_NODE}" * full + (f"{rest}" if rest else "")


def _step_s(curve: MeasuredCurve, batch: float) -> float:
    """Return the measured step time [s], interpolated between batches; NaN outside."""
    return float(np.interp(batch, curve.batch, curve.value, left=np.nan, right=np.nan))


def _some(curve: MeasuredCurve, count: int) -> MeasuredCurve:
    """Return `count` evenly spread batches of the measured ones, including both ends."""
    places: NDArray[np.int64] = np.linspace(0, curve.batch.size - 1, count).round().astype(np.int64)
    return MeasuredCurve(name=curve.name, batch=curve.batch[places], value=curve.value[places])
