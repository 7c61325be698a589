"""Errors on workloads and hardware without any measurement.

Two questions of a buyer. A workload that is only described: samples/s of one card from the
operations of a sample and the card's peak. And several devices from one measured: samples/s at the
same batch per device as one device, over any link. The constants of the answers
(`planner.job.rates`, `planner.job.efficiency`) were read off these same tables (by `constants`).
So the errors show how well they summarise the tables, not how well they transfer.

Operations of a sample, forward and backward (a fused multiply-add is two), from the networks'
papers: ResNet-50 3 x 8.2 GFLOP (its form v1.5, as torchvision counts it; 7.6 in the paper),
ResNet-152 3 x 23 GFLOP (He et al. 2015, table 1), AlexNet 3 x 1.4 GFLOP (Krizhevsky et al. 2012),
BERT base on 384 tokens 6 x 85 M x 384 and attention.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from backtest.data.cases import Read, TextRows
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
from backtest.questions.unmeasured import TABLE, sheets_of
from planner.core import LEVEL, Floats, t_quantile
from planner.job import efficiency as spread
from planner.job import rates
from planner.job.efficiency import efficiency

QUESTION: Final = "nothing measured"
DESCRIBED: Final = "samples/s of a described workload, one device"
SEVERAL: Final = "several devices from one, one node"
NODES: Final = "several devices from one, several nodes"
TERA: Final = 1e12
FLOPS: Final[Mapping[str, float]] = {
    "resnet50": 24.6e9,
    "ResNet-50": 24.6e9,
    "resnet50v1.5": 24.6e9,
    "ResNet-152": 69e9,
    "AlexNet": 4.3e9,
    "bert_base_squad": 212e9,
}
PEAKS: Final[Mapping[str, float]] = {"K80": 4.37 * TERA, "P100": 10.6 * TERA}
"""float32 of one GPU of the two cards of 2017 [FLOP/s]: half a K80 board, a P100 SXM2."""
V100: Final[Mapping[str, float]] = {"fp32": 15.7 * TERA, "fp16": 125 * TERA}
NODE_MOST: Final = 8


@dataclass(frozen=True, slots=True)
class MeasuredSpeed:
    """Measured samples/s of one run of a workload, and samples/s at the peak."""

    workload: str
    measured: float
    at_peak: float


@dataclass(frozen=True, slots=True)
class Together:
    """Samples/s of `devices` on `nodes`, and of one device at the same batch per device."""

    workload: str
    devices: int
    nodes: int
    measured: float
    alone: float


def described_rows(read: Read, watch: Watch = unwatched) -> list[FigureRow]:
    """Return the rows of both questions on every data set with hidden points."""
    sets = {name: speeds for name, speeds in speed_sets(read).items() if speeds}
    rows = [row for name, speeds in sets.items() for row in _of_speeds(name, speeds, watch)]
    rows = with_means(rows, list(sets))
    groups = {name: runs for name, runs in together_sets(read).items() if runs}
    for task, where in ((SEVERAL, False), (NODES, True)):
        task_rows = [
            row
            for name, runs in groups.items()
            for row in _of_groups((task, name), [r for r in runs if (r.nodes > 1) is where], watch)
        ]
        rows += with_means(task_rows, list(groups))
    return rows


def speed_sets(read: Read) -> dict[str, list[MeasuredSpeed]]:
    """Return runs of one device of networks with known operations, by data set."""
    return {
        "Lambda v1": list(_lambda(read)),
        "TensorFlow 2017": list(_tensorflow(read("tensorflow_benchmarks_2017/throughput.csv"))),
        "DLPerf V100": list(_dlperf(read("dlperf_v100/throughput.csv"))),
    }


def together_sets(read: Read) -> dict[str, list[Together]]:
    """Return runs of several devices with the run of one device, by data set."""
    sets: dict[str, list[Together]] = defaultdict(list)
    _pair(sets, _sia(read("pollux_sia_traces/step_time.csv")))
    _pair(sets, _elasticflow(read("elasticflow_a100/strong_scaling.csv")))
    _pair(sets, _tensorflow_several(read("tensorflow_benchmarks_2017/throughput.csv")))
    _pair(sets, _dlperf_several(read("dlperf_v100/throughput.csv")))
    return dict(sets)


def utilisation_of(sets: Mapping[str, Sequence[MeasuredSpeed]]) -> tuple[float, float]:
    """Return the geometric mean of the MFU over all runs and its sd in the logarithm."""
    logs = np.log([s.measured / s.at_peak for speeds in sets.values() for s in speeds])
    return float(np.exp(logs.mean())), float(logs.std())


def _of_speeds(name: str, speeds: Sequence[MeasuredSpeed], watch: Watch) -> list[FigureRow]:
    peak = np.array([s.at_peak for s in speeds])
    place = QUESTION, DESCRIBED, name
    methods: dict[str, Callable[[], Prediction]] = {
        "ours: share of the peak that is used": lambda: _share_of(peak),
        "half of the peak": lambda: Prediction.bare(0.5 * peak),
        "peak": lambda: Prediction.bare(peak),
    }
    hidden = _hidden([s.measured for s in speeds], [s.workload for s in speeds])
    return scored(place, predictions_of(methods, place, len(speeds), watch), hidden)


def _share_of(peak: Floats) -> Prediction:
    far = np.exp(t_quantile(LEVEL, rates.MFU_DOF) * rates.MFU_SD)
    ours = rates.MFU * peak
    return Prediction(value=ours, low=ours / far, high=ours * far)


def _of_groups(where: tuple[str, str], runs: Sequence[Together], watch: Watch) -> list[FigureRow]:
    place = QUESTION, *where
    kept = [r for r in runs if r.nodes > 1 or r.devices <= NODE_MOST]
    if not kept:
        return []
    alone = np.array([r.alone * r.devices for r in kept])
    methods: dict[str, Callable[[], Prediction]] = {
        "ours: efficiency of public clusters": lambda: _efficient(kept, alone),
        "perfect speed-up": lambda: Prediction.bare(alone),
        "no speed-up": lambda: Prediction.bare(np.array([r.alone for r in kept])),
    }
    hidden = _hidden([r.measured for r in kept], [r.workload for r in kept])
    return scored(place, predictions_of(methods, place, len(kept), watch), hidden)


def _efficient(runs: Sequence[Together], perfect: Floats) -> Prediction:
    spreads = [efficiency(r.devices, r.nodes) for r in runs]
    value, low, high = (
        perfect * np.array([float(getattr(s, end)) for s in spreads])
        for end in ("value", "low", "high")
    )
    return Prediction(value=value, low=low, high=high)


def _hidden(truth: Sequence[float], workload: Sequence[str]) -> HiddenPoints:
    """Return the hidden points; every workload counts the same and nothing is refused."""
    _, curve = np.unique(np.array(workload), return_inverse=True)
    values: Floats = np.array(truth)
    return HiddenPoints(truth=values, curve=curve, answered=np.ones(values.shape, dtype=np.bool_))


def _lambda(read: Read) -> Iterator[MeasuredSpeed]:
    peaks = {s.card: s.peak_flops_per_s for s in sheets_of(read)}
    for row in read(TABLE):
        peak = peaks.get(row["gpu"], {}).get(row["precision"])
        counted = row["model"] in FLOPS and float(row["num_gpu"]) == 1
        if peak and counted and row.get("suspect", "0") == "0":
            yield _speed(row["model"], float(row["throughput"]), peak)


def _tensorflow(rows: TextRows) -> Iterator[MeasuredSpeed]:
    for row in rows:
        if row["n_gpus"] == "1" and row["gpu"] in PEAKS:
            yield _speed(row["model"], float(row["images_per_s"]), PEAKS[row["gpu"]])


def _dlperf(rows: TextRows) -> Iterator[MeasuredSpeed]:
    for row in rows:
        if row["n_gpus_total"] == "1" and row["model"] in FLOPS:
            half = any(word in row["heading"].upper() for word in ("AMP", "FP16"))
            yield _speed(row["model"], float(row["throughput"]), V100["fp16" if half else "fp32"])


def _speed(model: str, measured: float, peak: float) -> MeasuredSpeed:
    return MeasuredSpeed(workload=model, measured=measured, at_peak=peak / FLOPS[model])


Key = tuple[str, ...]
Run = tuple[str, Key, str, int, int, float]
"""Data set, other equal factors, workload, devices, nodes, samples/s."""


def _pair(sets: dict[str, list[Together]], runs: Iterator[Run]) -> None:
    """Add runs of several devices with that of one device; others are skipped."""
    by_place: dict[tuple[str, Key, int, int], list[float]] = defaultdict(list)
    names: dict[tuple[str, Key], str] = {}
    for data_set, key, workload, devices, nodes, speed in runs:
        by_place[data_set, key, devices, nodes].append(speed)
        names[data_set, key] = workload
    for (data_set, key, devices, nodes), speeds in by_place.items():
        alone = by_place.get((data_set, key, 1, 1))
        if devices > 1 and alone:
            sets[data_set].append(
                Together(names[data_set, key], devices, nodes, _middle(speeds), _middle(alone))
            )


CLUSTERS: Final[Mapping[str, str]] = {
    "aws": "Pollux T4, 4 a node",
    "rtx": "Sia RTX 2080 Ti, 8 a node",
    "dgx-ext": "Sia A100 extended, 8 a node",
    "quad": "Sia Quadro, one node",
}
"""The plain `dgx` is part of the extended one."""


def _sia(rows: TextRows) -> Iterator[Run]:
    for row in rows:
        if row["kind"] == "placements" and row["cluster"] in CLUSTERS:
            key = (row["workload"], row["local_bsz"])
            devices, nodes = _whole(row["num_gpus"]), _whole(row["num_nodes"])
            speed = float(row["throughput_samples_per_s"])
            yield CLUSTERS[row["cluster"]], key, row["workload"], devices, nodes, speed


def _elasticflow(rows: TextRows) -> Iterator[Run]:
    for row in rows:
        devices = _whole(row["n_gpus"])
        nodes = -(-devices // 8)
        key = (row["model"], row["local_batch"])
        speed = float(row["samples_per_s"])
        yield "ElasticFlow A100", key, row["model"], devices, nodes, speed


def _tensorflow_several(rows: TextRows) -> Iterator[Run]:
    for row in rows:
        name = f"TensorFlow 2017, {row['gpu']}"
        key = (row["system"], row["data"], row["model"], row["batch_per_gpu"])
        speed = float(row["images_per_s"])
        nodes = _whole(row["n_nodes"] or "1")
        yield name, key, row["model"], _whole(row["n_gpus"]), nodes, speed


def _dlperf_several(rows: TextRows) -> Iterator[Run]:
    for row in rows:
        same = ("file", "heading", "batch_per_gpu", "precision", "xla")
        key = tuple(row[name] for name in same)
        devices, nodes = _whole(row["n_gpus_total"]), _whole(row["nodes"])
        yield "DLPerf V100", key, row["model"], devices, nodes, float(row["throughput"])


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values))


def _whole(text: str) -> int:
    return int(float(text))


def constants(read: Read) -> Mapping[str, float]:
    """Return the constants from the tables; every data set and device count weighs the same."""
    mean, sd = utilisation_of(speed_sets(read))
    single, several = _logs(read, nodes=False), _logs(read, nodes=True)
    return {
        "MFU": mean,
        "MFU_SD": sd,
        "NODE_LOSS": -float(np.mean([m / d for d, m, _ in single])),
        "NODE_SD": float(np.sqrt(np.mean([v / d**2 for d, _, v in single]))),
        "NODES_LOSS": -float(np.mean([m / (1.0 + d) for d, m, _ in several])),
        "NODES_SD": float(np.sqrt(np.mean([v for _, _, v in several]))),
    }


def _logs(read: Read, *, nodes: bool) -> list[tuple[float, float, float]]:
    """Return doublings, mean ln e and mean square about our line, by set and device count."""
    grouped: dict[tuple[str, int], list[float]] = defaultdict(list)
    for name, runs in together_sets(read).items():
        for r in runs:
            if (r.nodes > 1) is nodes and (nodes or r.devices <= NODE_MOST):
                grouped[name, r.devices].append(np.log(r.measured / (r.alone * r.devices)))
    rows = []
    for (_, devices), logs in grouped.items():
        octaves = float(np.log2(devices))
        line = -spread.NODES_LOSS * (1.0 + octaves) if nodes else -spread.NODE_LOSS * octaves
        rows.append((octaves, float(np.mean(logs)), float(np.mean((np.array(logs) - line) ** 2))))
    return rows
