"""v0 and t of a line T(b) = t + b/v0.

Includes the sentences for points on one side only: no batch effect seen
(v0 may have no limit), no overhead seen.
"""

from __future__ import annotations

import numpy as np

from planner.core import LEVEL, Basis, Estimate, plain
from planner.fits import (
    NO_INTERVAL,
    Lines,
    intercept_interval,
    parameters,
    scalar_estimate,
    slope_interval,
)


def asymptotic_throughput(lines: Lines, level: float) -> Estimate:
    """Return v0 [samples/s], interpolated if the largest batch is near it."""
    t, c = parameters(lines)
    low, high = slope_interval(lines, level)
    largest = float(lines.x_max[0])
    reached = largest * c / (t + largest * c)
    reasons = []
    if c == 0.0:
        reasons.append(
            f"No batch effect seen up to batch {plain(largest)}: a step takes as long as at the "
            "smallest batch, so throughput grows in proportion and its limit is unknown."
        )
    elif low[0] == 0.0:
        reasons.append("No upper limit: the interval allows steps that do not grow with the batch.")
    if 0.0 < reached < 0.9:
        reasons.append(
            f"The largest measured batch ({largest:g}) reaches {100 * reached:.0f} % of it."
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
            f"Even at the smallest batch ({smallest:g}) it is {100 * share:.0f} % of a step.",
        )
    basis: Basis = "interpolated" if share >= 0.5 else "extrapolated"
    return scalar_estimate(t, intercept_interval(lines, level), level, basis, reasons)


def published(value: float) -> Estimate:
    """Return a published value without an interval."""
    return scalar_estimate(value, (np.nan, np.nan), LEVEL, "published", (NO_INTERVAL,))
