"""Why this file exists: options nobody can rank yet, and the one run or price that would tell."""

from __future__ import annotations

import math
from typing import Final

from planner.compare.reckon import DECIDED, Comparison, Row, better
from planner.estimate import Refusal

EPOCHS_TO_MEASURE: Final = 3
LONG_MINUTES: Final = 120.0


def undecided(told: Comparison) -> tuple[str, str]:
    """Which options cannot be told from the first, and what would tell; empty where all can."""
    leader = told.leader
    if leader is None:
        return "", ""
    order = told.question.wanted.order
    tied = [
        r for r in told.answered if r is not leader and r.rank == leader.rank
        and better(leader, r, order) < DECIDED
    ]  # fmt: skip
    if not tied:
        return "", ""
    names = " or ".join(r.candidate.label for r in tied[:3])
    more = f" or {len(tied) - 3} more" if len(tied) > 3 else ""
    what = "cheaper" if order == "cost" else "faster"
    chance = better(leader, tied[0], order)
    sentence = (
        f"Not decided between {leader.candidate.label} and {names}{more}: the first is {what} "
        f"than {tied[0].candidate.label} with {chance:.0%} probability, and "
        f"{DECIDED:.0%} are asked for."
    ).replace("%", " %")
    return sentence, measure_next(told, leader, tied[0])


def measure_next(told: Comparison, first: Row, second: Row) -> str:
    """The one run, or the one price, that would tell two candidates apart best."""
    open_times = [r for r in (first, second) if r.timed.measure_next]
    if open_times:
        widest = max(open_times, key=_width)
        return f"{widest.timed.measure_next.rstrip('.')}{_takes(told, widest)}."
    stale = [r for r in (first, second) if r.candidate.stale]
    if stale:
        return f"Ask for today's price: {stale[0].candidate.label}, {stale[0].candidate.price}."
    if first.candidate.hardware == second.candidate.hardware:
        return "Their prices lie too close: take either."
    return "Measure both again, each in two fresh sessions."


def _takes(told: Comparison, row: Row) -> str:
    """About how long three epochs of it take, in brackets."""
    rate = row.timed.rate
    if rate is None:
        return ""
    samples = EPOCHS_TO_MEASURE * told.question.job.samples_per_epoch
    minutes = (told.question.job.pre_train_s + samples / float(rate.value)) / 60.0
    shown = f"{minutes:.0f} min" if minutes >= 1.5 else "a minute"
    if minutes > 120.0:
        shown = "an hour is enough: a few hundred steps"
        return f" ({shown})"
    return f" ({EPOCHS_TO_MEASURE} epochs, about {shown})"


def _width(row: Row) -> float:
    time = row.time
    return 0.0 if isinstance(time, Refusal) else math.log(float(time.high) / float(time.low))
