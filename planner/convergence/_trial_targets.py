"""The targets one may ask of trials whose evaluations were kept, and the steps to each of them."""

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
"""Targets further apart than this factor are offered by ratio, others by difference."""
_POINTS: Final = 60


def set_labels(sets: Sequence[TrialSet]) -> list[str]:
    """A name for every set, as short as it can be while no two are equal."""
    columns = zip(*map(_names, sets), strict=True)
    counts = [Counter(column) for column in columns]
    return [
        next((n for n, count in zip(names, counts, strict=True) if count[n] == 1), names[-1])
        for names in map(_names, sets)
    ]


def steps_of(trials: Trials, target: float) -> StepsToTarget:
    """Steps of every trial to `target`, shape (trials,).

    Infinite where it was not reached, so for a trial that diverged before any evaluation too.

    Raises:
        ValueError: as `planner.convergence._targets.steps_to_target`.
    """
    found = steps_to_target(
        trials.trial, trials.step, trials.value, target, higher_is_better=trials.higher_is_better
    )
    steps, resolution = np.full(trials.batch.shape, np.inf), np.full(trials.batch.shape, np.nan)
    steps[found.trial], resolution[found.trial] = found.steps, found.resolution_steps
    every = np.arange(trials.batch.size)
    return StepsToTarget(trial=every, steps=steps, resolution_steps=resolution)


def targets_of(trials: Trials) -> list[float]:
    """Targets one may choose, from the easiest to the strictest, the recorded one among them.

    The easiest is where the trials of some batch begin (its median first evaluation), and one that
    no trial was at before its first step: of an easier one the curves tell nothing. The strictest
    is just beyond the best that any trial reached. Values are two significant digits where they
    span a factor of ten (for an accuracy the error that remains does), else about 60 round
    numbers. Empty where no trial has an evaluation that is a number.
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
    """The recorded target; else the strictest on offer that half of the trials reached."""
    if np.isfinite(trials.target):
        return trials.target
    sign = -1.0 if trials.higher_is_better else 1.0
    middle = np.nanmedian(sign * trials.best) if np.isfinite(trials.best).any() else np.nan
    within = [t for t in targets_of(trials) if sign * t >= middle]
    return within[-1] if within else next(iter(targets_of(trials)), None)


def target_text(value: float, *, in_per_cent: bool) -> str:
    """A value of the metric as one says it: 2.5 % or 3.42."""
    return f"{100.0 * value:.4g} %" if in_per_cent else f"{value:.6g}"


def goal_text(trials: Trials, target: float) -> str:
    """The target with its metric: 2.5 % validation error, or loss 3.42."""
    told = target_text(target, in_per_cent=trials.in_per_cent)
    return f"{told} {trials.metric}" if trials.in_per_cent else f"{trials.metric} {told}"


def is_stricter(trials: Trials, target: float) -> bool:
    """Whether `target` asks for more than the recorded one."""
    return bool(target > trials.target if trials.higher_is_better else target < trials.target)


def _first_of_batches(trials: Trials) -> Floats:
    """Median first evaluation of every batch that has one."""
    known = np.isfinite(trials.first)
    sizes, member = np.unique(trials.batch[known], return_inverse=True)
    return group_medians(member, trials.first[known]) if sizes.size else sizes


def _grid(strict: float, easy: float) -> Floats:
    """Round numbers from `easy` down to the first below `strict`; `strict` where none is easier."""
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
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= step * 0.999))


def _names(of: TrialSet) -> list[str]:
    """What a set may be called, from the shortest to the longest name."""
    further = ((), (of.precision,), (of.result_set,), (of.precision, of.result_set))
    longest = (of.precision, of.result_set, of.folder)
    plain = (*filter(None, (of.network, of.dataset)), of.metric)
    return [" · ".join((*plain, *filter(None, more))) for more in (*further, longest)]
