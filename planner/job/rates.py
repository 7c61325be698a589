"""Speed of the job on hardware where it was not timed.

    samples/s = (samples/s of one accelerator) * count * e(devices, nodes)

The first factor comes from `planner.transfer` where the job was timed on an accelerator of the
catalogue (all runs that are at hand form the library), else from its operations. Where m of the
accelerator were timed, it is what they did together, and count*e is that over theirs:

    samples/s = MFU * peak FLOP/s in its precision / FLOPs per sample

    step    = batch/(samples/s) + overhead,  so a small network is as slow as its host is

with the efficiency of the workload's family (`planner.job._described_rates`); where no family is
stated with the model FLOPs utilisation MFU of convolutional networks: 23 % (90 %: 7 to 79 %). The
efficiency e, and its doubt between m and n, are those of `planner.job.efficiency`.

    constant  value  meaning
    MFU       0.23   geometric mean of one device over 111 public runs (convolutional networks and
                     BERT, K80 to RTX 6000 Ada, three collections)
    MFU_SD    0.68   their sd in the logarithm
    MFU_SHARED 0.5   the part of it that belongs to the workload, the same on all cards
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
    peak_told,
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
"""An overhead that was measured on one host may be so many times larger or smaller on another."""
OVERHEAD_MATTERS: Final = 0.1
MFU_DOF: Final = 10.0
MEASURED: Final = "the measured workload"
FLOPS: Final[Basis] = "estimated from FLOPs"
ESTIMATED: Final[frozenset[Basis]] = frozenset({FLOPS, "transferred from another GPU"})
"""Where the accelerator's specifications are part of the answer."""
OPERATIONS: Final = "the operations of the workload"
"""What answers of one rung have in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Samples/s, the run that would narrow it most ("" if none), and the doubt others share.

    `alone` is the same speed without the doubt of another number of them, `scaling` their
    efficiency over what was measured with that doubt; both None where there is none. `shared_sd`
    is the part of the doubt of one [sd in the logarithm] that all answers about this job have in
    common where they are known the same way, which is `shared`: it decides nothing between two.
    `shared_parts` are further such sds of a described workload, each with what shares it; no speed
    above `most` is possible [samples/s].
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
    """Samples/s of the job on hardware it was not timed on.

    Args:
        job: what is trained.
        hardware: where; its accelerator has to be in the catalogue.
        library: throughputs of one accelerator, the job's own included (`library_of`); None where
            nothing was measured; at a batch that of `library_at`.
        level: coverage of the interval [share].
        at_batch: the only batch that runs may have [samples]; None takes the fastest.
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
    one, there = _one(job, hardware, accelerator, library, level, at_batch=at_batch)
    if isinstance(one.samples_per_s, Refusal):
        return one
    scaling = scaling_from(hardware, there, level)
    together = _together(one.samples_per_s, hardware)
    if scaling.factor.low == scaling.factor.high:
        return replace(one, samples_per_s=together)
    told = not_measured(hardware, there, scaling.factor)
    alone = replace(together, basis=_weaker(one.samples_per_s.basis), reasons=(
        *one.samples_per_s.reasons, told))  # fmt: skip
    return replace(
        one,
        samples_per_s=widened(alone, *log_half_widths(scaling.factor)),
        measure_next=one.measure_next or f"Measure {job.workload} on {hardware.label}.",
        alone=alone,
        scaling=scaling,
    )


def _of_description(told: DescribedRate | Refusal, measure_next: str) -> Rate:
    if isinstance(told, Refusal):
        return Rate(samples_per_s=told, measure_next=told.measure_next)
    return Rate(
        samples_per_s=told.whole,
        measure_next=measure_next,
        shared_parts=told.shared,
        most=told.most,
        alone=told.alone,
        scaling=told.scaling,
    )


def from_operations(job: Job, accelerator: Accelerator, level: float = LEVEL) -> Estimate | Refusal:
    """Samples/s of one accelerator from FLOPs per sample and the peak on its data sheet."""
    peak = peak_of(accelerator, job.precision)
    if job.train_flops_per_sample is None:
        return Refusal(
            reason=f"{_timed_where(job, accelerator)}, and its operations per sample are not "
            "known.",
            measure_next=f"Measure {job.workload} on any accelerator of the catalogue, or say how "
            "many FLOPs a sample takes.",
        )
    if peak is None:
        return Refusal(
            reason=no_peak(accelerator, job.precision),
            measure_next=measure_on(job, accelerator),
        )
    per_sample = job.train_flops_per_sample / (MFU * peak)
    far = math.exp(float(t_quantile(level, MFU_DOF)) * MFU_SD)
    batch = job.batch or USUAL_BATCH
    overhead, doubt = _overhead(job)
    value, low, high = (
        batch / (batch * per_sample * slow + overhead * late)
        for slow, late in ((1.0, 1.0), (far, doubt), (1.0 / far, 1.0 / doubt))
    )
    told: tuple[str, ...] = (
        f"From {large(job.train_flops_per_sample, 3)} FLOPs per sample and the peak of the "
        f"{accelerator.name}: assumes {MFU:.0%} of it (typical range {MFU / 3.0:.0%} to "
        f"{3.0 * MFU:.0%}).".replace("%", " %"),
    )
    if other := peak_told(accelerator, job.precision):
        told += (other,)
    if overhead > OVERHEAD_MATTERS * batch * per_sample:
        told += (
            f"A step of so small a network is mostly overhead ({plain(1e3 * overhead, 2)} ms at "
            f"batch {plain(batch)}): a faster accelerator changes little.",
        )
    return Estimate(value=value, low=low, high=high, level=level, basis=FLOPS, reasons=told)


def measure_on(job: Job, accelerator: Accelerator) -> str:
    """The run to make: on one, or on as many as the job needs, in numbers that are for rent."""
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
    """On what the job was timed, that tells nothing here: the first half of a sentence."""
    found = {h.accelerator.name for h in job.hardware.values() if h.accelerator}
    if not found:
        return f"{job.workload} was timed on no accelerator of the catalogue"
    where = ", ".join(sorted(found))
    return f"{job.workload} was timed on {where}, which says nothing about the {accelerator.name}"


def _overhead(job: Job) -> tuple[float, float]:
    """Overhead of a step [s] and how many times smaller or larger it may be."""
    if job.overhead_s is None:
        return OVERHEAD_S, OVERHEAD_FACTOR
    return job.overhead_s, HOST_FACTOR


def _one(
    job: Job,
    hardware: Hardware,
    accelerator: Accelerator,
    library: Library | None,
    level: float,
    *,
    at_batch: float | None,
) -> tuple[Rate, Hardware | None]:
    """One accelerator: the ladder where it has a rung, else the operations; and where it was timed.

    Of one that was measured it is its part of what the nearest number of them did together. A
    described job takes no measured run: one of the same name may train another network.
    """
    measure = measure_on(job, accelerator)
    if library is not None and not job.described:
        precision = effective_precision(job.precision)
        wanted = Cell(workload=job.workload, precision=precision, card=accelerator.id)
        found = transfer(library, wanted, level=level)
        if isinstance(found, Transferred):
            if found.rung == "measured":
                return _measured(job, hardware, found.estimate, at_batch)
            shared = _of_the_sources(library, wanted, found.estimate)
            return Rate(
                samples_per_s=_with_peak(found.estimate, job, accelerator),
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


def _with_peak(told: Estimate, job: Job, accelerator: Accelerator) -> Estimate:
    """Of an answer by data sheets, also which peak was taken from the accelerator's."""
    other = peak_told(accelerator, job.precision) if told.basis in ESTIMATED else ""
    return replace(told, reasons=(*told.reasons, other)) if other else told


def _measured(
    job: Job, hardware: Hardware, told: Estimate, at_batch: float | None
) -> tuple[Rate, Hardware | None]:
    """One accelerator's part at the nearest number that was timed, as doubtful as told."""
    nearest = nearest_measured(job, hardware, at_batch)
    if nearest is None:
        return Rate(samples_per_s=told), None
    there, option = nearest
    speed = per_accelerator(option.run.samples_per_s or 0.0, there)
    return Rate(samples_per_s=_by(told, speed / float(told.value))), there


def _of_the_sources(library: Library, wanted: Cell, told: Estimate) -> float:
    """Sd of what all cards share that are told from the same k measured ones.

    The error of a card is its own less the mean of k such errors: 1/(1 + k) of its variance is
    theirs.
    """
    row = library.workloads.index((wanted.workload, wanted.precision))
    sources = max(int(library.measured[row].sum()), 1)
    half = 0.5 * log_width(told)
    return half / float(t_quantile(told.level, SPREAD_DOF)) / math.sqrt(1.0 + sources)


def not_measured(hardware: Hardware, there: Hardware | None, factor: Estimate) -> str:
    """That so many were not timed, and what public runs say of so many, as a sentence."""
    several = hardware.devices > hardware.count
    what = "devices" if several else "accelerators"
    asked = f"{hardware.devices} {what} were" if hardware.devices > 1 else "One accelerator was"
    if there is None or there.devices == 1:
        most = min(float(factor.high), 1.0)
        said = f"public runs reach {float(factor.value):.0%} of perfect scaling"
        return f"{asked} not measured: {said} ({float(factor.low):.0%} to {most:.0%}).".replace(
            "%", " %"
        )
    return (
        f"{asked} not measured, {there.devices} were: in public runs each does "
        f"{float(factor.value):.0%} ({float(factor.low):.0%} to {float(factor.high):.0%}) of what "
        "each did there."
    ).replace("%", " %")


def _together(one: Estimate, hardware: Hardware) -> Estimate:
    """One accelerator's rate times count and efficiency."""
    reached = float(efficiency_on(hardware).value)
    return _by(one, hardware.count * reached)


def _by(rate: Estimate, factor: float) -> Estimate:
    value, low, high = (float(x) * factor for x in (rate.value, rate.low, rate.high))
    return replace(rate, value=value, low=low, high=high)


def _weaker(basis: Basis) -> Basis:
    """Of several accelerators nobody timed, even where one of them was."""
    return basis if basis in ESTIMATED else "similar workload"
