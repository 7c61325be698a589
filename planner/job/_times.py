"""Time of the job on an option's hardware, and draws of it.

    epochs, measured there    pre-train + epoch 1 + mean*(N - 1)     `planner.epochs.projection`
    target, measured there    pre-train + S(B*)*T(B*), B* best     `planner.time_to_target.goodput`
    target, stated            median of published runs         `planner.job._stated`
    anywhere else             pre-train + samples/rate               `planner.job.rates`

Every total [s] includes the start-up time if any run states it; otherwise a reason says so
(`START_NOT_INCLUDED`). On another machine it is the job's median, `PRE_TRAIN_FACTOR` less or more
at 90 %: disk, host and compiler decide it. The half-widths of both parts add in quadrature.

A rented or bought machine is another one of the same kind: a measured time includes machine-to-
machine variation, in which start and work move together. The samples to a target are the same on
all machines, so their uncertainty is kept apart (`Timed.samples`) and cancels between two options.

    draw = value * (factor of one accelerator) * (factor of scaling) * (factor of the samples)

The first factor is one draw per accelerator, or per system the job was measured on, for every
device count and provider. Accelerators with the same basis share a part of it
(`planner.job.rates.Rate.shared_sd`; by maker and generation for a family, `planner.mfu`). The
second is in small part one draw for all, the rest one per accelerator: z*sd*log2(n/m), from m
measured devices or from one (`planner.job.efficiency`). Several nodes have a draw of their own. The
third is one draw for all options.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from planner.core import (
    DAY_S,
    LEVEL,
    Estimate,
    Floats,
    Refusal,
    Text,
    in_words,
    or_too_long,
    percent,
    plain,
    t_quantile,
)
from planner.cost import Uncertainty, draw_time
from planner.epochs import NO_SIZE, START_NOT_INCLUDED, session_half_width, total_time
from planner.epochs import Option as MeasuredRun
from planner.fits import log_half_widths, log_width, ratio, widened
from planner.job._job import (
    batch_on,
    batch_sentence,
    choose_batch,
    nearest_measured,
    not_measured_at,
)
from planner.job._memory import fit_of
from planner.job._records import (
    Candidate,
    Goal,
    Hardware,
    Job,
    MemoryFit,
    NextMeasurement,
    Scaling,
    Timed,
)
from planner.job._stated import StatedTime, stated_on
from planner.job.efficiency import parts_of_scaling
from planner.job.rates import OVERHEAD_MATTERS, Rate, has_efficiency, rate_on
from planner.mfu import DOMAIN_OF
from planner.transfer import Library

PRE_TRAIN_FACTOR: Final = 2.0
"""The start-up time elsewhere is assumed to be up to this many times shorter or longer."""
LONG_RUN: Final = 1.2
LONG_RUN_SD: Final = 0.3
"""Ratio of a described run's total to its steps from three days on, with the sd of its logarithm:
restarts and evaluations of published jobs."""
LONG_DAYS: Final = 3.0
LONG_RUNS: Final = "Restarts and evaluations of a long run"
_LONG: Final = (
    "Includes {more} for restarts and evaluations, as published runs of days and weeks take."
)


IMAGE_JOB_SD: Final = 0.55
"""Sd of ln(total of a whole described image job): its data are read and augmented, and published
throughputs were measured without that."""
IMAGE_JOBS: Final = "Data loading and augmentation of images"
_IMAGES: Final = (
    "Published throughputs of image networks lack data loading; whole image jobs vary by more."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTarget:
    """From the first step to the target [s] on a measured system at its best batch [samples]."""

    total: Estimate | Refusal
    batch: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSources:
    """Sources of times: the library of throughputs, and times to the target.

    `own_targets` are those of measured systems, `stated` those that published runs state.
    """

    library: Library | None = None
    own_targets: Mapping[str, OwnTarget] = field(default_factory=dict)
    stated: Sequence[StatedTime] = ()


def timed(
    job: Job, goal: Goal, candidate: Candidate, sources: TimeSources, level: float = LEVEL
) -> Timed:
    """Return the time of one candidate, refused where it does not fit or cannot be estimated."""
    if (stated := _stated(job, goal, candidate, sources, level)) is not None:
        return stated
    batch = _batch(job, goal, candidate, sources)
    fit = fit_of(job, candidate.hardware, batch)
    if candidate.run is not None:
        return _measured(job, goal, candidate.run, sources, fit=fit, batch=batch)
    if refused := _refused(job, goal, candidate.hardware, sources):
        return Timed(total=refused, batch=batch, fit=fit)
    if fit.fits is False:
        return _too_large(fit, batch)
    rate = rate_on(job, candidate.hardware, sources.library, level, goal.at_batch)
    speed = rate.samples_per_s
    if isinstance(speed, Refusal):
        return Timed(total=speed, batch=batch, fit=fit)
    total = or_too_long(_elsewhere(job, goal, speed, candidate.hardware))
    alone = _elsewhere(job, _exact_goal(goal), rate.alone or speed, candidate.hardware)
    share = 1.0 if isinstance(total, Refusal) else 1.0 - job.pre_train_s / float(total.value)
    samples = _samples(goal, share)
    apart = rate.scaling is not None or samples is not None or bool(rate.shared_parts)
    fastest = replace(speed, value=rate.most, low=rate.most, high=rate.most)
    least = None if math.isinf(rate.most) else _elsewhere(job, goal, fastest, candidate.hardware)
    return Timed(
        total=total,
        rate=speed,
        batch=batch,
        fit=fit,
        next_run=rate.next_run,
        shared_sd=rate.shared_sd * share,
        shared=rate.shared,
        shared_parts=_shared_parts(job, goal, rate, speed, share),
        alone=alone if apart and isinstance(alone, Estimate) else None,
        scaling=_scaling(share, rate.scaling),
        samples=samples,
        least_s=float(least.value) if isinstance(least, Estimate) else 0.0,
    )


def _stated(
    job: Job, goal: Goal, candidate: Candidate, sources: TimeSources, level: float
) -> Timed | None:
    """Return the time to the target by published runs; None where none states it.

    A measured run there comes first.
    """
    measured = candidate.run is not None and candidate.run.run.basis != "published"
    if goal.epochs is not None or measured:
        return None
    answer = stated_on(sources.stated, candidate.hardware, level)
    if answer is None:
        return None
    batch = answer.source.batch
    fit = fit_of(job, candidate.hardware, batch)
    if answer.scaling is None:
        fit = _ran(fit)
    elif fit.fits is False:
        return _too_large(fit, batch)
    start, next_run = _no_start(job), None
    if answer.scaling is not None:
        next_run = NextMeasurement(workload=job.workload, place=candidate.hardware.label)
    return Timed(
        total=_with_reasons(answer.total, start),
        batch=batch,
        fit=fit,
        next_run=next_run,
        alone=None if answer.alone is None else _with_reasons(answer.alone, start),
        scaling=_scaling(1.0, answer.scaling),
        stated_runs=len(answer.source.seconds),
    )


def _with_reasons(time: Estimate, further: tuple[str, ...]) -> Estimate:
    return replace(time, reasons=(*time.reasons, *further))


MOST_NAMED: Final = 4
"""Most accelerators that a refusal names."""


def _not_stated(hardware: Hardware, stated: Sequence[StatedTime]) -> Refusal:
    """Return that no run states the time on an accelerator, and on which ones some do."""
    name = hardware.label if hardware.accelerator is None else hardware.accelerator.name
    runs = Counter[str]()
    for time in stated:
        if time.hardware.accelerator is not None:
            runs[time.hardware.accelerator.name] += len(time.seconds)
    named = [card for card, _ in runs.most_common(MOST_NAMED)]
    more = ", ..." if len(runs) > MOST_NAMED else ""
    choose = (
        Text("Compare {named}{more}, or measure", named=", ".join(named), more=more)
        if named
        else "Measure"
    )
    return Refusal(
        reason=Text("No published run states the time to the target on the {name}.", name=name),
        measure_next=Text("{choose} steps to the target at three batch sizes.", choose=choose),
    )


def _ran(fit: MemoryFit) -> MemoryFit:
    """Return the fit of hardware on which the job has run."""
    sentence = "Known to fit: it has run on this accelerator."
    return fit if fit.fits else replace(fit, fits=True, sentence=sentence, way_out="")


def _measured(
    job: Job,
    goal: Goal,
    run: MeasuredRun,
    sources: TimeSources,
    *,
    fit: MemoryFit,
    batch: float | None,
) -> Timed:
    """Return the time in another session of a measured run; it fits since it ran."""
    ran = _ran(fit)
    total = or_too_long(_measured_total(job, goal, run, sources))
    if isinstance(total, Refusal):
        return Timed(total=total, batch=batch, fit=ran)
    share = 1.0 - _start_s(job, run) / float(total.value)
    samples = _samples_within(total, _samples(goal, share))
    alone = None if samples is None else _without(total, samples)
    return Timed(total=total, batch=batch, fit=ran, alone=alone, samples=samples)


def _measured_total(
    job: Job, goal: Goal, run: MeasuredRun, sources: TimeSources
) -> Estimate | Refusal:
    if goal.epochs is not None:
        if goal.at_batch is not None and run.run.global_batch_size != goal.at_batch:
            return _other_batch(job, goal.at_batch, run.run.system)
        return total_time(run, goal.epochs, another_session=True)
    own = sources.own_targets.get(run.run.system)
    total = own.total if own else _no_curve(run.run.system)
    if isinstance(total, Refusal):
        return total
    start_s = run.run.pre_train_s
    if start_s is None:
        both = _after(_start(job, total.level), _another_session(total))
        return replace(both, reasons=(*both.reasons, *_no_start(job)))
    return _another_session(
        _after(Estimate(value=start_s, low=start_s, high=start_s, level=total.level), total)
    )


def _start_s(job: Job, run: MeasuredRun) -> float:
    """Return the start-up time of a run [s], the job's median where it is missing."""
    start_s = run.run.pre_train_s
    return job.pre_train_s if start_s is None else start_s


def _no_start(job: Job) -> tuple[str, ...]:
    """Return that no run of the job states the start-up time; nothing where one does."""
    return () if job.pre_train_s > 0.0 else (START_NOT_INCLUDED,)


def _start(job: Job, level: float) -> Estimate:
    """Return the start-up time [s] on another machine."""
    start_s, far = job.pre_train_s, PRE_TRAIN_FACTOR
    return Estimate(value=start_s, low=start_s / far, high=start_s * far, level=level)


def _after(start: Estimate, work: Estimate) -> Estimate:
    """Return the sum of start and work [s], their half-widths in quadrature."""
    value = float(start.value) + float(work.value)
    down = math.hypot(*(float(x.value) - float(x.low) for x in (start, work)))
    up = math.hypot(*(float(x.high) - float(x.value) for x in (start, work)))
    return replace(work, value=value, low=value - down, high=value + up)


def _elsewhere(job: Job, goal: Goal, rate: Estimate, hardware: Hardware) -> Estimate | Refusal:
    """Return pre-train time plus the goal's samples at a rate, half-widths in quadrature."""
    samples = goal.samples
    if goal.epochs is not None:
        if job.samples_per_epoch is None:
            return replace(NO_SIZE, reason=job.size_refused) if job.size_refused else NO_SIZE
        exact = goal.epochs * job.samples_per_epoch
        samples = Estimate(value=exact, low=exact, high=exact, level=rate.level)
    if samples is None:
        return Refusal(
            reason="The number of samples to the target is unknown.",
            measure_next="Measure steps to the target at three batch sizes.",
        )
    work = ratio(samples, rate)
    remarks = _remarks(job, goal, float(work.value), hardware)
    reasons = (*rate.reasons, *samples.reasons, *remarks)
    for extra in _beyond_steps(job, work):
        far = float(t_quantile(rate.level, math.inf)) * extra.sd
        work = widened(work, far, far).scaled(extra.factor)
        reasons = (*reasons, extra.reason)
    work = replace(work, level=rate.level, basis=rate.basis, reasons=reasons)
    return _after(_start(job, rate.level), work)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extra:
    """A part of a described run that rows of throughput lack: factor and its sd of ln."""

    words: str
    factor: float
    sd: float
    reason: str


def _beyond_steps(job: Job, work: Estimate) -> Iterator[_Extra]:
    """Yield what a described run takes beyond its steps.

    Restarts and evaluations apply in full from three days on, not at all up to a day, in between
    by the logarithm.
    """
    if not has_efficiency(job):
        return
    days = float(work.value) / DAY_S
    part = min(math.log(days) / math.log(LONG_DAYS), 1.0) if days > 1.0 else 0.0
    if part > 0.0:
        factor = LONG_RUN**part
        more = percent(factor - 1.0)
        yield _Extra(
            words=LONG_RUNS, factor=factor, sd=LONG_RUN_SD * part, reason=_LONG.format(more=more)
        )
    if DOMAIN_OF.get(job.family or "") == "vision" and job.step is None:
        yield _Extra(words=IMAGE_JOBS, factor=1.0, sd=IMAGE_JOB_SD, reason=_IMAGES)


def _shared_parts(
    job: Job, goal: Goal, rate: Rate, speed: Estimate, share: float
) -> tuple[tuple[str, float], ...]:
    """Return the uncertainty in common with other options, by its source [sd of ln]."""
    parts = tuple((words, sd * share) for words, sd in rate.shared_parts)
    if not parts or goal.epochs is None or job.samples_per_epoch is None:
        return parts
    work = replace(speed, value=goal.epochs * job.samples_per_epoch / float(speed.value))
    return (*parts, *((extra.words, extra.sd * share) for extra in _beyond_steps(job, work)))


def _remarks(job: Job, goal: Goal, work_s: float, hardware: Hardware) -> tuple[str, ...]:
    """Return the assumptions about start-up and batch of an estimated time."""
    remarks = _no_start(job)
    if job.pre_train_s > OVERHEAD_MATTERS * (job.pre_train_s + work_s):
        remarks = (
            Text(
                "Start-up took {pre_train_s} (median) where it was measured; half to "
                "twice as long is assumed here.",
                pre_train_s=in_words(job.pre_train_s),
            ),
        )
    if goal.epochs is None:
        return remarks
    assumed = batch_sentence(job, hardware, goal.at_batch)
    return (*remarks, assumed) if assumed else remarks


def _refused(job: Job, goal: Goal, hardware: Hardware, sources: TimeSources) -> Refusal | None:
    """Return why the goal has no time on unmeasured hardware; None where it may have one.

    Only epochs have a batch in the question; a target has its best one.
    """
    if goal.epochs is None and goal.samples is None and sources.stated:
        return _not_stated(hardware, sources.stated)
    if goal.epochs is None or goal.at_batch is None:
        return None
    return not_measured_at(job, goal.at_batch)


def _scaling(share: float, scaling: Scaling | None) -> Scaling | None:
    """Return the factor of scaling on the time, around 1."""
    if scaling is None:
        return None
    speed = scaling.factor
    best, least = (float(speed.value) / float(end) for end in (speed.high, speed.low))
    return replace(scaling, factor=_around_one(speed, share, best, least))


def _samples(goal: Goal, share: float = 1.0) -> Estimate | None:
    """Return the factor of the samples to the target on the time, around 1."""
    samples = goal.samples if goal.epochs is None else None
    if samples is None or not float(samples.low) < float(samples.high):
        return None
    fewest, most = (float(end) / float(samples.value) for end in (samples.low, samples.high))
    return _around_one(samples, share, fewest, most)


def _around_one(estimate: Estimate, share: float, low: float, high: float) -> Estimate:
    """Return a factor of the work as a factor of the total, of which the work is a share."""
    ends = (1.0 + share * (end - 1.0) for end in (low, high))
    return replace(estimate, value=1.0, low=next(ends), high=next(ends))


def _exact_goal(goal: Goal) -> Goal:
    samples = goal.samples
    return goal if samples is None else replace(
        goal, samples=replace(samples, low=samples.value, high=samples.value)
    )  # fmt: skip


def _samples_within(total: Estimate, samples: Estimate | None) -> Estimate | None:
    """Return the samples' factor, at most as wide as the measured total's interval."""
    if samples is None:
        return None
    low, high = (float(end) / float(total.value) for end in (total.low, total.high))
    return replace(samples, low=max(float(samples.low), low), high=min(float(samples.high), high))


def _without(total: Estimate, samples: Estimate) -> Estimate:
    """Return a total without the uncertainty of the samples, removed in quadrature."""
    down, up = log_half_widths(samples)
    return widened(total, -down, -up)


def _batch(job: Job, goal: Goal, candidate: Candidate, sources: TimeSources) -> float | None:
    """Return the global batch of the time, a whole number [samples]; None where unknown."""
    batch = _exact_batch(job, goal, candidate, sources)
    return None if batch is None else float(max(round(batch), 1))


def _exact_batch(job: Job, goal: Goal, candidate: Candidate, sources: TimeSources) -> float | None:
    if candidate.run is not None:
        own = sources.own_targets.get(candidate.run.run.system)
        if goal.epochs is None and own is not None:
            return own.batch
        measured = candidate.run.run.global_batch_size
        return goal.at_batch or measured if goal.epochs is not None else measured
    if goal.epochs is None:
        return goal.batch
    return batch_on(job, candidate.hardware, goal.at_batch)


def _too_large(fit: MemoryFit, batch: float | None) -> Timed:
    refused = Refusal(reason=fit.sentence, measure_next=fit.way_out)
    return Timed(total=refused, batch=batch, fit=fit)


def _other_batch(job: Job, batch: float, system: str) -> Refusal:
    sizes = {m.run.global_batch_size for m in job.measured if m.run.system == system}
    return Refusal(
        reason=Text(
            "It was not measured at batch {batch} on {system}.", batch=plain(batch), system=system
        ),
        measure_next=choose_batch(sizes),
    )


def _no_curve(system: str) -> Refusal:
    return Refusal(
        reason=Text("Step times by batch size were not measured on {system}.", system=system),
        measure_next=Text("Measure three batch sizes on {system}.", system=system),
    )


def _another_session(total: Estimate) -> Estimate:
    session = session_half_width(total.level)
    return widened(total, session, session)


TIME_DOF: Final = 5.0
"""Degrees of freedom of drawn times: few of their intervals have more."""
SCALING: Final = "Scaling over several accelerators"
SAMPLES: Final = "Samples to the target"


def parts_of(job: Job, candidate: Candidate, estimate: Timed, total: Estimate) -> dict[str, Floats]:
    """Return draws of each factor of a time around 1, shape (DRAWS,), by its name.

    Their product times the total's value is the time. Names are keys: options with one name have
    the same draws.

    Args:
        job: with the systems it was measured on.
        candidate: the option.
        estimate: the time with its parts.
        total: the time [s], with both ends.
    """
    alone = total if estimate.alone is None else estimate.alone
    card = candidate.hardware.accelerator
    name = Text("Time on {where}", where=_where(job, candidate))
    uncertainty = _uncertainty(alone, estimate.shared_sd, estimate.shared)
    if estimate.shared_parts:
        parts = _described(alone, name, estimate.shared_parts)
    else:
        parts = {name: draw_time(alone, name, uncertainty) / float(alone.value)}
    if estimate.scaling is not None:
        parts |= _drawn_scaling(
            estimate.scaling, candidate.hardware.label if card is None else card.name
        )
    if estimate.samples is not None:
        parts[SAMPLES] = draw_time(estimate.samples, SAMPLES, _uncertainty(estimate.samples))
    return parts


def _described(
    alone: Estimate, name: str, shared: tuple[tuple[str, float], ...]
) -> dict[str, Floats]:
    """Return the shared and own factors of a described workload's time, by name.

    All of them are log-normal, and together as wide as the interval.
    """
    sd = 0.5 * log_width(alone) / float(t_quantile(alone.level, math.inf))
    variance = math.fsum(part**2 for _, part in shared)
    scale = min(1.0, sd / math.sqrt(variance)) if variance > 0.0 else 0.0
    own = math.sqrt(max(sd**2 - scale**2 * variance, 0.0))
    every = (*((words, scale * part) for words, part in shared), (name, own))
    return {words: _log_normal(part, words) for words, part in every if part > 0.0}


def _log_normal(sd: float, name: str) -> Floats:
    """Return draws of a factor around 1."""
    far = math.exp(float(t_quantile(LEVEL, math.inf)) * sd)
    return draw_time(Estimate(value=1.0, low=1.0 / far, high=far), name)


def work_draws(total: Estimate, parts: dict[str, Floats], least_s: float = 0.0) -> Floats:
    """Return draws of the time on the hardware [s], shape (DRAWS,), at least `least_s`.

    With one factor the median is exactly the total, as How long? shows it.
    """
    draws = float(total.value) * np.prod(list(parts.values()), axis=0)
    middle = float(np.median(draws)) if len(parts) == 1 else 0.0
    exact = float(total.value) / middle if 0.0 < middle < math.inf else 1.0
    return np.asarray(np.maximum(exact * draws, least_s))


def own_scaling(card: str, *, across_nodes: bool) -> str:
    """Return the name of an accelerator's own scaling factor."""
    return (
        Text("Scaling of {card} over several nodes", card=card)
        if across_nodes
        else Text("Scaling of {card} over several accelerators", card=card)
    )


def _drawn_scaling(scaling: Scaling, card: str) -> dict[str, Floats]:
    """Return the scaling factors: in common with all accelerators, and the own one."""
    common, own = parts_of_scaling(scaling)
    name = own_scaling(card, across_nodes=scaling.across_nodes)
    parts = {name: _drawn(own, name, fewer=scaling.fewer)}
    return (
        parts
        if common is None
        else {SCALING: _drawn(common, SCALING, fewer=scaling.fewer), **parts}
    )


def _drawn(factor: Estimate, name: str, *, fewer: bool) -> Floats:
    """Return draws of a factor around 1; mirrored for fewer devices than were measured."""
    if not fewer:
        return draw_time(factor, name, _uncertainty(factor))
    mirrored = replace(factor, low=1.0 / float(factor.high), high=1.0 / float(factor.low))
    return np.asarray(1.0 / draw_time(mirrored, name, _uncertainty(mirrored)))


def _where(job: Job, candidate: Candidate) -> str:
    """Return the system it was measured on, else one accelerator: all counts share a draw."""
    if candidate.run is not None:
        return candidate.run.run.system
    nearest = nearest_measured(job, candidate.hardware)
    if nearest is not None:
        return nearest[1].run.system
    card = candidate.hardware.accelerator
    return f"1 x {card.name}" if card is not None else candidate.hardware.label


def _uncertainty(time: Estimate, shared_sd: float = 0.0, shared: str = "") -> Uncertainty:
    dof = TIME_DOF if float(time.high) > float(time.low) else math.inf
    return Uncertainty(dof=dof, shared_sd=shared_sd, shared=shared)
