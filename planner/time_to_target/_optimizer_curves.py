"""Optimisers side by side: steps to one target by batch, and the time on a system.

For each optimiser the best learning rate is chosen at every batch (`planner.convergence._targets`).
The law is fitted through the medians (`planner.convergence.fit`), no finer than the evaluations
(`planner.convergence._resolution`). With the step times of a system it gives the fastest batch
(`planner.time_to_target.goodput`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.convergence import (
    BestRates,
    ConvergenceCurve,
    StepsToTarget,
    best_learning_rates,
    fit_convergence,
    group_medians,
    steps_of,
)
from planner.core import Estimate, Floats, Refusal
from planner.fits import StepTimeCurve
from planner.runs import Trials
from planner.time_to_target.goodput import best_batch, minimum_time, time_to_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRID: Final = 81
"""Points of a drawn curve."""
_NOT_STATED: Final = float(np.finfo(np.float64).tiny)
"""Placeholder for an unrecorded learning rate: such trials count as one rate."""
_NOTHING: Final[Floats] = np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerCurve:
    """Steps to the target of one optimiser at the best learning rate of every batch.

    `batch` [samples], `learning_rate`, `median_steps` [steps], `reached`, `seeds` and `noise_scale`
    (median gradient noise scale [samples]) have shape (batches,). Steps are infinite where half of
    the seeds or more missed the target; an unknown rate or scale is NaN. `seed_batch` and
    `seed_steps` are single seeds at those rates. `curve` is the law through the medians, or a
    refusal; `warnings` name best rates at the end of those tried.
    """

    optimizer: str
    batch: Floats
    learning_rate: Floats
    median_steps: Floats
    reached: NDArray[np.int64]
    seeds: NDArray[np.int64]
    noise_scale: Floats
    seed_batch: Floats
    seed_steps: Floats
    curve: ConvergenceCurve | Refusal
    warnings: tuple[str, ...] = ()

    @property
    def usual_noise_scale(self) -> float | None:
        """Median of the batches' gradient noise scales [samples]; None without any."""
        finite = self.noise_scale[np.isfinite(self.noise_scale)]
        return float(np.median(finite)) if finite.size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Optimisers side by side to one target, and how many trials reached it, as a sentence."""

    target: float
    curves: tuple[OptimizerCurve, ...]
    reached: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The batch [samples] that reaches the target soonest on a system, and in what time [s]."""

    best: Estimate | Refusal
    least_s: Estimate | Refusal


def compare(trials: Trials, target: float, optimizers: Sequence[str]) -> Comparison:
    """Return the curve of each of `optimizers` to `target`; refused if unreadable."""
    try:
        steps_to_target = steps_of(trials, target)
    except ValueError as problem:  # a file may hold any number: the page stays
        return Comparison(target=target, curves=tuple(_unreadable(n, problem) for n in optimizers))
    chosen = np.isin(trials.optimizer, list(optimizers)) & trials.counts
    mine = (
        v[chosen]
        for v in (steps_to_target.trial, steps_to_target.steps, steps_to_target.resolution_steps)
    )
    trial, steps, resolution = mine
    return Comparison(
        target=target,
        curves=tuple(_curve(trials, steps_to_target, name) for name in optimizers),
        reached=StepsToTarget(trial=trial, steps=steps, resolution_steps=resolution).reached_text,
    )


def time_on(optimizer: OptimizerCurve, times: StepTimeCurve | Refusal) -> Timing:
    """Return the best batch of an optimiser with these step times."""
    return Timing(
        best=best_batch(times, optimizer.curve), least_s=minimum_time(times, optimizer.curve)
    )


def steps_grid(optimizer: OptimizerCurve) -> Floats:
    """Return batches [samples] to draw the law at: half the smallest to twice the largest."""
    if isinstance(optimizer.curve, Refusal):
        return _NOTHING
    law = optimizer.curve
    return _grid(law.batch[0] / 2, min(law.answers_up_to_batch, 2 * optimizer.batch[-1]), law.batch)


def time_line(
    optimizer: OptimizerCurve, curve: StepTimeCurve | Refusal
) -> tuple[Floats, Floats, Floats, Floats, tuple[float, float]] | None:
    """Return batch [samples], time [s] with its ends, and the range both curves measured.

    None where a curve is missing or the two have no common batch.
    """
    law = optimizer.curve
    if isinstance(law, Refusal) or isinstance(curve, Refusal):
        return None
    measured = (
        float(max(law.batch[0], curve.batch[0] if curve.batch.size else 0.0)),
        float(min(law.batch[-1], curve.trusted_up_to_batch)),
    )
    if measured[0] > measured[1]:
        return None
    high = min(law.answers_up_to_batch, curve.answers_up_to_batch, 2 * measured[1])
    low = max(law.answers_from_batch, curve.answers_from_batch, measured[0] / 2)
    batch = _grid(low, high, np.array(measured))
    estimate = time_to_target(curve, law, batch)
    if isinstance(estimate, Refusal):
        return None
    value, low_s, high_s = (np.asarray(v) for v in (estimate.value, estimate.low, estimate.high))
    return batch, value, low_s, high_s, measured


def _curve(trials: Trials, steps_to_target: StepsToTarget, optimizer: str) -> OptimizerCurve:
    mine = trials.counts & (trials.optimizer == optimizer)
    sizes, needed = trials.batch[mine], steps_to_target.steps[mine]
    resolution = sizes * steps_to_target.resolution_steps[mine]
    rates = np.where(np.isnan(trials.learning_rate), _NOT_STATED, trials.learning_rate)[mine]
    try:
        # Repeats of a seed (another attempt, say) count as repeats.
        best = best_learning_rates(sizes, rates, np.arange(sizes.size), needed)
        curve = fit_convergence(
            best.batch, best.samples_to_target, resolution_samples=resolution[best.used]
        )
    except ValueError as problem:
        return _unreadable(optimizer, problem)
    place = np.searchsorted(best.tuned_batch, sizes)
    used = rates == best.learning_rate[place]
    return OptimizerCurve(
        optimizer=optimizer,
        batch=best.tuned_batch,
        learning_rate=np.where(best.learning_rate > _NOT_STATED, best.learning_rate, np.nan),
        median_steps=best.median_steps,
        reached=_counted(best, np.isfinite(best.samples_to_target)),
        seeds=_counted(best, np.full(best.batch.shape, fill_value=True)),
        noise_scale=_medians(place[used], trials.noise_scale[mine][used], best.tuned_batch.size),
        seed_batch=best.batch,
        seed_steps=best.samples_to_target / best.batch,
        curve=curve,
        warnings=best.warnings,
    )


def _counted(best: BestRates, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the count of seeds of each tuned batch that are `which`."""
    place = np.searchsorted(best.tuned_batch, best.batch[which])
    return np.bincount(place, minlength=best.tuned_batch.size)


def _medians(group: NDArray[np.int64], values: Floats, groups: int) -> Floats:
    """Return the median of each group's finite values, NaN where there is none."""
    finite = np.isfinite(values)
    there, member = np.unique(group[finite], return_inverse=True)
    medians = np.full(groups, np.nan)
    if there.size:
        medians[there] = group_medians(member, values[finite])
    return medians


def _grid(low: float, high: float, edges: Floats) -> Floats:
    return np.unique(np.r_[np.geomspace(low, high, GRID), edges[[0, -1]]])


def _unreadable(optimizer: str, problem: ValueError) -> OptimizerCurve:
    none = np.empty(0, dtype=np.int64)
    return OptimizerCurve(
        optimizer=optimizer, batch=_NOTHING, learning_rate=_NOTHING, median_steps=_NOTHING,
        reached=none, seeds=none, noise_scale=_NOTHING, seed_batch=_NOTHING, seed_steps=_NOTHING,
        curve=Refusal(reason=str(problem), measure_next="Measure these trials again."),
    )  # fmt: skip
