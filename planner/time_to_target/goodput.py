"""The batch size that reaches the target soonest.

    time(B) = S(B)*T(B) = Smin*(1 + Bcrit/B)*(t + B/v0)               [s]
    B*      = sqrt(Bcrit*v0*t)                                        [samples]
    time(B*) = Smin*(sqrt(t) + sqrt(Bcrit/v0))^2                      [s]
    goodput(B) = v(B)*e(B) = Emin/time(B)                             [useful samples/s]

Small batches waste the hardware, large ones waste samples. The best batch is the geometric mean
of the batch where the hardware is half efficient (v0*t) and the one where the optimiser is
(Bcrit): there d time/dB = 0. ("Goodput" is the term of Qiao et al. 2021, Pollux.) The minimum is
flat: time(x*B*)/time(B*) <= 1 + (sqrt(x) - 1/sqrt(x))^2/4, so twice or half the best batch costs
at most an eighth more time. The search stays within the measured batches of both curves.

Step times fitted over several device counts are used at one of them: the law is the same, with
n*v0 and t + link (`planner.scaling._one_count`).

The two curves are independent, so half-widths of their logarithms add in quadrature
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
    """Return the batch [samples] that reaches the target soonest: sqrt(Bcrit*v0*t), clipped.

    The batch and the ends of its interval are clipped to the trusted range of both curves and to
    `max_batch`. A reason then names the optimum of the two laws and the extra time.

    Args:
        throughput: step times on the system, or a refusal; or a curve over several device
            counts, with `devices`, `nodes` and `launch`.
        convergence: samples to the target, or a refusal.
        max_batch: the largest batch that fits into memory [samples], at least 1.
        devices: device count, whole and at least 1, for a `ScalingCurve` only; default: the
            largest measured one, and a reason says so.
        nodes: number of nodes; default: as many as the devices fill.
        launch: how the processes are started; optional where one mode was measured.

    Returns:
        The batch, not rounded to whole samples, or a `Refusal`: the one passed in; no batch lies
        within both curves; the best one did not reach the target; a curve refuses `max_batch`;
        neither curve turns (then all batches take the same time); or a scaling curve lacks the
        link class or launch mode, or several were measured and none is named.

    Raises:
        ValueError: `max_batch` is not a number or below 1, the curves have different levels, or
            the devices are impossible or passed with a curve of one device count.
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
    reasons = () if batch == optimum else (_clipped(throughput, convergence, optimum, batch),)
    return Estimate(
        value=batch,
        low=low,
        high=high,
        level=level,
        basis=weakest("interpolated", throughput.basis(batch), convergence.basis(batch)),
        reasons=reasons
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
    """Return the least time to target [s], at `best_batch`, with its refusals and errors.

    For an unclipped batch it is Smin*(sqrt(t) + sqrt(Bcrit/v0))^2. The uncertainty of the best
    batch adds nothing to it in first order, because the minimum is flat.
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
    """Return the time to target [s] at `batch` [samples]: steps times step time.

    Args:
        throughput: step times on the system, or a refusal; or a curve over several device counts.
        convergence: samples to the target, or a refusal.
        devices: with `nodes` and `launch` for a `ScalingCurve`, as in `best_batch`.
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
    """Return useful samples per second at `batch` [samples]: throughput times efficiency.

    It is Emin over the time to target: the throughput of an equally fast run with perfect
    efficiency. Otherwise as `time_to_target`.
    """
    throughput = at_place(throughput, devices, nodes, launch)
    if isinstance(throughput, Refusal):
        return throughput
    if isinstance(convergence, Refusal):
        return convergence
    names = "Throughput", "Efficiency"
    return product(throughput.law.throughput(batch), convergence.efficiency(batch), names)


def _allowed(max_batch: float | None) -> float:
    """Return the largest allowed batch [samples]; infinite without a limit."""
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
    """Return the smallest and largest trusted batch [samples] of both curves."""
    smallest = float(
        max(throughput.batch[0] if throughput.batch.size else 0.0, convergence.batch[0])
    )
    return smallest, min(throughput.trusted_up_to_batch, convergence.trusted_up_to_batch)


def _bounds(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, allowed: float
) -> tuple[float, float] | Refusal:
    """Return the ends of the search [samples]; both are `allowed` where it is smaller."""
    smallest, largest = _measured_by_both(throughput, convergence)
    if smallest > largest:
        return _refuse_apart(throughput, convergence)
    return min(smallest, allowed), min(largest, allowed)


def _unanswered(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, batch: float
) -> Refusal | None:
    curves: tuple[Limited, Limited] = throughput, convergence
    refusals = (
        refusal_outside(curve, batch, f"the curve of {name.lower()}")
        for curve, name in zip(curves, NAMES, strict=True)
    )
    return next((refusal for refusal in refusals if refusal), refusal_missed(convergence, batch))


def _clipped(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, optimum: float, batch: float
) -> str:
    """Return the optimum of the two laws, why it was clipped, and the extra time."""
    smallest, largest = _measured_by_both(throughput, convergence)
    why = f"the largest batch allowed is {batch:g}"
    if batch in {smallest, largest}:
        end = f"from {batch:g} on" if batch == smallest else f"up to {batch:g}"
        why = f"both curves were measured {end} only"
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
    """Return three significant digits without powers of ten: 8,400."""
    return f"{float(f'{batch:.3g}'):,g}" if batch < 1e6 else f"{batch:,.0f}"


def _per_cent(share: float) -> str:
    """Return two significant digits without powers of ten: 6,600."""
    return f"{float(f'{100.0 * share:.2g}'):,.10g}"


def _refuse_flat(smallest: float, largest: float) -> Refusal:
    return Refusal(
        reason="Neither curve turns where it was measured, so every batch takes the same time to "
        "the target.",
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
        reason=f"No batch lies within both curves: step times cover {ours}, steps to "
        f"target {theirs}.",
        measure_next=f"Measure step times at a batch from {theirs}, or steps to target at one "
        f"from {ours}.",
    )
