"""Which batch size reaches the target soonest?

    time(B) = S(B)*T(B) = Smin*(1 + Bcrit/B)*(t + B/v0)               [s]
    B*      = sqrt(Bcrit*v0*t)                                        [samples]
    time(B*) = Smin*(sqrt(t) + sqrt(Bcrit/v0))^2                      [s]
    goodput(B) = v(B)*e(B) = Emin/time(B)                             [useful samples/s]

Small batches waste the hardware, large ones waste samples. The best batch is the geometric mean
of the batch where the hardware is half efficient (v0*t) and the one where the optimiser is
(Bcrit): that is where d time/dB = 0. ("Goodput" is the word of Qiao et al. 2021, Pollux.) The
least is flat: time(x*B*)/time(B*) <= 1 + (sqrt(x) - 1/sqrt(x))^2/4, so twice or half the best
batch costs at most an eighth more time. A search never leaves the batches that were measured for
both curves.

Step times fitted over several numbers of devices are asked at one of them: the law there is the
same, with n*v0 and t + link (`planner.scaling._one_count`).

The two curves are measured apart, so half-widths of their logarithms add in quadrature
(`planner.fits._arithmetic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.convergence import ConvergenceCurve, missed_around, refusal_missed
from planner.core import Estimate, Refusal
from planner.core.points import numbers
from planner.fits import (
    NAMES,
    Limited,
    StepTimeCurve,
    named,
    one_level,
    product,
    refusal_outside,
    root_of_product,
    weakest,
)
from planner.scaling import ScalingCurve, at_place

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["NAMES", "best_batch", "goodput", "minimum_time", "product", "time_to_target"]


def best_batch(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    max_batch: float | None = None,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Batch [samples] that reaches the target soonest: sqrt(Bcrit*v0*t), clipped.

    It is kept within what was measured for both curves (up to where each may be trusted) and
    below `max_batch`, and so are the ends of its interval; where that moved it, a reason says
    where the optimum of the two laws lies and what the clipped batch costs.

    Args:
        throughput: step times on the system in question, or why there is no curve; or a curve
            over several numbers of devices, and then the next three say where it is asked.
        convergence: samples to the target in question, or why there is no curve.
        max_batch: the largest batch that fits into memory [samples], at least 1.
        devices: how many, whole and at least 1, for a `ScalingCurve` only; left out, the most
            that were measured, and a reason says so.
        nodes: over how many nodes; left out, as many as the devices fill up.
        launch: how the processes are started; may be left out where one mode was measured.

    Returns:
        The batch, or a `Refusal`: the one given, where no batch lies within both curves, where
        the best one did not reach the target, where `max_batch` is one that a curve does not
        answer for, where neither curve turns (then all
        batches take the same time), or where a scaling curve does not answer: a link class or
        launch mode that was not measured, or no mode named where several were. The batch is the
        optimum of the two laws, not rounded to whole samples.

    Raises:
        ValueError: `max_batch` is no number or below 1, the curves have different levels, or the
            devices are impossible or given with a curve that knows one place only.
    """
    allowed = _allowed(max_batch)
    throughput = at_place(throughput, devices, nodes, launch)
    if isinstance(throughput, Refusal):
        return throughput
    if isinstance(convergence, Refusal):
        return convergence
    bounds = _bounds(throughput, convergence, allowed)
    hardware, optimiser = throughput.half_saturation_batch, convergence.critical_batch_size
    level = one_level(hardware, optimiser)
    optimum, low, high = root_of_product(hardware, optimiser)
    if isinstance(bounds, Refusal):
        return bounds
    if np.isnan(optimum):
        return _refuse_flat(*_measured_by_both(throughput, convergence))
    batch, low, high = (float(np.clip(end, *bounds)) for end in (optimum, low, high))
    if refusal := _unanswered(throughput, convergence, batch):
        return refusal
    told = () if batch == optimum else (_clipped(throughput, convergence, optimum, batch),)
    return Estimate(
        value=batch,
        low=low,
        high=high,
        level=level,
        basis=weakest("interpolated", throughput.basis(batch), convergence.basis(batch)),
        reasons=told
        + named(hardware, optimiser, NAMES)
        + missed_around(convergence, np.array(batch))
        + convergence.warnings,
    )


def minimum_time(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    max_batch: float | None = None,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Least time to target [s], at `best_batch`; its arguments, refusals and errors.

    Where nothing clips the batch it is Smin*(sqrt(t) + sqrt(Bcrit/v0))^2. A doubt about the best
    batch adds nothing to it in first order, because the least is flat.
    """
    throughput = at_place(throughput, devices, nodes, launch)
    batch = best_batch(throughput, convergence, max_batch)
    if isinstance(batch, Refusal):
        return batch
    return time_to_target(throughput, convergence, batch.value)


def time_to_target(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    batch: ArrayLike,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Time to target [s] at `batch` [samples]: steps times step time, with both intervals.

    Args:
        throughput: step times on the system in question, or why there is no curve; or a curve
            over several numbers of devices.
        convergence: samples to the target in question, or why there is no curve.
        devices: with `nodes` and `launch` where a `ScalingCurve` is asked, as in `best_batch`.
        nodes: see there.
        launch: see there.
        batch: above 0, scalar or any shape.

    Returns:
        For a scalar an `Estimate` of floats, or a `Refusal`. For an array an `Estimate` of arrays,
        NaN where a scalar would have been refused; `reasons` says why.

    Raises:
        ValueError: a batch is not finite or not above 0, or as `best_batch`.
    """
    throughput = at_place(throughput, devices, nodes, launch)
    if isinstance(throughput, Refusal):
        return throughput
    if isinstance(convergence, Refusal):
        return convergence
    return product(throughput.law.step_time(batch), convergence.steps(batch))


def goodput(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    batch: ArrayLike,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Useful samples per second at `batch` [samples]: throughput times efficiency.

    It is Emin over the time to target: the rate at which a run with perfect efficiency would have
    to go through samples to be as fast. Otherwise as `time_to_target`.
    """
    throughput = at_place(throughput, devices, nodes, launch)
    if isinstance(throughput, Refusal):
        return throughput
    if isinstance(convergence, Refusal):
        return convergence
    names = "Throughput", "Efficiency"
    return product(throughput.law.throughput(batch), convergence.efficiency(batch), names)


def _allowed(max_batch: float | None) -> float:
    """The largest batch that may be taken [samples]; infinite where nothing was said."""
    if max_batch is None:
        return np.inf
    allowed = numbers("max_batch", max_batch, "the largest batch that fits, at least 1, or None")
    if allowed.ndim or not allowed >= 1.0:
        raise ValueError(
            f"max_batch is {max_batch!r:.40}. A batch is whole samples, at least 1. Give the "
            "largest batch that fits, or None."
        )
    return float(allowed)


def _measured_by_both(
    throughput: StepTimeCurve, convergence: ConvergenceCurve
) -> tuple[float, float]:
    """Smallest and largest batch [samples] that both curves were measured for and trust."""
    smallest = float(
        max(throughput.batch[0] if throughput.batch.size else 0.0, convergence.batch[0])
    )
    return smallest, min(throughput.trusted_up_to_batch, convergence.trusted_up_to_batch)


def _bounds(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, allowed: float
) -> tuple[float, float] | Refusal:
    """Where to search [samples]; a memory too small for what was measured is both ends."""
    smallest, largest = _measured_by_both(throughput, convergence)
    if smallest > largest:
        return _refuse_apart(throughput, convergence)
    return min(smallest, allowed), min(largest, allowed)


def _unanswered(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, batch: float
) -> Refusal | None:
    curves: tuple[Limited, Limited] = throughput, convergence
    told = (
        refusal_outside(curve, batch, f"the curve of {name.lower()}")
        for curve, name in zip(curves, NAMES, strict=True)
    )
    return next((refusal for refusal in told if refusal), refusal_missed(convergence, batch))


def _clipped(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, optimum: float, batch: float
) -> str:
    """Where the optimum of the two laws lies, why it was not taken, and what that costs."""
    smallest, largest = _measured_by_both(throughput, convergence)
    why = f"the largest batch allowed is {batch:g}"
    if batch in {smallest, largest}:
        end = f"from {batch:g} on" if batch == smallest else f"up to {batch:g}"
        why = f"both curves are known {end} only"
    if not 0.0 < optimum < np.inf:
        return f"Time to target falls as the batch {'grows' if optimum else 'shrinks'}; {why}."
    turns = float(throughput.half_saturation_batch.value) + float(
        convergence.critical_batch_size.value
    )
    longer = (turns + batch + optimum**2 / batch) / (turns + 2.0 * optimum) - 1.0
    return (
        f"The optimum of the two laws is batch {_rounded(optimum)}, but {why}: by these laws that "
        f"takes {_per_cent(longer)} % longer."
    )


def _rounded(batch: float) -> str:
    """Three digits that mean something, without powers of ten: 8,400."""
    return f"{float(f'{batch:.3g}'):,g}" if batch < 1e6 else f"{batch:,.0f}"


def _per_cent(share: float) -> str:
    """Two digits that mean something, without powers of ten: 6,600."""
    return f"{float(f'{100.0 * share:.2g}'):,.10g}"


def _refuse_flat(smallest: float, largest: float) -> Refusal:
    return Refusal(
        reason="Neither curve turns where it was measured: what a larger batch gains on one, it "
        "loses on the other, so every batch takes the same time to the target.",
        measure_next=f"Measure both at a batch below {smallest:g} and at one above {largest:g}.",
    )


def _refuse_apart(throughput: StepTimeCurve, convergence: ConvergenceCurve) -> Refusal:
    ours, theirs = (
        f"{first:g} to {last:g}"
        for first, last in (
            (throughput.batch[0], throughput.trusted_up_to_batch),
            (convergence.batch[0], convergence.trusted_up_to_batch),
        )
    )
    return Refusal(
        reason=f"No batch lies within both curves: step times are known from {ours}, steps to "
        f"target from {theirs}.",
        measure_next=f"Measure step times at a batch from {theirs}, or steps to target at one "
        f"from {ours}.",
    )
