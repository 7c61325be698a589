"""Evaluations of one trial: when it reached the target and how it ended. Pure.

The gradient noise scale from gradients of two batch sizes; no gradient of a single sample.

McCandlish, Kaplan, Amodei et al. 2018, "An Empirical Model of Large-Batch Training", appendix A:
the gradient of a batch of B samples has E|G_B|^2 = |G|^2 + tr(Sigma)/B, so two batch sizes give
both unknowns, each unbiased. Their ratio tr(Sigma)/|G|^2 is the simple noise scale [samples].
A ratio of two noisy numbers is biased, so both are averaged before the division.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from planner.core import Text

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


NEVER: Final = math.inf
"""Steps to a target that was not reached: later than all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """Squared gradient norms at one point of a training, for two batch sizes."""

    step: int
    small_sq: float
    big_sq: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPoint:
    """One evaluation: optimiser steps so far, validation error [share], validation loss."""

    step: int
    error: float
    loss: float


@dataclass(slots=True)
class Curve:
    """One trial; it grows while it trains and stops once its loss is NaN."""

    rate: float
    seed: int
    target: float
    points: list[TrialPoint]
    draws: list[Draw]
    diverged_at: int | None = None

    @classmethod
    def begin(cls, rate: float, seed: int, target: float) -> "Curve":
        """Return a new trial."""
        return cls(rate=rate, seed=seed, target=target, points=[], draws=[])

    def looked(self, draw: Draw) -> None:
        """Add an estimate of the gradients at the weights of the last evaluation."""
        if self.diverged_at is None and math.isfinite(draw.small_sq + draw.big_sq):
            self.draws.append(draw)

    def evaluated(self, point: TrialPoint, training_loss: float) -> None:
        """Add the next evaluation; a diverging curve ends at its last finite one."""
        if self.diverged_at is not None:
            return
        if math.isfinite(point.loss) and math.isfinite(training_loss):
            self.points.append(point)
        else:
            self.diverged_at = point.step

    @property
    def reached_at(self) -> float:
        """Steps of the first evaluation at or below the target; infinite if none."""
        return next((p.step for p in self.points if p.error <= self.target), NEVER)

    @property
    def open(self) -> bool:
        """Whether training should continue: neither at the target nor diverged."""
        return self.diverged_at is None and self.reached_at == NEVER


def median_steps(reached: Iterable[float | None]) -> float:
    """Return the median over seeds; None (not reached) counts as later than all others."""
    return statistics.median(NEVER if r is None else r for r in reached)


def best_median(curves: Iterable[Curve]) -> float:
    """Return the smallest median over seeds of any learning rate [steps]; infinite if none."""
    by_rate: dict[float, list[float | None]] = {}
    for curve in curves:
        by_rate.setdefault(curve.rate, []).append(curve.reached_at)
    return min((median_steps(r) for r in by_rate.values()), default=NEVER)


def columns(
    curve: Curve, *, batch: int, parts: int, part_size: int, steps_run: int
) -> dict[str, Any]:
    """Return the run columns of one trial, without NULLs.

    The gradient norms are from `parts` batches of `part_size` samples.
    """
    reached = curve.reached_at < NEVER
    last = curve.points[-1] if curve.points else None
    values = {
        "learning_rate": curve.rate,
        "seed": curve.seed,
        **_ending(curve),
        "target_value": curve.target,
        "target_reached": reached,
        "steps_to_target": int(curve.reached_at) if reached else None,
        "samples_to_target": int(curve.reached_at) * batch if reached else None,
        "final_metric": last.error if last else None,
        "gradient_noise_scale": _noise_scale(curve, parts, part_size),
        "evaluations": [_evaluation(p, batch) for p in curve.points] or None,
        "extra": {"steps_run": steps_run, "diverged_at_step": curve.diverged_at},
    }
    return {k: v for k, v in values.items() if v is not None}


def _ending(curve: Curve) -> dict[str, Any]:
    """Return the status columns: divergence before the target is a failure, later is not."""
    if curve.diverged_at is None or curve.reached_at < NEVER:
        return {"status": "ok"}
    reason = Text(
        "the loss was no longer a number at step {step} (learning rate {rate:g})",
        step=curve.diverged_at,
        rate=curve.rate,
    )
    return {"status": "nan", "status_reason": reason}


def _evaluation(point: TrialPoint, batch: int) -> dict[str, Any]:
    """Return one evaluation; four digits of the loss are enough and halve the file."""
    return {
        "step": point.step,
        "samples": point.step * batch,
        "value": float(f"{point.error:.6g}"),
        "loss": float(f"{point.loss:.4g}"),
    }


def _noise_scale(curve: Curve, parts: int, part_size: int) -> float | None:
    """Return the noise scale on the path to the target, or on all of it if not reached."""
    draws = [d for d in curve.draws if d.step < curve.reached_at]
    small, big = (np.array([getattr(d, n) for d in draws]) for n in ("small_sq", "big_sq"))
    trace, squared = two_batches(small, big, part_size, parts * part_size)
    return along(trace, squared)
