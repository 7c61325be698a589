"""A fitted or published throughput law, and its predictions.

`planner.throughput.fit.fit_throughput` makes the record of measured step times, and describes the
law, its limits and evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.core import LEVEL, Basis, Estimate, Floats, Refusal, listed
from planner.fits import (
    CorrectedLines,
    Lines,
    Parts,
    answer,
    basis_of,
    batch_basis,
    estimate_of,
    line_without_points,
    never_corrected,
    predict_corrected,
    ratio_interval,
)
from planner.throughput._terms import published

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

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
                f"share: {listed(shares, good)}. A share of the asymptotic throughput is above "
                "0 and below 1. Use 0.9, not 90."
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
            f"asymptotic_throughput is {v0:g} samples/s and overhead_s is {t:g} s. The first must "
            "be above 0, the second at least 0, both finite. Copy them again from the source."
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
