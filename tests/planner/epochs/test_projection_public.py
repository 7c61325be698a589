"""Projections of public training runs, and the refusal to project across a change.

Two sources: 60 runs of 20 epochs of one network on two systems (koshian2's benchmark of 2018), and
43 training entries of many teams (DAWNBench), on which no constant of the projection was chosen.
"""

from __future__ import annotations

import csv
import itertools
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from planner.core import Estimate, Floats, Refusal
from planner.epochs import CHANGE, project
from planner.epochs.projection import UNSETTLED
from planner.epochs.steadiness import steadiness

DATASETS: Final = Path(__file__).parents[4] / "shared" / "datasets"
KOSHIAN: Final = DATASETS / "koshian2_tpu_benchmark"
DAWNBENCH: Final = DATASETS / "dawnbench_train"
CHANCE: Final = {"CIFAR10": 10.5, "ImageNet": 0.2}
"""Accuracy [%] of an untrained network: where the first row has no more, no epoch precedes it."""
ROWS_ARE_NOT_EPOCHS: Final = "gehc"
"""This entry logs every 2.9 to 0.3 epochs: its pace is known, its total in whole epochs is not."""

needs_koshian = pytest.mark.skipif(
    not KOSHIAN.is_dir(), reason="the koshian2 benchmark data are not here"
)
needs_dawnbench = pytest.mark.skipif(
    not DAWNBENCH.is_dir(), reason="the DAWNBench training entries are not here"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run as it was: time before epoch 1 [s], and the epochs [s] from the first on."""

    name: str
    pre_train_s: float
    epoch_s: Floats

    @property
    def total_s(self) -> float:
        """The whole run [s]."""
        return self.pre_train_s + float(self.epoch_s.sum())

    @property
    def variation(self) -> float:
        """Coefficient of variation of the later epochs, ddof = 1 [share]."""
        later = self.epoch_s[1:]
        return float(later.std(ddof=1) / later.mean())

    def after(self, k: int, *, rest_like_last: bool = False) -> Estimate | Refusal:
        """What is said of the whole run once k epochs, the first included, are known."""
        return project(self.pre_train_s, self.epoch_s[:k], self.epoch_s.size, continuing=True,
                       rest_like_last=rest_like_last)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Of the runs that were answered: how many, share inside, median error and width [%]."""

    answered: int
    inside: float
    error: float
    width: float


def score(runs: list[Measured], k: int) -> Score:
    result = [(run, run.after(k)) for run in runs if run.epoch_s.size > k]
    good = [(run.total_s, e) for run, e in result if isinstance(e, Estimate)]
    return Score(
        answered=len(good),
        inside=float(np.mean([e.low <= total <= e.high for total, e in good])),
        error=float(np.median([100 * abs(float(e.value) / total - 1) for total, e in good])),
        width=float(np.median([100 * float((e.high - e.low) / e.value) for _, e in good])),
    )


@cache
def koshian() -> list[Measured]:
    epochs: dict[str, list[float]] = defaultdict(list)
    pre: dict[str, float] = {}
    for name in ("epochs_main.csv", "epochs_appendix.csv"):
        for row in csv.DictReader((KOSHIAN / name).read_text().splitlines()):
            key = " ".join((name, row["device"], row["batch_size"], row["pattern"],
                            row.get("mode", "")))  # fmt: skip
            epochs[key].append(float(row["epoch_seconds"]))
            pre[key] = float(row["pre_train_seconds"])
    return [Measured(name=k, pre_train_s=pre[k], epoch_s=np.array(e)) for k, e in epochs.items()]


@cache
def dawnbench() -> list[Measured]:
    """Cumulative hours to epochs. The first row ends epoch 1, however its epochs are counted."""
    table = csv.DictReader((DAWNBENCH / "epochs.csv").read_text().splitlines())
    runs = []
    for (task, entry), rows in itertools.groupby(table, key=lambda r: (r["task"], r["entry"])):
        found = list(rows)
        seconds = 3600 * np.array([float(r["hours"]) for r in found])
        paces = np.diff(seconds) / np.diff([float(r["epoch"]) for r in found])
        untrained = float(found[0]["top1Accuracy"]) <= CHANCE[task]
        pre = float(seconds[0]) if untrained else 0.0
        first = [] if untrained else [seconds[0]]
        runs.append(Measured(name=f"{task} {entry}", pre_train_s=pre,
                             epoch_s=np.array([*first, *paces])))  # fmt: skip
    return runs


def changing() -> list[Measured]:
    """Entries whose epochs vary by more than 20 %: larger images or other batches on the way."""
    return [run for run in dawnbench() if run.variation > CHANGE]


def steady() -> list[Measured]:
    return [run for run in dawnbench() if steadiness(run.epoch_s).steady]


# -- one network, two systems ------------------------------------------------------------------


@needs_koshian
@pytest.mark.parametrize(("k", "widest"), [(2, 4.5), (3, 2.5), (5, 1.6)])
def test_after_k_epochs_88_to_98_percent_of_the_totals_lie_inside_a_narrow_band(
    k: int, widest: float
) -> None:
    result = score(koshian(), k)
    assert result.answered == len(koshian()) >= 50
    assert 0.88 <= result.inside <= 0.98
    assert result.width <= widest


@needs_koshian
def test_no_run_of_that_sweep_is_taken_for_a_change_however_many_epochs_are_known() -> None:
    for run in koshian():
        assert steadiness(run.epoch_s).hiccups == ()
        assert all(isinstance(run.after(k), Estimate) for k in range(2, 21))


# -- many networks, many teams -----------------------------------------------------------------


@needs_dawnbench
def test_every_entry_that_changes_is_found_and_one_more_whose_pace_creeps() -> None:
    found = {run.name for run in dawnbench() if not steadiness(run.epoch_s).steady}
    assert {run.name for run in changing()} <= found
    assert (len(dawnbench()), len(changing()), len(found)) == (43, 11, 12)


@needs_dawnbench
def test_no_entry_is_projected_across_its_change_once_two_epochs_after_it_are_known() -> None:
    for run in changing():
        second = steadiness(run.epoch_s).segments[1].first_epoch
        seen = range(second + 1, run.epoch_s.size + 1)
        assert all(isinstance(run.after(k), Refusal) for k in seen), run.name


@needs_dawnbench
def test_even_the_first_epoch_after_a_change_is_refused_or_reported() -> None:
    for run in changing():
        result = run.after(steadiness(run.epoch_s).segments[1].first_epoch)
        assert isinstance(result, Refusal) or UNSETTLED in result.reasons, run.name


@needs_dawnbench
def test_what_was_refused_is_answered_on_the_callers_word_within_6_percent() -> None:
    errors = []
    for run in changing():
        last = steadiness(run.epoch_s).segments[-1].first_epoch
        if last + 2 < run.epoch_s.size and ROWS_ARE_NOT_EPOCHS not in run.name:
            result = run.after(last + 2, rest_like_last=True)
            assert isinstance(result, Estimate)
            errors.append(abs(float(result.value) / run.total_s - 1))
    assert len(errors) == 5  # the others end before a third epoch of their last kind
    assert max(errors) < 0.06


@needs_dawnbench
def test_steady_entries_are_known_to_0_7_percent_after_three_epochs_in_an_honest_band() -> None:
    result = score(steady(), 3)
    assert result.answered >= 30
    assert result.error <= 0.7
    assert result.inside >= 0.85


@needs_dawnbench
@pytest.mark.parametrize(
    ("k", "error", "inside"), [(2, 51, 77), (5, 53, 94), (10, 27, 90), (30, 16, 86)]
)
def test_after_fewer_or_more_epochs_they_are_known_as_well_as_the_projection_says(
    k: int, error: int, inside: int
) -> None:
    result = score(steady(), k)
    assert round(100 * result.error) == error
    assert round(100 * result.inside) == inside
