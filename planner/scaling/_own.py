"""The step at a device count with batches of its own: its line, weighed with the common law.

    ln T = u ln T_own + (1 - u) ln T_all          u = q_all^2/(q_own^2 + q_all^2)
    q^2 = u q_own^2 + (1 - u) q_all^2 + u (1 - u) (t d)^2

T_own is the line through the batches of this device count alone (`planner.throughput.fit`), T_all
the common law of all counts (`planner.scaling.fit`). q are half-widths of intervals in the
logarithm, so each counts by the inverse of its variance. Inside its batches a line of its own is
the firmer one, far outside of them the common law is, and the step has no jump between them. q is
that of an average of two models (law of total variance; Buckland, Burnham and Augustin 1997): d is
the difference of their logarithms and t the quantile of q. Where they disagree it is wider.

Evidence: docs/evidence.md#a-line-of-its-own. Reasons: docs/decisions/0014-scaling.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Estimate, Refusal, t_quantile
from planner.fits import NARROW, estimate_of
from planner.scaling._terms import DOF

LEAST_BATCHES: Final = 3
"""Batch sizes that make a line of its own; two do where they are a factor `NARROW` apart."""
WEIGHED: Final = (
    "The line through the batches of this device count and the law of all counts, weighted by "
    "their precision."
)


def has_own_line(batch: ArrayLike) -> bool:
    """Return whether the batches measured at a device count make a line of its own.

    Two neighbouring ones do not: such lines missed a third batch of public clusters by 20 %.
    """
    sizes = np.unique(np.asarray(batch, dtype=np.float64))
    return sizes.size >= LEAST_BATCHES or bool(sizes.size and sizes[-1] >= NARROW * sizes[0] > 0.0)


def weighed(own: Estimate | Refusal, common: Estimate | Refusal) -> Estimate | Refusal:
    """Return the step time [s] of both, or the only one that answers.

    Args:
        own: step time by the line of a device count, floats or arrays.
        common: the same by the law of all counts, of one shape with `own`.

    Returns:
        The weighted step with the basis and the reasons of the one that counts more; where one is
        NaN or without an interval, the other. The refusal of `common` where both refuse.
    """
    if isinstance(own, Refusal) or isinstance(common, Refusal):
        return common if isinstance(own, Refusal) else own
    logs, widths = [], []
    for curve_estimate in (own, common):
        value, _, high = curve_estimate.arrays
        logs.append(np.log(value))
        widths.append(np.log(high) - logs[-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = 1.0 / (1.0 + np.square(widths[0] / widths[1]))
    share = np.where(np.isnan(widths[0]), 0.0, np.where(np.isnan(widths[1]), 1.0, share))
    apart = float(t_quantile(own.level, DOF)) * (logs[0] - logs[1])
    mid, variance = (
        np.where(share == 0.0, 0.0, share * a) + np.where(share == 1.0, 0.0, (1.0 - share) * b)
        for a, b in (logs, np.square(widths))
    )
    half = np.sqrt(variance + np.nan_to_num(share * (1.0 - share) * np.square(apart)))
    parts = np.exp(mid), np.exp(mid - half), np.exp(mid + half)
    heavier = own if float(np.mean(share)) >= 0.5 else common
    return estimate_of(parts, own.level, heavier.basis, (WEIGHED, *heavier.reasons))
