"""Errors of the step time on more devices than were measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import Read
from backtest.questions.figure import (
    FigureRow,
    HiddenPoints,
    Prediction,
    Watch,
    predictions_of,
    scored,
    unwatched,
    with_means,
)
from backtest.questions.methods import fit_adaptdl, fit_ernest, fit_perfect_speed_up
from planner.core import Estimate, Floats, Text
from planner.scaling import ScalingCurve, fit_scaling

QUESTION: Final = "devices"
CLUSTERS: Final[dict[str, str]] = {
    "aws": "Pollux T4, 4 a node",
    "rtx": "Sia RTX 2080 Ti, 8 a node",
    "dgx": "Sia A100, 8 a node",
    "dgx-ext": "Sia A100 extended, 8 a node",
}
CHECKS: Final[dict[str, str]] = {"azure": "Sia V100, 8 a node (check)"}
"""Clusters on which no constant was chosen; in no mean, and left out where the data lack them."""
Band = tuple[int, int, int]
BANDS: Final[tuple[Band, ...]] = ((4, 5, 8), (4, 9, 16), (4, 20, 64))
"""Largest shown device count, and the range of hidden counts."""
TABLE_BANDS: Final[tuple[Band, ...]] = (*BANDS, (16, 20, 64))
"""Bands of published tables, in which no run on at most 4 devices crosses nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of one workload on one system, shape (runs,); `compute_s` is NaN where unknown."""

    batch: Floats
    devices: Floats
    nodes: Floats
    step_s: Floats
    compute_s: Floats

    def only(self, where: NDArray[np.bool_]) -> "Runs":
        """Return some of the runs."""
        return Runs(
            batch=self.batch[where],
            devices=self.devices[where],
            nodes=self.nodes[where],
            step_s=self.step_s[where],
            compute_s=self.compute_s[where],
        )


Method = Callable[[Runs, Runs], Prediction]
"""Predicts hidden runs from shown ones."""


def devices_rows(read: Read, watch: Watch = unwatched) -> list[FigureRow]:
    """Return the rows of the clusters of Pollux and Sia, and of published tables."""
    rows = [
        row
        for name, workloads in clusters(read).items()
        for row in rows_of(name, workloads, BANDS, watch)
    ]
    rows = with_means(rows, list(CLUSTERS.values()))
    for name, curves_in in TABLES.items():
        rows += rows_of(name, curves_in(read), TABLE_BANDS, watch)
    return rows


def rows_of(
    name: str, workloads: Sequence[Runs], bands: Sequence[Band] = BANDS, watch: Watch = unwatched
) -> list[FigureRow]:
    """Return the rows of every band of device counts of one data set; none without runs."""
    return [row for band in bands for row in _of_band(name, workloads, band, watch)]


def task_of(band: Band) -> Text:
    """Return the name of the task: the hidden device counts, and the largest one seen."""
    most, first, last = band
    return Text("{first} to {last} devices from at most {most}", first=first, last=last, most=most)


def _of_band(name: str, workloads: Sequence[Runs], band: Band, watch: Watch) -> list[FigureRow]:
    most, first, last = band
    place = QUESTION, task_of(band), name
    parts: dict[str, list[Prediction]] = {}
    truth, curve = [], []
    for number, (shown, hidden) in enumerate(splits(workloads, most, (first, last))):
        methods = {m: partial(method, shown, hidden) for m, method in _methods(shown).items()}
        for method, answer in predictions_of(methods, place, hidden.step_s.size, watch).items():
            parts.setdefault(method, []).append(answer)
        truth.append(hidden.step_s)
        curve.append(np.full(hidden.step_s.size, number))
    if not truth:
        return []
    predictions = {method: _joined(answers) for method, answers in parts.items()
            if len(answers) == len(truth)}  # fmt: skip
    ours = next(iter(predictions.values()))
    hidden_points = HiddenPoints(
        truth=np.concatenate(truth), curve=np.concatenate(curve), answered=np.isfinite(ours.value)
    )
    return scored(place, predictions, hidden_points)


def splits(
    workloads: Sequence[Runs], most: int, hidden: tuple[int, int]
) -> Iterator[tuple[Runs, Runs]]:
    """Yield shown and hidden runs of workloads with two shown and one hidden device count."""
    for runs in workloads:
        shown = runs.only(runs.devices <= most)
        more = runs.only((runs.devices >= hidden[0]) & (runs.devices <= hidden[1]))
        if np.unique(shown.devices).size > 1 and more.step_s.size:
            yield shown, more


def _joined(parts: Sequence[Prediction]) -> Prediction:
    return Prediction(
        value=np.concatenate([p.value for p in parts]),
        low=np.concatenate([p.low for p in parts]),
        high=np.concatenate([p.high for p in parts]),
    )


def _methods(shown: Runs) -> Mapping[str, Method]:
    timed = np.isfinite(shown.compute_s).all()
    return METHODS | ({"AdaptDL's form, compute known": _adaptdl_timed} if timed else {})


def _ours(shown: Runs, hidden: Runs) -> Prediction:
    curve = fit_scaling(shown.batch, shown.devices, shown.nodes, shown.step_s)
    if isinstance(curve, ScalingCurve):
        estimate = curve.step_time(hidden.batch, hidden.devices, hidden.nodes)
        if isinstance(estimate, Estimate):
            return Prediction.of(estimate)
    return Prediction.bare(np.full(hidden.step_s.shape, np.nan))


def _ernest(shown: Runs, hidden: Runs) -> Prediction:
    fit = fit_ernest(shown.batch, shown.devices, shown.step_s)
    return Prediction.bare(fit.step_s(hidden.batch, hidden.devices))


def _adaptdl(shown: Runs, hidden: Runs) -> Prediction:
    fit = fit_adaptdl(shown.batch, shown.devices, shown.nodes, shown.step_s)
    return Prediction.bare(fit.step_s(hidden.batch, hidden.devices, hidden.nodes))


def _adaptdl_timed(shown: Runs, hidden: Runs) -> Prediction:
    fit = fit_adaptdl(shown.batch, shown.devices, shown.nodes, shown.step_s, shown.compute_s)
    return Prediction.bare(fit.step_s(hidden.batch, hidden.devices, hidden.nodes))


def _perfect(shown: Runs, hidden: Runs) -> Prediction:
    fit = fit_perfect_speed_up(shown.batch, shown.devices, shown.step_s)
    return Prediction.bare(fit.step_s(hidden.batch, hidden.devices))


METHODS: Final[dict[str, Method]] = {
    "ours: link classes, fading growth": _ours,
    "Ernest's form": _ernest,
    "AdaptDL's form": _adaptdl,
    "perfect speed-up": _perfect,
}


# -- measurements ------------------------------------------------------------------------------


def clusters(read: Read) -> dict[str, list[Runs]]:
    """Return the workloads of every cluster of Pollux and Sia."""
    places: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    columns = ("local_bsz", "num_gpus", "num_nodes", "step_time_s", "nonsync_time_s")
    named = CLUSTERS | CHECKS
    for row in read("pollux_sia_traces/step_time.csv"):
        if row["cluster"] in named:
            key = named[row["cluster"]], row["workload"]
            places.setdefault(key, []).append(tuple(float(row[c]) for c in columns))
    sets: dict[str, list[Runs]] = {name: [] for name in CLUSTERS.values()}
    for (name, _), rows in places.items():
        sets.setdefault(name, []).append(_runs(rows))
    return sets


def _elasticflow(read: Read) -> list[Runs]:
    """Return ElasticFlow's workloads; a node has 8 devices."""
    places: dict[str, list[tuple[float, ...]]] = {}
    for row in read("elasticflow_a100/strong_scaling.csv"):
        n = float(row["n_gpus"])
        place = float(row["local_batch"]), n, float(np.ceil(n / 8)), float(row["step_time_s"])
        places.setdefault(row["model"], []).append((*place, np.nan))
    return [_runs(rows) for rows in places.values()]


def _dlperf(read: Read) -> list[Runs]:
    """Return DLPerf's series; a table restarts at one device. Parallel models are left out."""
    places: dict[int, list[tuple[float, ...]]] = {}
    series, last = 0, np.inf
    for row in read("dlperf_v100/throughput.csv"):
        n, b = float(row["n_gpus_total"]), float(row["batch_per_gpu"])
        series, last = series + int(n <= last), n
        if "Model Parallel" not in row["heading"] and "Partial" not in row["heading"]:
            place = b, n, float(row["nodes"]), b * n / float(row["throughput"]), np.nan
            places.setdefault(series, []).append(place)
    return [_runs(rows) for rows in places.values()]


def _tensorflow(read: Read) -> list[Runs]:
    places: dict[str, list[tuple[float, ...]]] = {}
    for row in read("tensorflow_benchmarks_2017/throughput.csv"):
        n, b = float(row["n_gpus"]), float(row["batch_per_gpu"])
        place = b, n, float(row["n_nodes"]), b * n / float(row["images_per_s"]), np.nan
        name = " ".join((row["system"], row["data"], row["model"]))
        places.setdefault(name, []).append(place)
    return [_runs(rows) for rows in places.values()]


def _runs(rows: Sequence[tuple[float, ...]]) -> Runs:
    batch, devices, nodes, step_s, compute_s = np.array(rows).T
    return Runs(batch=batch, devices=devices, nodes=nodes, step_s=step_s, compute_s=compute_s)


TABLES: Final[Mapping[str, Callable[[Read], list[Runs]]]] = {
    "TensorFlow 2017": _tensorflow,
    "ElasticFlow A100": _elasticflow,
    "DLPerf V100": _dlperf,
}
"""Published tables and their readers."""
