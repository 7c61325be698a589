"""Intervals of a fitted line, and of a new measurement on it.

Confidence intervals of intercept, slope and their ratio, and predictive intervals at x, all from
the relative scatter of prior and residuals pooled. `planner.fits.lines` has the constants and the
evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from planner.core import LEVEL, Floats, positive, t_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from planner.fits.lines import Lines

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
