"""Speed-ups between two runs or two systems.

    speed-up of a over b = time of b / time of a       [1]; above 1, a is faster

over N epochs (pre-train and epoch 1 included) and asymptotically (the mean later epoch: what the
ratio tends to as N grows). `planner.epochs._totals` has the formula: half-widths of both times in
quadrature, with the spread between two sessions, because two runs are two sessions. One session
deviates with a sd of 2.1 %, two of them differ by 2.9 % (five pairs, hence Student t
with 5 degrees of freedom). A speed-up is `decided` only where its interval excludes 1.

There are four comparisons of two systems, each with a name:

    same batch          one pair for every batch size that both have measured
    best against best   the fastest run of each
    largest speed-up    the fastest run of a against the slowest of b, as in headlines:
                        article 002's 21.93 over 20 epochs and 24.33 asymptotically are TPU
                        at batch 4096 against GPU at batch 64, whose best batch is 256; best
                        against best is 14.71 and 16.29
    smallest speed-up   the slowest run of a against the fastest of b, below 1 where that is slower
                        (the article: TPU 64 is 1.14 times slower than GPU 256)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planner.core import LEVEL, Estimate, Refusal
from planner.epochs._timed_runs import (
    Question,
    RunTimes,
    TimedRun,
    name_of,
)
from planner.epochs._totals import ratio_of_times
from planner.epochs.projection import SESSION_SD
from planner.fits import excludes_one

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MEASURE_AGAIN", "UNDECIDED", "RatioReport", "RunTimes", "SpeedUp", "SystemsReport", "TimedRun",
    "ratio_report", "systems_of", "systems_report",
]  # fmt: skip

MEASURE_AGAIN: Final = "Measure both again, each in two fresh sessions."
"""The next measurement for a difference within its interval."""
UNDECIDED: Final = f"No clear difference: the interval includes 1. {MEASURE_AGAIN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """How many times faster `a` is than `b`, and whether that is decided (interval excludes 1)."""

    a: RunTimes
    b: RunTimes
    factor: Estimate
    decided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioReport:
    """One comparison over N epochs and asymptotically; each answer names the runs it compares."""

    over_epochs: SpeedUp | Refusal
    asymptotic: SpeedUp | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsReport:
    """System a against system b over `epochs`; see the module for the comparisons.

    `same_batch` is in rising batch; `left_out` names runs that were too short or unsteady.
    """

    epochs: int
    same_batch: tuple[RatioReport, ...]
    best_against_best: RatioReport
    largest_speed_up: RatioReport
    smallest_speed_up: RatioReport
    left_out: tuple[str, ...]


def ratio_report(
    a: TimedRun,
    b: TimedRun,
    epochs: int,
    *,
    level: float = LEVEL,
    session_sd: float = SESSION_SD,
) -> RatioReport:
    """Return how many times faster run a is than run b, over `epochs` epochs and asymptotically.

    Args:
        a: the run that is faster where the factor is above 1.
        b: the run it is compared with; swap them and every factor becomes its inverse.
        epochs: N, a whole number from 1.
        level: coverage of the intervals [share].
        session_sd: relative sd between sessions; 0 only for two runs of one session.

    Returns:
        The report, with a `Refusal` in place of an answer where a run cannot be projected.

    Raises:
        ValueError: a run or N is impossible, as in `planner.epochs.projection.project_summary`.
    """
    times = Question(epochs=epochs, level=level).times
    return _report([times(a)], [times(b)], (_fastest, _fastest), session_sd)


def systems_report(
    a_runs: Sequence[TimedRun],
    b_runs: Sequence[TimedRun],
    epochs: int,
    *,
    level: float = LEVEL,
    session_sd: float = SESSION_SD,
) -> SystemsReport:
    """Return every honest comparison of system a with system b, each under its own name.

    Several runs of one system at one batch are represented by the fastest. "Fastest" and
    "slowest" are chosen anew for N epochs and for the asymptotic ratio.

    Args:
        a_runs: runs of system a, at least one.
        b_runs: runs of system b, at least one, of the same workload.
        epochs: N, a whole number from 1.
        level: coverage of the intervals [share].
        session_sd: relative sd between sessions, see `ratio_report`.

    Raises:
        ValueError: a list is empty, or a run or N is impossible.
    """
    if not a_runs or not b_runs:
        raise ValueError(
            f"System a has {len(a_runs)} runs and system b has {len(b_runs)}. Both need at least "
            "one to be compared. Choose another system or measure this one."
        )
    times = Question(epochs=epochs, level=level).times
    return systems_of([times(a) for a in a_runs], [times(b) for b in b_runs], epochs, session_sd)


def systems_of(
    a_runs: Sequence[RunTimes],
    b_runs: Sequence[RunTimes],
    epochs: int,
    session_sd: float = SESSION_SD,
) -> SystemsReport:
    """Return `systems_report` of runs with times; at least one run of each system."""

    def report(a: Sequence[RunTimes], b: Sequence[RunTimes], *choices: _Choice) -> RatioReport:
        return _report(a, b, (choices[0], choices[1]), session_sd)

    common = sorted({run.batch for run in a_runs} & {run.batch for run in b_runs})
    return SystemsReport(
        epochs=epochs,
        same_batch=tuple(
            report(_at(a_runs, batch), _at(b_runs, batch), _fastest, _fastest) for batch in common
        ),
        best_against_best=report(a_runs, b_runs, _fastest, _fastest),
        largest_speed_up=report(a_runs, b_runs, _fastest, _slowest),
        smallest_speed_up=report(a_runs, b_runs, _slowest, _fastest),
        left_out=tuple(
            f"{name_of(run)}: {run.later_epoch.reason}"
            for run in (*a_runs, *b_runs)
            if isinstance(run.later_epoch, Refusal)
        ),
    )


@dataclass(frozen=True, slots=True)
class _Timed:
    run: RunTimes
    time_s: Estimate


_Timing = Callable[[RunTimes], "Estimate | Refusal"]
_Choice = Callable[["Iterable[_Timed]"], _Timed]


def _fastest(timed: Iterable[_Timed]) -> _Timed:
    return min(timed, key=lambda run: float(run.time_s.value))


def _slowest(timed: Iterable[_Timed]) -> _Timed:
    return max(timed, key=lambda run: float(run.time_s.value))


def _at(runs: Sequence[RunTimes], batch: int) -> list[RunTimes]:
    return [run for run in runs if run.batch == batch]


def _report(
    a_runs: Sequence[RunTimes],
    b_runs: Sequence[RunTimes],
    choices: tuple[_Choice, _Choice],
    session_sd: float,
) -> RatioReport:
    def answer(timing: _Timing) -> SpeedUp | Refusal:
        a, b = _chosen(a_runs, choices[0], timing), _chosen(b_runs, choices[1], timing)
        if isinstance(a, Refusal):
            return a
        return b if isinstance(b, Refusal) else _speed_up(a, b, session_sd)

    return RatioReport(
        over_epochs=answer(lambda run: run.total), asymptotic=answer(lambda run: run.later_epoch)
    )


def _chosen(runs: Sequence[RunTimes], choice: _Choice, timing: _Timing) -> _Timed | Refusal:
    """Return the run that `choice` picks among those that can be timed, or why there is none."""
    times = [(run, timing(run)) for run in runs]
    timed = [_Timed(run, time) for run, time in times if isinstance(time, Estimate)]
    if timed:
        return choice(timed)
    refusals = [(run, time) for run, time in times if isinstance(time, Refusal)]
    return Refusal(
        reason=" ".join(f"{name_of(run)}: {refusal.reason}" for run, refusal in refusals),
        measure_next=refusals[0][1].measure_next,
    )


def _speed_up(a: _Timed, b: _Timed, session_sd: float) -> SpeedUp:
    factor = ratio_of_times(b.time_s, a.time_s, session_sd)
    decided = excludes_one(factor)
    reasons = dict.fromkeys(a.time_s.reasons + b.time_s.reasons + (() if decided else (UNDECIDED,)))
    return SpeedUp(
        a=a.run, b=b.run, factor=replace(factor, reasons=tuple(reasons)), decided=decided
    )
