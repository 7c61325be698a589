"""The gradient noise scale from gradients of two batch sizes; no gradient of a single sample.

McCandlish, Kaplan, Amodei et al. 2018, "An Empirical Model of Large-Batch Training", appendix A:
the gradient of a batch of B samples has E|G_B|^2 = |G|^2 + tr(Sigma)/B, so two batch sizes give
both unknowns, each unbiased. Their ratio tr(Sigma)/|G|^2 is the simple noise scale [samples].
A ratio of two noisy numbers is biased, so both are averaged before the division.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

WINDOWS: Final = 4
"""Number of windows of a training over which both are averaged."""


def two_batches(small_sq: Floats, big_sq: Floats, small: int, big: int) -> tuple[Floats, Floats]:
    """Return tr(Sigma) and |G|^2 from squared gradient norms at `small` and `big` samples.

    Any shape. Single estimates may be negative; their mean is unbiased.
    """
    trace = (small_sq - big_sq) / (1 / small - 1 / big)
    squared = (big * big_sq - small * small_sq) / (big - small)
    return trace, squared


def ratio(trace: Floats, squared: Floats) -> float | None:
    """Return the noise scale of estimates at one point [samples]; None if noise hides it."""
    if not len(trace) or not (trace.mean() > 0 and squared.mean() > 0):
        return None
    return float(trace.mean() / squared.mean())


def along(trace: Floats, squared: Floats) -> float | None:
    """Return the noise scale of a path of equally spaced estimates, in order [samples].

    It grows by an order of magnitude while a network learns. Steps to a target at batch B are
    the sum of 1 + scale/B over the steps at full gradient (their appendix D). So its mean over
    the path predicts the critical batch size: the mean over windows of their ratios.
    """
    count = max(1, min(WINDOWS, len(trace) // 4))
    parts = zip(np.array_split(trace, count), np.array_split(squared, count), strict=True)
    ratios = [r for t, s in parts if (r := ratio(t, s)) is not None]
    return float(np.mean(ratios)) if ratios else None
