"""Steps of each trial to a target chosen after training, and their resolution.

    steps      = s0 + (target - v0)/(v1 - v0)*(s1 - s0)
    resolution = (s1 - s0)/steps                    [share]

where (s1, v1) is a trial's first evaluation that reaches the target and (s0, v0) the one before it.
Interpolation assumes a linear metric between the two; if the one before is not a number (a loss
that overflowed), the first that reached the target counts. A trial that never reaches the target
counts as infinitely many steps, so that medians over seeds are unbiased.

At a resolution of 1 or more, no evaluation came before the target: the count shows the grid of
evaluations, not the training. Below 1 the crossing is anywhere between the two, so one count has a
relative standard deviation of at most resolution/sqrt(12), that of a uniform distribution.

From trials to a curve: `steps_to_target`, then `best_learning_rates` (the rate is chosen per batch
size, as in Shallue et al. 2019), then `planner.convergence.fit.fit_convergence`.

Evidence: docs/evidence.md#resolution-of-evaluations.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import Floats, Refusal, Text, check_flat, listed, percent
from planner.core.slugs import BADGE
from planner.fits import Prior, all_given, as_given
from planner.runs import Trials, TrialSet


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
            return Text("None of {total:,} trials reached the target.", total=total)
        steps = self.steps[self.reached]
        coarse = self.resolution_steps[self.reached] / np.where(steps > 0.0, steps, 1.0)
        if (coarse >= 1.0).all():
            return Text(
                "{count:,} of {total:,} trials reached the target at their first evaluation.",
                count=count,
                total=total,
            )
        return Text(
            "{count:,} of {total:,} trials reached the target; evaluations around "
            "it lay {median:.2g} % of the steps apart (median).",
            count=count,
            total=total,
            median=100 * float(np.median(coarse)),
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
    trial: ArrayLike, step: ArrayLike, value: ArrayLike, target: float, *, higher_is_better: bool
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
    steps: Floats, signed: Floats, goal: float, first: NDArray[np.int64], starts: NDArray[np.int64]
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
            Text(
                "Trial {label} has two evaluations at step {step:g}{more}. A trial has "
                "one value at a step. Give every repeat its own trial.",
                label=labels[twice[0]],
                step=steps[twice[0]],
                more=_more(twice.size),
            )
        )
    return labels, steps, values


def _check_steps(steps: Floats, target: float) -> None:
    good = np.isfinite(steps) & (steps >= 0.0)
    problems = (
        []
        if good.all()
        else [Text("step: {listed}. Steps are counted from 0", listed=listed(steps, good))]
    )
    if not np.isfinite(target):
        problems.append(
            Text("target is {target:g}. Choose a finite value of the metric", target=target)
        )
    if problems:
        raise ValueError("; ".join(problems) + ".")


def _check_positive(columns: dict[str, Floats], steps: Floats) -> None:
    good = {name: np.isfinite(v) & (v > 0.0) for name, v in columns.items()}
    good["steps"] = steps > 0.0  # infinity is "not reached"
    values = columns | {"steps": steps}
    problems = [f"{n}: {listed(values[n], fine)}" for n, fine in good.items() if not fine.all()]
    if problems:
        raise ValueError(
            Text(
                "{problems}. Each must be above 0, and only steps may be infinite. "
                "Leave these runs out or mark them failed.",
                problems="; ".join(problems),
            )
        )


def _check_once(group: NDArray[np.int64], seeds: NDArray[Any], tried: Floats) -> None:
    order = np.lexsort((seeds, group))
    numbers, names = group[order], seeds[order]
    twice = np.flatnonzero((numbers[1:] == numbers[:-1]) & (names[1:] == names[:-1]))
    if twice.size:
        size, rate = tried[numbers[twice[0]]]
        raise ValueError(
            Text(
                "Batch {size:g} at learning rate {rate:g} has seed {name} twice{more}. "
                "Leave one out, or give the repeat its own seed.",
                size=size,
                rate=rate,
                name=names[twice[0]],
                more=_more(twice.size),
            )
        )


def _at_the_end(tried: Floats, best: NDArray[np.int64]) -> tuple[str, ...]:
    warnings = []
    for size, rate in tried[best]:
        rates = tried[tried[:, 0] == size, 1]
        if rates.size > 1 and rate in {rates[0], rates[-1]}:
            end = "smallest" if rate == rates[0] else "largest"
            warnings.append(
                Text(
                    "Batch {size:g}: the best learning rate ({rate:g}) is the {end} one "
                    "tried; a better one may lie beyond.",
                    size=size,
                    rate=rate,
                    end=end,
                )
            )
    return tuple(warnings)


def _more(count: int) -> str:
    return Text(" ({count:,} more like it)", count=count - 1) if count > 1 else ""


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


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
    badge = BADGE if of.standing else ""
    return [f"{' · '.join((*plain, *filter(None, more)))}{badge}" for more in (*further, longest)]


UNSEEN: Final = 1.0 - 1e-9
"""A resolution of this share or more shows the grid of evaluations."""
TOO_COARSE: Final = 0.5
"""Median share above which the batches show the grid: on digits the law would then have a minimum
below two steps, and below one at 70 % error."""
COARSE: Final = 0.2
"""A resolution above this share is reported: it alone is a scatter of 6 %, near that of medians."""


def resolution_shares(
    group: NDArray[np.int64], samples: Floats, resolution_samples: Floats
) -> Floats:
    """Return the median resolution of every group as a share of its samples.

    It is infinite where few entries reached the target.

    Args:
        group: index of an entry's batch, 0, 1, 2 ... without gaps, shape (n,).
        samples: to the target, infinite where it was not reached, shape (n,).
        resolution_samples: between the two evaluations around the target, shape (n,).
    """
    finite = np.isfinite(samples) & np.isfinite(resolution_samples)
    share = np.full(samples.shape, np.inf)
    share[finite] = resolution_samples[finite] / samples[finite]
    return group_medians(group, share)


def prior_with(prior: Prior, shares: Floats) -> Prior:
    """Return the prior of the scatter, widened by the resolution of counts."""
    return replace(prior, sd=float(np.sqrt(prior.sd**2 + np.mean(shares**2) / 12.0)))


def coarse_warnings(sizes: Floats, shares: Floats, unseen: Floats) -> tuple[str, ...]:
    """Return warnings about the fitted batches `sizes` [samples] and the `unseen` ones."""
    warnings: tuple[str, ...] = ()
    if unseen.size:
        warnings += (
            Text(
                "Left out, because no evaluation came before the target there: batch {all_given}.",
                all_given=all_given(unseen),
            ),
        )
    if (shares > COARSE).any():
        worst = int(shares.argmax())
        warnings += (
            Text(
                "Interpolated between evaluations that lie far apart: up to {share:.0f} "
                "% of the steps to the target, at batch {as_given}. The intervals "
                "include this; more frequent evaluations would narrow them.",
                share=100 * shares[worst],
                as_given=as_given(sizes[worst]),
            ),
        )
    return warnings


def is_the_grid(shares: Floats) -> bool:
    """Return whether the shares show the grid of evaluations rather than the training."""
    return bool(np.median(shares) > TOO_COARSE or (shares < UNSEEN).sum() < 2)


def refuse_grid(sizes: Floats, shares: Floats) -> Refusal:
    """Return the refusal for batches `sizes` [samples] with the `shares` of `is_the_grid`."""
    unseen = sizes[shares >= UNSEEN]
    middle = percent(float(np.median(shares)))
    reason = Text(
        "This target is reached within the first evaluations: they lie {middle} of "
        "the steps to it apart (median over the batches). Such steps show how "
        "often the model was evaluated, not how it trains.",
        middle=middle,
    )
    if unseen.size:
        reason = Text(
            "This target is reached within the first evaluations: they lie {middle} of "
            "the steps to it apart (median over the batches); none came before it at batch "
            "{batches}. Such steps show how often the model was evaluated, not how it trains.",
            middle=middle,
            batches=all_given(unseen),
        )
    return Refusal(
        reason=reason,
        measure_next="Choose a stricter target, or evaluate more often at the start.",
    )
