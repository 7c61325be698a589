"""How many samples per second at batch b?

    T(b) = t + b/v0               step time [s]
    v(b) = b/(b/v0 + t)           throughput [samples/s]

v0 is the asymptotic throughput [samples/s] and t the overhead per step [s]; the article that
found the law on one and two GPUs calls them "ideal learning speed" and "cost time". Small batches
pay the overhead: v ~ b/t for b -> 0. Large ones hide it: v -> v0 for b -> infinity. Half of v0 is
reached at b = v0*t, 90 % at 9*v0*t. Inference follows the same law with a smaller t. With several
devices v0 grows with their number and t with the price of their link.

`fit_throughput` minimises relative errors of the *time*, because measured times scatter in
proportion to themselves. `fit_in_throughput_space` minimises absolute errors of the *throughput*;
the two answers differ (2.1 % in v0 on NIST's Misra1d), so a published fit is only to be compared
with one that minimised the same error.

What a curve refuses, and how wrong the answer would have been (medians over public sweeps):

    asked                                    answer                 otherwise
    one batch size                           refused                32 to 137 %
    two, less than a factor 4 apart          up to twice away       22 to 80 %, mean up to 1785 %
    more than 2x the largest measured        wide, extrapolated     17 to 19 % at 4x
    more than 4x the largest measured        refused                not known
    relative scatter above 12 %, 3 or more   refused                sick 33 %, healthy 2 to 9 %
    throughput falls by more than 10 %       warned, search stops   no law of this form sees it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.answers import (
    BASES,
    NO_INTERVAL,
    TWICE,
    answer,
    basis_of,
    batch_basis,
    estimate_of,
    line_without_points,
    parameters,
    predict,
    ratio_estimate,
    refusal_outside,
    scalar_estimate,
)
from planner.checking import LARGEST, SHOWN, SMALLEST, check_pairs, listed
from planner.estimate import LEVEL, Basis, Estimate, Floats, Refusal, t_quantile
from planner.lines import (
    ROUNDING,
    Lines,
    degrees_of_freedom,
    fit_lines,
    intercept_interval,
    ratio_interval,
    scatter_variance,
    slope_interval,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "BASES", "FALL", "FAR", "LARGEST", "MAX_SCATTER", "NARROW", "NO_INTERVAL", "SHOWN", "SMALLEST",
    "TOO_FAR", "ThroughputCurve", "crossover_batch", "fit_in_throughput_space", "fit_throughput",
    "published_curve",
]  # fmt: skip

NARROW: Final = 4.0
"""Two batch sizes less than this factor apart carry only to twice away."""
FAR: Final = TWICE
"""Beyond this multiple of the largest measured batch an answer is a wide guess."""
TOO_FAR: Final = 4.0
"""Beyond this multiple of the largest measured batch there is no answer."""
FALL: Final = 0.10
"""A throughput this share below a smaller batch's means that something changed."""
MAX_SCATTER: Final = 0.12
"""Relative scatter above this is not this law."""
UNCHECKED: Final = "Two batch sizes draw the curve but cannot check it. Measure a third."
FAR_ERROR: Final = "such answers were 17 to 19 % off in the median."


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputCurve:
    """A fitted (or published) throughput law and what it may be asked.

    `asymptotic_throughput` v0 [samples/s], `overhead_s` t [s] and `half_saturation_batch` v0*t
    [samples] carry confidence intervals; `step_time` and `throughput` carry predictive intervals
    of one new measurement. `batch` [samples], `step_s` [s] and `residuals` (fit/measured - 1)
    have shape (n,), in rising batch, and are empty for a published curve. `scatter` is the
    relative standard deviation of the residuals, NaN below 3 points. A search for the best batch
    stops at `trusted_up_to_batch`; questions are answered from `answers_from_batch` to
    `answers_up_to_batch` [samples], and `limit` says why not beyond.
    """

    asymptotic_throughput: Estimate
    overhead_s: Estimate
    half_saturation_batch: Estimate
    batch: Floats
    step_s: Floats
    residuals: Floats
    scatter: float
    warnings: tuple[str, ...]
    trusted_up_to_batch: float
    answers_from_batch: float
    answers_up_to_batch: float
    limit: str
    level: float
    lines: Lines

    @property
    def n(self) -> int:
        """Measurements behind the curve; 0 for a published one."""
        return int(self.batch.size)

    @property
    def largest_measured(self) -> float:
        """Largest measured batch [samples]; infinity for a published curve, whose is unknown."""
        return float(self.batch[-1]) if self.n else np.inf

    def step_time(self, batch: ArrayLike) -> Estimate | Refusal:
        """Seconds one step takes at `batch` [samples]: t + b/v0, with a predictive interval.

        Args:
            batch: above 0, scalar or any shape.

        Returns:
            For a scalar an `Estimate` of floats, or a `Refusal`. For an array an `Estimate` of
            arrays, NaN where a scalar would have been refused; `reasons` says why.

        Raises:
            ValueError: a batch is not finite or not above 0.
        """
        sizes = np.asarray(batch, dtype=np.float64)
        return answer(self, sizes, predict(self, sizes), FAR_ERROR)

    def throughput(self, batch: ArrayLike) -> Estimate | Refusal:
        """Samples per second at `batch` [samples]: b/T(b); otherwise as `step_time`."""
        sizes = np.asarray(batch, dtype=np.float64)
        mid, low, high = predict(self, sizes)
        return answer(self, sizes, (sizes / mid, sizes / high, sizes / low), FAR_ERROR)

    def batch_for(self, share: ArrayLike) -> Estimate:
        """Batch [samples] that reaches `share` of v0: share/(1-share)*v0*t; at 0.9 it is 9*v0*t.

        Args:
            share: of the asymptotic throughput, above 0 and below 1, scalar or any shape.

        Returns:
            An `Estimate` of floats for a scalar, of arrays in the shape of `share` otherwise.

        Raises:
            ValueError: a share is not strictly between 0 and 1.
        """
        shares = np.asarray(share, dtype=np.float64)
        good = (shares > 0.0) & (shares < 1.0)
        if not good.all():
            raise ValueError(
                f"share: {listed(shares, good)}. A share of the asymptotic throughput lies above "
                "0 and below 1. Ask for 0.9, not 90."
            )
        factor, (low, high) = shares / (1.0 - shares), ratio_interval(self.lines, self.level)
        batch = factor * float(self.half_saturation_batch.value)
        parts = batch, factor * float(low[0]), factor * float(high[0])
        return estimate_of(parts, self.level, *batch_basis(self.lines, batch))

    def basis(self, batch: ArrayLike) -> Basis:
        """How the curve knows about `batch` [samples]; for an array the weakest of its answers."""
        return basis_of(self.lines, np.asarray(batch, dtype=np.float64), self.batch)


def fit_throughput(
    batch: ArrayLike, step_s: ArrayLike, level: float = LEVEL
) -> ThroughputCurve | Refusal:
    """Fit v(b) = b/(b/v0 + t) to measured step times.

    Minimises sum(((t + b/v0 - T)/T)^2) with t and 1/v0 at least 0, see `planner.lines`. The
    interval of v0 is the exact inverse of the slope's; that of v0*t is taken in the logarithm.

    Args:
        batch: samples per step over all devices, 1e-100 to 1e100, shape (n,); repeats are
            welcome.
        step_s: seconds of one step, 1e-100 to 1e100, shape (n,); so is batch/step_s.
        level: coverage of every interval [share].

    Returns:
        The curve, or a `Refusal` for one batch size or for scatter above 12 %.

    Raises:
        ValueError: shapes differ, nothing was given, or a value is outside these bounds; it names
            every such value.
    """
    sizes, times = np.asarray(batch, dtype=np.float64), np.asarray(step_s, dtype=np.float64)
    check_pairs(sizes, times, ("batch", "step_s"))
    one = np.zeros(sizes.shape, dtype=np.int64)
    lines = fit_lines(one, sizes, times)
    if not lines.determined[0]:
        return _refuse_one_batch(float(sizes[0]))
    order = np.lexsort((times, sizes))
    sizes, times = sizes[order], times[order]
    scatter = float(np.sqrt(lines.rss[0] / (sizes.size - 2))) if sizes.size > 2 else np.nan
    change, trusted = _change(sizes, times)
    residuals = (lines.intercept + lines.slope * sizes) / times - 1.0
    if scatter > MAX_SCATTER:
        return _refuse_scatter(scatter, float(sizes[np.abs(residuals).argmax()]), change)
    start, end, limit, few = _limits(np.unique(sizes))
    return ThroughputCurve(
        asymptotic_throughput=_asymptotic_throughput(lines, level),
        overhead_s=_overhead(lines, level),
        half_saturation_batch=ratio_estimate(lines, level),
        batch=sizes,
        step_s=times,
        residuals=residuals,
        scatter=scatter,
        warnings=tuple(f"{told} Trust the curve up to {trusted:g}." for told in change) + few,
        trusted_up_to_batch=trusted,
        answers_from_batch=start,
        answers_up_to_batch=end,
        limit=limit,
        level=level,
        lines=lines,
    )


def published_curve(asymptotic_throughput: float, overhead_s: float) -> ThroughputCurve:
    """Curve of which only v0 [samples/s] and t [s] were published: values without intervals.

    Every `low` and `high` is NaN and the reason says so; no batch is refused, for the range that
    was measured is not known either.

    Raises:
        ValueError: v0 is not finite and above 0, or t is not finite and at least 0.
    """
    v0, t = float(asymptotic_throughput), float(overhead_s)
    if not (0.0 < v0 < np.inf and 0.0 <= t < np.inf):
        raise ValueError(
            f"asymptotic_throughput is {v0:g} samples/s and overhead_s is {t:g} s. The first must "
            "be above 0, the second at least 0, both finite. Copy them again from the source."
        )
    nothing = np.empty(0)
    return ThroughputCurve(
        asymptotic_throughput=_published(v0),
        overhead_s=_published(t),
        half_saturation_batch=_published(v0 * t),
        batch=nothing,
        step_s=nothing,
        residuals=nothing,
        scatter=np.nan,
        warnings=(),
        trusted_up_to_batch=np.inf,
        answers_from_batch=0.0,
        answers_up_to_batch=np.inf,
        limit="",
        level=LEVEL,
        lines=line_without_points(t, 1.0 / v0),
    )


def crossover_batch(
    curve_a: ThroughputCurve | Refusal,
    curve_b: ThroughputCurve | Refusal,
    names: tuple[str, str] = ("the first system", "the second system"),
) -> Estimate | Refusal:
    """Batch [samples] at which two systems take the same time: (t2 - t1)/(1/v1 - 1/v2).

    Below it the system with the smaller overhead is faster, above it the one with the larger
    asymptotic throughput. The interval is taken in the logarithm (delta method, independent
    errors, the smaller of the two degrees of freedom): very wide where the curves are not told
    apart, and then a reason says so.

    Args:
        curve_a: curve of one system, or why it has none.
        curve_b: curve of the other.
        names: what a refusal calls the two systems.

    Returns:
        The batch, or a `Refusal` where no positive one exists (parameters that differ by rounding
        only are the same), where one of the curves refuses to be asked about it, or the one given.
    """
    if isinstance(curve_a, Refusal):
        return curve_a
    if isinstance(curve_b, Refusal):
        return curve_b
    (t1, c1), (t2, c2) = parameters(curve_a.lines), parameters(curve_b.lines)
    later, slower = _difference(t2, t1), _difference(c1, c2)
    if later == 0.0 or slower == 0.0 or (later > 0.0) != (slower > 0.0):
        return _refuse_crossover(later, slower, names)
    batch = later / slower
    for curve, name in zip((curve_a, curve_b), names, strict=True):
        if refusal := refusal_outside(curve, batch, name):
            return refusal
    variance = sum(_crossover_variance(c.lines, later, slower) for c in (curve_a, curve_b))
    dof = min(float(degrees_of_freedom(c.lines)[0]) for c in (curve_a, curve_b))
    q = float(t_quantile(curve_a.level, dof)) * float(np.sqrt(variance))
    with np.errstate(over="ignore"):  # curves that are not told apart cross anywhere
        interval = batch * np.exp(-q), batch * np.exp(q)
    basis = max(curve_a.basis(batch), curve_b.basis(batch), key=BASES.index)
    reasons = _crossover_reasons(curve_a, curve_b, batch, q)
    return scalar_estimate(batch, interval, curve_a.level, basis, reasons)


def fit_in_throughput_space(batch: ArrayLike, throughput: ArrayLike) -> tuple[float, float]:
    """v0 [samples/s] and t [s] that minimise sum((v(b) - measured)^2): absolute throughput errors.

    This is not the error of `fit_throughput`: large throughputs count more here. It is what a
    plain curve fit of a published throughput table minimises, and NIST's certified problem
    Misra1d (v0 = b1, t = 1/(b1*b2)), which it meets to 8 digits and more. It starts from the
    closed form and is solved by Levenberg-Marquardt in log v0 and log t: both stay positive.

    Args:
        batch: above 0, shape (n,), at least two different.
        throughput: samples/s, above 0, shape (n,).

    Raises:
        ValueError: bad values as in `fit_throughput`, or points without a bend: a v0 or t that
            the closed form puts at its border cannot be refined.
    """
    from scipy.optimize import least_squares

    b, v = np.asarray(batch, dtype=np.float64), np.asarray(throughput, dtype=np.float64)
    check_pairs(b, v, ("batch", "throughput"))
    t, c = parameters(fit_lines(np.zeros(b.shape, dtype=np.int64), b, b / v))
    if not (t > 0.0 and c > 0.0):
        raise ValueError(
            f"The {b.size} points show no bend (overhead {t:g} s, slope {c:g} s per sample). Both "
            "must be above 0 to be refined. Measure a smaller and a larger batch."
        )

    def errors(log: Floats) -> Floats:
        return np.asarray(b / (b * c * np.exp(log[0]) + t * np.exp(log[1])) - v)

    fit = least_squares(errors, np.zeros(2), method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return float(np.exp(-fit.x[0]) / c), float(t * np.exp(fit.x[1]))


def _difference(minuend: float, subtrahend: float) -> float:
    """0 where the two differ by no more than rounding: parallel lines cross nowhere."""
    by = minuend - subtrahend
    return 0.0 if abs(by) <= ROUNDING * max(minuend, subtrahend) else by


def _asymptotic_throughput(lines: Lines, level: float) -> Estimate:
    t, c = parameters(lines)
    low, high = slope_interval(lines, level)
    largest = float(lines.x_max[0])
    reached = largest * c / (t + largest * c)
    told = []
    if c == 0.0:
        told.append(
            f"No batch effect seen up to batch {largest:g}: a step takes as long as at the "
            "smallest batch, so throughput grows in proportion and its limit is unknown."
        )
    elif low[0] == 0.0:
        told.append("No upper limit: steps that do not grow with the batch are not excluded.")
    if 0.0 < reached < 0.9:
        told.append(
            f"The largest measured batch ({largest:g}) reaches {100 * reached:.0f} % of it."
        )
    with np.errstate(divide="ignore"):  # a slope of 0 is a throughput without limit
        value, interval = float(np.divide(1.0, c)), (1.0 / high, 1.0 / low)
    basis: Basis = "interpolated" if reached >= 0.5 else "extrapolated"
    return scalar_estimate(value, interval, level, basis, tuple(told))


def _overhead(lines: Lines, level: float) -> Estimate:
    t, c = parameters(lines)
    smallest = float(lines.x_min[0])
    share = t / (t + c * smallest)
    reasons: tuple[str, ...] = ()
    if t == 0.0:
        reasons = ("No overhead seen: the step time grows in proportion to the batch.",)
    elif share < 0.5:
        reasons = (
            f"Even at the smallest batch ({smallest:g}) it is {100 * share:.0f} % of a step.",
        )
    basis: Basis = "interpolated" if share >= 0.5 else "extrapolated"
    return scalar_estimate(t, intercept_interval(lines, level), level, basis, reasons)


def _limits(distinct: Floats) -> tuple[float, float, str, tuple[str, ...]]:
    """From which to which batch a curve answers, why not beyond, and a warning about too few."""
    smallest, largest = float(distinct[0]), float(distinct[-1])
    if distinct.size == 2 and largest < NARROW * smallest:
        why = (
            f"two batch sizes less than a factor 4 apart ({smallest:g} and {largest:g}) carry "
            "only to twice away; two neighbours were 22 to 80 % wrong about a far batch in the "
            "median and up to 1785 % on average."
        )
        return smallest / FAR, largest * FAR, why, (UNCHECKED,)
    why = (
        f"nothing is known about errors beyond 4 times the largest measured batch ({largest:g}); "
        "there they are 17 to 19 % in the median already."
    )
    return 0.0, largest * TOO_FAR, why, (UNCHECKED,) if distinct.size == 2 else ()


def _change(sizes: Floats, times: Floats) -> tuple[tuple[str, ...], float]:
    """The warning about a falling throughput, if any, and the last batch before the fall."""
    distinct, where, count = np.unique(sizes, return_inverse=True, return_counts=True)
    throughput = distinct * count / np.bincount(where, times)
    share = throughput / np.maximum.accumulate(throughput)
    fallen = np.flatnonzero(share < 1.0 - FALL)
    if not fallen.size:
        return (), float(distinct[-1])
    first = int(fallen[0])
    lost = 100.0 * (1.0 - float(share[first]))
    told = (
        f"Something changed at b={distinct[first]:g}: throughput is {lost:.0f} % below that of a "
        "smaller batch."
    )
    return (told,), float(distinct[first - 1])


def _published(value: float) -> Estimate:
    return scalar_estimate(value, (np.nan, np.nan), LEVEL, "published", (NO_INTERVAL,))


def _refuse_one_batch(batch: float) -> Refusal:
    return Refusal(
        reason=f"Only batch {batch:g} was measured, and one size shows no curve: taking its "
        "throughput for other batches was 32 to 137 % wrong in the median.",
        measure_next=f"Measure a batch at most {batch / NARROW:g} or at least {batch * NARROW:g}, "
        "best the smallest, the largest that fits and one between.",
    )


def _refuse_scatter(scatter: float, worst: float, change: tuple[str, ...]) -> Refusal:
    told = (
        f"The points scatter {100 * scatter:.0f} % around the law; healthy sweeps scatter 2 to "
        "9 %, so the asymptotic throughput and the overhead would mean nothing."
    )
    return Refusal(
        reason=" ".join((told, *change)),
        measure_next=f"Measure batch {worst:g} again in a fresh process; it fits worst. "
        "If it repeats, split the sweep where the behaviour changes.",
    )


def _refuse_crossover(later: float, slower: float, names: tuple[str, str]) -> Refusal:
    """`later` = t2 - t1 and `slower` = 1/v1 - 1/v2 have opposite signs, or one of them is 0."""
    if later == slower == 0.0:
        told = "the two are the same"
    else:
        faster = names[0] if later >= 0.0 and slower <= 0.0 else names[1]
        told = f"{faster} is at least as fast at every batch"
    return Refusal(
        reason=f"The curves do not cross at a batch above 0: {told}.",
        measure_next="Measure both at the batch you mean to use; that ratio is the answer.",
    )


def _crossover_variance(lines: Lines, later: float, slower: float) -> float:
    """Share of one curve in the variance of log((t2 - t1)/(1/v1 - 1/v2)); the same for both."""
    unit = (
        lines.var_intercept / later**2
        + lines.var_slope / slower**2
        + 2.0 * lines.cov / (later * slower)
    )
    return float((scatter_variance(lines) * np.maximum(unit, 0.0))[0])


def _crossover_reasons(
    curve_a: ThroughputCurve, curve_b: ThroughputCurve, batch: float, q: float
) -> tuple[str, ...]:
    told: tuple[str, ...] = ()
    if not (curve_a.n and curve_b.n):
        told += (NO_INTERVAL,)
    if "extrapolated" in (curve_a.basis(batch), curve_b.basis(batch)):
        told += ("That batch lies outside the measured range of at least one system.",)
    if q > np.log(FAR):
        told += ("The curves are close together: the crossover is known to a factor only.",)
    return told
