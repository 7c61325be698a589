"""Speed of the job on hardware where it was not timed.

    samples/s = (samples/s of one accelerator) * count * e(devices, nodes)
    step      = batch/(samples/s) + overhead                              [s]

The first factor comes from `planner.transfer` if the job was timed on an accelerator of the
catalogue (all available runs form the library). Where m of the accelerator were timed, it is their
joint speed, and count*e is relative to theirs. e and its uncertainty are those of
`planner.job.efficiency`. A job that was not timed is estimated from its operations:

    samples/s = MFU * peak FLOP/s in its precision / FLOPs per sample                 no family
    samples/s = efficiency * half-precision peak * accelerators / FLOPs per sample    by family

The efficiency of a family is that of `planner.mfu`. It includes the loss between devices and nodes,
small batches and the overhead of short steps, so `planner.job.efficiency` is not applied again.
Several accelerators are more uncertain than one, by DOUBLING_SD and MACHINES_SD. Half-widths add in
quadrature, in the logarithm.

Evidence: docs/evidence.md#described-workloads.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

from scipy.special import ndtri

from planner.catalog import Accelerator
from planner.core import (
    LEVEL,
    Basis,
    Estimate,
    Refusal,
    Text,
    joined,
    large,
    percent,
    percent_of,
    plain,
    t_quantile,
)
from planner.fits import log_half_widths, log_width, widened
from planner.job._job import batch_on, nearest_measured, usual_batch
from planner.job._memory import least_count
from planner.job._placing import (
    effective_precision,
    format_of,
    no_peak,
    peak_of,
    peak_sentence,
)
from planner.job._records import Hardware, Job, NextMeasurement, Scaling
from planner.job.efficiency import SPREAD_DOF, efficiency_on, per_accelerator, scaling_from
from planner.mfu import (
    DOMAIN_OF,
    Efficiency,
    MfuQuestion,
    after_step,
    efficiency_of,
    expected,
    has_rows,
    sharing_names,
)
from planner.published import half_peak, network_key
from planner.runs import PER_NODE
from planner.transfer import Cell, Library, Transferred, transfer

DOUBLING_SD: Final = 0.03
"""Of an estimated speed, for each doubling of the devices of one machine [relative sd]."""
MACHINES_SD: Final = 0.05
"""The same for each doubling of machines [relative sd]."""
LEAST_STEP_S: Final = 0.0005
"""Shortest step of a described job [s]; the shortest of 8,000 published runs is 0.53 ms (DLRM)."""
_HOST_SETS_THE_PACE: Final = Text(
    "Too small for this device: the host sets the pace, and no published step is "
    "shorter than {least_step_s:g} ms.",
    least_step_s=1000.0 * LEAST_STEP_S,
)
ASSUMED_SD: Final = 0.1
"""Of an efficiency that the user states [relative sd]."""
TOKENS_FAMILY: Final = "dense"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedRate:
    """Samples/s of all accelerators, with and without the uncertainty of their scaling.

    `shared` are standard deviations of the logarithm in common with other options, by source.
    `most` is the speed at the peak of its precision [samples/s]; `whole` ends there.
    """

    whole: Estimate
    alone: Estimate
    scaling: Scaling | None
    shared: tuple[tuple[str, float], ...]
    most: float = math.inf


def has_efficiency(job: Job) -> bool:
    """Return whether a job is described and has a family or an assumed efficiency."""
    if not job.described or job.train_flops_per_sample is None:
        return False
    return job.family in DOMAIN_OF or job.assumed_mfu is not None


def question_of(job: Job, hardware: Hardware, batch: float | None) -> MfuQuestion | None:
    """Return the efficiency model's inputs for a described job; None without a family.

    Args:
        job: described.
        hardware: of an accelerator of the catalogue.
        batch: stated global batch [samples] or None.
    """
    if hardware.accelerator is None or job.train_flops_per_sample is None:
        return None
    if not has_efficiency(job) or job.family not in DOMAIN_OF:
        return None
    lora = job.training != "full" and job.family == TOKENS_FAMILY
    card = hardware.accelerator
    return MfuQuestion(
        family="lora" if lora else job.family,
        accelerator=card,
        flops_per_sample=job.train_flops_per_sample,
        precision=format_of(card, job.precision) or job.precision,
        devices=hardware.count,
        nodes=hardware.nodes,
        params=job.params,
        active_params=job.active_params,
        sequence=job.tokens_per_sample,
        batch=batch,
        network=network_key(job.network or job.workload),
        recomputes=job.recompute,
        benchmark=job.benchmark,
        image_px=job.image_px,
    )


def described_rate(
    job: Job, hardware: Hardware, batch: float | None, level: float
) -> DescribedRate | Refusal | None:
    """Return the speed of a described job; None where no efficiency is fitted for its family."""
    if job.assumed_mfu is not None:
        return _assumed(job, hardware, level)
    question = question_of(job, hardware, batch)
    if question is None:
        return None
    card = question.accelerator
    if peak_of(card, job.precision) is None and not has_rows(question):
        return Refusal(
            reason=no_peak(card, job.precision),
            measure_next=Text(
                "Measure {workload} on one {card}.", workload=job.workload, card=card.name
            ),
        )
    prior, share = efficiency_of(question), efficiency_with_step(job, question)
    half = half_peak(card)
    if prior is None or share is None or half is None:
        return None
    fastest = (job.batch or usual_batch(job.family)) / LEAST_STEP_S
    at_peak = half * hardware.count / question.flops_per_sample
    speed = min(share.value * at_peak, fastest)
    spread = min(_spread_sd(hardware), 0.9 * prior.sd) * share.sd / prior.sd
    alone_sd = math.sqrt(share.sd**2 - spread**2)
    reasons = _reasons(question, share) if job.step is None else _step_reasons(job, card, share)
    if peak_of(card, job.precision) is None:
        reasons = (*reasons, _no_format(card.name, job.precision))
    elif other := peak_sentence(card, job.precision):
        reasons = (*reasons, other)
    if speed == fastest:
        reasons = (*reasons, _HOST_SETS_THE_PACE)
    factor = _around(1.0, spread, level)
    most = min(share.peak * at_peak, fastest)
    return DescribedRate(
        whole=_below(_around(speed, share.sd, level, reasons), most),
        alone=_around(speed, alone_sd, level, reasons),
        most=most,
        scaling=(
            Scaling(factor=factor, across_nodes=hardware.nodes > 1) if spread > 0.0 else None
        ),
        shared=tuple(
            (words, share.shared[key]) for key, words in sharing_names(card).items()
            if share.shared[key] > 0.0
        ),
    )  # fmt: skip


def efficiency_with_step(job: Job, question: MfuQuestion) -> Efficiency | None:
    """Return the efficiency of a question, conditioned on the job's timed step if any."""
    share = timed_share(job)
    timed = None if job.step is None else question_of(job, job.step.hardware, job.step.batch)
    if share is None or timed is None:
        return efficiency_of(question)
    return after_step(question, timed, share)


def timed_share(job: Job) -> float | None:
    """Return the timed step's share of the half-precision peak; None without one."""
    step = job.step
    if step is None or step.hardware.accelerator is None or job.train_flops_per_sample is None:
        return None
    half = half_peak(step.hardware.accelerator)
    if half is None:
        return None
    speed = step.batch / step.seconds
    return speed * job.train_flops_per_sample / (half * step.hardware.count)


def _assumed(job: Job, hardware: Hardware, level: float) -> DescribedRate | None:
    speed = _assumed_speed(job, hardware)
    if speed is None:
        return None
    reason = Text(
        "Assumes {assumed_mfu:.3g} % of the half-precision peak on every accelerator, as stated.",
        assumed_mfu=100.0 * (job.assumed_mfu or 0.0),
    )
    rate = _around(speed, ASSUMED_SD, level, (reason,))
    return DescribedRate(whole=rate, alone=rate, scaling=None, shared=())


def _assumed_speed(job: Job, hardware: Hardware) -> float | None:
    """Return samples/s at the assumed efficiency; None where no peak is listed."""
    half = half_peak(hardware.accelerator) if hardware.accelerator else None
    if half is None or job.assumed_mfu is None or job.train_flops_per_sample is None:
        return None
    return job.assumed_mfu * half * hardware.count / job.train_flops_per_sample


def expected_rate(job: Job, hardware: Hardware) -> float | None:
    """Return only the value of `described_rate` [samples/s], fast; None as there."""
    if job.assumed_mfu is not None:
        return _assumed_speed(job, hardware)
    question = question_of(job, hardware, job.batch)
    if question is None:
        return None
    if job.step is None:
        share = expected(question)
    else:
        efficiency = efficiency_with_step(job, question)
        share = None if efficiency is None else efficiency.value
    if share is None:
        return None
    half = half_peak(question.accelerator) or 0.0
    fastest = (job.batch or usual_batch(job.family)) / LEAST_STEP_S
    return min(share * half * hardware.count / question.flops_per_sample, fastest)


def _spread_sd(hardware: Hardware) -> float:
    inside = math.log2(max(hardware.count / hardware.nodes, 1.0))
    return DOUBLING_SD * inside + MACHINES_SD * math.log2(max(hardware.nodes, 1))


def _around(value: float, sd: float, level: float, reasons: tuple[str, ...] = ()) -> Estimate:
    far = math.exp(float(ndtri(0.5 * (1.0 + level))) * sd)
    return Estimate(
        value=value,
        low=value / far,
        high=value * far,
        level=level,
        basis="estimated from FLOPs",
        reasons=reasons,
    )


def _below(speed: Estimate, most: float) -> Estimate:
    """Return the speed with an interval that ends at the peak."""
    return replace(speed, high=max(min(float(speed.high), most), float(speed.value)))


def _no_format(name: str, precision: str) -> str:
    return Text(
        "The {name} data sheet lists no {precision} peak: published {precision} "
        "runs on such accelerators are used.",
        name=name,
        precision=precision,
    )


def _step_reasons(job: Job, card: Accelerator, efficiency: Efficiency) -> tuple[str, ...]:
    """Return how an estimate uses the timed step, as sentences."""
    step, share = job.step, timed_share(job)
    if step is None or share is None:
        return ()
    timed = f"{step.hardware.count} x {step.hardware.label}"
    return (
        Text(
            "Your step on {timed} used {share} of its half-precision peak; about "
            "{efficiency} of that of the {card} is estimated.",
            timed=timed,
            share=percent(share),
            efficiency=percent(efficiency.value),
            card=card.name,
        ),
    )


def _reasons(question: MfuQuestion, efficiency: Efficiency) -> tuple[str, ...]:
    card = question.accelerator
    low, high = efficiency.quantile(0.05), efficiency.quantile(0.95)
    share = f"{percent(efficiency.value)} ({percent(low)} to {percent(high)})"
    work = Text(
        "From {flops_per_sample} FLOPs per sample in {precision}",
        flops_per_sample=large(question.flops_per_sample, 3),
        precision=question.precision,
    )
    if has_rows(question):
        text = Text(
            "published runs like it use {share} of the half-precision peak of the {card}.",
            share=share,
            card=card.name,
        )
    else:
        text = Text(
            "{share} of the half-precision peak of the {card}, estimated from "
            "published runs on other accelerators.",
            share=share,
            card=card.name,
        )
    return (joined(": ", (work, text)),)


MFU: Final = 0.23
"""Share of the peak that a described workload without a family uses: mean of public runs."""
MFU_SD: Final = 0.68
"""Scatter of that between public runs [sd of the logarithm]."""
MFU_SHARED: Final = 0.5
"""Part of it due to the workload, the same on all accelerators [sd of the logarithm]."""
OVERHEAD_S: Final = 0.001
"""Overhead of a step where none was measured [s]."""
OVERHEAD_FACTOR: Final = 10.0
"""Range of that: this many times larger or smaller."""
HOST_FACTOR: Final = 3.0
"""Range of an overhead on another host: this many times larger or smaller."""
OVERHEAD_MATTERS: Final = 0.1
"""Share of a step above which its overhead is reported."""
MFU_DOF: Final = 10.0
"""Degrees of freedom of that interval: workloads and cards, not runs, are independent."""
MEASURED: Final = "the measured workload"
FLOPS: Final[Basis] = "estimated from FLOPs"
ESTIMATED: Final[frozenset[Basis]] = frozenset({FLOPS, "transferred from another GPU"})
"""Bases that use the accelerator's specifications."""
OPERATIONS: Final = "the operations of the workload"
"""Shared uncertainty of estimates from FLOPs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Samples/s, the run that would narrow it most, and its shared uncertainty.

    `alone` is the speed without the uncertainty of scaling, `scaling` the efficiency over the
    measured one with that uncertainty; both None where there is none. `shared_sd` is the part of
    the uncertainty [sd in the logarithm] that answers about this job with the basis `shared` have
    in
    common: it cancels between two. `shared_parts` are further such sds of a described workload, by
    source. No speed above `most` [samples/s] is possible.
    """

    samples_per_s: Estimate | Refusal
    next_run: NextMeasurement | None = None
    shared_sd: float = 0.0
    shared: str = ""
    shared_parts: tuple[tuple[str, float], ...] = ()
    alone: Estimate | None = None
    scaling: Scaling | None = None
    most: float = math.inf


def rate_on(
    job: Job,
    hardware: Hardware,
    library: Library | None,
    level: float = LEVEL,
    at_batch: float | None = None,
) -> Rate:
    """Return samples/s of the job on hardware it was not timed on.

    Args:
        job: what is trained.
        hardware: its accelerator has to be in the catalogue.
        library: throughputs of one accelerator, the job's own included (`library_of`); None where
            nothing was measured; for a batch that of `library_at`.
        level: coverage of the interval [share].
        at_batch: of the source runs [samples]; None takes the fastest.
    """
    accelerator = hardware.accelerator
    if accelerator is None:
        refused = Refusal(
            reason=Text(
                "No data sheet of {hardware} is in the catalogue.", hardware=hardware.label
            ),
            measure_next=Text(
                "Measure {workload} there, or add its data sheet.", workload=job.workload
            ),
        )
        return Rate(samples_per_s=refused)
    if has_efficiency(job):
        described = described_rate(job, hardware, at_batch or job.batch, level)
        if described is not None:
            return _of_description(described, measure_on(job, accelerator))
    single, there = _single(job, hardware, accelerator, library, level, at_batch=at_batch)
    if isinstance(single.samples_per_s, Refusal):
        return single
    scaling = scaling_from(hardware, there, level)
    reached = float(efficiency_on(hardware).value)
    together = single.samples_per_s.scaled(hardware.count * reached)
    if scaling.factor.low == scaling.factor.high:
        return replace(single, samples_per_s=together)
    sentence = not_measured(hardware, there, scaling.factor)
    alone = replace(together, basis=_weaker(single.samples_per_s.basis), reasons=(
        *single.samples_per_s.reasons, sentence))  # fmt: skip
    return replace(
        single,
        samples_per_s=widened(alone, *log_half_widths(scaling.factor)),
        next_run=single.next_run or NextMeasurement(workload=job.workload, place=hardware.label),
        alone=alone,
        scaling=scaling,
    )


def _of_description(rate: DescribedRate | Refusal, next_run: NextMeasurement) -> Rate:
    if isinstance(rate, Refusal):
        return Rate(samples_per_s=rate)
    return Rate(
        samples_per_s=rate.whole,
        next_run=next_run,
        shared_parts=rate.shared,
        most=rate.most,
        alone=rate.alone,
        scaling=rate.scaling,
    )


def from_operations(job: Job, accelerator: Accelerator, level: float = LEVEL) -> Estimate | Refusal:
    """Return samples/s of one accelerator from FLOPs per sample and the peak on its data sheet."""
    peak = peak_of(accelerator, job.precision)
    if job.train_flops_per_sample is None:
        return Refusal(
            reason=Text(
                "{timed_where}, and its FLOPs per sample are unknown.",
                timed_where=_timed_where(job, accelerator),
            ),
            measure_next=Text(
                "Measure {workload} on any accelerator of the catalogue, or state its "
                "FLOPs per sample.",
                workload=job.workload,
            ),
        )
    if peak is None:
        return Refusal(
            reason=no_peak(accelerator, job.precision),
            measure_next=measure_on(job, accelerator).sentence(),
        )
    per_sample = job.train_flops_per_sample / (MFU * peak)
    far = math.exp(float(t_quantile(level, MFU_DOF)) * MFU_SD)
    batch = job.batch or usual_batch(job.family)
    overhead, overhead_factor = _overhead(job)
    value, low, high = (
        batch / (batch * per_sample * slow + overhead * late)
        for slow, late in ((1.0, 1.0), (far, overhead_factor), (1.0 / far, 1.0 / overhead_factor))
    )
    reasons: tuple[str, ...] = (
        Text(
            "From {train_flops_per_sample} FLOPs per sample and the peak of the "
            "{accelerator}: assumes {mfu} of it (typical range {low} to {high}).",
            train_flops_per_sample=large(job.train_flops_per_sample, 3),
            accelerator=accelerator.name,
            mfu=percent(MFU),
            low=percent(MFU / 3.0),
            high=percent(3.0 * MFU),
        ),
    )
    if other := peak_sentence(accelerator, job.precision):
        reasons += (other,)
    if overhead > OVERHEAD_MATTERS * batch * per_sample:
        reasons += (
            Text(
                "A step of so small a network is mostly overhead ({overhead} ms at "
                "batch {batch}): a faster accelerator changes little.",
                overhead=plain(1000.0 * overhead, 2),
                batch=plain(batch),
            ),
        )
    return Estimate(value=value, low=low, high=high, level=level, basis=FLOPS, reasons=reasons)


def measure_on(job: Job, accelerator: Accelerator) -> NextMeasurement:
    """Return the next run to measure, with a device count that is for rent."""
    count = least_count(job, accelerator, job.batch)
    if count is None:
        return NextMeasurement(
            workload=job.workload,
            place="an accelerator with more memory",
            why=Text(
                "Not one sample fits on a device of the {accelerator}.",
                accelerator=accelerator.name,
            ),
        )
    if count == 1:
        return NextMeasurement(workload=job.workload, place=f"one {accelerator.name}")
    sold = (
        2 ** math.ceil(math.log2(count)) if count <= PER_NODE else PER_NODE * -(-count // PER_NODE)
    )
    return NextMeasurement(workload=job.workload, place=f"{sold} x {accelerator.name}")


def _timed_where(job: Job, accelerator: Accelerator) -> str:
    """Return where the job was timed, as the first half of a sentence."""
    names = {h.accelerator.name for h in job.hardware.values() if h.accelerator}
    if not names:
        return Text(
            "{workload} was timed on no accelerator of the catalogue", workload=job.workload
        )
    where = ", ".join(sorted(names))
    return Text(
        "{workload} was timed on {where}, which gives no estimate for the {accelerator}",
        workload=job.workload,
        where=where,
        accelerator=accelerator.name,
    )


def _overhead(job: Job) -> tuple[float, float]:
    """Return the overhead of a step [s] and its range as a factor."""
    if job.overhead_s is None:
        return OVERHEAD_S, OVERHEAD_FACTOR
    return job.overhead_s, HOST_FACTOR


def _single(
    job: Job,
    hardware: Hardware,
    accelerator: Accelerator,
    library: Library | None,
    level: float,
    *,
    at_batch: float | None,
) -> tuple[Rate, Hardware | None]:
    """Return the rate of one accelerator by transfer, else by FLOPs, and the measured hardware.

    A measured accelerator's rate is its part of the joint speed at the nearest count. A described
    job uses no measured run: one of the same name may train another network.
    """
    next_run = measure_on(job, accelerator)
    if library is not None and not job.described:
        precision = effective_precision(job.precision)
        cell = Cell(workload=job.workload, precision=precision, card=accelerator.id)
        prediction = transfer(library, cell, level=level)
        if isinstance(prediction, Transferred):
            if prediction.rung == "measured":
                return _measured(job, hardware, prediction.estimate, at_batch)
            shared = _of_the_sources(library, cell, prediction.estimate)
            stated = least_count(job, accelerator, job.batch) == 1 and any(
                run.run == cell for run in prediction.proposed
            )
            return Rate(
                samples_per_s=_with_peak(prediction.estimate, job, accelerator),
                next_run=replace(next_run, stated=stated),
                shared_sd=shared,
                shared=MEASURED,
            ), None
    at = batch_on(job, hardware, at_batch)
    rate = from_operations(replace(job, batch=at), accelerator, level)
    shared_by = OPERATIONS
    return Rate(samples_per_s=rate, next_run=next_run, shared_sd=MFU_SHARED, shared=shared_by), None


def _with_peak(estimate: Estimate, job: Job, accelerator: Accelerator) -> Estimate:
    """Return the estimate with the peak used as a reason, if it is based on data sheets."""
    if estimate.basis not in ESTIMATED:
        return estimate
    reasons = (peak_sentence(accelerator, job.precision), _unstated(job))
    return replace(estimate, reasons=(*estimate.reasons, *filter(None, reasons)))


def _unstated(job: Job) -> str:
    """Return the precision assumed for runs that state none, as a sentence; "" where stated."""
    if job.precision_stated:
        return ""
    return Text(
        "The runs state no precision; accelerators are compared in {precision}.",
        precision=job.precision,
    )


def _measured(
    job: Job, hardware: Hardware, estimate: Estimate, at_batch: float | None
) -> tuple[Rate, Hardware | None]:
    """Return one accelerator's rate at the nearest measured count, with the interval's width."""
    nearest = nearest_measured(job, hardware, at_batch)
    if nearest is None:
        return Rate(samples_per_s=estimate), None
    there, option = nearest
    speed = per_accelerator(option.run.samples_per_s or 0.0, there)
    return Rate(samples_per_s=estimate.scaled(speed / float(estimate.value))), there


def _of_the_sources(library: Library, cell: Cell, estimate: Estimate) -> float:
    """Return the sd in common of all cards estimated from the same k measured ones.

    The error of a card is its own less the mean of k such errors: 1/(1 + k) of the variance is
    shared.
    """
    row = library.workloads.index((cell.workload, cell.precision))
    sources = max(int(library.measured[row].sum()), 1)
    half = 0.5 * log_width(estimate)
    return half / float(t_quantile(estimate.level, SPREAD_DOF)) / math.sqrt(1.0 + sources)


def not_measured(hardware: Hardware, there: Hardware | None, factor: Estimate) -> str:
    """Return that the count was not measured, and the efficiency assumed, as a sentence."""
    several = hardware.devices > hardware.count
    what = "devices" if several else "accelerators"
    devices = f"{hardware.devices} {what} were" if hardware.devices > 1 else "One accelerator was"
    if there is None or there.devices == 1:
        most = min(float(factor.high), 1.0)
        reached = Text(
            "public runs reach {factor} of perfect scaling", factor=percent(factor.value)
        )
        return Text(
            "{devices} not measured: {reached} ({low} to {most}).",
            devices=devices,
            reached=reached,
            low=percent(factor.low),
            most=percent(most),
        )
    return Text(
        "{devices} not measured, {measured} were: in public runs each reaches "
        "{factor} of that speed.",
        devices=devices,
        measured=there.devices,
        factor=percent_of(factor),
    )


def _weaker(basis: Basis) -> Basis:
    """Return the basis of an unmeasured count, even where one device was measured."""
    return basis if basis in ESTIMATED else "similar workload"
