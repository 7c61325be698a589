"""How long does the job take on this hardware?

    epochs, measured there    pre-train + epoch 1 + mean*(N - 1)     `planner.epochs.projection`
    target, measured there    pre-train + S(B*)*T(B*), best batch
    `planner.time_to_target.goodput`
    anywhere else             pre-train + samples/rate               `planner.job.rates`

All totals have the same parts: what comes before the first step is in each of them that knows it.
Where it was measured on another machine it is the job's median, `PRE_TRAIN_FACTOR` less or more at
90 %: nobody knows how it scales, since disk, host and compiler decide it, not the accelerator. The
doubts of both parts add in quadrature. Where no run of the job tells it, it is left out, and a
reason says so (`START_NOT_INCLUDED`).

A measured time is asked for another machine of the same kind, since that is what is rented or
bought: it carries the spread between sessions, in which start and work move together
(`planner.epochs.projection`). How many samples a target takes is one number for all of them: its
doubt is told apart (`Timed.samples`), so that it decides nothing between two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from planner.core import LEVEL, Estimate, Refusal, in_words, or_too_long, plain, t_quantile
from planner.epochs import NO_SIZE, START_NOT_INCLUDED, session_half_width, total_time
from planner.epochs import Option as MeasuredRun
from planner.fits import log_half_widths, ratio, widened
from planner.job._batches import (
    batch_on,
    batch_told,
    choose_batch,
    not_measured_at,
)
from planner.job._described_rates import has_efficiency
from planner.job._memory import fit_of
from planner.job._records import (
    Candidate,
    Fit,
    Goal,
    Hardware,
    Job,
    Scaling,
    Timed,
)
from planner.job.rates import OVERHEAD_MATTERS, Rate, rate_on
from planner.transfer import Library

PRE_TRAIN_FACTOR: Final = 2.0
"""What comes before the first step may be so many times shorter or longer elsewhere: assumed."""
LONG_RUN: Final = 1.2
LONG_RUN_SD: Final = 0.3
"""A described run of three days or more takes so many times its steps, with this sd of the
logarithm: restarts and evaluations of published whole jobs."""
DAY_S: Final = 86_400.0
LONG_DAYS: Final = 3.0
LONG_RUNS: Final = "Restarts and evaluations of a long run"
_LONG: Final = (
    "Includes {more} for restarts and evaluations, as published runs of days and weeks take."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTarget:
    """From the first step to the target [s] on a measured system at its best batch [samples]."""

    total: Estimate | Refusal
    batch: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What times rest on: the library of throughputs, and times to the target by system."""

    library: Library | None = None
    own_targets: Mapping[str, OwnTarget] = field(default_factory=dict)


def timed(job: Job, goal: Goal, candidate: Candidate, known: Known, level: float = LEVEL) -> Timed:
    """The total of one candidate, a refusal where it does not fit or nothing is known."""
    batch = _batch(job, goal, candidate, known)
    fit = fit_of(job, candidate.hardware, batch)
    if candidate.run is not None:
        return _measured(job, goal, candidate.run, known, fit=fit, batch=batch)
    if refused := _refused_batch(job, goal):
        return Timed(total=refused, batch=batch, fit=fit, measure_next=refused.measure_next)
    if fit.fits is False:
        return _too_large(fit, batch)
    rate = rate_on(job, candidate.hardware, known.library, level, goal.at_batch)
    speed = rate.samples_per_s
    if isinstance(speed, Refusal):
        return Timed(total=speed, batch=batch, fit=fit, measure_next=speed.measure_next)
    total = or_too_long(_elsewhere(job, goal, speed, candidate.hardware))
    alone = _elsewhere(job, _without_doubt(goal), rate.alone or speed, candidate.hardware)
    share = _work_share(job, total)
    samples = _samples(goal, share)
    apart = rate.scaling is not None or samples is not None or bool(rate.shared_parts)
    fastest = replace(speed, value=rate.most, low=rate.most, high=rate.most)
    least = None if math.isinf(rate.most) else _elsewhere(job, goal, fastest, candidate.hardware)
    return Timed(
        total=total,
        rate=speed,
        batch=batch,
        fit=fit,
        measure_next=rate.measure_next,
        shared_sd=rate.shared_sd * share,
        shared=rate.shared,
        shared_parts=_shared_parts(job, goal, rate, speed, share),
        alone=alone if apart and isinstance(alone, Estimate) else None,
        scaling=_scaling(share, rate.scaling),
        samples=samples,
        least_s=float(least.value) if isinstance(least, Estimate) else 0.0,
    )


def _measured(
    job: Job, goal: Goal, run: MeasuredRun, known: Known, *, fit: Fit, batch: float | None
) -> Timed:
    """It ran there, so it fits; the time is that of another session."""
    said = "Known to fit: it has run on this accelerator."
    ran = fit if fit.fits else replace(fit, fits=True, sentence=said, way_out="")
    total = or_too_long(_measured_total(job, goal, run, known))
    if isinstance(total, Refusal):
        return Timed(total=total, batch=batch, fit=ran, measure_next=total.measure_next)
    share = 1.0 - _start_s(job, run) / float(total.value)
    samples = _samples_within(total, _samples(goal, share))
    alone = None if samples is None else _without(total, samples)
    return Timed(total=total, batch=batch, fit=ran, alone=alone, samples=samples)


def _measured_total(job: Job, goal: Goal, run: MeasuredRun, known: Known) -> Estimate | Refusal:
    if goal.epochs is not None:
        if goal.at_batch is not None and run.run.global_batch_size != goal.at_batch:
            return _other_batch(job, goal.at_batch, run.run.system)
        return total_time(run, goal.epochs, another_session=True)
    own = known.own_targets.get(run.run.system)
    total = own.total if own else _no_curve(run.run.system)
    if isinstance(total, Refusal):
        return total
    return _in_another_session(job, run, total)


def _in_another_session(job: Job, run: MeasuredRun, work: Estimate) -> Estimate:
    """Start and work of a measured run, which move together; another machine's start does not."""
    told = run.run.pre_train_s
    if told is None:
        both = _after(_start(job, work.level), _another_session(work))
        return replace(both, reasons=(*both.reasons, *_no_start(job)))
    return _another_session(
        _after(Estimate(value=told, low=told, high=told, level=work.level), work)
    )


def _start_s(job: Job, run: MeasuredRun) -> float:
    """What comes before the first step where it ran [s], the job's median where it is not told."""
    told = run.run.pre_train_s
    return job.pre_train_s if told is None else told


def _no_start(job: Job) -> tuple[str, ...]:
    """That no run of the job tells what comes before the first step; nothing where one does."""
    return () if job.pre_train_s > 0.0 else (START_NOT_INCLUDED,)


def _start(job: Job, level: float) -> Estimate:
    """What comes before the first step [s], as measured on another machine."""
    told, far = job.pre_train_s, PRE_TRAIN_FACTOR
    return Estimate(value=told, low=told / far, high=told * far, level=level)


def _after(start: Estimate, work: Estimate) -> Estimate:
    """Start and work one after the other [s], their half-widths in quadrature."""
    value = float(start.value) + float(work.value)
    down = math.hypot(*(float(x.value) - float(x.low) for x in (start, work)))
    up = math.hypot(*(float(x.high) - float(x.value) for x in (start, work)))
    return replace(work, value=value, low=value - down, high=value + up)


def _elsewhere(job: Job, goal: Goal, rate: Estimate, hardware: Hardware) -> Estimate | Refusal:
    """Pre-train time and the samples of the goal at a rate, all doubts in quadrature."""
    samples = goal.samples
    if goal.epochs is not None:
        if job.samples_per_epoch is None:
            return _no_size(job)
        exact = goal.epochs * job.samples_per_epoch
        samples = Estimate(value=exact, low=exact, high=exact, level=rate.level)
    if samples is None:
        return Refusal(
            reason="How many samples the target takes is not known.",
            measure_next="Measure steps to the target at three batch sizes.",
        )
    work = ratio(samples, rate)
    remarks = _remarks(job, goal, float(work.value), hardware)
    reasons = (*rate.reasons, *samples.reasons, *remarks)
    longer = _long_run(job, work)
    if longer is not None:
        factor, sd = longer
        far = float(t_quantile(rate.level, math.inf)) * sd
        work = widened(work, far, far)
        work = _times(work, factor)
        reasons = (*reasons, _LONG.format(more=f"{factor - 1.0:.0%}".replace("%", " %")))
    work = replace(work, level=rate.level, basis=rate.basis, reasons=reasons)
    return _after(_start(job, rate.level), work)


def _times(work: Estimate, factor: float) -> Estimate:
    value, low, high = (factor * float(x) for x in (work.value, work.low, work.high))
    return replace(work, value=value, low=low, high=high)


def _long_run(job: Job, work: Estimate) -> tuple[float, float] | None:
    """Factor and sd of ln for restarts and evaluations of a described run; None of a short one.

    In full from three days on, nothing up to a day, between them by the logarithm.
    """
    if not has_efficiency(job):
        return None
    days = float(work.value) / DAY_S
    part = min(math.log(days) / math.log(LONG_DAYS), 1.0) if days > 1.0 else 0.0
    return (LONG_RUN**part, LONG_RUN_SD * part) if part > 0.0 else None


def _shared_parts(
    job: Job, goal: Goal, rate: Rate, speed: Estimate, share: float
) -> tuple[tuple[str, float], ...]:
    """What the time shares with other options, by what they share [sd of ln]."""
    parts = tuple((words, sd * share) for words, sd in rate.shared_parts)
    if not parts or goal.epochs is None or job.samples_per_epoch is None:
        return parts
    work = replace(speed, value=goal.epochs * job.samples_per_epoch / float(speed.value))
    longer = _long_run(job, work)
    return parts if longer is None else (*parts, (LONG_RUNS, longer[1] * share))


def _remarks(job: Job, goal: Goal, work_s: float, hardware: Hardware) -> tuple[str, ...]:
    """What a time elsewhere assumes of the start and of the batch."""
    told = _no_start(job)
    if job.pre_train_s > OVERHEAD_MATTERS * (job.pre_train_s + work_s):
        told = (
            f"Before the first step it took {in_words(job.pre_train_s)} (median) where it was "
            "measured; half to twice as long is assumed here.",
        )
    if goal.epochs is None:
        return told
    assumed = batch_told(job, hardware, goal.at_batch)
    return (*told, assumed) if assumed else told


def _refused_batch(job: Job, goal: Goal) -> Refusal | None:
    """Why nothing is told at the batch in question where it was not measured there; None if fine.

    A batch stands for epochs only; a target has its best one.
    """
    if goal.epochs is None or goal.at_batch is None:
        return None
    return not_measured_at(job, goal.at_batch)


def _no_size(job: Job) -> Refusal:
    """That epochs differ in size, in the words of the size itself; else that nothing states it."""
    return replace(NO_SIZE, reason=job.size_refused) if job.size_refused else NO_SIZE


def _scaling(share: float, told: Scaling | None) -> Scaling | None:
    """How much longer or shorter it takes for the doubt of another number, around 1."""
    if told is None:
        return None
    speed = told.factor
    best, least = (float(speed.value) / float(end) for end in (speed.high, speed.low))
    return replace(told, factor=_around_one(speed, share, best, least))


def _samples(goal: Goal, share: float = 1.0) -> Estimate | None:
    """How much longer or shorter it takes for the doubt of the samples to the target, around 1."""
    told = goal.samples if goal.epochs is None else None
    if told is None or not float(told.low) < float(told.high):
        return None
    fewest, most = (float(end) / float(told.value) for end in (told.low, told.high))
    return _around_one(told, share, fewest, most)


def _around_one(told: Estimate, share: float, low: float, high: float) -> Estimate:
    """A factor of the work as one of the total, of which the work is a share."""
    ends = (1.0 + share * (end - 1.0) for end in (low, high))
    return replace(told, value=1.0, low=next(ends), high=next(ends))


def _without_doubt(goal: Goal) -> Goal:
    """The same goal, as if its samples were known."""
    told = goal.samples
    return goal if told is None else replace(
        goal, samples=replace(told, low=told.value, high=told.value)
    )  # fmt: skip


def _samples_within(total: Estimate, samples: Estimate | None) -> Estimate | None:
    """A measured total has the samples' doubt in it: never more of it than its own interval."""
    if samples is None:
        return None
    low, high = (float(end) / float(total.value) for end in (total.low, total.high))
    return replace(samples, low=max(float(samples.low), low), high=min(float(samples.high), high))


def _without(total: Estimate, samples: Estimate) -> Estimate:
    """A total without the doubt of the samples, which is in it in quadrature."""
    down, up = log_half_widths(samples)
    return widened(total, -down, -up)


def _work_share(job: Job, total: Estimate | Refusal) -> float:
    """Part of the total that a speed decides, without what comes before the first step."""
    return 1.0 if isinstance(total, Refusal) else 1.0 - job.pre_train_s / float(total.value)


def _batch(job: Job, goal: Goal, candidate: Candidate, known: Known) -> float | None:
    """The global batch the time is for, a whole number [samples]; None where none is known."""
    batch = _exact_batch(job, goal, candidate, known)
    return None if batch is None else float(max(round(batch), 1))


def _exact_batch(job: Job, goal: Goal, candidate: Candidate, known: Known) -> float | None:
    if candidate.run is not None:
        own = known.own_targets.get(candidate.run.run.system)
        if goal.epochs is None and own is not None:
            return own.batch
        measured = candidate.run.run.global_batch_size
        return goal.at_batch or measured if goal.epochs is not None else measured
    if goal.epochs is None:
        return goal.batch
    return batch_on(job, candidate.hardware, goal.at_batch)


def _too_large(fit: Fit, batch: float | None) -> Timed:
    refused = Refusal(reason=fit.sentence, measure_next=fit.way_out)
    return Timed(total=refused, batch=batch, fit=fit, measure_next=fit.way_out)


def _other_batch(job: Job, batch: float, system: str) -> Refusal:
    """That it was not measured there at the batch in question, and at which ones it was."""
    sizes = {m.run.global_batch_size for m in job.measured if m.run.system == system}
    return Refusal(
        reason=f"It was not measured at batch {plain(batch)} on {system}.",
        measure_next=choose_batch(sizes),
    )


def _no_curve(system: str) -> Refusal:
    return Refusal(
        reason=f"No step times against the batch are known on {system}.",
        measure_next=f"Measure three batch sizes on {system}.",
    )


def _another_session(total: Estimate) -> Estimate:
    session = session_half_width(total.level)
    return widened(total, session, session)
