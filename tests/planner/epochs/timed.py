"""Runs of printed tables: their times as `RunTimes`, for the comparisons of `planner.epochs`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.core import LEVEL, Estimate, Refusal
from planner.epochs import (
    RatioReport,
    RunTimes,
    project_summary,
    systems_of,
)
from planner.epochs._ratios import SystemsReport
from planner.epochs.projection import SESSION_SD, later_epoch
from planner.runs import EPOCHS, EpochPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """Summary of one measured run, as in printed tables [s]; `total_s` as in the last column."""

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

    def times(self, epochs: int, level: float = LEVEL) -> RunTimes:
        """Both times of the run; at the measured N its own total, relatively as uncertain."""
        total: Estimate | Refusal = project_summary(
            epochs=epochs,
            later_epochs=self.later_epochs,
            later_epoch_mean_s=self.later_epoch_mean_s,
            later_epoch_sd_s=self.later_epoch_sd_s,
            pre_train_s=self.pre_train_s,
            first_epoch_s=self.first_epoch_s,
            until_first_epoch_end_s=self.until_first_epoch_end_s,
            level=level,
            prior=self.prior,
        )
        if self.total_s and epochs == self.later_epochs + 1 and isinstance(total, Estimate):
            scale = self.total_s / float(total.value)
            low, high = scale * float(total.low), scale * float(total.high)
            total = replace(total, value=self.total_s, low=low, high=high)
        later = later_epoch(
            later_epochs=self.later_epochs,
            later_epoch_mean_s=self.later_epoch_mean_s,
            later_epoch_sd_s=self.later_epoch_sd_s,
            level=level,
            prior=self.prior,
        )
        return RunTimes(label=self.label, batch=self.batch, total=total, later_epoch=later)


def ratio_report(
    a: TimedRun, b: TimedRun, epochs: int, *, level: float = LEVEL, session_sd: float = SESSION_SD
) -> RatioReport:
    """How many times faster run a is than run b."""
    return systems_report([a], [b], epochs, level=level, session_sd=session_sd).best_against_best


def systems_report(
    a_runs: Sequence[TimedRun],
    b_runs: Sequence[TimedRun],
    epochs: int,
    *,
    level: float = LEVEL,
    session_sd: float = SESSION_SD,
) -> SystemsReport:
    """Every comparison of system a with system b."""
    a, b = ([run.times(epochs, level) for run in runs] for runs in (a_runs, b_runs))
    return systems_of(a, b, epochs, session_sd)
