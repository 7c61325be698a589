"""A straight line corrected by its residuals: the line times a Gaussian process.

    T(b) = (t + b/v0) * exp(w(b)*g(ln b))       g ~ Gaussian process, mean 0

t and v0 are those of `planner.fits.lines`; g predicts the logarithms of the residuals in their
neighbourhood, with a Matern-3/2 kernel (simple kriging; Rasmussen & Williams 2006, chapter 2). It
counts in full (w = 1) inside the measured range and one doubling beyond. It fades over the next
doubling in proportion to ln b and is gone (w = 0) from twice that on, where the plain line answers;
the interval changes in the same way. So the curve has no jump, only kinks of its slope.

Above the range steps tend to grow faster than a line. With r = ln(measured/line) > 0 of the last
point over the line through the others and d = min(octaves above the range, 1), the answer is
multiplied by exp(BEND*r*d), and the half-width of its interval (in the logarithm) by 1 + WIDER*d,
whatever r is.

Repeats of a batch count as their mean with a smaller nugget, which is the same process. All groups
are fitted at once: one batched inverse of matrices as large as the longest group.

Evidence: docs/evidence.md#correction-of-the-line. Reasons: docs/decisions/0017-corrected-line.md.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import LEVEL, Floats, t_quantile
from planner.fits.lines import (
    PARAMETERS,
    Lines,
    fit_lines,
    log_half_width,
    log_interval,
    octaves_outside,
)

AMPLITUDE: Final = 0.15
"""Deviation of times from the line [relative sd]."""
LENGTH: Final = float(np.log(16.0))
"""Length scale of that deviation [ln(batch)]."""
NUGGET: Final = 0.04
"""Scatter of a single measurement [relative sd]."""
NU0: Final = 4.0
"""Weight of the prior that these sizes are right [degrees of freedom]."""
LEAST: Final = 4
"""Batch sizes below which the plain line and its interval are used."""
MOST: Final = 64
"""Batch sizes above which the plain line is used too: no sweep has as many."""
GONE: Final = 2.0
"""Distance from the measured range at which the correction has faded out [octaves]."""
BEND: Final = 0.75
"""Share of the last point's residual that is added one octave above the range."""
WIDER: Final = 0.25
"""Share by which the interval is wider there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The sizes of the process; the constants with their names describe them."""

    amplitude: float = AMPLITUDE
    length: float = LENGTH
    nugget: float = NUGGET
    dof: float = NU0
    bend: float = BEND
    wider: float = WIDER

    def covariance(self, distance: Floats) -> Floats:
        """Matern-3/2 over ln(x)."""
        far = np.sqrt(3.0) * np.abs(distance) / self.length
        return np.asarray(self.amplitude**2 * (1.0 + far) * np.exp(-far))


STEP_TIMES: Final = Process()
"""The process of measured step times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedLines:
    """Lines and the process of their residuals, for g groups of at most n different x.

    `is_point` (g, n) marks places that hold an x, the rest is padding; `log_x` (g, n) are their
    logarithms. `inverse` (g, n, n) is that of their covariance, `weight` (g, n) its product with
    the logarithms of measured over line, and `scale` (g,) how much larger than expected these are
    (a variance; the prior says 1). `bends` (g,) marks groups that are corrected at all, `above`
    (g,) is how far their last point lies above the line through the others (logarithm, at least 0).
    """

    lines: Lines
    is_point: NDArray[np.bool_]
    log_x: Floats
    inverse: Floats
    weight: Floats
    scale: Floats
    bends: NDArray[np.bool_]
    above: Floats
    process: Process = STEP_TIMES


def fit_corrected(
    group: ArrayLike, x: ArrayLike, y: ArrayLike, process: Process = STEP_TIMES
) -> CorrectedLines:
    """Return lines of all groups, with the process of the logarithms of their residuals.

    Args:
        group: index of a point's line, whole numbers from 0, shape (points,).
        x: above 0, shape (points,); repeats are allowed.
        y: measured at x, above 0, shape (points,).
        process: its constants.

    Returns:
        `CorrectedLines` of max(group)+1 groups.

    Raises:
        ValueError: as `planner.fits.lines.fit_lines`.
    """
    return corrected(fit_lines(group, x, y), group, x, y, process)


def corrected(
    lines: Lines, group: ArrayLike, x: ArrayLike, y: ArrayLike, process: Process = STEP_TIMES
) -> CorrectedLines:
    """Return `fit_corrected` with lines already fitted to these points."""
    numbers = np.asarray(group, dtype=np.int64)
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    residual = np.log(ys / (lines.intercept[numbers] + lines.slope[numbers] * xs))
    where = _distinct(numbers, xs, np.nan_to_num(residual))
    sizes = np.bincount(where.group, minlength=lines.n.size)
    bends = (sizes >= LEAST) & (sizes <= MOST) & lines.determined
    is_point, log_x, log_ratio, nugget = _padded(where, bends, process.nugget)
    covariance = process.covariance(log_x[:, :, None] - log_x[:, None, :])
    covariance *= is_point[:, :, None] & is_point[:, None, :]
    covariance += np.eye(is_point.shape[1]) * nugget[:, None, :]
    inverse: Floats = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    weight = np.einsum("gij,gj->gi", inverse, log_ratio)
    repeats = np.bincount(where.group, where.squares, minlength=lines.n.size) / process.nugget**2
    misfit = np.einsum("gi,gi->g", weight, log_ratio) + repeats
    return CorrectedLines(
        lines=lines,
        is_point=is_point,
        log_x=log_x,
        inverse=inverse,
        weight=weight,
        scale=(process.dof + misfit) / (process.dof + lines.n - PARAMETERS),
        bends=bends,
        above=_last_above(lines, bends, (numbers, xs, ys)),
        process=process,
    )


def never_corrected(lines: Lines) -> CorrectedLines:
    """Return uncorrected lines, for published ones without points."""
    groups = lines.n.size
    nothing = np.empty((groups, 0))
    return CorrectedLines(
        lines=lines,
        is_point=nothing > 0.0,
        log_x=nothing,
        inverse=np.empty((groups, 0, 0)),
        weight=nothing,
        scale=np.ones(groups),
        bends=np.zeros(groups, dtype=np.bool_),
        above=np.zeros(groups),
    )


def predict_corrected(
    fit: CorrectedLines,
    group: ArrayLike,
    x: ArrayLike,
    level: float = LEVEL,
    *,
    gone: float = GONE,
    name: str = "x",
) -> tuple[Floats, Floats, Floats]:
    """Return the predicted measurement at x in each group, with its predictive interval.

    The interval is mid*exp(-q) to mid*exp(+q), where q is Student's quantile times the root of
    scale * (the process variance + NUGGET^2 + the line's own variance) + (kappa*octaves)^2;
    kappa and octaves are those of `planner.fits.lines.predict_lines`, whose q takes over where the
    correction fades. Above the range the value is raised by BEND and q by WIDER, as stated above.

    Args:
        fit: what `fit_corrected` returned.
        group: whole numbers from 0, shape (asked,).
        x: where, above 0, shape (asked,).
        level: coverage [share].
        gone: how many octaves outside the measured range nothing is left of the correction, above
            1; it fades over the last of them.
        name: what error messages call x.

    Returns:
        mid, low, high in units of y, shape (asked,); those of the plain line where a group is not
        corrected, NaN where it has none.

    Raises:
        ValueError: x is not finite or not above 0, or level is no share.
    """
    numbers, xs = np.asarray(group, dtype=np.int64), np.asarray(x, dtype=np.float64)
    lines = fit.lines.of(numbers)
    line, plain = log_half_width(lines, xs, level, name=name)
    share = np.clip(gone - octaves_outside(lines, xs), 0.0, 1.0)
    share = np.where(fit.bends[numbers], share, 0.0)
    toward = (
        fit.process.covariance(np.log(xs)[:, None] - fit.log_x[numbers]) * fit.is_point[numbers]
    )
    mid = line * np.exp(share * (toward * fit.weight[numbers]).sum(axis=1))
    explained = np.einsum("ai,aij,aj->a", toward, fit.inverse[numbers], toward)
    bent = _half_width(fit.process, lines, xs, (explained, fit.scale[numbers]), level)
    q = np.where(share > 0.0, share * bent, 0.0) + np.where(share < 1.0, (1.0 - share) * plain, 0.0)
    beyond = np.where(fit.bends[numbers], np.clip(np.log2(xs / lines.x_max), 0.0, 1.0), 0.0)
    mid = mid * np.exp(fit.process.bend * fit.above[numbers] * beyond)
    return mid, *log_interval(mid, q * (1.0 + fit.process.wider * beyond))


def _last_above(
    lines: Lines, bends: NDArray[np.bool_], points: tuple[NDArray[np.int64], Floats, Floats]
) -> Floats:
    """Return how far (logarithm) the last value lies above the line through the others, or 0."""
    above = np.zeros(lines.n.size)
    group, x, y = (column[bends[points[0]]] for column in points)
    if not group.size:
        return above
    last = x == lines.x_max[group]
    others = fit_lines(group[~last], x[~last], y[~last])
    groups, where = np.unique(group[last], return_inverse=True)
    there = others.intercept[groups] + others.slope[groups] * lines.x_max[groups]
    measured = np.bincount(where, np.log(y[last])) / np.bincount(where)
    above[groups] = np.maximum(measured - np.log(there), 0.0)
    return above


def _half_width(
    process: Process, lines: Lines, x: Floats, scaled: tuple[Floats, Floats], level: float
) -> Floats:
    """Return half-width of the corrected interval in the logarithm.

    `scaled` is explained and scale.
    """
    explained, scale = scaled
    of_line = lines.var_intercept + x * (2.0 * lines.cov + x * lines.var_slope)
    relative = np.maximum(of_line, 0.0) / (lines.intercept + lines.slope * x) ** 2
    unit = process.amplitude**2 - explained + process.nugget**2 * (1.0 + relative)
    outside = lines.prior.sd_per_octave * octaves_outside(lines, x)
    dof = np.asarray(process.dof + lines.n - PARAMETERS, dtype=np.float64)
    return t_quantile(level, dof) * np.sqrt(scale * unit + outside**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Distinct:
    """Each different x of a group once, in rising order; all of shape (distinct,).

    `mean` is that of the values at it, `count` how many they are and `squares` the sum of their
    squared deviations.
    """

    group: NDArray[np.int64]
    x: Floats
    mean: Floats
    count: NDArray[np.int64]
    squares: Floats


def _distinct(group: NDArray[np.int64], x: Floats, values: Floats) -> _Distinct:
    order = np.lexsort((values, x, group))
    group, x, values = group[order], x[order], values[order]
    fresh = np.r_[True, (group[1:] != group[:-1]) | (x[1:] != x[:-1])]
    where = np.cumsum(fresh) - 1
    count = np.bincount(where)
    mean = np.bincount(where, values) / count
    squares = np.asarray(np.bincount(where, np.square(values - mean[where])), dtype=np.float64)
    return _Distinct(group=group[fresh], x=x[fresh], mean=mean, count=count, squares=squares)


def _padded(
    points: _Distinct, bends: NDArray[np.bool_], one_nugget: float
) -> tuple[NDArray[np.bool_], Floats, Floats, Floats]:
    """Tables (groups, longest group): which places hold an x, ln x, values and nuggets.

    Groups that are not corrected have none; padding has a nugget of 1.
    """
    used = bends[points.group]
    group = points.group[used]
    count = np.bincount(group, minlength=bends.size)
    place = np.arange(group.size) - np.repeat(np.cumsum(count) - count, count)
    shape = bends.size, int(count.max())
    is_point = np.zeros(shape, dtype=np.bool_)
    log_x, values, nugget = np.zeros(shape), np.zeros(shape), np.ones(shape)
    is_point[group, place] = True
    log_x[group, place] = np.log(points.x[used])
    values[group, place] = points.mean[used]
    nugget[group, place] = one_nugget**2 / points.count[used]
    return is_point, log_x, values, nugget
