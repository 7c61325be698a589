"""Times of one measured run: over N epochs, and of a later epoch.

`RunTimes` are both times with their run. A run from a printed table is a `TimedRun`; at the
measured N its own total is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.core import Estimate, Refusal, plain
from planner.epochs.projection import later_epoch, project_summary
from planner.runs import EPOCHS, EpochPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """A run's time of N epochs and of one later epoch [s]; `batch` is the global one [samples]."""

    label: str
    batch: int
    total: Estimate | Refusal
    later_epoch: Estimate | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """Summary of one measured run, as in printed tables.

    `batch` [samples] is the global batch; times are in seconds; `later_epoch_sd_s` has ddof = 0
    and is None where unknown; `later_epochs` counts the epochs after the first. Set `pre_train_s`
    and `first_epoch_s`, or only their sum `until_first_epoch_end_s`. `total_s` is the measured wall
    time of the whole run, used for exactly that many epochs without the rounding of a printed mean.
    `prior` is the prior of its epochs' scatter.
    """

    label: str
    batch: int
    later_epochs: int
    later_epoch_mean_s: float | None
    later_epoch_sd_s: float | None = None
    pre_train_s: float | None = None
    first_epoch_s: float | None = None
    until_first_epoch_end_s: float | None = None
    total_s: float | None = None
    prior: EpochPrior = EPOCHS


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question about runs: N epochs, and the level of intervals [share]."""

    epochs: int
    level: float

    def times(self, run: TimedRun) -> RunTimes:
        """Return both times of a run [s]."""
        return RunTimes(
            label=run.label,
            batch=run.batch,
            total=self.over_epochs(run),
            later_epoch=self.asymptotic(run),
        )

    def over_epochs(self, run: TimedRun) -> Estimate | Refusal:
        """Return the time of N epochs [s], the measured total where it has just as many."""
        projected = self.projected(run)
        whole = run.total_s is not None and self.epochs == run.later_epochs + 1
        return _moved(projected, run) if whole and isinstance(projected, Estimate) else projected

    def projected(self, run: TimedRun) -> Estimate | Refusal:
        """Return the time of N epochs [s], from the epochs of the run."""
        return project_summary(
            epochs=self.epochs,
            later_epochs=run.later_epochs,
            later_epoch_mean_s=run.later_epoch_mean_s,
            later_epoch_sd_s=run.later_epoch_sd_s,
            pre_train_s=run.pre_train_s,
            first_epoch_s=run.first_epoch_s,
            until_first_epoch_end_s=run.until_first_epoch_end_s,
            level=self.level,
            prior=run.prior,
        )

    def asymptotic(self, run: TimedRun) -> Estimate | Refusal:
        """Return the time of one later epoch [s]."""
        return later_epoch(
            later_epochs=run.later_epochs,
            later_epoch_mean_s=run.later_epoch_mean_s,
            later_epoch_sd_s=run.later_epoch_sd_s,
            level=self.level,
            prior=run.prior,
        )


def _moved(projected: Estimate, run: TimedRun) -> Estimate:
    """Return the measured total, with the relative interval of the projection."""
    total_s = run.total_s
    if total_s is None or not 0.0 < total_s < math.inf:
        raise ValueError(
            f"{name_of(run)}: the whole run took {total_s} s. A time must be above 0. Fix the row "
            "or mark it failed."
        )
    scale = total_s / float(projected.value)
    low, high = scale * float(projected.low), scale * float(projected.high)
    return replace(projected, value=total_s, low=low, high=high)


def name_of(run: TimedRun | RunTimes) -> str:
    """Return the run as sentences name it."""
    return f"{run.label} at batch {plain(run.batch)}"
