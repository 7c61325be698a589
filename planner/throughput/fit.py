"""Samples per second at batch b.

    T(b) = t + b/v0               step time [s]
    v(b) = b/(b/v0 + t)           throughput [samples/s]

v0 is the asymptotic throughput [samples/s] and t the overhead per step [s]; the article that
found the law on one and two GPUs calls them "ideal learning speed" and "cost time". Small batches
pay the overhead: v ~ b/t for b -> 0. Large ones hide it: v -> v0 for b -> infinity. Half of v0 is
reached at b = v0*t, 90 % at 9*v0*t. Inference follows the same law with a smaller t. With several
devices v0 grows with their number and t with the price of their link.

`fit_throughput` minimises relative errors of the *time*, because measured times scatter in
proportion to themselves. `fit_in_throughput_space` (`planner.throughput._space`) minimises absolute
errors of the *throughput*; the two answers differ (2.1 % in v0 on NIST's Misra1d). Compare a
published fit only with one that minimises the same error.

There are two lines. The law and its closed forms (v0, t, batches of a share of v0, crossover, best
batch, time to target, goodput, frontier, scatter and residuals) use the straight line alone:
`ThroughputCurve.law`. The step time at a batch (`step_time`, `throughput` and their drawn curves)
uses, from four batch sizes on, the line corrected by its residuals (`planner.fits.corrected`). It
fades into the line between twice and four times the largest batch; above the range steps bend up
like the last point. So a drawn curve passes half of v0 near v0*t, not at it. The time to a target,
uncertain by 8 to 10 % from the samples, remains a formula to check.

Refusals of a curve, and the error that the answer would have had (medians over public sweeps):

    case                                     answer                 otherwise
    one batch size                           refused                32 to 137 %
    two, less than a factor 4 apart          up to twice away       22 to 80 %, mean up to 1785 %
    more than 2x the largest measured        wide, extrapolated     15 % at 4x
    more than 4x the largest measured        refused                not known
    relative scatter above 12 %, 3 or more   refused                sick 33 %, healthy 2 to 9 %
    throughput falls by more than 10 %       warned, search stops   no law of this form sees it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from planner.core import LEVEL, Floats, Refusal, check_pairs, plain
from planner.core.points import numbers
from planner.fits import NARROW, TOO_FAR, TWICE, fit_lines, range_of, ratio_estimate, scatter_of
from planner.fits.corrected import corrected
from planner.throughput._curve import ThroughputCurve, published_curve
from planner.throughput._terms import asymptotic_throughput as fitted_v0
from planner.throughput._terms import overhead

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "FALL", "FAR", "MAX_SCATTER", "NARROW", "TOO_FAR", "ThroughputCurve", "fit_throughput",
    "published_curve",
]  # fmt: skip

FAR: Final = TWICE
"""Beyond this multiple of the largest measured batch an answer is a wide guess."""
FALL: Final = 0.10
"""A throughput this share below a smaller batch's means that something changed."""
MAX_SCATTER: Final = 0.12
"""Relative scatter above this is not this law."""
UNCHECKED: Final = "Two batch sizes draw the curve but cannot check it. Measure a third."
NEAR_ERROR: Final = (
    "two neighbours were 22 to 80 % wrong about a far batch in the median and up to 1785 % on "
    "average."
)


def fit_throughput(
    batch: ArrayLike, step_s: ArrayLike, level: float = LEVEL
) -> ThroughputCurve | Refusal:
    """Fit v(b) = b/(b/v0 + t) to measured step times.

    Minimises sum(((t + b/v0 - T)/T)^2) with t and 1/v0 at least 0, see `planner.fits.lines`. The
    interval of v0 is the exact inverse of the slope's; that of v0*t is taken in the logarithm.

    Args:
        batch: samples per step over all devices, 1e-100 to 1e100, shape (n,); repeats are
            welcome.
        step_s: seconds of one step, 1e-100 to 1e100, shape (n,); so is batch/step_s.
        level: coverage of every interval [share].

    Returns:
        The curve, or a `Refusal` for one batch size or for scatter above 12 %.

    Raises:
        ValueError: shapes differ, nothing was given, or a value is no number or outside these
            bounds; it names every such value.
    """
    sizes = numbers("batch", batch, "the samples per step over all devices, one number per run")
    times = numbers("step_s", step_s, "the seconds of one step, one number per run")
    check_pairs(sizes, times, ("batch", "step_s"))
    group = np.zeros(sizes.shape, dtype=np.int64)
    lines = fit_lines(group, sizes, times)
    if not lines.determined[0]:
        return _refuse_one_batch(float(sizes[0]))
    order = np.lexsort((times, sizes))
    sizes, times = sizes[order], times[order]
    scatter = scatter_of(lines)
    change, trusted = _change(sizes, times)
    residuals = (lines.intercept + lines.slope * sizes) / times - 1.0
    if scatter > MAX_SCATTER:
        return _refuse_scatter(scatter, float(sizes[np.abs(residuals).argmax()]), change)
    distinct = np.unique(sizes)
    start, end, limit = range_of(distinct, NEAR_ERROR, "15 %")
    return ThroughputCurve(
        asymptotic_throughput=fitted_v0(lines, level),
        overhead_s=overhead(lines, level),
        half_saturation_batch=ratio_estimate(lines, level),
        batch=sizes,
        step_s=times,
        residuals=residuals,
        scatter=scatter,
        warnings=tuple(f"{sentence} Trust the curve up to {trusted:g}." for sentence in change)
        + ((UNCHECKED,) if distinct.size == 2 else ()),
        trusted_up_to_batch=trusted,
        answers_from_batch=start,
        answers_up_to_batch=end,
        limit=limit,
        level=level,
        corrected=corrected(lines, group, sizes, times),
    )


def _change(sizes: Floats, times: Floats) -> tuple[tuple[str, ...], float]:
    """Return the warning about a falling throughput, if any, and the last batch before the fall."""
    distinct, where, count = np.unique(sizes, return_inverse=True, return_counts=True)
    throughput = distinct * count / np.bincount(where, times)
    share = throughput / np.maximum.accumulate(throughput)
    fallen = np.flatnonzero(share < 1.0 - FALL)
    if not fallen.size:
        return (), float(distinct[-1])
    first = int(fallen[0])
    lost = 100.0 * (1.0 - float(share[first]))
    lead = (
        f"Something changed at b={distinct[first]:g}: throughput is {lost:.0f} % below that of a "
        "smaller batch."
    )
    return (lead,), float(distinct[first - 1])


def _refuse_one_batch(batch: float) -> Refusal:
    return Refusal(
        reason=f"Only batch {plain(batch)} was measured, and one size shows no curve: taking its "
        "throughput for other batches was 32 to 137 % wrong in the median.",
        measure_next=f"Measure a batch at most {batch / NARROW:g} or at least {batch * NARROW:g}, "
        "best the smallest, the largest that fits and one between.",
    )


def _refuse_scatter(scatter: float, worst: float, change: tuple[str, ...]) -> Refusal:
    lead = (
        f"The points scatter {100 * scatter:.0f} % around the law; healthy sweeps scatter 2 to "
        "9 %, so the asymptotic throughput and the overhead would mean nothing."
    )
    return Refusal(
        reason=" ".join((lead, *change)),
        measure_next=f"Measure batch {plain(worst)} again in a fresh process; it fits worst. "
        "If it repeats, split the sweep where the behaviour changes.",
    )
