"""How many times faster is one run, or one system, than another?

    speed-up of a over b = time of b / time of a       [1]; above 1, a is faster

asked over N epochs (pre-train and epoch 1 included) and asymptotically (the mean later epoch: what
the ratio tends to as N grows). Errors are independent, so half-widths of the logarithms add in
quadrature: those of both times, and the spread between two sessions, because two runs are two
sessions. One session deviates with a sd of 2.1 %, two of them differ by 2.9 % (five pairs, hence
Student t with 5 degrees of freedom). A speed-up is `decided` only where its interval excludes 1.

Between two systems four questions are easily confused, so each has its name:

    same batch          one pair for every batch size that both have measured
    best against best   the fastest run of each
    widest gap          the fastest run of a against the slowest of b, the number that headlines
                        like: article 002's 21.93 over 20 epochs and 24.33 asymptotically are TPU
                        at batch 4096 against GPU at batch 64, whose best batch is 256; best
                        against best is 14.71 and 16.29
    narrowest gap       the slowest run of a against the fastest of b: the same two systems the
                        other way round (the article: TPU 64 is 1.14 times slower than GPU 256)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.estimate import LEVEL, Estimate, Refusal
from planner.projection import SESSION_SD
from planner.timed_runs import Question, TimedRun, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MEASURE_AGAIN", "UNDECIDED", "RatioReport", "SpeedUp", "SystemsReport", "TimedRun",
    "ratio_report", "systems_report",
]  # fmt: skip

MEASURE_AGAIN: Final = "Measure both again, each in two fresh sessions."
"""What settles a difference smaller than its doubt."""
UNDECIDED: Final = f"Not decided: the interval includes 1. {MEASURE_AGAIN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """How many times faster `a` is than `b`, and whether that is decided (interval excludes 1)."""

    a: TimedRun
    b: TimedRun
    factor: Estimate
    decided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioReport:
    """One comparison over N epochs and asymptotically; each answer names the runs it compares."""

    over_epochs: SpeedUp | Refusal
    asymptotic: SpeedUp | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsReport:
    """System a against system b over `epochs`; the module tells what each comparison means.

    `same_batch` is in rising batch; `left_out` says which runs were too short or too unsteady.
    """

    epochs: int
    same_batch: tuple[RatioReport, ...]
    best_against_best: RatioReport
    widest_gap: RatioReport
    narrowest_gap: RatioReport
    left_out: tuple[str, ...]


def ratio_report(
    a: TimedRun,
    b: TimedRun,
    epochs: int,
    *,
    level: float = LEVEL,
    session_sd: float = SESSION_SD,
) -> RatioReport:
    """How many times faster run a is than run b, over `epochs` epochs and asymptotically.

    Args:
        a: the run that is faster where the factor is above 1.
        b: the run it is compared with; swap them and every factor becomes its inverse.
        epochs: N, a whole number from 1.
        level: coverage of the intervals [share].
        session_sd: relative sd between sessions; 0 only for two runs of one session.

    Returns:
        The report, with a `Refusal` in place of an answer where a run cannot be projected.

    Raises:
        ValueError: a run or N is impossible, as in `planner.projection.project_summary`.
    """
    question = Question(epochs=epochs, level=level, session_sd=session_sd)
    return _report([a], [b], (_fastest, _fastest), question)


def systems_report(
    a_runs: Sequence[TimedRun],
    b_runs: Sequence[TimedRun],
    epochs: int,
    *,
    level: float = LEVEL,
    session_sd: float = SESSION_SD,
) -> SystemsReport:
    """Every honest comparison of system a with system b, each under its own name.

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
    question = Question(epochs=epochs, level=level, session_sd=session_sd)
    common = sorted({run.batch for run in a_runs} & {run.batch for run in b_runs})
    return SystemsReport(
        epochs=epochs,
        same_batch=tuple(
            _report(_at(a_runs, batch), _at(b_runs, batch), (_fastest, _fastest), question)
            for batch in common
        ),
        best_against_best=_report(a_runs, b_runs, (_fastest, _fastest), question),
        widest_gap=_report(a_runs, b_runs, (_fastest, _slowest), question),
        narrowest_gap=_report(a_runs, b_runs, (_slowest, _fastest), question),
        left_out=_left_out((*a_runs, *b_runs), question),
    )


@dataclass(frozen=True, slots=True)
class _Timed:
    run: TimedRun
    time_s: Estimate


_Timing = Callable[[TimedRun], "Estimate | Refusal"]
_Choice = Callable[["Iterable[_Timed]"], _Timed]


def _fastest(timed: Iterable[_Timed]) -> _Timed:
    return min(timed, key=lambda one: float(one.time_s.value))


def _slowest(timed: Iterable[_Timed]) -> _Timed:
    return max(timed, key=lambda one: float(one.time_s.value))


def _at(runs: Sequence[TimedRun], batch: int) -> list[TimedRun]:
    return [run for run in runs if run.batch == batch]


def _report(
    a_runs: Sequence[TimedRun],
    b_runs: Sequence[TimedRun],
    choices: tuple[_Choice, _Choice],
    question: Question,
) -> RatioReport:
    def answer(timing: _Timing) -> SpeedUp | Refusal:
        a, b = _chosen(a_runs, choices[0], timing), _chosen(b_runs, choices[1], timing)
        if isinstance(a, Refusal):
            return a
        return b if isinstance(b, Refusal) else _speed_up(a, b, question)

    return RatioReport(
        over_epochs=answer(question.over_epochs), asymptotic=answer(question.asymptotic)
    )


def _chosen(runs: Sequence[TimedRun], choice: _Choice, timing: _Timing) -> _Timed | Refusal:
    """The run that `choice` picks among those that can be timed, or why there is none."""
    times = [(run, timing(run)) for run in runs]
    timed = [_Timed(run, time) for run, time in times if isinstance(time, Estimate)]
    if timed:
        return choice(timed)
    refusals = [(run, time) for run, time in times if isinstance(time, Refusal)]
    return Refusal(
        reason=" ".join(f"{name_of(run)}: {told.reason}" for run, told in refusals),
        measure_next=refusals[0][1].measure_next,
    )


def _speed_up(a: _Timed, b: _Timed, question: Question) -> SpeedUp:
    factor = float(b.time_s.value) / float(a.time_s.value)
    half = math.hypot(
        _log_half_width(a.time_s),
        _log_half_width(b.time_s),
        question.between_sessions,
    )
    low, high = factor * math.exp(-half), factor * math.exp(half)
    decided = not low <= 1.0 <= high
    measured = a.time_s.basis == b.time_s.basis == "measured"
    told = dict.fromkeys(a.time_s.reasons + b.time_s.reasons + (() if decided else (UNDECIDED,)))
    estimate = Estimate(
        value=factor,
        low=low,
        high=high,
        level=question.level,
        basis="measured" if measured else "extrapolated",
        reasons=tuple(told),
    )
    return SpeedUp(a=a.run, b=b.run, factor=estimate, decided=decided)


def _log_half_width(time_s: Estimate) -> float:
    low, high = float(time_s.low), float(time_s.high)
    return 0.5 * math.log(high / low) if low > 0.0 else math.inf


def _left_out(runs: Iterable[TimedRun], question: Question) -> tuple[str, ...]:
    refusals = ((run, question.asymptotic(run)) for run in runs)
    return tuple(
        f"{name_of(run)}: {told.reason}" for run, told in refusals if isinstance(told, Refusal)
    )
