"""One effect from the ratios of pairs: their mean in logarithms, with Student's t.

One or two pairs do not show their scatter: that between two sessions of one case is used, with the
weight of the five pairs it was measured from (`planner.epochs.projection.SESSION_SD`). From
`ENOUGH` pairs on their own scatter is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import Estimate, Floats, Refusal, t_quantile
from planner.effects._pairs import Pair
from planner.epochs import SESSION_DOF, SESSION_SD, UNDECIDED

ENOUGH: Final = 3
"""Number of pairs from which on their own scatter is used instead of the prior."""
FEW_PAIRS: Final = "So few pairs do not show their scatter: that of two sessions is used."
NOT_COUNTED: Final = "The number of validated images is unknown; only trained ones are counted."


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEffect:
    """The effect at one batch: `pairs` pairs, per epoch and per processed image [1]."""

    batch: int | None
    pairs: int
    per_epoch: Estimate
    per_image: Estimate | Refusal


def pooled_at(batch: int | None, pairs: Sequence[Pair], level: float) -> BatchEffect:
    """Return the pooled effect of `pairs`; `batch` is their common one, or None."""
    counted = [pair for pair in pairs if pair.counted]
    unknown = any(pair.base[0].validation_samples_per_epoch is None for pair in counted)
    more = (NOT_COUNTED,) if unknown else ()
    return BatchEffect(
        batch=batch,
        pairs=len(pairs),
        per_epoch=_pooled([pair.log_epoch for pair in pairs], level, ()),
        per_image=_pooled([pair.log_image for pair in counted], level, more)
        if counted
        else Refusal(
            reason="The number of images in an epoch is unknown for both runs of a pair.",
            measure_next="Record the samples trained on and validated in an epoch.",
        ),
    )


def _pooled(ratios: Sequence[float], level: float, reasons: tuple[str, ...]) -> Estimate:
    """Return the geometric mean of ratios, from their logarithms, and its interval."""
    logs = np.array(ratios)
    mean, n = float(logs.mean()), logs.size
    variance, dof = _variance(logs - mean)
    half = float(t_quantile(level, dof)) * math.sqrt(variance / n)
    low, high = math.exp(mean - half), math.exp(mean + half)
    reasons += (FEW_PAIRS,) if n < ENOUGH else ()
    reasons += (UNDECIDED,) if low <= 1.0 <= high else ()
    return Estimate(value=math.exp(mean), low=low, high=high, level=level, reasons=reasons)


def _variance(off: Floats) -> tuple[float, float]:
    """Return scatter of one log ratio, squared, and its degrees of freedom, from the deviations."""
    spread, dof = float((off**2).sum()), off.size - 1.0
    if off.size >= ENOUGH:
        return spread / dof, dof
    dof += SESSION_DOF
    return (SESSION_DOF * 2.0 * SESSION_SD**2 + spread) / dof, dof
