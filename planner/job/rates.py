"""Speed of the job on hardware where it was not timed.

    samples/s = (samples/s of one accelerator) * count * e(devices, nodes)

The first factor comes from `planner.transfer` if the job was timed on an accelerator of the
catalogue (all available runs form the library), else from its operations. Where m of the
accelerator were timed, it is their joint speed, and count*e is relative to theirs:

    samples/s = MFU * peak FLOP/s in its precision / FLOPs per sample

    step    = batch/(samples/s) + overhead,  so a small network is as slow as its host is

with the efficiency of the workload's family (`planner.job._described_rates`); where no family is
stated with the model FLOPs utilisation MFU of convolutional networks: 23 % (90 %: 7 to 79 %). The
efficiency e and its uncertainty between m and n are those of `planner.job.efficiency`.

    constant  value  meaning
    MFU       0.23   geometric mean of one device over 111 public runs (convolutional networks and
                     BERT, K80 to RTX 6000 Ada, three collections)
    MFU_SD    0.68   their sd in the logarithm
    MFU_SHARED 0.5   the part of it due to the workload, the same on all cards
    OVERHEAD_S  0.001  overhead of a step where none was measured [s]; ten times less or more. Own
                     small networks took 0.5 ms a step on two cores, NCF 7 to 13 ms on a T4
    MFU_DOF   10     degrees of freedom: workloads and cards, not runs, are independent

`backtest.questions.described` reads them off the public data and scores them (docs/accuracy.md).
Two half-widths add in quadrature, in the logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from planner.catalog import Accelerator
from planner.core import LEVEL, Basis, Estimate, Refusal, large, plain, t_quantile
from planner.fits import log_half_widths, log_width, widened
from planner.job._batches import USUAL_BATCH, batch_on
from planner.job._described_rates import DescribedRate, described_rate, has_efficiency
from planner.job._memory import least_count
from planner.job._nearest import nearest_measured
from planner.job._placing import PER_NODE
from planner.job._records import Hardware, Job, Scaling
from planner.job._sheets import (
    effective_precision,
    no_peak,
    peak_of,
    peak_sentence,
)
from planner.job.efficiency import (
    SPREAD_DOF,
    efficiency_on,
    per_accelerator,
    scaling_from,
)
from planner.transfer import Cell, Library, Transferred, transfer

MFU: Final = 0.23
MFU_SD: Final = 0.68
MFU_SHARED: Final = 0.5
OVERHEAD_S: Final = 0.001
OVERHEAD_FACTOR: Final = 10.0
HOST_FACTOR: Final = 3.0
"""Range of an overhead on another host: this many times larger or smaller."""
OVERHEAD_MATTERS: Final = 0.1
MFU_DOF: Final = 10.0
MEASURED: Final = "the measured workload"
FLOPS: Final[Basis] = "estimated from FLOPs"
ESTIMATED: Final[frozenset[Basis]] = frozenset({FLOPS, "transferred from another GPU"})
"""Bases that use the accelerator's specifications."""
OPERATIONS: Final = "the operations of the workload"
"""Shared uncertainty of estimates from FLOPs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Samples/s, the run that would narrow it most ("" if none), and its shared uncertainty.

    `alone` is the speed without the uncertainty of scaling, `scaling` the efficiency over the
    measured one with that uncertainty; both None where there is none. `shared_sd` is the part of
    the uncertainty [sd in the logarithm] that answers about this job with the basis `shared` have
    in
    common: it cancels between two. `shared_parts` are further such sds of a described workload, by
    source. No speed above `most` [samples/s] is possible.
    """

    samples_per_s: Estimate | Refusal
    measure_next: str = ""
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
            reason=f"No data sheet of {hardware.label} is in the catalogue.",
            measure_next=f"Measure {job.workload} there, or add its data sheet.",
        )
        return Rate(samples_per_s=refused, measure_next=refused.measure_next)
    if has_efficiency(job):
        described = described_rate(job, hardware, at_batch or job.batch, level)
        if described is not None:
            return _of_description(described, measure_on(job, accelerator))
    single, there = _single(job, hardware, accelerator, library, level, at_batch=at_batch)
    if isinstance(single.samples_per_s, Refusal):
        return single
    scaling = scaling_from(hardware, there, level)
    together = _together(single.samples_per_s, hardware)
    if scaling.factor.low == scaling.factor.high:
        return replace(single, samples_per_s=together)
    sentence = not_measured(hardware, there, scaling.factor)
    alone = replace(together, basis=_weaker(single.samples_per_s.basis), reasons=(
        *single.samples_per_s.reasons, sentence))  # fmt: skip
    return replace(
        single,
        samples_per_s=widened(alone, *log_half_widths(scaling.factor)),
        measure_next=single.measure_next or f"Measure {job.workload} on {hardware.label}.",
        alone=alone,
        scaling=scaling,
    )


def _of_description(rate: DescribedRate | Refusal, measure_next: str) -> Rate:
    if isinstance(rate, Refusal):
        return Rate(samples_per_s=rate, measure_next=rate.measure_next)
    return Rate(
        samples_per_s=rate.whole,
        measure_next=measure_next,
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
            reason=f"{_timed_where(job, accelerator)}, and its FLOPs per sample are unknown.",
            measure_next=f"Measure {job.workload} on any accelerator of the catalogue, or state "
            "its FLOPs per sample.",
        )
    if peak is None:
        return Refusal(
            reason=no_peak(accelerator, job.precision),
            measure_next=measure_on(job, accelerator),
        )
    per_sample = job.train_flops_per_sample / (MFU * peak)
    far = math.exp(float(t_quantile(level, MFU_DOF)) * MFU_SD)
    batch = job.batch or USUAL_BATCH
    overhead, overhead_factor = _overhead(job)
    value, low, high = (
        batch / (batch * per_sample * slow + overhead * late)
        for slow, late in ((1.0, 1.0), (far, overhead_factor), (1.0 / far, 1.0 / overhead_factor))
    )
    reasons: tuple[str, ...] = (
        f"From {large(job.train_flops_per_sample, 3)} FLOPs per sample and the peak of the "
        f"{accelerator.name}: assumes {MFU:.0%} of it (typical range {MFU / 3.0:.0%} to "
        f"{3.0 * MFU:.0%}).".replace("%", " %"),
    )
    if other := peak_sentence(accelerator, job.precision):
        reasons += (other,)
    if overhead > OVERHEAD_MATTERS * batch * per_sample:
        reasons += (
            f"A step of so small a network is mostly overhead ({plain(1e3 * overhead, 2)} ms at "
            f"batch {plain(batch)}): a faster accelerator changes little.",
        )
    return Estimate(value=value, low=low, high=high, level=level, basis=FLOPS, reasons=reasons)


def measure_on(job: Job, accelerator: Accelerator) -> str:
    """Return the next run to measure, with a device count that is for rent."""
    count = least_count(job, accelerator, job.batch)
    if count is None:
        return (
            f"Not one sample fits on a device of the {accelerator.name}: measure {job.workload} "
            "on an accelerator with more memory."
        )
    if count == 1:
        return f"Measure {job.workload} on one {accelerator.name}."
    sold = (
        2 ** math.ceil(math.log2(count)) if count <= PER_NODE else PER_NODE * -(-count // PER_NODE)
    )
    return f"Measure {job.workload} on {sold} x {accelerator.name}."


def _timed_where(job: Job, accelerator: Accelerator) -> str:
    """Return where the job was timed, as the first half of a sentence."""
    names = {h.accelerator.name for h in job.hardware.values() if h.accelerator}
    if not names:
        return f"{job.workload} was timed on no accelerator of the catalogue"
    where = ", ".join(sorted(names))
    return (
        f"{job.workload} was timed on {where}, which gives no estimate for the {accelerator.name}"
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
    measure = measure_on(job, accelerator)
    if library is not None and not job.described:
        precision = effective_precision(job.precision)
        cell = Cell(workload=job.workload, precision=precision, card=accelerator.id)
        prediction = transfer(library, cell, level=level)
        if isinstance(prediction, Transferred):
            if prediction.rung == "measured":
                return _measured(job, hardware, prediction.estimate, at_batch)
            shared = _of_the_sources(library, cell, prediction.estimate)
            return Rate(
                samples_per_s=_with_peak(prediction.estimate, job, accelerator),
                measure_next=measure,
                shared_sd=shared,
                shared=MEASURED,
            ), None
    at = batch_on(job, hardware, at_batch)
    rate = from_operations(replace(job, batch=at), accelerator, level)
    shared_by = OPERATIONS
    return Rate(
        samples_per_s=rate, measure_next=measure, shared_sd=MFU_SHARED, shared=shared_by
    ), None


def _with_peak(estimate: Estimate, job: Job, accelerator: Accelerator) -> Estimate:
    """Return the estimate with the peak used as a reason, if it is based on data sheets."""
    other = peak_sentence(accelerator, job.precision) if estimate.basis in ESTIMATED else ""
    return replace(estimate, reasons=(*estimate.reasons, other)) if other else estimate


def _measured(
    job: Job, hardware: Hardware, estimate: Estimate, at_batch: float | None
) -> tuple[Rate, Hardware | None]:
    """Return one accelerator's rate at the nearest measured count, with the interval's width."""
    nearest = nearest_measured(job, hardware, at_batch)
    if nearest is None:
        return Rate(samples_per_s=estimate), None
    there, option = nearest
    speed = per_accelerator(option.run.samples_per_s or 0.0, there)
    return Rate(samples_per_s=_by(estimate, speed / float(estimate.value))), there


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
        reached = f"public runs reach {float(factor.value):.0%} of perfect scaling"
        return (
            f"{devices} not measured: {reached} ({float(factor.low):.0%} to {most:.0%}).".replace(
                "%", " %"
            )
        )
    return (
        f"{devices} not measured, {there.devices} were: in public runs each reaches "
        f"{float(factor.value):.0%} ({float(factor.low):.0%} to {float(factor.high):.0%}) of that "
        "speed."
    ).replace("%", " %")


def _together(rate: Estimate, hardware: Hardware) -> Estimate:
    """Return one accelerator's rate times count and efficiency."""
    reached = float(efficiency_on(hardware).value)
    return _by(rate, hardware.count * reached)


def _by(rate: Estimate, factor: float) -> Estimate:
    value, low, high = (float(x) * factor for x in (rate.value, rate.low, rate.high))
    return replace(rate, value=value, low=low, high=high)


def _weaker(basis: Basis) -> Basis:
    """Return the basis of an unmeasured count, even where one device was measured."""
    return basis if basis in ESTIMATED else "similar workload"
