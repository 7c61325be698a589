"""A fitted law of steps to target, and its predictions.

The records made by `planner.convergence.fit.fit_convergence`, which describes the law, its regimes,
limits and evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from planner.convergence._missed import answer_but_missed
from planner.convergence._terms import critical_interval
from planner.core import Basis, Estimate, Floats, Refusal
from planner.fits import Lines, basis_of, predict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FAR_ERROR: Final = "such answers were 15 to 34 % off in the median."
Regime = Literal["perfect scaling", "diminishing returns", "maximal data parallelism"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regimes:
    """The borders of diminishing returns [samples], with the interval of Bcrit."""

    perfect_up_to: Estimate
    maximal_from: Estimate

    def of(self, batch: float) -> Regime:
        """Return the regime of `batch` [samples] by the borders' values."""
        if batch <= self.perfect_up_to.value:
            return "perfect scaling"
        inside = batch < self.maximal_from.value
        return "diminishing returns" if inside else "maximal data parallelism"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceCurve:
    """A fitted law of steps to target and its range.

    `min_steps` Smin [steps], `min_samples` Emin [samples], `critical_batch_size` Bcrit [samples]
    and the borders in `regimes` have confidence intervals; `steps` and `samples` have predictive
    intervals of one more measured median. `batch` [samples], `samples_to_target`
    (medians over seeds [samples]), `seeds` (entries behind each) and `residuals` (fit/median - 1)
    have shape (n,), in rising batch. `not_reached` are the refused batches [samples] whose median
    seed missed the target; `warnings` name those without an evaluation before it. `scatter` is the
    relative standard deviation of the residuals, NaN below 3 batches. Limits are those of every
    `planner.fits._curve.BatchCurve`.
    """

    min_steps: Estimate
    critical_batch_size: Estimate
    min_samples: Estimate
    regimes: Regimes
    batch: Floats
    samples_to_target: Floats
    seeds: NDArray[np.int64]
    not_reached: Floats
    residuals: Floats
    scatter: float
    warnings: tuple[str, ...]
    trusted_up_to_batch: float
    answers_from_batch: float
    answers_up_to_batch: float
    limit: str
    level: float
    lines: Lines

    @property
    def n(self) -> int:
        """Number of fitted batch sizes."""
        return int(self.batch.size)

    @property
    def largest_measured(self) -> float:
        """Largest batch that reached the target [samples]."""
        return float(self.batch[-1])

    @property
    def limit_seen(self) -> bool:
        """Whether the points exclude Smin = 0, so that the steps stop falling."""
        return bool(self.min_steps.low > 0.0)

    @property
    def perfect_scaling_seen(self) -> bool:
        """Whether the points exclude Emin = 0, so that the steps fall at all."""
        return bool(self.min_samples.low > 0.0)

    def steps(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return steps to target at `batch` [samples]: Smin*(1 + Bcrit/B); else as `samples`."""
        sizes = np.asarray(batch, dtype=np.float64)
        mid, low, high = predict(self, sizes)
        return answer_but_missed(self, sizes, (mid / sizes, low / sizes, high / sizes), FAR_ERROR)

    def samples(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return samples to target at `batch` [samples]: Emin + Smin*B, with a predictive interval.

        Batches, replies and errors as `planner.convergence._missed.answer_but_missed`.
        """
        sizes = np.asarray(batch, dtype=np.float64)
        return answer_but_missed(self, sizes, predict(self, sizes), FAR_ERROR)

    def efficiency(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return the statistical efficiency at `batch` [samples]: Emin/E(B) = 1/(1 + B/Bcrit).

        Its interval is that of Bcrit (delta method in the logarithm), carried through the
        formula; otherwise as `samples`.
        """
        sizes = np.asarray(batch, dtype=np.float64)
        mid, _, _ = predict(self, sizes)
        low, high = critical_interval(self.lines, self.level)
        parts = self.lines.intercept[0] / mid, _share(low, sizes), _share(high, sizes)
        return answer_but_missed(self, sizes, parts, FAR_ERROR)

    def basis(self, batch: ArrayLike) -> Basis:
        """Return the basis of answers at `batch` [samples], the weakest of them."""
        return basis_of(self.lines, np.asarray(batch, dtype=np.float64), self.batch)


def _share(critical: float, sizes: Floats) -> Floats:
    """Return 1/(1 + B/Bcrit), which is 0 without perfect scaling and 1 without a limit."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 + np.divide(sizes, critical)))
