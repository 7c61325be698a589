"""Targets of trials with stored evaluations, and the steps to each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.convergence._targets import StepsToTarget, group_medians, steps_to_target
from planner.core import Floats
from planner.runs import Trials, TrialSet

_TWO_DIGITS: Final = (*range(10, 40), *range(40, 100, 5))
"""Two significant digits, 3 to 12 % apart."""
_WIDE: Final = 10.0
"""Range above which targets are spaced by ratio, otherwise by difference."""
_POINTS: Final = 60


def set_labels(sets: Sequence[TrialSet]) -> list[str]:
    """Return a name for every set, as short as possible and unique."""
    columns = zip(*map(_names, sets), strict=True)
    counts = [Counter(column) for column in columns]
    return [
        next((n for n, count in zip(names, counts, strict=True) if count[n] == 1), names[-1])
        for names in map(_names, sets)
    ]


def steps_of(trials: Trials, target: float) -> StepsToTarget:
    """Return steps of every trial to `target`, shape (trials,).

    Infinite where it was not reached, also for a trial that diverged before any evaluation.

    Raises:
        ValueError: as `planner.convergence._targets.steps_to_target`.
    """
    crossings = steps_to_target(
        trials.trial, trials.step, trials.value, target, higher_is_better=trials.higher_is_better
    )
    steps, resolution = np.full(trials.batch.shape, np.inf), np.full(trials.batch.shape, np.nan)
    steps[crossings.trial], resolution[crossings.trial] = (
        crossings.steps,
        crossings.resolution_steps,
    )
    every = np.arange(trials.batch.size)
    return StepsToTarget(trial=every, steps=steps, resolution_steps=resolution)


def targets_of(trials: Trials) -> list[float]:
    """Return the available targets, from the easiest to the strictest, with the recorded one.

    The easiest is a batch's median first evaluation, and not reached before any first step: easier
    ones give no curve. The strictest is just beyond the best of any trial. Values have two
    significant digits if they span a factor of ten (for an accuracy: the remaining error), else
    they are about 60 round numbers. Empty where no trial has an evaluation that is a number.
    """
    best, first = trials.best[trials.counts], _first_of_batches(trials)
    best = best[np.isfinite(best)]
    if not best.size or not first.size:
        return []
    sign = -1.0 if trials.higher_is_better else 1.0
    at_start = sign * trials.value[(trials.step <= 0.0) & np.isfinite(trials.value)]
    easy, strict = float((sign * first).min()), float((sign * best).min())
    if at_start.size:
        easy = min(easy, float(np.nextafter(at_start.min(), -np.inf)))
    shift = 1.0 if trials.higher_is_better and trials.in_per_cent else 0.0
    offered = {float(f"{sign * (v - shift):.6g}") for v in _grid(strict + shift, easy + shift)}
    if trials.in_per_cent:
        offered = {t for t in offered if 0.0 <= t <= 1.0}
    if np.isfinite(trials.target):
        offered.add(trials.target)
    return sorted(offered, reverse=not trials.higher_is_better)


def usual_target(trials: Trials) -> float | None:
    """Return the recorded target, else the strictest one that half of the trials reached."""
    if np.isfinite(trials.target):
        return trials.target
    sign = -1.0 if trials.higher_is_better else 1.0
    middle = np.nanmedian(sign * trials.best) if np.isfinite(trials.best).any() else np.nan
    within = [t for t in targets_of(trials) if sign * t >= middle]
    return within[-1] if within else next(iter(targets_of(trials)), None)


def target_text(value: float, *, in_per_cent: bool) -> str:
    """Return a value of the metric in words: 2.5 % or 3.42."""
    return f"{100.0 * value:.4g} %" if in_per_cent else f"{value:.6g}"


def goal_text(trials: Trials, target: float) -> str:
    """Return the target with its metric: 2.5 % validation error, or loss 3.42."""
    value = target_text(target, in_per_cent=trials.in_per_cent)
    return f"{value} {trials.metric}" if trials.in_per_cent else f"{trials.metric} {value}"


def is_stricter(trials: Trials, target: float) -> bool:
    """Return whether `target` is stricter than the recorded one."""
    return bool(target > trials.target if trials.higher_is_better else target < trials.target)


def _first_of_batches(trials: Trials) -> Floats:
    """Return the median first evaluation of every batch that has one."""
    finite = np.isfinite(trials.first)
    sizes, member = np.unique(trials.batch[finite], return_inverse=True)
    return group_medians(member, trials.first[finite]) if sizes.size else sizes


def _grid(strict: float, easy: float) -> Floats:
    """Return round numbers from `easy` to the first below `strict`; `strict` without any."""
    if not easy > strict:
        return np.array([strict])
    if strict > 0.0 and easy / strict >= _WIDE:
        powers = 10.0 ** np.arange(np.floor(np.log10(strict)) - 2, np.ceil(np.log10(easy)))
        round_ones = np.outer(powers, _TWO_DIGITS).ravel()
    else:
        unit = _nice((easy - strict) / _POINTS)
        round_ones = unit * np.arange(np.floor(strict / unit) - 1, np.ceil(easy / unit) + 1)
    first = np.searchsorted(round_ones, strict) - 1
    return np.asarray(round_ones[first:][round_ones[first:] <= easy])


def _nice(step: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= step * 0.999))


def _names(of: TrialSet) -> list[str]:
    """Return possible names of a set, from the shortest to the longest."""
    further = ((), (of.precision,), (of.result_set,), (of.precision, of.result_set))
    longest = (of.precision, of.result_set, of.folder)
    plain = (*filter(None, (of.network, of.dataset)), of.metric)
    return [" · ".join((*plain, *filter(None, more))) for more in (*further, longest)]
