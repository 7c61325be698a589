"""The ratio report of two systems as rows a person reads: same batch, best, widest, asymptotic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.estimate import Refusal
from planner.export import Record
from planner.how_long import Option, times
from planner.ratios import MEASURE_AGAIN, RatioReport, SpeedUp, TimedRun, systems_report


def timed(option: Option) -> TimedRun | None:
    """The option as `planner.ratios` takes it; None where it has no batch or no epoch times."""
    run = option.run
    if run.status != "ok" or run.global_batch_size is None or run.later_epoch_mean_s is None:
        return None
    whole = run.first_epoch_s is not None
    return TimedRun(
        label=option.label,
        batch=run.global_batch_size,
        later_epochs=(run.epochs_measured or 2) - 1,
        later_epoch_mean_s=run.later_epoch_mean_s,
        later_epoch_sd_s=run.later_epoch_sd_s,
        pre_train_s=run.pre_train_s,
        first_epoch_s=run.first_epoch_s,
        until_first_epoch_end_s=None if whole else run.until_first_epoch_end_s,
        total_s=run.total_s,
        prior=run.epoch_prior,
    )


def ratio_rows(options: Sequence[Option], fast: str, slow: str, epochs: int) -> list[Record]:
    """System `fast` against system `slow`: every common batch, best against best, widest gap.

    Empty where one of them has no timed run.
    """
    sides = [[t for o in options if o.run.system == s and (t := timed(o))] for s in (fast, slow)]
    if not all(sides):
        return []
    report = systems_report(sides[0], sides[1], epochs)
    named = [(f"same batch, {_batch(r)}", r) for r in report.same_batch]
    named += [
        ("best against best", report.best_against_best),
        ("widest gap: best against slowest", report.widest_gap),
        ("narrowest gap: slowest against best", report.narrowest_gap),
    ]
    return [_row(name, r, epochs) for name, r in named]


def _row(name: str, report: RatioReport, epochs: int) -> Record:
    return {
        "Comparison": name,
        f"Over {epochs:,} epochs": _factor(report.over_epochs),
        "90 % interval": _interval(report.over_epochs),
        "Per later epoch": _factor(report.asymptotic),
        "Decided": _decided(report.over_epochs),
        "Runs": _runs(report.over_epochs),
    }


def _factor(answer: SpeedUp | Refusal) -> str:
    return "–" if isinstance(answer, Refusal) else times(float(answer.factor.value))


def _interval(answer: SpeedUp | Refusal) -> str:
    if isinstance(answer, Refusal):
        return answer.reason
    low, high = float(answer.factor.low), float(answer.factor.high)
    return f"{times(low)} – {times(high)}" if math.isfinite(high) else "not known"


def _decided(answer: SpeedUp | Refusal) -> str:
    if isinstance(answer, Refusal):
        return "refused"
    return "yes" if answer.decided else f"no. {MEASURE_AGAIN}"


def _runs(answer: SpeedUp | Refusal) -> str:
    return "" if isinstance(answer, Refusal) else f"{answer.a.label} against {answer.b.label}"


def _batch(report: RatioReport) -> str:
    answer = report.asymptotic if isinstance(report.over_epochs, Refusal) else report.over_epochs
    return "refused" if isinstance(answer, Refusal) else f"{answer.a.batch:,}"
