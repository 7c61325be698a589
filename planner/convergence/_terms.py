"""Smin, Emin and Bcrit of a line E(B) = Emin + Smin*B.

Includes the sentences for points on one side only: no limit seen (Smin may be 0), no perfect
scaling seen (Emin may be 0).
"""

from __future__ import annotations

import numpy as np

from planner.core import Basis, Estimate
from planner.fits import (
    Lines,
    as_given,
    batch_basis,
    intercept_interval,
    parameters,
    ratio_interval,
    scalar_estimate,
    slope_interval,
)


def critical_batch_size(lines: Lines, level: float, factor: float = 1.0) -> Estimate:
    """Return `factor` times Bcrit: itself, or the border of a regime."""
    intercept, slope = parameters(lines)
    batch = factor * (intercept / slope if slope else np.inf)
    low, high = critical_interval(lines, level)
    basis, remarks = batch_basis(lines, batch)
    reasons = _no_limit(lines, level) + _no_perfect_scaling(lines, level) + remarks
    return scalar_estimate(batch, (factor * low, factor * high), level, basis, reasons)


def critical_interval(lines: Lines, level: float) -> tuple[float, float]:
    """Return the interval of Bcrit, open on a side where the points do not exclude 0 or infinity.

    Without a limit the low end is that of Emin over the high end of Smin, since the logarithm of a
    slope that may be 0 has no useful width.
    """
    low, high = (float(end[0]) for end in ratio_interval(lines, level))
    if _no_limit(lines, level):
        with np.errstate(divide="ignore", invalid="ignore"):  # a slope too small to square
            least = intercept_interval(lines, level)[0] / slope_interval(lines, level)[1]
        low, high = float(least[0]), np.inf
    return 0.0 if _no_perfect_scaling(lines, level) else low, high


def min_steps(lines: Lines, level: float) -> Estimate:
    """Return Smin, interpolated if the largest batch is near it."""
    intercept, slope = parameters(lines)
    largest = float(lines.x_max[0])
    share = largest * slope / (intercept + largest * slope)
    reasons = _no_limit(lines, level)
    if 0.0 < share < 1.0 / 1.1:
        reasons += (
            f"The largest measured batch ({as_given(largest)}) takes {1.0 / share:.3g} times as "
            "many.",
        )
    basis: Basis = "interpolated" if share >= 0.5 else "extrapolated"
    return scalar_estimate(slope, slope_interval(lines, level), level, basis, reasons)


def min_samples(lines: Lines, level: float) -> Estimate:
    """Return Emin, interpolated if the smallest batch is near it."""
    intercept, slope = parameters(lines)
    smallest = float(lines.x_min[0])
    share = intercept / (intercept + slope * smallest)
    reasons = _no_perfect_scaling(lines, level)
    if 0.0 < share < 1.0 / 1.1:
        reasons += (
            f"The smallest measured batch ({as_given(smallest)}) takes {1.0 / share:.3g} times as "
            "many.",
        )
    basis: Basis = "interpolated" if share >= 0.5 else "extrapolated"
    return scalar_estimate(intercept, intercept_interval(lines, level), level, basis, reasons)


def _no_limit(lines: Lines, level: float) -> tuple[str, ...]:
    """Return a reason if the points do not show that the steps stop falling."""
    lead = f"No limit seen up to B={as_given(lines.x_max[0])}: "
    if lines.slope_clamped[0]:
        return (lead + "the steps to target still fall in proportion to the batch.",)
    if slope_interval(lines, level)[0][0] == 0.0:
        return (lead + "the intervals allow steps that keep falling in proportion.",)
    return ()


def _no_perfect_scaling(lines: Lines, level: float) -> tuple[str, ...]:
    """Return a reason if the points do not show that the steps fall at all."""
    lead = f"No perfect scaling seen from B={as_given(lines.x_min[0])} on: "
    if lines.intercept_clamped[0]:
        return (lead + "a larger batch takes as many steps as a smaller one.",)
    if intercept_interval(lines, level)[0][0] == 0.0:
        return (lead + "the intervals allow a constant number of steps.",)
    return ()
