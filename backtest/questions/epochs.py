"""How wrong is the total of N epochs once k of them are known?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from backtest.data.source import Read
from backtest.questions.figure import (
    Asked,
    Prediction,
    Row,
    scored,
)
from backtest.questions.watch import Watch, told_by, unwatched
from planner.core import LEVEL, Estimate, Floats, t_quantile
from planner.epochs import Scatter, project, scatters, variation_of
from planner.epochs.steadiness import steadiness
from planner.runs import EPOCHS, EpochPrior

QUESTION: Final = "epochs"
KNOWN: Final = (2, 3, 5, 10, 20)
CHANCE: Final = {"CIFAR10": 10.5, "ImageNet": 0.2}
"""Accuracy [%] of an untrained network: where the first row has no more, no epoch precedes it."""
STEADY: Final = "DAWNBench, steady in hindsight"
CHANGING: Final = "DAWNBench, changing later on"
"""Images or batches of another size, of which the first epochs may show nothing."""
Total = tuple[float, float, float]
"""Middle, low and high end [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run as it was: time before epoch 1 [s], and the epochs [s] from the first on.

    `group` says what else it belongs to: a system, or whose entry it was. `prior` is what the other
    runs of its data set on its `system` say of its epochs; they are known whole.
    """

    group: str
    pre_train_s: float
    epoch_s: Floats
    system: str = ""
    prior: EpochPrior = EPOCHS

    @property
    def total_s(self) -> float:
        """The whole run [s]."""
        return self.pre_train_s + float(self.epoch_s.sum())


def beside(runs: Sequence[Run]) -> list[Scatter]:
    """What all other runs on the system of each run say of its scatter."""
    later = [run.epoch_s[1:] for run in runs]
    each = scatters([e.size for e in later], [variation_of(e) for e in later])
    every: dict[str, Scatter] = {}
    for run, scatter in zip(runs, each, strict=True):
        every[run.system] = every.get(run.system, Scatter()).and_(scatter)
    return [every[r.system].without(s) for r, s in zip(runs, each, strict=True)]


def epochs_rows(read: Read, watch: Watch = unwatched) -> list[Row]:
    """Runs of one network on two systems, and training entries of many teams."""
    entries = _with_priors(_dawnbench(read))
    steady = [run for run in entries if steadiness(run.epoch_s).steady]
    changing = [run for run in entries if not steadiness(run.epoch_s).steady]
    sets = {"Colab TPU and GPU": _with_priors(_koshian(read)), STEADY: steady, CHANGING: changing}
    return [row for name, runs in sets.items() for row in rows_of(name, runs, watch)]


def rows_of(name: str, runs: Sequence[Run], watch: Watch = unwatched) -> list[Row]:
    """The whole runs of one data set, told from their first 2, 3, 5, 10 and 20 epochs."""
    return [row for k in KNOWN for row in _after(name, runs, k, watch)]


def groups_of_runs(read: Read) -> dict[str, list[Run]]:
    """Runs that belong together: the systems of Colab, and steady entries of DAWNBench by team."""
    groups: dict[str, list[Run]] = {}
    for run in [*_koshian(read), *_dawnbench(read)]:
        if run.group.startswith("Colab") or steadiness(run.epoch_s).steady:
            groups.setdefault(run.group, []).append(run)
    return groups


def _with_priors(runs: Sequence[Run]) -> list[Run]:
    return [replace(r, prior=s.prior()) for r, s in zip(runs, beside(runs), strict=True)]


def _after(name: str, runs: Sequence[Run], k: int, watch: Watch) -> list[Row]:
    longer = [run for run in runs if run.epoch_s.size > k]
    if not longer:
        return []
    refused = [not isinstance(_projected(run, k, run.prior), Estimate) for run in longer]
    asked = Asked(
        truth=np.array([run.total_s for run in longer]),
        curve=np.arange(len(longer)),
        answered=~np.array(refused),
    )
    place = QUESTION, f"after {k} epochs", name
    methods = {method: partial(_all, ask, longer, k) for method, ask in METHODS.items()}
    return scored(place, told_by(methods, place, len(longer), watch), asked)


def _all(ask: Callable[[Run, int], Total], runs: Sequence[Run], k: int) -> Prediction:
    return _told([ask(run, k) for run in runs])


def _told(totals: Sequence[Total]) -> Prediction:
    value, low, high = np.array(totals, dtype=np.float64).T
    return Prediction(value=value, low=low, high=high)


def _projected(run: Run, k: int, prior: EpochPrior) -> object:
    known = run.epoch_s[:k]
    return project(run.pre_train_s, known, run.epoch_s.size, continuing=True, prior=prior)


def _ours(run: Run, k: int) -> Total:
    return _told_with(run, k, run.prior)


def _alone(run: Run, k: int) -> Total:
    return _told_with(run, k, EPOCHS)


def _told_with(run: Run, k: int, prior: EpochPrior) -> Total:
    """Where it is refused, what the formula alone would have said."""
    told = _projected(run, k, prior)
    if isinstance(told, Estimate):
        return float(told.value), float(told.low), float(told.high)
    return _formula(run, k), np.nan, np.nan


def _formula(run: Run, k: int) -> float:
    known = run.epoch_s[:k]
    return run.pre_train_s + float(known.sum() + known[1:].mean() * (run.epoch_s.size - k))


def _textbook(run: Run, k: int) -> Total:
    """The same total with the interval of independent, equally distributed epochs."""
    total, later = _formula(run, k), run.epoch_s[1:k]
    if later.size < 2:
        return total, np.nan, np.nan
    left = run.epoch_s.size - k
    deviation = later.std(ddof=1) * np.sqrt(left + left**2 / later.size)
    half = float(t_quantile(LEVEL, later.size - 1.0)) * float(deviation)
    return total, total - half, total + half


def _mean_of_all(run: Run, k: int) -> Total:
    return run.pre_train_s + float(run.epoch_s[:k].mean()) * run.epoch_s.size, np.nan, np.nan


def _first_for_all(run: Run, _: int) -> Total:
    return run.pre_train_s + float(run.epoch_s[0]) * run.epoch_s.size, np.nan, np.nan


METHODS: Final[Mapping[str, Callable[[Run, int], Total]]] = {
    "ours: prior, neighbours, drift": _ours,
    "same total, one prior for all": _alone,
    "same total, textbook interval": _textbook,
    "mean of all epochs, the first too": _mean_of_all,
    "first epoch for all": _first_for_all,
}


def _koshian(read: Read) -> list[Run]:
    epochs: dict[tuple[str, ...], list[float]] = {}
    pre_train: dict[tuple[str, ...], float] = {}
    for name in ("epochs_main", "epochs_appendix"):
        for row in read(f"koshian2_tpu_benchmark/{name}.csv"):
            key = (name, row["device"], row["batch_size"], row["pattern"], row.get("mode", ""))
            epochs.setdefault(key, []).append(float(row["epoch_seconds"]))
            pre_train[key] = float(row["pre_train_seconds"])
    return [
        Run(
            group=(system := f"Colab {key[1].upper()}"),
            pre_train_s=pre_train[key],
            epoch_s=np.array(e),
            system=system,
        )
        for key, e in epochs.items()
    ]


def _dawnbench(read: Read) -> list[Run]:
    """Cumulative hours to epochs. The first row ends epoch 1, however its epochs are counted."""
    runs = []
    entries = read("dawnbench_train/entries.csv")
    hardware = {(row["task"], row["entry"]): row["hardware"] for row in entries}
    table = read("dawnbench_train/epochs.csv")
    for (task, entry), rows in itertools.groupby(table, key=lambda r: (r["task"], r["entry"])):
        found = list(rows)
        seconds = 3600.0 * np.array([float(row["hours"]) for row in found])
        paces = np.diff(seconds) / np.diff([float(row["epoch"]) for row in found])
        untrained = float(found[0]["top1Accuracy"]) <= CHANCE[task]
        first = [] if untrained else [seconds[0]]
        pre_train_s = float(seconds[0]) if untrained else 0.0
        epoch_s = np.array([*first, *paces])
        system = hardware.get((task, entry), entry)
        runs.append(
            Run(group=_team(task, entry), pre_train_s=pre_train_s, epoch_s=epoch_s, system=system)
        )
    return runs


def _team(task: str, entry: str) -> str:
    """Who trained: the baselines of the benchmark are most of the long runs."""
    if task != "CIFAR10":
        return "DAWNBench ImageNet"
    return f"DAWNBench CIFAR-10, {'baselines' if entry.startswith('dawn_') else 'others'}"
