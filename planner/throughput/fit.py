"""Samples per second at batch b: the law, its fit to measured step times, and its answers.

    T(b) = t + b/v0               step time [s]
    v(b) = b/(b/v0 + t)           throughput [samples/s]

v0 is the asymptotic throughput [samples/s] and t the overhead per step [s]; the article that
found the law on one and two GPUs calls them "ideal learning speed" and "cost time". Half of v0 is
reached at b = v0*t, 90 % at 9*v0*t. Inference follows the same law with a smaller t. With several
devices v0 grows with their number and t with the cost of their link.

`fit_throughput` minimises relative errors of the *time*, because the scatter of times is
proportional to them. `fit_in_throughput_space` minimises absolute errors of the *throughput*, as
plain curve fits of published tables do. Compare a published fit only with one that minimises the
same error (docs/decisions/0009-fits.md).

There are two lines. The law and its closed forms (v0, t, crossover, best batch, time to target,
scatter and residuals) use the straight line alone: `ThroughputCurve.law`. The step time at a batch
(`step_time`, `throughput` and drawn curves) uses, from four batch sizes on, the line corrected by
its residuals (`planner.fits.corrected`). So a drawn curve passes half of v0 near v0*t, not at it.
With points on one side only v0 may have no limit or t may be 0, and sentences say so.

Evidence: docs/evidence.md#throughput-of-a-batch. Refusals: docs/refusals.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import LEVEL, Basis, Estimate, Floats, Refusal, Text, check_pairs, listed, plain
from planner.core.points import numbers
from planner.fits import (
    NARROW,
    NO_INTERVAL,
    TWICE,
    CorrectedLines,
    Lines,
    Parts,
    answer,
    basis_of,
    batch_basis,
    estimate_of,
    fit_lines,
    intercept_interval,
    line_without_points,
    never_corrected,
    parameters,
    predict_corrected,
    range_of,
    ratio_estimate,
    ratio_interval,
    scalar_estimate,
    scatter_of,
    slope_interval,
)
from planner.fits.corrected import corrected


def asymptotic_throughput(lines: Lines, level: float) -> Estimate:
    """Return v0 [samples/s], interpolated if the largest batch is near it."""
    t, c = parameters(lines)
    low, high = slope_interval(lines, level)
    largest = float(lines.x_max[0])
    reached = largest * c / (t + largest * c)
    reasons: list[str] = []
    if c == 0.0:
        reasons.append(
            Text(
                "No batch effect seen up to batch {largest}: a step takes as long as at "
                "the smallest batch. So throughput grows in proportion and its limit is "
                "unknown.",
                largest=plain(largest),
            )
        )
    elif low[0] == 0.0:
        reasons.append("No upper limit: the interval allows steps that do not grow with the batch.")
    if 0.0 < reached < 0.9:
        reasons.append(
            Text(
                "The largest measured batch ({largest}) reaches {reached:.0f} % of it.",
                largest=plain(largest),
                reached=100 * reached,
            )
        )
    with np.errstate(divide="ignore"):  # a slope of 0 is a throughput without limit
        value, interval = float(np.divide(1.0, c)), (1.0 / high, 1.0 / low)
    basis: Basis = "interpolated" if reached >= 0.5 else "extrapolated"
    return scalar_estimate(value, interval, level, basis, tuple(reasons))


def overhead(lines: Lines, level: float) -> Estimate:
    """Return the overhead t [s], interpolated if the smallest batch is near it."""
    t, c = parameters(lines)
    smallest = float(lines.x_min[0])
    share = t / (t + c * smallest)
    reasons: tuple[str, ...] = ()
    if t == 0.0:
        reasons = ("No overhead seen: the step time grows in proportion to the batch.",)
    elif share < 0.5:
        reasons = (
            Text(
                "Even at the smallest batch ({smallest:g}) it is {share:.0f} % of a step.",
                smallest=smallest,
                share=100 * share,
            ),
        )
    basis: Basis = "interpolated" if share >= 0.5 else "extrapolated"
    return scalar_estimate(t, intercept_interval(lines, level), level, basis, reasons)


def published(value: float) -> Estimate:
    """Return a published value without an interval."""
    return scalar_estimate(value, (np.nan, np.nan), LEVEL, "published", (NO_INTERVAL,))


FAR_ERROR: Final = "such answers were 15 % off in the median at four times."


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputCurve:
    """A fitted (or published) throughput law and its range.

    `asymptotic_throughput` v0 [samples/s], `overhead_s` t [s] and `half_saturation_batch` v0*t
    [samples] have confidence intervals; `step_time` and `throughput` have predictive intervals
    of one new measurement. `batch` [samples], `step_s` [s] and `residuals` (law/measured - 1)
    have shape (n,), in rising batch, and are empty for a published curve. `scatter` is the
    relative standard deviation of the residuals, NaN below 3 points. Limits as those of every
    `planner.fits._curve.BatchCurve`.
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
    corrected: CorrectedLines

    @property
    def lines(self) -> Lines:
        """The straight line of v0, t and derived numbers."""
        return self.corrected.lines

    @property
    def law(self) -> ThroughputCurve:
        """The same curve, answering by t + b/v0 alone."""
        return replace(self, corrected=never_corrected(self.lines))

    @property
    def n(self) -> int:
        """Number of fitted measurements; 0 for a published curve."""
        return int(self.batch.size)

    @property
    def largest_measured(self) -> float:
        """Largest measured batch [samples]; infinity for a published curve, whose is unknown."""
        return float(self.batch[-1]) if self.n else np.inf

    def step_time(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return the step time [s] at `batch` [samples], corrected t + b/v0, with its interval.

        Batches, replies and errors as `planner.fits._curve.answer`.
        """
        sizes = np.asarray(batch, dtype=np.float64)
        return answer(self, sizes, self._predict(sizes), FAR_ERROR)

    def throughput(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return samples per second at `batch` [samples]: b/T(b); otherwise as `step_time`."""
        sizes = np.asarray(batch, dtype=np.float64)
        mid, low, high = self._predict(sizes)
        with np.errstate(divide="ignore"):  # a step that may take no time has no fastest speed
            parts = sizes / mid, sizes / high, sizes / low
        return answer(self, sizes, parts, FAR_ERROR)

    def batch_for(self, share: ArrayLike) -> Estimate:
        """Return the batch [samples] that reaches `share` of v0: share/(1-share)*v0*t.

        At 0.9 it is 9*v0*t.

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
                Text(
                    "share: {listed}. A share of the asymptotic throughput is above 0 "
                    "and below 1. Use 0.9, not 90.",
                    listed=listed(shares, good),
                )
            )
        factor, (low, high) = shares / (1.0 - shares), ratio_interval(self.lines, self.level)
        batch = factor * float(self.half_saturation_batch.value)
        parts = batch, factor * float(low[0]), factor * float(high[0])
        return estimate_of(parts, self.level, *batch_basis(self.lines, batch))

    def basis(self, batch: ArrayLike) -> Basis:
        """Return the basis of answers at `batch` [samples], the weakest of them."""
        return basis_of(self.lines, np.asarray(batch, dtype=np.float64), self.batch)

    def _predict(self, sizes: Floats) -> Parts:
        group = np.zeros(sizes.size, dtype=np.int64)
        flat = sizes.reshape(-1)
        parts = predict_corrected(self.corrected, group, flat, self.level, name="batch")
        mid, low, high = (part.reshape(sizes.shape) for part in parts)
        return mid, low, high


def published_curve(asymptotic_throughput: float, overhead_s: float) -> ThroughputCurve:
    """Return a curve of published v0 [samples/s] and t [s], without intervals.

    Every `low` and `high` is NaN and the reason says so. No batch is refused, since the measured
    range is unknown.

    Raises:
        ValueError: v0 is not finite and above 0, or t is not finite and at least 0.
    """
    v0, t = float(asymptotic_throughput), float(overhead_s)
    if not (0.0 < v0 < np.inf and 0.0 <= t < np.inf):
        raise ValueError(
            Text(
                "asymptotic_throughput is {v0:g} samples/s and overhead_s is {text:g} "
                "s. The first must be above 0, the second at least 0, both finite. Copy "
                "them again from the source.",
                v0=v0,
                text=t,
            )
        )
    nothing = np.empty(0)
    return ThroughputCurve(
        asymptotic_throughput=published(v0),
        overhead_s=published(t),
        half_saturation_batch=published(v0 * t),
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
        corrected=never_corrected(line_without_points(t, 1.0 / v0)),
    )


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
        asymptotic_throughput=asymptotic_throughput(lines, level),
        overhead_s=overhead(lines, level),
        half_saturation_batch=ratio_estimate(lines, level),
        batch=sizes,
        step_s=times,
        residuals=residuals,
        scatter=scatter,
        warnings=tuple(
            Text(
                "{sentence} Trust the curve up to {trusted:g}.", sentence=sentence, trusted=trusted
            )
            for sentence in change
        )
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
    lead = Text(
        "Something changed at b={distinct:g}: throughput is {lost:.0f} % below that "
        "of a smaller batch.",
        distinct=distinct[first],
        lost=lost,
    )
    return (lead,), float(distinct[first - 1])


def _refuse_one_batch(batch: float) -> Refusal:
    return Refusal(
        reason=Text(
            "Only batch {batch} was measured, and one size shows no curve. Taking its "
            "throughput for other batches was 32 to 137 % wrong in the median.",
            batch=plain(batch),
        ),
        measure_next=Text(
            "Measure a batch at most {low:g} or at least {high:g}, best the "
            "smallest, the largest that fits and one between.",
            low=batch / NARROW,
            high=batch * NARROW,
        ),
    )


def _refuse_scatter(scatter: float, worst: float, change: tuple[str, ...]) -> Refusal:
    lead = Text(
        "The points scatter {scatter:.0f} % around the law; healthy sweeps scatter "
        "2 to 9 %. So the asymptotic throughput and the overhead would mean nothing.",
        scatter=100 * scatter,
    )
    return Refusal(
        reason=" ".join((lead, *change)),
        measure_next=Text(
            "Measure batch {worst} again in a fresh process; it fits worst. If it "
            "repeats, split the sweep where the behaviour changes.",
            worst=plain(worst),
        ),
    )


def fit_in_throughput_space(batch: ArrayLike, throughput: ArrayLike) -> tuple[float, float]:
    """Return v0 [samples/s] and t [s] that minimise sum((v(b) - measured)^2).

    Unlike in `fit_throughput`, large throughputs count more. It is the error of a plain curve fit
    of a published throughput table. It solves NIST's certified problem Misra1d (v0 = b1, t =
    1/(b1*b2)) to at least 8 digits. It starts from the closed form and is solved by
    Levenberg-Marquardt in log v0 and log t: both stay positive.

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
            Text(
                "The {size} points show no bend (overhead {text:g} s, slope {name:g} s "
                "per sample). Both must be above 0 to be refined. Measure a smaller and "
                "a larger batch.",
                size=b.size,
                text=t,
                name=c,
            )
        )

    def errors(log: Floats) -> Floats:
        return np.asarray(b / (b * c * np.exp(log[0]) + t * np.exp(log[1])) - v)

    fit = least_squares(errors, np.zeros(2), method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return float(np.exp(-fit.x[0]) / c), float(t * np.exp(fit.x[1]))
