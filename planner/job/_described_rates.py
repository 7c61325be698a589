"""Speed of a described workload whose family is stated, by the efficiency model.

    samples/s = efficiency x half-precision peak x accelerators / FLOPs per sample

with the efficiency of `planner.mfu`. It includes the loss between devices and nodes, small batches
per device and the overhead of short steps, so `planner.job.efficiency` is not applied again.
Several accelerators are somewhat more uncertain than one:

    DOUBLING_SD   0.03   for each doubling of the devices of one machine
    MACHINES_SD   0.05   for each doubling of machines
    ASSUMED_SD    0.1    of an efficiency that the user states
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from scipy.special import ndtri

from planner.catalog import Accelerator
from planner.core import Estimate, Refusal, large
from planner.job._records import Hardware, Job, Scaling
from planner.job._sheets import no_peak, peak_of, peak_sentence
from planner.mfu import (
    DOMAIN_OF,
    Efficiency,
    Question,
    after_step,
    efficiency_of,
    expected,
    has_rows,
    sharing_names,
)
from planner.published import half_peak, network_key

DOUBLING_SD: Final = 0.03
MACHINES_SD: Final = 0.05
ASSUMED_SD: Final = 0.1
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


def question_of(job: Job, hardware: Hardware, batch: float | None) -> Question | None:
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
    return Question(
        family="lora" if lora else job.family,
        accelerator=hardware.accelerator,
        flops_per_sample=job.train_flops_per_sample,
        precision=job.precision,
        devices=hardware.count,
        nodes=hardware.nodes,
        params=job.params,
        active_params=job.active_params,
        sequence=job.tokens_per_sample,
        batch=batch,
        network=network_key(job.network or job.workload),
        recomputes=job.recompute,
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
            measure_next=f"Measure {job.workload} on one {card.name}.",
        )
    prior, share = efficiency_of(question), efficiency_with_step(job, question)
    half = half_peak(card)
    if prior is None or share is None or half is None:
        return None
    speed = share.value * half * hardware.count / question.flops_per_sample
    spread = min(_spread_sd(hardware), 0.9 * prior.sd) * share.sd / prior.sd
    alone_sd = math.sqrt(share.sd**2 - spread**2)
    reasons = _reasons(question, share) if job.step is None else _step_reasons(job, card, share)
    if peak_of(card, job.precision) is None:
        reasons = (*reasons, _no_format(card.name, job.precision))
    elif other := peak_sentence(card, job.precision):
        reasons = (*reasons, other)
    factor = _around(1.0, spread, level)
    most = share.peak * half * hardware.count / question.flops_per_sample
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


def efficiency_with_step(job: Job, question: Question) -> Efficiency | None:
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
    reason = (
        f"Assumes {100.0 * (job.assumed_mfu or 0.0):.3g} % of the half-precision peak on every "
        "accelerator, as stated."
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
    return share * half * hardware.count / question.flops_per_sample


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
    return (
        f"The {name} data sheet lists no {precision} peak: published {precision} runs on such "
        "accelerators are used."
    )


def _step_reasons(job: Job, card: Accelerator, efficiency: Efficiency) -> tuple[str, ...]:
    """Return how an estimate uses the timed step, as sentences."""
    step, share = job.step, timed_share(job)
    if step is None or share is None:
        return ()
    timed = f"{step.hardware.count} x {step.hardware.label}"
    reason = (
        f"Your step on {timed} used {share:.0%} of its half-precision peak; about "
        f"{efficiency.value:.0%} of that of the {card.name} is estimated."
    )
    return (reason.replace("%", " %"),)


def _reasons(question: Question, efficiency: Efficiency) -> tuple[str, ...]:
    card = question.accelerator
    low, high = efficiency.quantile(0.05), efficiency.quantile(0.95)
    reason = (
        f"From {large(question.flops_per_sample, 3)} FLOPs per sample in {question.precision}: "
        f"published runs like it use {efficiency.value:.0%} ({low:.0%} to {high:.0%}) of the "
        f"half-precision peak of the {card.name}.".replace("%", " %")
    )
    return (reason,)
