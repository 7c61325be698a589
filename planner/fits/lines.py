"""One straight line per group: the fit behind every curve of the product, with its intervals.

    y = intercept + slope*x        intercept >= 0, slope >= 0

is the step time T(b) = t + b/v0 and also the samples to target E(B) = Emin + Smin*B. The scatter of
measured times is proportional to the time itself, so each point weighs 1/y^2, and what is minimised
is sum(((intercept + slope*x - y)/y)^2). Two unknowns need no solver: all groups are fitted at once
by closed form.

Three to eight points show little of their own scatter, so it has a prior, shared by all groups of
one use (`Prior`). Prior and residuals are pooled into confidence intervals of intercept, slope and
their ratio, and predictive intervals at x. KAPPA widens them for every doubling outside the
measured range.

Evidence: docs/evidence.md#throughput-of-a-batch.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import LEVEL, Floats, Text, positive, t_quantile

PARAMETERS: Final = 2


def degrees_of_freedom(lines: Lines) -> Floats:
    """Return points beyond the two parameters plus the prior's, shape (groups,)."""
    return np.asarray(lines.prior.dof - PARAMETERS + lines.n, dtype=np.float64)


def scatter_variance(lines: Lines) -> Floats:
    """Return the relative scatter of one measurement, squared.

    Prior and residuals pooled, shape (groups,).

    (dof*sd^2 + rss)/(dof + n - 2) with the prior's two numbers, the scale of a scaled inverse
    chi-squared posterior.
    """
    prior_sum = lines.prior.dof * lines.prior.sd**2
    return np.asarray((prior_sum + lines.rss) / degrees_of_freedom(lines))


def predict_lines(
    lines: Lines, x: ArrayLike, level: float = LEVEL, *, name: str = "x"
) -> tuple[Floats, Floats, Floats]:
    """Return the predicted measurement at x, with its predictive interval.

    mid = intercept + slope*x, and the interval is mid*exp(-q) to mid*exp(+q), because y cannot be
    negative. q = t*sqrt(s^2 (1 + var(mid)/mid^2) + (kappa*octaves)^2), where s^2 is
    `scatter_variance`, t Student's quantile, kappa the prior's `sd_per_octave` and octaves = log2
    of how far x is outside the range.

    Args:
        lines: fitted lines, (groups,).
        x: above 0; broadcast against (groups,), so a grid for every group has shape (points, 1).
        level: coverage [share].
        name: of x, for errors.

    Returns:
        mid, low, high in units of y, in the broadcast shape; NaN where the line is undetermined.

    Raises:
        ValueError: x is not finite or not above 0, or level is no share.
    """
    mid, q = log_half_width(lines, x, level, name=name)
    return mid, *log_interval(mid, q)


def log_half_width(
    lines: Lines, x: ArrayLike, level: float = LEVEL, *, name: str = "x"
) -> tuple[Floats, Floats]:
    """Return the line at x and q, the half-width of its interval in the logarithm.

    See `predict_lines`.
    """
    x = positive(name, np.asarray(x, dtype=np.float64))
    mid = lines.intercept + lines.slope * x
    unit_variance = lines.var_intercept + x * (2.0 * lines.cov + x * lines.var_slope)
    inside = scatter_variance(lines) * (1.0 + np.maximum(unit_variance, 0.0) / mid**2)
    variance = inside + (lines.prior.sd_per_octave * octaves_outside(lines, x)) ** 2
    return mid, t_quantile(level, degrees_of_freedom(lines)) * np.sqrt(variance)


def octaves_outside(lines: Lines, x: ArrayLike) -> Floats:
    """Return the doublings of x above the largest or below the smallest measured x."""
    x = np.asarray(x, dtype=np.float64)
    beyond: Floats = np.maximum(np.log2(x / lines.x_max), np.log2(lines.x_min / x))
    return np.maximum(beyond, 0.0)


def intercept_interval(lines: Lines, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the confidence interval of the intercept (Wald, Student t), cut at 0.

    Two arrays (groups,).
    """
    return _wald(lines, lines.intercept, lines.var_intercept, level)


def slope_interval(lines: Lines, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the confidence interval of the slope (Wald, Student t), cut at 0.

    Two arrays (groups,).
    """
    return _wald(lines, lines.slope, lines.var_slope, level)


def ratio_interval(lines: Lines, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the confidence interval of intercept/slope (delta method in the logarithm).

    Arrays (groups,).

    This is the half-saturation batch v0*t of a step time and the critical batch size of samples
    to target. At a border, where a logarithm has no variance, the interval is the quotient of the
    two parameters' intervals: [0, high/low] without intercept, [low/high, inf] without slope.
    """
    a, c = lines.intercept, lines.slope
    with np.errstate(divide="ignore", invalid="ignore"):  # borders are replaced below
        unit = lines.var_intercept / a**2 + lines.var_slope / c**2 - 2.0 * lines.cov / (a * c)
        low, high = log_interval(a / c, _spread(lines, unit, level))
        a_low, a_high = intercept_interval(lines, level)
        c_low, c_high = slope_interval(lines, level)
        low = np.where(lines.intercept_clamped, 0.0, low)
        low = np.where(lines.slope_clamped, a_low / c_high, low)
        high = np.where(lines.intercept_clamped, a_high / c_low, high)
    return low, np.where(lines.slope_clamped, np.inf, high)


def _wald(lines: Lines, value: Floats, unit: Floats, level: float) -> tuple[Floats, Floats]:
    half = _spread(lines, unit, level)
    return np.maximum(value - half, 0.0), value + half


def _spread(lines: Lines, unit_variance: Floats, level: float) -> Floats:
    # Rounding can push a vanishing variance below zero; NaN (no line) stays NaN.
    deviation = np.sqrt(scatter_variance(lines) * np.maximum(unit_variance, 0.0))
    return t_quantile(level, degrees_of_freedom(lines)) * deviation


def log_interval(mid: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Return mid*exp(-q) and mid*exp(+q), the interval of a positive quantity."""
    with np.errstate(over="ignore"):  # a far extrapolation reaches infinity
        return mid * np.exp(-q), mid * np.exp(q)


NU0: Final = 4.0
"""Weight of the prior of the scatter [degrees of freedom]."""
SD0: Final = 0.05
"""Prior scatter of a group [relative sd]."""
KAPPA: Final = 0.1
"""Uncertainty per doubling outside the measured range [relative sd per octave]."""
ROUNDING: Final = 1e-12
"""A share of y below this is rounding, not an intercept or a slope."""
_BLOCK: Final = 8192
"""Groups fitted at a time where they come in order: arrays that stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The prior of measurements, the same for all groups.

    `sd` is the relative scatter of one measurement, `dof` its weight in residuals, `sd_per_octave`
    the relative uncertainty added by each doubling outside the measured range.
    """

    sd: float = SD0
    dof: float = NU0
    sd_per_octave: float = KAPPA


STEP_TIMES: Final = Prior()
"""The prior of measured step times, and of every use that names no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Straight lines of many groups; every field but `prior` has shape (groups,).

    `intercept` is in units of y, `slope` in y per x. `rss` is the sum of squared relative
    residuals. `var_intercept`, `var_slope` and `cov` belong to a relative scatter of 1: multiply
    by `scatter_variance`. They describe the fit before clamping, because standing at the border
    makes nothing more certain. A group with fewer than two different x has NaN everywhere but in
    `n`, `x_min` and `x_max`.
    """

    intercept: Floats
    slope: Floats
    n: NDArray[np.int64]
    rss: Floats
    var_intercept: Floats
    var_slope: Floats
    cov: Floats
    x_min: Floats
    x_max: Floats
    intercept_clamped: NDArray[np.bool_]
    slope_clamped: NDArray[np.bool_]
    prior: Prior = STEP_TIMES

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Where two different x allowed a line, shape (groups,)."""
        return np.isfinite(self.slope)

    def of(self, groups: NDArray[np.int64]) -> Lines:
        """Return the lines of these groups, in this order and as often, shape (groups.size,)."""
        return Lines(**{name: getattr(self, name)[groups] for name in ARRAYS}, prior=self.prior)


ARRAYS: Final = tuple(f.name for f in fields(Lines) if f.name != "prior")
"""Names of the fields of `Lines` that have a value for every group."""


def fit_lines(
    group: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    names: tuple[str, str] = ("x", "y"),
    prior: Prior = STEP_TIMES,
) -> Lines:
    """Return the fit of y = intercept + slope*x in every group, both at least 0, weights 1/y^2.

    Where the best intercept is not above 0 it becomes 0 and slope = sum(x/y)/sum(x^2/y^2); where
    the best slope is not above 0 it becomes 0 and intercept = sum(1/y)/sum(1/y^2). Never both.

    Args:
        group: index of a point's line, whole numbers from 0, shape (points,).
        x: above 0, shape (points,).
        y: measured at x, above 0, shape (points,).
        names: of x and y, for errors.
        prior: of the scatter; it widens intervals and moves no line.

    Returns:
        `Lines` of max(group)+1 groups; numbers that no point has are groups with n = 0.

    Raises:
        ValueError: shapes differ, there are no points, or values are outside the limits above.
    """
    group, x, y = _checked(group, x, y, names)
    size = int(group.max()) + 1
    if size <= _BLOCK or (group[1:] < group[:-1]).any():
        return replace(_fit(group, x, y, size), prior=prior)
    starts = range(0, size, _BLOCK)
    cuts = np.searchsorted(group, [*starts, size])
    parts = [
        _fit(group[i:j] - start, x[i:j], y[i:j], min(_BLOCK, size - start))
        for start, (i, j) in zip(starts, itertools.pairwise(cuts), strict=True)
    ]
    joined = {name: np.concatenate([getattr(p, name) for p in parts]) for name in ARRAYS}
    return Lines(**joined, prior=prior)


def _fit(group: NDArray[np.int64], x: Floats, y: Floats, size: int) -> Lines:
    each_n, rest = divmod(group.size, size)
    if each_n and not rest and (group.reshape(size, -1) == np.arange(size)[:, None]).all():
        # Groups of one size in order: a column each, whose sums and means need no index.
        n = np.full(size, each_n)
        x, y = (np.ascontiguousarray(v.reshape(size, -1).T) for v in (x, y))

        def total(values: Floats) -> Floats:
            return np.asarray(values.sum(axis=0), dtype=np.float64)

        def each(values: Floats) -> Floats:
            return values

        x_min, x_max = x.min(axis=0), x.max(axis=0)
    else:
        n = np.bincount(group, minlength=size)

        def total(values: Floats) -> Floats:
            return np.bincount(group, values, size).astype(np.float64, copy=False)

        def each(values: Floats) -> Floats:
            return values.take(group)  # faster than values[group]

        x_min, x_max = _ranges(group, x, size)
    inverse = 1.0 / y
    weight = inverse * inverse  # y**-2 takes ten times as long
    weights = total(weight)
    weights[weights == 0.0] = np.nan  # a group without points: NaN from here on
    x_mean, y_mean = total(weight * x) / weights, total(inverse) / weights
    # Sums are centred: x up to 65,536 beside an intercept of 1e-3 would cancel otherwise.
    x_off = x - each(x_mean)
    spread = np.where(x_max > x_min, total(weight * x_off**2), np.nan)
    slope = total(weight * x_off * (y - each(y_mean))) / spread
    intercept = y_mean - slope * x_mean
    no_intercept, no_slope = intercept <= ROUNDING * y_mean, slope * x_max <= ROUNDING * y_mean
    nothing = 0.0 * slope  # NaN where there is no line, so that sums of nothing are not zeros
    through_zero = slope
    if no_intercept.any():
        share = x * inverse
        through_zero = total(share) / (total(share * share) + nothing)
    slope = np.where(no_intercept, through_zero, np.where(no_slope, 0.0, slope))
    intercept = np.where(no_intercept, 0.0, np.where(no_slope, y_mean, intercept))
    return Lines(
        intercept=intercept,
        slope=slope,
        n=n,
        rss=total(np.square((each(intercept) + each(slope) * x) * inverse - 1.0)) + nothing,
        var_intercept=1.0 / weights + x_mean**2 / spread,
        var_slope=1.0 / spread,
        cov=-x_mean / spread,
        x_min=x_min,
        x_max=x_max,
        intercept_clamped=no_intercept,
        slope_clamped=no_slope,
    )


def _ranges(group: NDArray[np.int64], x: Floats, size: int) -> tuple[Floats, Floats]:
    x_min, x_max = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(x_min, group, x)
    np.maximum.at(x_max, group, x)
    empty = x_min > x_max
    return np.where(empty, np.nan, x_min), np.where(empty, np.nan, x_max)


def _checked(
    group: ArrayLike, x: ArrayLike, y: ArrayLike, names: tuple[str, str]
) -> tuple[NDArray[np.int64], Floats, Floats]:
    numbers, xs, ys = np.asarray(group), np.asarray(x), np.asarray(y)
    if numbers.ndim != 1 or not numbers.shape == xs.shape == ys.shape or not numbers.size:
        raise ValueError(
            Text(
                "group, {x} and {y} have shapes {group_shape}, {x_shape} and "
                "{y_shape}. Each point needs one of each. Give flat arrays of one "
                "length, at least 1.",
                x=names[0],
                y=names[1],
                group_shape=numbers.shape,
                x_shape=xs.shape,
                y_shape=ys.shape,
            )
        )
    if numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise ValueError(
            Text(
                "group has type {dtype} and smallest value {min}. Groups are whole "
                "numbers from 0. Number them with numpy.unique(..., "
                "return_inverse=True).",
                dtype=numbers.dtype,
                min=numbers.min(),
            )
        )
    return numbers.astype(np.int64, copy=False), positive(names[0], xs), positive(names[1], ys)
