"""The effect of one factor on time: validation, augmentation, storage, workers, feed, jit.

    effect = time with the factor changed / time without       [1]; above 1 it costs time

for pairs of runs that are equal in everything else, batch included. Ratios multiply, so pairs
are averaged in logarithms (geometric mean) and the interval is Student's t on them.

An epoch is not always the same amount of work. Feeds that drop the last partial batch train on
fewer images (12 batches of 4096 are 49,152 of 50,000), and one published pattern with augmentation
validated on 64 images an epoch where the others took 8,192, which explains part of "augmentation
makes it faster". So each effect is reported per epoch and per processed image:

    images = trained + VALIDATION_WORK * validated             VALIDATION_WORK = 1/3: forward alone

Results for article 002's sweep, from its public raw data (validated on a batch of 32 at a time
where the feed was memory), without the one faulty run:

    storage against memory, 9 pairs of TPU and GPU    1.03 per epoch   0.98 per image
    the same at batch 4096 alone                      1.13             1.07
    four workers against one at batch 4096            1.16             1.16

The parts: `planner.effects._pairs` finds the pairs, `planner.effects._pooling` averages them,
`planner.effects._sentences` words the result and `planner.effects._work` describes the epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.core import LEVEL, Estimate, Refusal, bad_seconds, speak_once
from planner.effects._pairs import (
    BROUGHT,
    ELSEWHERE,
    PLAINEST,
    VALIDATION_WORK,
    FactorRun,
    Value,
    factor_runs,
    pairs_of,
)
from planner.effects._pooling import (
    ENOUGH,
    FEW_PAIRS,
    NOT_COUNTED,
    BatchEffect,
    pooled_at,
)
from planner.effects._sentences import DIFFER, sentence_of, value_in_words

__all__ = [
    "BROUGHT",
    "DIFFER",
    "ELSEWHERE",
    "ENOUGH",
    "FEW_PAIRS",
    "NOT_COUNTED",
    "PLAINEST",
    "VALIDATION_WORK",
    "BatchEffect",
    "FactorEffect",
    "FactorRun",
    "Value",
    "factor_effect",
    "factor_effects",
    "factor_runs",
    "value_in_words",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorEffect:
    """The effect of changing `factor` from `base` to `changed`, pooled and batch by batch.

    `notes` describe the epochs of the workload, where they differ.
    """

    factor: str
    base: Value
    changed: Value
    pairs: int
    per_epoch: Estimate
    per_image: Estimate | Refusal
    by_batch: tuple[BatchEffect, ...]
    sentence: str
    notes: tuple[str, ...] = ()


def factor_effects(
    runs: Sequence[FactorRun], factor: str, *, level: float = LEVEL
) -> tuple[FactorEffect, ...]:
    """Return the effect of every value of a factor against the plainest, by `PLAINEST`.

    The plainer of two values is the base in all workloads, so that effects can be read together:
    each value is compared with the plainest that it has a pair with. Values without a pair are
    left out. Arguments and errors as `factor_effect`.
    """
    values = sorted({run.value for run in runs}, key=lambda v: _plainness(factor, v, runs))
    effects = (
        _against_plainer(runs, factor, values[: i + 1], level) for i in range(1, len(values))
    )
    return tuple(effect for effect in effects if effect is not None)


def _against_plainer(
    runs: Sequence[FactorRun], factor: str, values: Sequence[Value], level: float
) -> FactorEffect | None:
    """Return the effect of the last value against the first that it has a pair with."""
    *plainer, changed = values
    effects = (factor_effect(runs, factor, base, changed, level=level) for base in plainer)
    return next((effect for effect in effects if isinstance(effect, FactorEffect)), None)


def factor_effect(
    runs: Sequence[FactorRun], factor: str, base: Value, changed: Value, *, level: float = LEVEL
) -> FactorEffect | Refusal:
    """Return the ratio of the times per epoch and per image with `changed` and with `base`.

    Args:
        runs: records of runs; repeats of one configuration and batch are averaged first.
        factor: its name.
        base: the reference value; swapping the two inverts every effect.
        changed: the other value.
        level: coverage of the intervals [share].

    Returns:
        The effect, batches in rising order, or a `Refusal` if no two runs differ in this alone.

    Raises:
        ValueError: an epoch time is not finite and above 0, or level is no share.
    """
    speak_once(
        [p for run in runs for p in bad_seconds(f"an epoch of run {run.run_id}", run.epoch_s)]
    )
    pairs = pairs_of(runs, base, changed)
    if not pairs:
        return Refusal(
            reason=f"No two runs differ in {factor} ({value_in_words(base)} and "
            f"{value_in_words(changed)}) alone.",
            measure_next="Measure one configuration and batch with both.",
        )
    batches = sorted({pair.batch for pair in pairs}, key=lambda b: (b is None, b))
    by_batch = tuple(
        pooled_at(batch, [pair for pair in pairs if pair.batch == batch], level)
        for batch in batches
    )
    whole = pooled_at(None, pairs, level)
    return FactorEffect(
        factor=factor,
        base=base,
        changed=changed,
        pairs=len(pairs),
        per_epoch=whole.per_epoch,
        per_image=whole.per_image,
        by_batch=by_batch,
        sentence=sentence_of(factor, pairs, whole, by_batch),
    )


def _plainness(
    factor: str, value: Value, runs: Sequence[FactorRun]
) -> tuple[bool, int, float, str]:
    """Return the sort key of values: by the table, then by number or by count of runs."""
    plain = PLAINEST.get(factor, ())
    place = plain.index(value) if value in plain else len(plain)
    number = float(value) if isinstance(value, int) else -float(sum(r.value == value for r in runs))
    return value is None, place, number, str(value)
