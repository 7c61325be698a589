"""How wrong is the step time on more devices than were measured?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.data.source import Read
from backtest.questions.figure import (
    Asked,
    Prediction,
    Row,
    scored,
    with_means,
)
from backtest.questions.rivals import fit_adaptdl, fit_ernest, fit_perfect_speed_up
from backtest.questions.watch import Watch, told_by, unwatched
from planner.core import Estimate, Floats
from planner.scaling import ScalingCurve, fit_scaling

QUESTION: Final = "devices"
CLUSTERS: Final[Mapping[str, str]] = {
    "aws": "Pollux T4, 4 a node",
    "rtx": "Sia RTX 2080 Ti, 8 a node",
    "dgx": "Sia A100, 8 a node",
    "dgx-ext": "Sia A100 extended, 8 a node",
}
Band = tuple[int, int, int]
BANDS: Final[tuple[Band, ...]] = ((4, 5, 8), (4, 9, 16), (4, 20, 64))
"""At most so many devices are shown; from and up to so many are asked about."""
TABLE_BANDS: Final[tuple[Band, ...]] = (*BANDS, (16, 20, 64))
"""Of published tables, whose links between nodes no run on at most 4 devices has crossed, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of one workload on one system, shape (runs,); `compute_s` is NaN where unknown."""

    batch: Floats
    devices: Floats
    nodes: Floats
    step_s: Floats
    compute_s: Floats

    def only(self, where: NDArray[np.bool_]) -> Runs:
        """Some of them."""
        return Runs(
            batch=self.batch[where],
            devices=self.devices[where],
            nodes=self.nodes[where],
            step_s=self.step_s[where],
            compute_s=self.compute_s[where],
        )


Method = Callable[[Runs, Runs], Prediction]
"""What was measured and what is asked give an answer."""


def devices_rows(read: Read, watch: Watch = unwatched) -> list[Row]:
    """Clusters of Pollux and Sia, workload by workload, and published tables."""
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
) -> list[Row]:
    """Every band of counts of one data set; none where nothing was measured there."""
    return [row for band in bands for row in _of_band(name, workloads, band, watch)]


def _of_band(name: str, workloads: Sequence[Runs], band: Band, watch: Watch) -> list[Row]:
    most, first, last = band
    place = QUESTION, f"{first} to {last} devices from at most {most}", name
    parts: dict[str, list[Prediction]] = {}
    truth, curve = [], []
    for number, (known, asked) in enumerate(splits(workloads, most, (first, last))):
        methods = {m: partial(ask, known, asked) for m, ask in _methods(known).items()}
        for method, answer in told_by(methods, place, asked.step_s.size, watch).items():
            parts.setdefault(method, []).append(answer)
        truth.append(asked.step_s)
        curve.append(np.full(asked.step_s.size, number))
    if not truth:
        return []
    told = {method: _joined(answers) for method, answers in parts.items()
            if len(answers) == len(truth)}  # fmt: skip
    ours = next(iter(told.values()))
    asked_all = Asked(
        truth=np.concatenate(truth), curve=np.concatenate(curve), answered=np.isfinite(ours.value)
    )
    return scored(place, told, asked_all)


def splits(
    workloads: Sequence[Runs], most: int, asked: tuple[int, int]
) -> Iterator[tuple[Runs, Runs]]:
    """What is known and asked of every workload with two device counts known and one asked."""
    for runs in workloads:
        known = runs.only(runs.devices <= most)
        more = runs.only((runs.devices >= asked[0]) & (runs.devices <= asked[1]))
        if np.unique(known.devices).size > 1 and more.step_s.size:
            yield known, more


def _joined(parts: Sequence[Prediction]) -> Prediction:
    return Prediction(
        value=np.concatenate([p.value for p in parts]),
        low=np.concatenate([p.low for p in parts]),
        high=np.concatenate([p.high for p in parts]),
    )


def _methods(known: Runs) -> Mapping[str, Method]:
    timed = np.isfinite(known.compute_s).all()
    return METHODS | ({"AdaptDL's form, compute known": _adaptdl_timed} if timed else {})


def _ours(known: Runs, asked: Runs) -> Prediction:
    curve = fit_scaling(known.batch, known.devices, known.nodes, known.step_s)
    if isinstance(curve, ScalingCurve):
        told = curve.step_time(asked.batch, asked.devices, asked.nodes)
        if isinstance(told, Estimate):
            value, low, high = (np.asarray(v) for v in (told.value, told.low, told.high))
            return Prediction(value=value, low=low, high=high)
    return _alone(np.full(asked.step_s.shape, np.nan))


def _alone(value: Floats) -> Prediction:
    nothing = np.full(value.shape, np.nan)
    return Prediction(value=value, low=nothing, high=nothing)


def _ernest(known: Runs, asked: Runs) -> Prediction:
    fit = fit_ernest(known.batch, known.devices, known.step_s)
    return _alone(fit.step_s(asked.batch, asked.devices))


def _adaptdl(known: Runs, asked: Runs) -> Prediction:
    fit = fit_adaptdl(known.batch, known.devices, known.nodes, known.step_s)
    return _alone(fit.step_s(asked.batch, asked.devices, asked.nodes))


def _adaptdl_timed(known: Runs, asked: Runs) -> Prediction:
    fit = fit_adaptdl(known.batch, known.devices, known.nodes, known.step_s, known.compute_s)
    return _alone(fit.step_s(asked.batch, asked.devices, asked.nodes))


def _perfect(known: Runs, asked: Runs) -> Prediction:
    fit = fit_perfect_speed_up(known.batch, known.devices, known.step_s)
    return _alone(fit.step_s(asked.batch, asked.devices))


METHODS: Final[dict[str, Method]] = {
    "ours: link classes, fading growth": _ours,
    "Ernest's form": _ernest,
    "AdaptDL's form": _adaptdl,
    "perfect speed-up": _perfect,
}


# -- what was measured -------------------------------------------------------------------------


def clusters(read: Read) -> dict[str, list[Runs]]:
    """Workloads of every cluster of Pollux and Sia."""
    places: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    columns = ("local_bsz", "num_gpus", "num_nodes", "step_time_s", "nonsync_time_s")
    for row in read("pollux_sia_traces/step_time.csv"):
        if row["cluster"] in CLUSTERS:
            key = CLUSTERS[row["cluster"]], row["workload"]
            places.setdefault(key, []).append(tuple(float(row[c]) for c in columns))
    found: dict[str, list[Runs]] = {name: [] for name in CLUSTERS.values()}
    for (name, _), rows in places.items():
        found[name].append(_runs(rows))
    return found


def _elasticflow(read: Read) -> list[Runs]:
    """A node has 8 devices."""
    places: dict[str, list[tuple[float, ...]]] = {}
    for row in read("elasticflow_a100/strong_scaling.csv"):
        n = float(row["n_gpus"])
        place = float(row["local_batch"]), n, float(np.ceil(n / 8)), float(row["step_time_s"])
        places.setdefault(row["model"], []).append((*place, np.nan))
    return [_runs(rows) for rows in places.values()]


def _dlperf(read: Read) -> list[Runs]:
    """A table starts again at one device: another series. Models in parts are left out."""
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
"""Published tables and how they are read."""
