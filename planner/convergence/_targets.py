"""Steps of each trial to a target chosen after training.

    steps = s0 + (target - v0)/(v1 - v0)*(s1 - s0)

where (s1, v1) is a trial's first evaluation that reaches the target and (s0, v0) the one before it.
The crossing is between the two, so s1 - s0 is reported as the resolution. A trial that never
reaches the target counts as infinitely many steps, so that medians over seeds are unbiased.
Interpolation assumes a linear metric between two evaluations; if the one before is not a number (a
loss that overflowed), the first that reached the target counts.

From trials to a curve: `steps_to_target`, then `best_learning_rates` (the rate is chosen per batch
size, as in Shallue et al. 2019), then `planner.convergence.fit.fit_convergence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.core import Floats, check_flat, listed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsToTarget:
    """Steps to one target, a value per trial; every field has shape (trials,).

    `trial` has the labels in sorted order. `steps` is infinite where the target was not reached.
    `resolution_steps` is the distance between the two evaluations around the crossing, NaN without
    one. A trial at the target in its first evaluation has `steps` of that one and everything before
    it as resolution.
    """

    trial: NDArray[Any]
    steps: Floats
    resolution_steps: Floats

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Which trials reached the target."""
        return np.isfinite(self.steps)

    @property
    def reached_text(self) -> str:
        """Count of trials that reached the target, and the resolution, as a sentence."""
        count, total = int(self.reached.sum()), self.steps.size
        if not count:
            return f"None of {total:,} trials reached the target."
        steps = self.steps[self.reached]
        coarse = self.resolution_steps[self.reached] / np.where(steps > 0.0, steps, 1.0)
        return (
            f"{count:,} of {total:,} trials reached the target; evaluations around it lay "
            f"{100 * float(np.median(coarse)):.2g} % of the steps apart (median)."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRates:
    """The best learning rate of every batch size, and the runs that used it.

    `tuned_batch` [samples], `learning_rate` and `median_steps` have shape (batches,), in rising
    batch; where no rate reached the target the steps are infinite and the rate NaN. `batch` and
    `samples_to_target` [samples] are the runs at the best rates, one entry per seed, the input of
    `planner.convergence.fit.fit_convergence`; `used`, of shape (runs,), marks those runs.
    `warnings` name batches whose best rate is at the end of those tried.
    """

    tuned_batch: Floats
    learning_rate: Floats
    median_steps: Floats
    batch: Floats
    samples_to_target: Floats
    used: NDArray[np.bool_]
    warnings: tuple[str, ...]


def steps_to_target(
    trial: ArrayLike,
    step: ArrayLike,
    value: ArrayLike,
    target: float,
    *,
    higher_is_better: bool,
) -> StepsToTarget:
    """Return the interpolated steps to the first crossing of `target` in every trial.

    Args:
        trial: label of an evaluation's trial, numbers or texts, shape (evaluations,).
        step: optimiser steps done by then, finite and at least 0, shape (evaluations,), any order.
        value: of the metric, shape (evaluations,); NaN where it was not a number.
        target: value to reach, finite.
        higher_is_better: True for an accuracy (reached at `target` or above), False for a loss
            or an error (at `target` or below).

    Returns:
        The steps of every trial, with their resolution.

    Raises:
        ValueError: shapes differ, there are no values, a step is not finite or negative, the target
            is not finite, or a trial has two evaluations at one step.
    """
    labels, steps, values = np.asarray(trial), _floats(step), _floats(value)
    check_flat({"trial": labels, "step": steps, "value": values})
    _check_steps(steps, target)
    labels, steps, values = _in_order(labels, steps, values)
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    goal, signed = (target, values) if higher_is_better else (-target, -values)
    last = labels.size
    hits = np.where(signed >= goal, np.arange(last), last)  # NaN never reaches the goal
    first = np.minimum.reduceat(hits, starts)
    crossing_steps, resolution = np.full(starts.size, np.inf), np.full(starts.size, np.nan)
    reached = first < last
    crossing_steps[reached], resolution[reached] = _crossings(
        steps, signed, goal, first[reached], starts[reached]
    )
    return StepsToTarget(trial=labels[starts], steps=crossing_steps, resolution_steps=resolution)


def best_learning_rates(
    batch: ArrayLike, learning_rate: ArrayLike, seed: ArrayLike, steps: ArrayLike
) -> BestRates:
    """Return the learning rate with the smallest median steps to target, for every batch.

    "Not reached" (NaN or infinity) counts as infinitely many steps, so a rate at which half of the
    seeds fail is never best. Of equal rates the smaller one is used. The smallest of many medians
    is slightly too small; more seeds, not more rates, reduce this bias.

    Args:
        batch: global batch size [samples], above 0, shape (runs,).
        learning_rate: above 0, shape (runs,).
        seed: label of the repeat, whole numbers or texts, shape (runs,).
        steps: steps to target, above 0, or NaN or infinity where it was not reached, shape
            (runs,).

    Returns:
        The rates and the runs that used them.

    Raises:
        ValueError: shapes differ, there are no values, a value is outside these bounds, or a run
            appears twice.
    """
    sizes, rates, seeds, counted = _floats(batch), _floats(learning_rate), np.asarray(seed), steps
    needed = np.where(np.isnan(_floats(counted)), np.inf, _floats(counted))
    check_flat({"batch": sizes, "learning_rate": rates, "seed": seeds, "steps": needed})
    _check_positive({"batch": sizes, "learning_rate": rates}, needed)
    tried, group = np.unique(np.column_stack([sizes, rates]), axis=0, return_inverse=True)
    _check_once(group, seeds, tried)
    medians = group_medians(group, needed)
    order = np.lexsort((tried[:, 1], medians, tried[:, 0]))
    best = order[np.flatnonzero(np.append(True, np.diff(tried[order, 0]) > 0.0))]
    used = np.isin(group, best)
    reached = np.isfinite(medians[best])
    return BestRates(
        tuned_batch=tried[best, 0],
        learning_rate=np.where(reached, tried[best, 1], np.nan),
        median_steps=medians[best],
        batch=sizes[used],
        samples_to_target=sizes[used] * needed[used],
        used=used,
        warnings=_at_the_end(tried, best[reached]),
    )


def group_medians(group: NDArray[np.int64], values: Floats) -> Floats:
    """Return the median of every group, with infinity as the largest number.

    Args:
        group: index of a value's group, 0, 1, 2 ... without gaps, shape (n,).
        values: no NaN, shape (n,).

    Returns:
        One median a group, shape (max(group) + 1,); infinite where half or more are.
    """
    ranked = values[np.lexsort((values, group))]
    count = np.bincount(group)
    start = np.cumsum(count) - count
    low, high = ranked[start + (count - 1) // 2], ranked[start + count // 2]
    # Halve first, so that no sum overflows; the smallest numbers have no halves.
    return np.asarray(np.where(low == high, low, 0.5 * low + 0.5 * high))


def _crossings(
    steps: Floats,
    signed: Floats,
    goal: float,
    first: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """Return steps and resolution of trials whose evaluation number `first` reaches the goal."""
    alone = first == starts  # reached at the first evaluation: the crossing came before it
    before = np.where(alone, first, first - 1)
    earlier = np.where(alone, 0.0, steps[before])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # replaced below
        share = (goal - signed[before]) / (signed[first] - signed[before])
    finite = ~alone & np.isfinite(signed[before]) & np.isfinite(signed[first] - signed[before])
    share = np.where(finite, share, 1.0)
    resolution = steps[first] - earlier
    return earlier + share * resolution, resolution


def _in_order(labels: NDArray[Any], steps: Floats, values: Floats) -> tuple[Any, Floats, Floats]:
    """Return columns sorted by trial, then step; without a copy if sorted already."""
    same = labels[1:] == labels[:-1]
    if not ((labels[1:] > labels[:-1]) | (same & (steps[1:] > steps[:-1]))).all():
        order = np.lexsort((steps, labels))
        labels, steps, values = labels[order], steps[order], values[order]
        same = labels[1:] == labels[:-1]
    twice = np.flatnonzero(same & (steps[1:] == steps[:-1]))
    if twice.size:
        raise ValueError(
            f"Trial {labels[twice[0]]} has two evaluations at step {steps[twice[0]]:g}"
            f"{_more(twice.size)}. A trial has one value at a step. Give every repeat its own "
            "trial."
        )
    return labels, steps, values


def _check_steps(steps: Floats, target: float) -> None:
    good = np.isfinite(steps) & (steps >= 0.0)
    problems = [] if good.all() else [f"step: {listed(steps, good)}. Steps are counted from 0"]
    if not np.isfinite(target):
        problems.append(f"target is {target:g}. Choose a finite value of the metric")
    if problems:
        raise ValueError("; ".join(problems) + ".")


def _check_positive(columns: dict[str, Floats], steps: Floats) -> None:
    good = {name: np.isfinite(v) & (v > 0.0) for name, v in columns.items()}
    good["steps"] = steps > 0.0  # infinity is "not reached"
    values = columns | {"steps": steps}
    problems = [f"{n}: {listed(values[n], fine)}" for n, fine in good.items() if not fine.all()]
    if problems:
        raise ValueError(
            f"{'; '.join(problems)}. Each must be above 0, and only steps may be infinite. Leave "
            "these runs out or mark them failed."
        )


def _check_once(group: NDArray[np.int64], seeds: NDArray[Any], tried: Floats) -> None:
    order = np.lexsort((seeds, group))
    numbers, names = group[order], seeds[order]
    twice = np.flatnonzero((numbers[1:] == numbers[:-1]) & (names[1:] == names[:-1]))
    if twice.size:
        size, rate = tried[numbers[twice[0]]]
        raise ValueError(
            f"Batch {size:g} at learning rate {rate:g} has seed {names[twice[0]]} twice"
            f"{_more(twice.size)}. Leave one out, or give the repeat its own seed."
        )


def _at_the_end(tried: Floats, best: NDArray[np.int64]) -> tuple[str, ...]:
    """Return warnings for best rates that are the smallest or largest tried."""
    warnings = []
    for size, rate in tried[best]:
        rates = tried[tried[:, 0] == size, 1]
        if rates.size > 1 and rate in {rates[0], rates[-1]}:
            end = "smallest" if rate == rates[0] else "largest"
            warnings.append(
                f"Batch {size:g}: the best learning rate ({rate:g}) is the {end} one tried; a "
                "better one may lie beyond."
            )
    return tuple(warnings)


def _more(count: int) -> str:
    return f" ({count - 1:,} more like it)" if count > 1 else ""


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
