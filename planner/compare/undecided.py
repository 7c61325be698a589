"""Options too close to rank, and the next measurement that would rank them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from planner.catalog import Catalog, accelerator_named
from planner.compare._sentences import limits_of
from planner.compare.comparison import Comparison, Limits, Row, counted
from planner.compare.evaluation import standing
from planner.core import (
    LEVEL,
    Estimate,
    ParameterProblem,
    Refusal,
    Text,
    joined,
    paragraph,
    percent,
    plain,
    t_quantile,
    with_ends,
)
from planner.fits import log_width
from planner.job import (
    GivenStep,
    Hardware,
    Job,
    NextMeasurement,
    TimedStep,
    has_efficiency,
    question_of,
    timed_share,
)
from planner.mfu import EVERYTHING, efficiency_of, node_size, sd_after, shared_by

EPOCHS_TO_MEASURE: Final = 3
NAMED: Final = 3
"""Most options that are named; of more, two are named and the rest counted."""
LONG_MINUTES: Final = 120.0


def narrowing_runs(rows: Sequence[Row]) -> dict[str, float]:
    """Return the next places to measure, each with the widest interval that it narrows.

    The width is sqrt(high/low), a factor either way. Rows whose job does not fit are left out.
    """
    widest: dict[str, float] = {}
    for row in rows:
        if not row.timed.measure_next or row.timed.fit.fits is False:
            continue
        time, run, factor = row.time, row.timed.next_run, 1.0
        place = row.timed.measure_next if run is None else run.place
        if isinstance(time, Estimate) and float(time.low) > 0.0:
            factor = math.sqrt(float(time.high) / float(time.low))
        widest[place] = max(widest.get(place, 1.0), factor)
    return widest


def undecided(comparison: Comparison) -> tuple[str, str]:
    """Return the options too close to the first, and the run that would rank them."""
    leader = comparison.leader
    if leader is None:
        return "", ""
    limits = comparison.question.limits
    tied = tied_options(comparison, leader)
    if not tied:
        return "", ""
    sentence = _tie_sentence([leader, *tied], limits)
    return sentence, measure_next(comparison, leader, tied[0])


def tied_options(comparison: Comparison, leader: Row) -> list[Row]:
    """Return options tied with the first that have a 1 % chance of being the cheapest (fastest).

    An option can be tied with each of several and still never be the cheapest. All tied options are
    returned where the limits leave none a chance.
    """
    limits = comparison.question.limits
    tied = [r for r in comparison.answered if r is not leader and r.rank == leader.rank]
    if standing(leader, limits) != "keeps":
        return tied
    chances = [r.cheapest if limits.order == "cost" else r.fastest for r in tied]
    return [r for r, p in zip(tied, chances, strict=True) if p is None or p >= 0.01] or tied


def _tie_sentence(rows: Sequence[Row], limits: Limits) -> str:
    """Return the tied options as a sentence: 'A, B and three more are too close to call.'.

    With limits: 'A and B are too close to call: either may be the cheaper way to finish in time.'.
    """
    names, several = [r.candidate.label for r in rows], len(rows) > 2
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{counted(len(names) - NAMED + 1)} more"]
    both = Text("{names} and {name}", names=", ".join(names[:-1]), name=names[-1])
    within = limits_of(limits, rows)
    if not within:
        return Text("{names} are too close to call.", names=both)
    if limits.order == "cost":
        if several:
            return Text("{names} are too close to call: any may be the cheapest way to finish "
                        "{within}.", names=both, within=within)  # fmt: skip
        return Text("{names} are too close to call: either may be the cheaper way to finish "
                    "{within}.", names=both, within=within)  # fmt: skip
    if several:
        return Text("{names} are too close to call: any may be the fastest way to finish {within}.",
                    names=both, within=within)  # fmt: skip
    return Text("{names} are too close to call: either may be the faster way to finish {within}.",
                names=both, within=within)  # fmt: skip


def measure_next(comparison: Comparison, first: Row, second: Row) -> str:
    """Return the run, or the price, that best separates two candidates."""
    open_times = [r for r in (first, second) if r.timed.next_run is not None]
    if open_times and not _same_clock(first, second):
        several = [r for r in open_times if r.timed.scaling is not None]
        if several and _same_kind(first, second):
            return _on_several(comparison, max(several, key=_scaling_width))
        widest = max(open_times, key=_width)
        if _scaling_width(widest) > _alone_width(widest):
            return _on_several(comparison, widest)
        assert widest.timed.next_run is not None  # noqa: S101 - only such rows are open
        return widest.timed.next_run.sentence(_takes(comparison, widest))
    stale = [r for r in (first, second) if r.candidate.stale]
    if stale:
        return Text(
            "Ask for today's price: {candidate}, {price}.",
            candidate=stale[0].candidate.label,
            price=stale[0].candidate.price,
        )
    if first.candidate.hardware == second.candidate.hardware:
        return "Their prices lie too close: take either."
    return "Measure both again, each in two fresh sessions."


def _same_clock(first: Row, second: Row) -> bool:
    """Return whether both are rented on the same hardware and so take the same time."""
    rented = first.candidate.way == second.candidate.way == "rent"
    return rented and first.candidate.hardware == second.candidate.hardware


def _same_kind(first: Row, second: Row) -> bool:
    """Return whether both have the same accelerator at different counts."""
    machine, other = first.candidate.hardware, second.candidate.hardware
    same = machine.accelerator is not None and machine.accelerator == other.accelerator
    return same and (machine.count, machine.nodes) != (other.count, other.nodes)


def _on_several(comparison: Comparison, row: Row) -> str:
    run = NextMeasurement(
        workload=comparison.question.job.workload, place=row.candidate.hardware.label
    )
    return run.sentence(_takes(comparison, row))


def _takes(comparison: Comparison, row: Row) -> str:
    """Return the duration of three epochs; one step is enough for a described job."""
    rate = row.timed.rate
    if has_efficiency(comparison.question.job):
        return "one timed step is enough"
    if rate is None:
        return ""
    if comparison.question.job.samples_per_epoch is None:
        return ""
    samples = EPOCHS_TO_MEASURE * comparison.question.job.samples_per_epoch
    minutes = (comparison.question.job.pre_train_s + samples / float(rate.value)) / 60.0
    shown = f"{minutes:.0f} min" if minutes >= 1.5 else "a minute"
    if minutes > LONG_MINUTES:
        return "an hour is enough: a few hundred steps"
    return Text(
        "{epochs} epochs, about {time}",
        epochs=EPOCHS_TO_MEASURE,
        time=shown,
    )


def _width(row: Row) -> float:
    return _log_width(row.time)


def _scaling_width(row: Row) -> float:
    return 0.0 if row.timed.scaling is None else _log_width(row.timed.scaling.factor)


def _alone_width(row: Row) -> float:
    return _log_width(row.timed.total if row.timed.alone is None else row.timed.alone)


def _log_width(answer: Estimate | Refusal | None) -> float:
    """Return ln(high/low) of an interval; 0 without one."""
    return 0.0 if answer is None or isinstance(answer, Refusal) else log_width(answer)


LEAST_GAIN: Final = 0.9
"""Share of its interval that a time keeps at most, for a timed step to be proposed."""
MINUTES: Final = 4.0
"""Rental time for timing one step, start-up included [minutes]."""
_NO_FAMILY: Final = (
    "A timed step narrows estimates of networks of a known kind. Choose the kind of network."
)


def with_step(
    job: Job, step: GivenStep | None, catalog: Catalog
) -> tuple[Job, ParameterProblem | None]:
    """Return the job with the timed step; or the job without it, and the problem."""
    if step is None:
        return job, None
    accelerator = accelerator_named(catalog, step.accelerator)
    if isinstance(accelerator, Refusal):
        message = paragraph(accelerator.reason, accelerator.measure_next)
        return job, ParameterProblem(parameter="step_accelerator", message=message)
    nodes = math.ceil(step.count / node_size(accelerator))
    where = Hardware(label=accelerator.name, accelerator=accelerator, count=step.count, nodes=nodes)
    timed = replace(job, step=TimedStep(hardware=where, batch=step.batch, seconds=step.seconds))
    share, question = timed_share(timed), question_of(job, where, step.batch)
    if share is None or question is None or efficiency_of(question) is None:
        return job, ParameterProblem(parameter="step_s", message=_NO_FAMILY)
    if share > 1.0:
        message = Text(
            "{batch} samples in {seconds} s are {share} % of the peak of {count} x "
            "{accelerator}. Check seconds, batch, accelerator and operations per "
            "sample.",
            batch=plain(step.batch),
            seconds=plain(step.seconds, 3),
            share=plain(100.0 * share, 3),
            count=step.count,
            accelerator=accelerator.name,
        )
        return job, ParameterProblem(parameter="step_s", message=message)
    return timed, None


def step_note(comparison: Comparison) -> str:
    """Return that options of another maker do not profit from the timed step; "" without any."""
    step, row = comparison.question.job.step, _untimed(comparison)
    if step is None or row is None or step.hardware.accelerator is None:
        return ""
    maker = step.hardware.accelerator.maker
    return Text(
        "The timed step changes only estimates on {maker} accelerators. The ranking "
        "across makers may be unfair: time one step on {hardware} too.",
        maker=maker,
        hardware=row.candidate.hardware.label,
    )


def _untimed(comparison: Comparison) -> Row | None:
    """Return the first option that the timed step does not narrow; without a step the first."""
    job = comparison.question.job
    timed_on = None if job.step is None else job.step.hardware.accelerator
    for row in comparison.answered:
        card = row.candidate.hardware.accelerator
        if timed_on is None or (card is not None and not shared_by(card, timed_on)):
            return row
    return None


def next_step(comparison: Comparison) -> str:
    """Return how much one timed step would narrow the time; "" where it would not."""
    row, job = _untimed(comparison), comparison.question.job
    if (
        row is None
        or not isinstance(row.time, Estimate)
        or row.time.basis != "estimated from FLOPs"
    ):
        return ""
    hardware = row.candidate.hardware
    question = question_of(job, hardware, job.batch)
    efficiency = None if question is None else efficiency_of(question)
    if efficiency is None or job.assumed_mfu is not None or hardware.accelerator is None:
        return ""
    time, card = row.time, hardware.accelerator
    now = _sd(time)
    alike, there = (
        _narrowed(row, sd_after(efficiency, common) / efficiency.sd)
        for common in ({"workload", "maker"}, EVERYTHING)
    )
    if not _shown_to_narrow(now, there):
        return ""
    shown, _, _ = with_ends(*time.ends)
    elsewhere = Text(
        "± {half_width} on any {maker} accelerator", half_width=_half_width(alike), maker=card.maker
    )
    narrower = Text(
        "± {half_width} on {count} x {card}",
        half_width=_half_width(there),
        count=hardware.count,
        card=card.name,
    )
    if price := _price(row):
        narrower = Text("{narrower} ({price})", narrower=narrower, price=price)
    step: str = "Time one step"
    if job.step is not None:
        step = Text("Time one step on {hardware}", hardware=hardware.label)
    return Text(
        "{step}: {shown} ± {now} becomes {narrower}. Enter it under “Timed step”.",
        step=step,
        shown=shown,
        now=_half_width(now),
        narrower=joined(", ", (elsewhere if _shown_to_narrow(now, alike) else "", narrower)),
    )


def _shown_to_narrow(before: float, after: float) -> bool:
    """Return whether an sd falls by enough, also in the digits that are shown."""
    return after <= LEAST_GAIN * before and _half_width(after) != _half_width(before)


def _narrowed(row: Row, factor: float) -> float:
    """Return the sd of ln(time) once that of the speed is multiplied by a factor.

    Start-up and interruptions of a rented machine keep their part of the time and its interval.
    """
    now, total, rate = _sd(row.time), row.timed.total, row.timed.rate
    if isinstance(row.time, Refusal) or isinstance(total, Refusal) or rate is None:
        return now
    of_speed = min(float(total.value) / float(row.time.value) * _sd(rate), now)
    return math.sqrt(now**2 - of_speed**2 + (factor * of_speed) ** 2)


def _sd(estimate: Estimate | Refusal) -> float:
    """Return the sd of ln that belongs to an interval."""
    return _log_width(estimate) / 2.0 / _far()


def _half_width(sd: float) -> str:
    """Return half the 90 % interval relative to the value: '70 %'."""
    return percent(math.sinh(_far() * sd))


def _far() -> float:
    """Return the half-width of an interval in standard deviations."""
    return float(t_quantile(LEVEL, math.inf))


def _price(row: Row) -> str:
    """Return the rent for timing a step, in words; "" where it is not rented."""
    offer = row.candidate.offer
    if offer is None or row.candidate.way != "rent":
        return ""
    price = offer.price_per_accelerator_hour * row.candidate.hardware.count
    paid = price * MINUTES / 60.0
    return Text(
        "rented for {minutes:.0f} minutes: {paid} {currency}",
        minutes=MINUTES,
        paid=plain(paid, 2),
        currency=offer.currency,
    )
