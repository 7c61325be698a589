"""Speed-ups between two runs or two systems, over N epochs and asymptotically.

    speed-up of a over b = time of b / time of a       [1]; above 1, a is faster

over N epochs (pre-train and epoch 1 included) and asymptotically (the mean later epoch: what the
ratio tends to as N grows). Two runs are two sessions, so the half-widths of both times and the
spread between sessions (`planner.epochs.projection.SESSION_SD`) add in quadrature. A speed-up is
`decided` only where its interval excludes 1.

There are four comparisons of two systems, each with a name:

    same batch          one pair for every batch size that both have measured
    best against best   the fastest run of each
    largest speed-up    the fastest run of a against the slowest of b, as in headlines
    smallest speed-up   the slowest run of a against the fastest of b, below 1 where that is slower

`RunTimes` are both times with their run.

Evidence: docs/evidence.md#speed-ups-of-article-002.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.core import Estimate, Refusal, Text, plain
from planner.epochs.projection import SESSION_SD, session_half_width
from planner.fits import excludes_one, ratio


def speed_up(against: Estimate | Refusal, total: Estimate | Refusal) -> Estimate | None:
    """Return how many times faster `total` is than `against`; below 1 it is slower.

    Two runs are two sessions: their ratio has the spread between sessions in it. A total beside
    itself is exactly as fast; None where one of them is refused.
    """
    if isinstance(against, Refusal) or isinstance(total, Refusal):
        return None
    return ratio_of_times(against, total)


def ratio_of_times(slow: Estimate, fast: Estimate, session_sd: float = SESSION_SD) -> Estimate:
    """Return the time of one run over that of another [1], both as `speed_up`."""
    if slow is fast:
        return Estimate(value=1.0, low=1.0, high=1.0, level=fast.level, basis=fast.basis)
    return ratio(slow, fast, half_width=session_half_width(fast.level, session_sd))


def apart(a: Estimate | Refusal, b: Estimate | Refusal) -> bool:
    """Return whether two totals differ by more than their joint interval; refusals always do."""
    speed_ratio = speed_up(a, b)
    return speed_ratio is None or excludes_one(speed_ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """A run's time of N epochs and of one later epoch [s]; `batch` is the global one [samples]."""

    label: str
    batch: int
    total: Estimate | Refusal
    later_epoch: Estimate | Refusal


def _name_of(run: RunTimes) -> str:
    """Return the run as sentences name it."""
    return Text("{run} at batch {batch}", run=run.label, batch=plain(run.batch))


MEASURE_AGAIN: Final = "Measure both again, each in two fresh sessions."
"""The next measurement for a difference within its interval."""
UNDECIDED: Final = Text(
    "No clear difference: the interval includes 1. {measure_again}", measure_again=MEASURE_AGAIN
)


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


def systems_of(
    a_runs: Sequence[RunTimes],
    b_runs: Sequence[RunTimes],
    epochs: int,
    session_sd: float = SESSION_SD,
) -> SystemsReport:
    """Return every honest comparison of system a with system b, each under its own name.

    Several runs of one system at one batch are represented by the fastest. "Fastest" and
    "slowest" are chosen anew for N epochs and for the asymptotic ratio.

    Args:
        a_runs: runs of system a, at least one.
        b_runs: runs of system b, at least one, of the same workload.
        epochs: N of their totals.
        session_sd: relative sd between sessions; 0 only for runs of one session.
    """

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
            f"{_name_of(run)}: {run.later_epoch.reason}"
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
        reason=" ".join(f"{_name_of(run)}: {refusal.reason}" for run, refusal in refusals),
        measure_next=refusals[0][1].measure_next,
    )


def _speed_up(a: _Timed, b: _Timed, session_sd: float) -> SpeedUp:
    factor = ratio_of_times(b.time_s, a.time_s, session_sd)
    decided = excludes_one(factor)
    reasons = dict.fromkeys(a.time_s.reasons + b.time_s.reasons + (() if decided else (UNDECIDED,)))
    return SpeedUp(
        a=a.run, b=b.run, factor=replace(factor, reasons=tuple(reasons)), decided=decided
    )
