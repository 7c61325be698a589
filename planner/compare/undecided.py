"""Options too close to rank, and the next measurement that would rank them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.compare._sentences import limits_of
from planner.compare._words import counted
from planner.compare.reckon import Comparison, Row, Wanted, standing
from planner.core import Estimate, Refusal
from planner.fits import log_width
from planner.job import has_efficiency

EPOCHS_TO_MEASURE: Final = 3
NAMED: Final = 3
"""Of more options two are named and the rest counted."""
LONG_MINUTES: Final = 120.0


def undecided(told: Comparison) -> tuple[str, str]:
    """Return the options too close to the first, and the run that would rank them."""
    leader = told.leader
    if leader is None:
        return "", ""
    wanted = told.question.wanted
    tied = _tied(told, leader)
    if not tied:
        return "", ""
    said = _cannot_be_told_apart([leader, *tied], wanted)
    return said, measure_next(told, leader, tied[0])


def _tied(told: Comparison, leader: Row) -> list[Row]:
    """Those tied with the first that have a chance, 1 % at least, to be the cheapest (fastest).

    One that several may beat can be tied with each of them and never be the cheapest all the same.
    All that are tied, where limits leave none a chance.
    """
    wanted = told.question.wanted
    tied = [r for r in told.answered if r is not leader and r.rank == leader.rank]
    if standing(leader, wanted) != "keeps":
        return tied
    chances = [r.cheapest if wanted.order == "cost" else r.fastest for r in tied]
    return [r for r, p in zip(tied, chances, strict=True) if p is None or p >= 0.01] or tied


def _cannot_be_told_apart(rows: Sequence[Row], wanted: Wanted) -> str:
    """Which ones, as a sentence: 'A, B and three more are too close to call.'.

    Of limits: 'A and B are too close to call: either may be the cheaper way to finish in time.'.
    """
    names, several = [r.candidate.label for r in rows], len(rows) > 2
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{counted(len(names) - NAMED + 1)} more"]
    said = f"{', '.join(names[:-1])} and {names[-1]} are too close to call"
    limits = limits_of(wanted, rows)
    if not limits:
        return f"{said}."
    what = "cheap" if wanted.order == "cost" else "fast"
    best = f"any may be the {what}est" if several else f"either may be the {what}er"
    return f"{said}: {best} way to finish {limits}."


def measure_next(told: Comparison, first: Row, second: Row) -> str:
    """Return the run, or the price, that best separates two candidates."""
    open_times = [r for r in (first, second) if r.timed.measure_next]
    if open_times and not _same_clock(first, second):
        several = [r for r in open_times if r.timed.scaling is not None]
        if several and _same_kind(first, second):
            return _on_several(told, max(several, key=_scaling_width))
        widest = max(open_times, key=_width)
        if _scaling_width(widest) > _alone_width(widest):
            return _on_several(told, widest)
        return f"{widest.timed.measure_next.rstrip('.')}{_takes(told, widest)}."
    stale = [r for r in (first, second) if r.candidate.stale]
    if stale:
        return f"Ask for today's price: {stale[0].candidate.label}, {stale[0].candidate.price}."
    if first.candidate.hardware == second.candidate.hardware:
        return "Their prices lie too close: take either."
    return "Measure both again, each in two fresh sessions."


def _same_clock(first: Row, second: Row) -> bool:
    """Whether both are rented and take the same time, however long that is."""
    rented = first.candidate.way == second.candidate.way == "rent"
    return rented and first.candidate.hardware == second.candidate.hardware


def _same_kind(first: Row, second: Row) -> bool:
    """Another number of the same accelerator: what one does is no difference between them."""
    one, other = first.candidate.hardware, second.candidate.hardware
    same = one.accelerator is not None and one.accelerator == other.accelerator
    return same and (one.count, one.nodes) != (other.count, other.nodes)


def _on_several(told: Comparison, row: Row) -> str:
    where = f"{told.question.job.workload} on {row.candidate.hardware.label}"
    return f"Measure {where}{_takes(told, row)}."


def _takes(told: Comparison, row: Row) -> str:
    """About how long three epochs of it take, in brackets; of a described job a step is enough."""
    rate = row.timed.rate
    if has_efficiency(told.question.job):
        return " (one timed step is enough)"
    if rate is None:
        return ""
    if told.question.job.samples_per_epoch is None:
        return ""
    samples = EPOCHS_TO_MEASURE * told.question.job.samples_per_epoch
    minutes = (told.question.job.pre_train_s + samples / float(rate.value)) / 60.0
    shown = f"{minutes:.0f} min" if minutes >= 1.5 else "a minute"
    if minutes > LONG_MINUTES:
        return " (an hour is enough: a few hundred steps)"
    return f" ({EPOCHS_TO_MEASURE} epochs, about {shown})"


def _width(row: Row) -> float:
    return _log_width(row.time)


def _scaling_width(row: Row) -> float:
    return 0.0 if row.timed.scaling is None else _log_width(row.timed.scaling.factor)


def _alone_width(row: Row) -> float:
    return _log_width(row.timed.total if row.timed.alone is None else row.timed.alone)


def _log_width(told: Estimate | Refusal | None) -> float:
    """ln(high/low) of an interval, 0 where there is none."""
    return 0.0 if told is None or isinstance(told, Refusal) else log_width(told)
