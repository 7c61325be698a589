"""The ratio report of two systems as rows: same batch, best against best, extremes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from planner.core import Record, Refusal, ahead_between, ahead_of, or_refusal
from planner.epochs import (
    MEASURE_AGAIN,
    START_NOT_INCLUDED,
    Option,
    RatioReport,
    RunTimes,
    SpeedUp,
    from_epoch_1,
    later_epoch_time,
    systems_of,
    total_time,
    without_start,
)


def times_of(option: Option, epochs: int, *, rest_like_last: bool = False) -> RunTimes | None:
    """Return the times of How long?; None for a run that failed or has no batch."""
    run = option.run
    if run.status != "ok" or run.global_batch_size is None:
        return None
    return RunTimes(
        label=option.label,
        batch=run.global_batch_size,
        total=total_time(option, epochs, rest_like_last=rest_like_last),
        later_epoch=later_epoch_time(option, rest_like_last=rest_like_last),
    )


def ratio_rows(
    options: Sequence[Option],
    fast: str,
    slow: str,
    epochs: int,
    *,
    rest_like_last: bool = False,
    left_out: Collection[str] = (),
) -> list[Record]:
    """Return rows of `fast` against `slow`: common batches, best against best, extremes.

    Args:
        options: runs of both systems; others are ignored.
        fast: the system whose speed-up is shown; it may be the slower one.
        slow: the system it is compared with.
        epochs: N.
        rest_like_last: as `planner.epochs.how_long.total_time`.
        left_out: ids of runs to leave out.

    Returns:
        A row per comparison; none where one system has no timed run.
    """
    kept = [o for o in options if o.run.run_id not in left_out]
    kept = _alike(
        [o for o in kept if o.run.system in {fast, slow}], epochs, rest_like_last=rest_like_last
    )
    sides = [
        [t for o in kept if o.run.system == s
         and (t := times_of(o, epochs, rest_like_last=rest_like_last))]
        for s in (fast, slow)
    ]  # fmt: skip
    if not all(sides):
        return []
    report = or_refusal(f"{fast} and {slow}", lambda: systems_of(sides[0], sides[1], epochs))
    if isinstance(report, Refusal):
        return []
    named = [(f"same batch, {_batch(r)}", r) for r in report.same_batch]
    named += [
        ("best against best", report.best_against_best),
        (_largest(report.largest_speed_up), report.largest_speed_up),
        (_smallest(report.smallest_speed_up), report.smallest_speed_up),
    ]
    rows = [_row(name, r, epochs) for name, r in named]
    noted = any(row["Notes"] for row in rows)
    return [{k: v for k, v in row.items() if noted or k != "Notes"} for row in rows]


def _alike(options: list[Option], epochs: int, *, rest_like_last: bool) -> list[Option]:
    """Return the options; all start at epoch 1 where one states no start-up time."""
    totals = [(o.label, total_time(o, epochs, rest_like_last=rest_like_last)) for o in options]
    return [from_epoch_1(o) for o in options] if without_start(totals) else options


def _largest(report: RatioReport) -> str:
    what = "smallest slowdown" if _slower(report) else "largest speed-up"
    return f"{what}: fastest against slowest"


def _smallest(report: RatioReport) -> str:
    what = "largest slowdown" if _slower(report) else "smallest speed-up"
    return f"{what}: slowest against fastest"


def _slower(report: RatioReport) -> bool:
    """Return whether the first system takes longer over the epochs."""
    answer = report.over_epochs
    return isinstance(answer, SpeedUp) and float(answer.factor.value) < 1.0


def _row(name: str, report: RatioReport, epochs: int) -> Record:
    return {
        "Comparison": name,
        f"Over {epochs:,} epochs": _factor(report.over_epochs),
        "90 % interval": _interval(report.over_epochs),
        "Per later epoch": _factor(report.asymptotic),
        "Decided": _decided(report.over_epochs),
        "Runs": _runs(report.over_epochs),
        "Notes": _notes(report.over_epochs),
    }


def _factor(answer: SpeedUp | Refusal) -> str:
    return ahead_of(None if isinstance(answer, Refusal) else answer.factor)


def _interval(answer: SpeedUp | Refusal) -> str:
    if isinstance(answer, Refusal):
        return answer.reason
    return ahead_between(float(answer.factor.low), float(answer.factor.high))


def _decided(answer: SpeedUp | Refusal) -> str:
    if isinstance(answer, Refusal):
        return "refused"
    return "yes" if answer.decided else f"no. {MEASURE_AGAIN}"


def _runs(answer: SpeedUp | Refusal) -> str:
    return "" if isinstance(answer, Refusal) else f"{answer.a.label} against {answer.b.label}"


def _notes(answer: SpeedUp | Refusal) -> str:
    """Return what the ratio excludes: a start-up time that one of the runs does not state."""
    if isinstance(answer, Refusal) or START_NOT_INCLUDED not in answer.factor.reasons:
        return ""
    without = [r.label for r in (answer.a, answer.b) if START_NOT_INCLUDED in _reasons(r)]
    return f"Start-up time of {' and '.join(without)} is not included."


def _reasons(run: RunTimes) -> tuple[str, ...]:
    return () if isinstance(run.total, Refusal) else run.total.reasons


def _batch(report: RatioReport) -> str:
    answer = report.asymptotic if isinstance(report.over_epochs, Refusal) else report.over_epochs
    return "refused" if isinstance(answer, Refusal) else f"{answer.a.batch:,}"
