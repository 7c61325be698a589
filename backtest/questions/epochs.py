"""Errors of the total of N epochs once k of them are known."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from backtest.data.cases import Read
from backtest.questions.figure import (
    FigureRow,
    HiddenPoints,
    Prediction,
    Watch,
    predictions_of,
    scored,
    unwatched,
)
from planner.core import LEVEL, Estimate, Floats, Text, t_quantile
from planner.epochs import Scatter, project, scatters, variation_of
from planner.epochs.steadiness import steadiness
from planner.runs import EPOCHS, EpochPrior

QUESTION: Final = "epochs"
EPOCHS_SEEN: Final = (2, 3, 5, 10, 20)
CHANCE: Final = {"CIFAR10": 10.5, "ImageNet": 0.2}
"""Accuracy [%] of an untrained network: at or below it, no epoch precedes the first row."""
STEADY: Final = "DAWNBench, steady in hindsight"
CHANGING: Final = "DAWNBench, changing later on"
"""Entries that change image or batch size, which the first epochs may not show."""
Total = tuple[float, float, float]
"""Value, low and high end [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEpochs:
    """One run: time before epoch 1 [s], and all epochs [s].

    `group` is a system, or the team of an entry. `prior` is from all epochs of the other runs of
    its data set on its `system`.
    """

    group: str
    pre_train_s: float
    epoch_s: Floats
    system: str = ""
    prior: EpochPrior = EPOCHS

    @property
    def total_s(self) -> float:
        """Time of the whole run [s]."""
        return self.pre_train_s + float(self.epoch_s.sum())


def beside(runs: Sequence[RunEpochs]) -> list[Scatter]:
    """Return the scatter of all other runs on the system of each run."""
    later = [run.epoch_s[1:] for run in runs]
    each = scatters([e.size for e in later], [variation_of(e) for e in later])
    every: dict[str, Scatter] = {}
    for run, scatter in zip(runs, each, strict=True):
        every[run.system] = every.get(run.system, Scatter()).and_(scatter)
    return [every[r.system].without(s) for r, s in zip(runs, each, strict=True)]


def epochs_rows(read: Read, watch: Watch = unwatched) -> list[FigureRow]:
    """Return the rows of one network on two systems, and of training entries of many teams."""
    entries = _with_priors(_dawnbench(read))
    steady = [run for run in entries if steadiness(run.epoch_s).steady]
    changing = [run for run in entries if not steadiness(run.epoch_s).steady]
    sets = {"Colab TPU and GPU": _with_priors(_koshian(read)), STEADY: steady, CHANGING: changing}
    return [row for name, runs in sets.items() for row in rows_of(name, runs, watch)]


def rows_of(name: str, runs: Sequence[RunEpochs], watch: Watch = unwatched) -> list[FigureRow]:
    """Return the rows of one data set: whole runs from the first 2, 3, 5, 10 and 20 epochs."""
    return [row for k in EPOCHS_SEEN for row in _after(name, runs, k, watch)]


def groups_of_runs(read: Read) -> dict[str, list[RunEpochs]]:
    """Return runs by group: the systems of Colab, steady entries of DAWNBench by team."""
    groups: dict[str, list[RunEpochs]] = {}
    for run in [*_koshian(read), *_dawnbench(read)]:
        if run.group.startswith("Colab") or steadiness(run.epoch_s).steady:
            groups.setdefault(run.group, []).append(run)
    return groups


def _with_priors(runs: Sequence[RunEpochs]) -> list[RunEpochs]:
    return [replace(r, prior=s.prior()) for r, s in zip(runs, beside(runs), strict=True)]


def task_of(k: int) -> Text:
    """Return the name of the task: how many epochs were seen."""
    return Text("after {k} epochs", k=k)


def _after(name: str, runs: Sequence[RunEpochs], k: int, watch: Watch) -> list[FigureRow]:
    longer = [run for run in runs if run.epoch_s.size > k]
    if not longer:
        return []
    refused = [not isinstance(_projected(run, k, run.prior), Estimate) for run in longer]
    hidden = HiddenPoints(
        truth=np.array([run.total_s for run in longer]),
        curve=np.arange(len(longer)),
        answered=~np.array(refused),
    )
    place = QUESTION, task_of(k), name
    methods = {name: partial(_all, method, longer, k) for name, method in METHODS.items()}
    return scored(place, predictions_of(methods, place, len(longer), watch), hidden)


def _all(
    method: Callable[[RunEpochs, int], Total], runs: Sequence[RunEpochs], k: int
) -> Prediction:
    value, low, high = np.array([method(run, k) for run in runs], dtype=np.float64).T
    return Prediction(value=value, low=low, high=high)


def _projected(run: RunEpochs, k: int, prior: EpochPrior) -> object:
    shown = run.epoch_s[:k]
    return project(run.pre_train_s, shown, run.epoch_s.size, continuing=True, prior=prior)


def _ours(run: RunEpochs, k: int) -> Total:
    return _total_with(run, k, run.prior)


def _alone(run: RunEpochs, k: int) -> Total:
    return _total_with(run, k, EPOCHS)


def _total_with(run: RunEpochs, k: int, prior: EpochPrior) -> Total:
    """Return the total; the value of the formula alone if the product refuses."""
    estimate = _projected(run, k, prior)
    if isinstance(estimate, Estimate):
        return estimate.ends
    return _formula(run, k), np.nan, np.nan


def _formula(run: RunEpochs, k: int) -> float:
    shown = run.epoch_s[:k]
    return run.pre_train_s + float(shown.sum() + shown[1:].mean() * (run.epoch_s.size - k))


def _textbook(run: RunEpochs, k: int) -> Total:
    """Return the same total with the interval of independent epochs of equal distribution."""
    total, later = _formula(run, k), run.epoch_s[1:k]
    if later.size < 2:
        return total, np.nan, np.nan
    left = run.epoch_s.size - k
    deviation = later.std(ddof=1) * np.sqrt(left + left**2 / later.size)
    half = float(t_quantile(LEVEL, later.size - 1.0)) * float(deviation)
    return total, total - half, total + half


def _mean_of_all(run: RunEpochs, k: int) -> Total:
    return run.pre_train_s + float(run.epoch_s[:k].mean()) * run.epoch_s.size, np.nan, np.nan


def _first_for_all(run: RunEpochs, _: int) -> Total:
    return run.pre_train_s + float(run.epoch_s[0]) * run.epoch_s.size, np.nan, np.nan


METHODS: Final[Mapping[str, Callable[[RunEpochs, int], Total]]] = {
    "ours: prior, neighbours, drift": _ours,
    "same total, one prior for all": _alone,
    "same total, textbook interval": _textbook,
    "mean of all epochs, the first too": _mean_of_all,
    "first epoch for all": _first_for_all,
}


def _koshian(read: Read) -> list[RunEpochs]:
    epochs: dict[tuple[str, ...], list[float]] = {}
    pre_train: dict[tuple[str, ...], float] = {}
    for name in ("epochs_main", "epochs_appendix"):
        for row in read(f"koshian2_tpu_benchmark/{name}.csv"):
            key = (name, row["device"], row["batch_size"], row["pattern"], row.get("mode", ""))
            epochs.setdefault(key, []).append(float(row["epoch_seconds"]))
            pre_train[key] = float(row["pre_train_seconds"])
    return [
        RunEpochs(
            group=(system := f"Colab {key[1].upper()}"),
            pre_train_s=pre_train[key],
            epoch_s=np.array(e),
            system=system,
        )
        for key, e in epochs.items()
    ]


def _dawnbench(read: Read) -> list[RunEpochs]:
    """Return runs from cumulative hours; the first row ends epoch 1."""
    runs = []
    entries = read("dawnbench_train/entries.csv")
    hardware = {(row["task"], row["entry"]): row["hardware"] for row in entries}
    table = read("dawnbench_train/epochs.csv")
    for (task, entry), rows in itertools.groupby(table, key=lambda r: (r["task"], r["entry"])):
        points = list(rows)
        seconds = 3600.0 * np.array([float(row["hours"]) for row in points])
        paces = np.diff(seconds) / np.diff([float(row["epoch"]) for row in points])
        untrained = float(points[0]["top1Accuracy"]) <= CHANCE[task]
        first = [] if untrained else [seconds[0]]
        pre_train_s = float(seconds[0]) if untrained else 0.0
        epoch_s = np.array([*first, *paces])
        system = hardware.get((task, entry), entry)
        runs.append(
            RunEpochs(
                group=_team(task, entry), pre_train_s=pre_train_s, epoch_s=epoch_s, system=system
            )
        )
    return runs


def _team(task: str, entry: str) -> str:
    """Return the team of an entry: the benchmark's baselines are most of the long runs."""
    if task != "CIFAR10":
        return "DAWNBench ImageNet"
    baseline = entry.startswith("dawn_")
    return "DAWNBench CIFAR-10, baselines" if baseline else "DAWNBench CIFAR-10, others"
