"""Errors of the step time at a hidden batch."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import TASKS, Cases, CurveSets, MeasuredCurve, Read, cases_of, curves_of
from backtest.questions.figure import (
    FigureRow,
    HiddenPoints,
    Watch,
    predictions_of,
    scored,
    unwatched,
    with_means,
)
from backtest.questions.methods import OF_STEP_TIMES, Method, answered
from planner.throughput import FAR, MAX_SCATTER, NARROW, TOO_FAR

Answerable = Callable[[Cases], NDArray[np.bool_]]
"""Returns which hidden points the product answers, shape (hidden,)."""


def curve_rows(
    of: tuple[str, str],
    curves: Sequence[MeasuredCurve],
    methods: Mapping[str, Method],
    may_answer: Answerable,
    watch: Watch,
) -> list[FigureRow]:
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


QUESTION: Final = "batch"
NVIDIA: Final = "NVIDIA tables (check)"
SIA_SEVERAL: Final = "Sia, several (check)"
CHECKS: Final = (NVIDIA, SIA_SEVERAL)
"""Data sets that no constant of the batch was chosen on; no mean includes them."""
Points = Mapping[str, list[tuple[float, float]]]


def batch_rows(read: Read, watch: Watch = unwatched) -> list[FigureRow]:
    """Return the rows of every task and data set, for every method."""
    sets = step_time_curves(read)
    rows = [r for name, curves in sets.items() for r in rows_of(name, curves, watch)]
    return with_means(rows, [name for name in sets if name not in CHECKS])


def rows_of(
    name: str, curves: Sequence[MeasuredCurve], watch: Watch = unwatched
) -> list[FigureRow]:
    """Return the rows of one data set, as `curve_rows`."""
    return curve_rows((QUESTION, name), curves, OF_STEP_TIMES, may_answer, watch)


def may_answer(cases: Cases) -> NDArray[np.bool_]:
    """Return which points `planner.throughput.fit` answers, shape (hidden,)."""
    return answered(cases, max_scatter=MAX_SCATTER, narrow=NARROW, near=FAR, too_far=TOO_FAR)


def step_time_curves(read: Read) -> CurveSets:
    """Return sweeps over at least 3 batches [s per step], by data set.

    Pollux's T4 cluster gives two sets, one device and all placements of several, and so do Sia's
    clusters. Left out are their DGX, which has fewer batches of the same machines as its extended
    twin, and Gavel's "spread" copies of single-device runs.
    """
    tables = {**_koshian(read), **_pollux(read), **_gavel(read), **_nvidia(read)}
    sets = {name: curves_of(points, 3) for name, points in tables.items()}
    return {name: curves for name, curves in sets.items() if curves}


def _koshian(read: Read) -> dict[str, Points]:
    """Return the mean step time of epochs 2.. per device and input pattern."""
    sets: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in read("koshian2_tpu_benchmark/epochs_main.csv"):
        if row["epoch"] != "1":
            batch = float(row["batch_size"])
            step_s = float(row["epoch_seconds"]) * batch / float(row["train_images_per_epoch"])
            curves = sets.setdefault(f"Colab {row['device'].upper()}", {})
            curves.setdefault(row["pattern"], []).append((batch, step_s))
    return {name: sets[name] for name in sorted(sets, reverse=True)}


def _pollux(read: Read) -> dict[str, Points]:
    names = {
        (True, True): "Pollux T4, 1 device",
        (True, False): "Pollux T4, several",
        (False, True): "Sia, 1 device",
        (False, False): SIA_SEVERAL,
    }
    sets: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in names.values()}
    for row in read("pollux_sia_traces/step_time.csv"):
        cluster = row["cluster"]
        if row["kind"] == "placements" and cluster != "dgx":
            curves = sets[names[cluster == "aws", row["num_gpus"] == "1"]]
            name = " ".join((cluster, row["workload"], row["placement"]))
            point = float(row["local_bsz"]), float(row["step_time_s"])
            curves.setdefault(name, []).append(point)
    return dict(sets)


def _gavel(read: Read) -> dict[str, Points]:
    points: dict[str, list[tuple[float, float]]] = {}
    for row in read("gavel_throughputs/throughput.csv"):
        batch = row["batch_size_per_gpu"]
        if row["n_gpus"] == "1" and row["placement"] == "consolidated" and batch:
            name = f"{row['gpu']} {row['model']}"
            points.setdefault(name, []).append((float(batch), 1.0 / float(row["steps_per_s"])))
    return {"Gavel, 1 device": points}


def _nvidia(read: Read) -> dict[str, Points]:
    """Return curves of table rows that differ only in the batch."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in read("nvidia_dle_tables/throughput.csv"):
        if row["batch_size"] and row["throughput"]:
            differs = {"batch_size", "batch_raw", "throughput"}
            name = " ".join(v for k, v in row.items() if k not in differs)
            batch = float(row["batch_size"])
            devices = 1.0 if row["batch_is_global"] == "1" else float(row["gpus"] or 1.0)
            step_s = batch * devices / float(row["throughput"])
            points.setdefault(name, []).append((batch, step_s))
    return {NVIDIA: points}
