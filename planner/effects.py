"""What does one factor cost: validation, augmentation, storage, workers, feed, jit ...?

    effect = time with the factor changed / time without       [1]; above 1 it costs time

asked of pairs of runs that are equal in everything else, batch included. Ratios multiply, so pairs
are averaged in logarithms (geometric mean) and the interval is Student's t on them. One pair or two
say nothing about their own scatter: there the scatter between two sessions of one case stands in,
with the weight of the five pairs it was measured from (`planner.projection.SESSION_SD`).

An epoch is not always the same work. Feeds that drop the last partial batch train on fewer images
(12 batches of 4096 are 49,152 of 50,000), and one published pattern with augmentation validated on
64 images an epoch where the others took 8,192: "augmentation makes it faster" was partly that. So
each effect is told twice, per epoch and per processed image:

    images = trained + VALIDATION_WORK * validated

    constant          value  unit             meaning
    VALIDATION_WORK   1/3    trained images   a forward pass alone; backward takes about two more
    DIFFER            0.01   logarithm        from here on the two answers are told apart in words

What that changes in article 002's sweep, read from its public raw data (validated on a batch of 32
at a time where the feed was memory), the one sick run left out:

    storage against memory, 9 pairs of TPU and GPU    1.03 per epoch   0.98 per image
    the same at batch 4096 alone                      1.13             1.07
    four workers against one at batch 4096            1.16             1.16

A factor may bring others with it (`BROUGHT`): four workers are processes, a generator drops the
remainder, a framework has its own backend. Runs that agree in those too are paired first; where
none do, the effect is that of all together, and the sentence names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from planner.checking import bad_seconds, speak_once
from planner.estimate import LEVEL, Estimate, Floats, Refusal, t_quantile
from planner.projection import SESSION_DOF, SESSION_SD
from planner.ratios import UNDECIDED
from planner.schema import IDENTITY

Value = str | bool | int | None

VALIDATION_WORK: Final = 1.0 / 3.0
DIFFER: Final = 0.01
ENOUGH: Final = 3
"""From so many pairs on their own scatter speaks, and the prior is silent."""
BROUGHT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "validation": (),
    "augmentation": (),
    "storage": (),
    "workers": ("multiprocessing",),
    "feed": ("drop_remainder", "engine"),
    "jit": (),
    "precision": (),
    "framework": ("framework_version", "backend"),
})  # fmt: skip
"""The factors asked about, and the columns that change with each of them."""
ELSEWHERE: Final = (
    "result_set", "sweep", "repeat", "attempt", "seed", "epochs_planned", "position_in_session",
    "per_device_batch_size", "global_batch_size",
)  # fmt: skip
"""Identity columns that make no other configuration; the batch has a field of its own."""
FEW_PAIRS: Final = "So few pairs do not show their scatter: that of two sessions stands in."
NOT_COUNTED: Final = "How many images were validated is not known; only trained ones are counted."


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorRun:
    """One run as a factor's effect sees it.

    `configuration` is all that must be equal in a pair, without the factor and the batch; `value`
    is the factor's; `brought` are the names and values of what may change with it. `epoch_s` is
    the mean later epoch [s]; the counts are images really trained and validated in an epoch, None
    where not known.
    """

    run_id: str
    configuration: tuple[Hashable, ...]
    batch: int | None
    value: Value
    epoch_s: float
    brought: tuple[tuple[str, Value], ...] = ()
    samples_per_epoch: int | None = None
    validation_samples_per_epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEffect:
    """The effect at one batch: `pairs` pairs, per epoch and per processed image [1]."""

    batch: int | None
    pairs: int
    per_epoch: Estimate
    per_image: Estimate | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorEffect:
    """The effect of changing `factor` from `base` to `changed`, pooled and batch by batch."""

    factor: str
    base: Value
    changed: Value
    pairs: int
    per_epoch: Estimate
    per_image: Estimate | Refusal
    by_batch: tuple[BatchEffect, ...]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Log ratios of one configuration and batch, changed over base, and the runs of both sides."""

    batch: int | None
    log_epoch: float
    log_image: float
    base: tuple[FactorRun, ...]
    changed: tuple[FactorRun, ...]

    @property
    def counted(self) -> bool:
        """Whether both sides say what they trained on, and both or neither what they validated."""
        unknown = {run.validation_samples_per_epoch is None for run in self.base + self.changed}
        return math.isfinite(self.log_image) and len(unknown) == 1

    @property
    def disagreement(self) -> float:
        """How far the effect per epoch and per image are apart, in logarithms."""
        return abs(self.log_epoch - self.log_image) if self.counted else 0.0


def factor_runs(rows: Iterable[Mapping[str, Any]], factor: str) -> list[FactorRun]:
    """The records of good rows of the run table, for one factor of `BROUGHT`.

    Rows without a mean later epoch are left out.

    Raises:
        ValueError: no such factor.
    """
    if factor not in BROUGHT:
        raise ValueError(f"{factor!r} is no factor. Ask for one of {', '.join(BROUGHT)}.")
    apart = {factor, *BROUGHT[factor], *ELSEWHERE}
    equal = [name for name in IDENTITY if name not in apart]
    return [_record(row, factor, equal) for row in rows if row.get("later_epoch_mean_s")]


def factor_effects(
    runs: Sequence[FactorRun], factor: str, *, level: float = LEVEL
) -> tuple[FactorEffect, ...]:
    """The effect of every value of a factor against the plainest: off, fewest or most common.

    Values without a pair are left out. Arguments and errors as `factor_effect`.
    """
    values = sorted({run.value for run in runs}, key=lambda v: _plainness(v, runs))
    told = (factor_effect(runs, factor, values[0], v, level=level) for v in values[1:])
    return tuple(effect for effect in told if isinstance(effect, FactorEffect))


def factor_effect(
    runs: Sequence[FactorRun], factor: str, base: Value, changed: Value, *, level: float = LEVEL
) -> FactorEffect | Refusal:
    """How many times as long an epoch, and an image, takes with `changed` instead of `base`.

    Args:
        runs: records of runs; repeats of one configuration and batch are averaged first.
        factor: what the sentence calls it.
        base: the value compared with; swap the two and every effect becomes its inverse.
        changed: the other value.
        level: coverage of the intervals [share].

    Returns:
        The effect, batches in rising order, or a `Refusal` where no two runs differ in this alone.

    Raises:
        ValueError: an epoch time is not finite and above 0, or level is no share.
    """
    speak_once(
        [p for run in runs for p in bad_seconds(f"an epoch of run {run.run_id}", run.epoch_s)]
    )
    pairs = _pairs(runs, base, changed)
    if not pairs:
        return Refusal(
            reason=f"No two runs differ in {factor} ({value_in_words(base)} and "
            f"{value_in_words(changed)}) alone.",
            measure_next="Measure one configuration and batch with both.",
        )
    batches = sorted({pair.batch for pair in pairs}, key=lambda b: (b is None, b))
    by_batch = tuple(
        _at(batch, [pair for pair in pairs if pair.batch == batch], level) for batch in batches
    )
    whole = _at(None, pairs, level)
    return FactorEffect(
        factor=factor,
        base=base,
        changed=changed,
        pairs=len(pairs),
        per_epoch=whole.per_epoch,
        per_image=whole.per_image,
        by_batch=by_batch,
        sentence=_sentence(factor, pairs, whole, by_batch),
    )


def _record(row: Mapping[str, Any], factor: str, equal: Sequence[str]) -> FactorRun:
    validated = row.get("validation_samples_per_epoch")
    return FactorRun(
        run_id=row["run_id"],
        configuration=tuple(row.get(name) for name in equal),
        batch=row.get("global_batch_size"),
        value=row.get(factor),
        epoch_s=row["later_epoch_mean_s"],
        brought=tuple((name, row.get(name)) for name in BROUGHT[factor]),
        samples_per_epoch=row.get("samples_per_epoch"),
        validation_samples_per_epoch=0 if row.get("validation") is False else validated,
    )


def _plainness(value: Value, runs: Sequence[FactorRun]) -> tuple[bool, float, str]:
    number = float(value) if isinstance(value, int) else -float(sum(r.value == value for r in runs))
    return value is None, number, str(value)


def _pairs(runs: Sequence[FactorRun], base: Value, changed: Value) -> list[_Pair]:
    cells: dict[Hashable, tuple[list[FactorRun], list[FactorRun]]] = {}
    for run in runs:
        if run.value in {base, changed}:
            sides = cells.setdefault((run.configuration, run.batch), ([], []))
            sides[run.value == changed].append(run)
    return [pair for before, after in cells.values() for pair in _paired(before, after)]


def _paired(before: list[FactorRun], after: list[FactorRun]) -> list[_Pair]:
    """One pair for each thing brought that both sides have, or one of all runs where none is."""
    if not before or not after:
        return []
    both = dict.fromkeys(r.brought for r in before if r.brought in {a.brought for a in after})
    sides = [([r for r in side if r.brought == b] for side in (before, after)) for b in both]
    return [_pair(*two) for two in sides] or [_pair(before, after)]


def _pair(before: list[FactorRun], after: list[FactorRun]) -> _Pair:
    return _Pair(
        batch=before[0].batch,
        log_epoch=_mean_log(after, _epoch) - _mean_log(before, _epoch),
        log_image=_mean_log(after, _image) - _mean_log(before, _image),
        base=tuple(before),
        changed=tuple(after),
    )


def _mean_log(runs: Sequence[FactorRun], time_s: Callable[[FactorRun], float]) -> float:
    return math.fsum(math.log(time_s(run)) for run in runs) / len(runs)


def _epoch(run: FactorRun) -> float:
    return run.epoch_s


def _image(run: FactorRun) -> float:
    """Seconds per processed image; NaN where the trained ones are not known."""
    validated = run.validation_samples_per_epoch or 0
    return run.epoch_s / ((run.samples_per_epoch or math.nan) + VALIDATION_WORK * validated)


def _at(batch: int | None, pairs: Sequence[_Pair], level: float) -> BatchEffect:
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
            reason="How many images both runs of a pair processed in an epoch is not known.",
            measure_next="Record the samples trained on and validated in an epoch.",
        ),
    )


def _pooled(ratios: Sequence[float], level: float, reasons: tuple[str, ...]) -> Estimate:
    """Geometric mean of ratios given as logarithms, and its interval."""
    logs = np.array(ratios)
    mean, n = float(logs.mean()), logs.size
    variance, dof = _variance(logs - mean)
    half = float(t_quantile(level, dof)) * math.sqrt(variance / n)
    low, high = math.exp(mean - half), math.exp(mean + half)
    reasons += (FEW_PAIRS,) if n < ENOUGH else ()
    reasons += (UNDECIDED,) if low <= 1.0 <= high else ()
    return Estimate(value=math.exp(mean), low=low, high=high, level=level, reasons=reasons)


def _variance(off: Floats) -> tuple[float, float]:
    """Scatter of one log ratio, squared, and its degrees of freedom, from the deviations."""
    spread, dof = float((off**2).sum()), off.size - 1.0
    if off.size >= ENOUGH:
        return spread / dof, dof
    dof += SESSION_DOF
    return (SESSION_DOF * 2.0 * SESSION_SD**2 + spread) / dof, dof


def _sentence(
    factor: str, pairs: Sequence[_Pair], whole: BatchEffect, by_batch: Sequence[BatchEffect]
) -> str:
    changed, base = (
        value_in_words(pairs[0].changed[0].value),
        value_in_words(pairs[0].base[0].value),
    )
    many = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    told = f"{factor}, {changed} against {base}, {many}: an epoch takes {_times(whole.per_epoch)}"
    if isinstance(whole.per_image, Estimate):
        told += f", a processed image {_times(whole.per_image)}"
    odd = max(pairs, key=lambda pair: pair.disagreement)
    why = _why(odd) if odd.disagreement > DIFFER else ""
    return f"{told[0].upper()}{told[1:]}.{_range(by_batch)}{why}{_with(pairs)}"


def _with(pairs: Sequence[_Pair]) -> str:
    """What changed with the factor wherever no two runs agreed in it."""
    mixed = {
        name: f"{name} ({value_in_words(after)} against {value_in_words(before)})"
        for pair in pairs
        for (name, before), (_, after) in zip(
            pair.base[0].brought, pair.changed[0].brought, strict=True
        )
        if before != after
    }
    return f" With it changed {' and '.join(mixed.values())}." if mixed else ""


def _range(by_batch: Sequence[BatchEffect]) -> str:
    """From the least to the largest effect of a batch."""
    if len(by_batch) < 2:
        return ""
    ends = (min(by_batch, key=_value), max(by_batch, key=_value))
    least, most = (f"{_value(end):.2f} at batch {end.batch}" for end in ends)
    return f" Per epoch from {least} to {most}."


def _value(effect: BatchEffect) -> float:
    return float(effect.per_epoch.value)


def _why(pair: _Pair) -> str:
    (trained, validated), (before, seen) = (_images(side) for side in (pair.changed, pair.base))
    where = "" if pair.batch is None else f"at batch {pair.batch}, "
    return (
        f" The two answers differ because an epoch was not the same work ({where}{trained} images "
        f"trained and {validated} validated against {before} and {seen})."
    )


def _images(runs: Sequence[FactorRun]) -> tuple[str, str]:
    """How many images an epoch trained on and validated on, on average."""
    names = ("samples_per_epoch", "validation_samples_per_epoch")
    first, second = (sum(getattr(run, name) or 0 for run in runs) / len(runs) for name in names)
    return f"{first:,.0f}", f"{second:,.0f}"


def _times(effect: Estimate) -> str:
    level = f"{effect.level:.0%}".replace("%", " %")
    told = f"{level}: {effect.low:.2f} to {effect.high:.2f}"
    told += ", not decided" if UNDECIDED in effect.reasons else ""
    return f"{effect.value:.2f} times as long ({told})"


def value_in_words(value: Value) -> str:
    """A factor's value as sentences have it: `on`, `4`, `tf.data`, `not stated`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not stated" if value is None else str(value)
