"""The effect of one factor on time: validation, augmentation, storage, workers, feed, jit.

    effect = time with the factor changed / time without       [1]; above 1 it costs time
    images = trained + VALIDATION_WORK * validated             processed images of an epoch

Pairs are runs that differ in one factor alone, batch included. Ratios multiply, so pairs are
averaged in logarithms (geometric mean) and the interval is Student's t on them. Repeats of one side
of a pair are averaged first.

A factor may change others with it (`BROUGHT`): four workers are processes, a generator drops the
remainder. Runs that agree in those too are paired first; if none do, one pair is made of all of
them, and the sentence names the other changes. With fewer than `ENOUGH` pairs, the scatter between
two sessions is used (`planner.epochs.projection.SESSION_SD`).

An epoch is not always the same amount of work: feeds that drop the last partial batch train on
fewer images, and patterns validate different numbers. So each effect is reported per epoch and per
processed image. The validated images of article 002's pattern (T, T, F) are
32 * (10,000 // batch): its code uses Keras' default validation batches of 32, one for each whole
training batch.

Evidence: docs/evidence.md#effects-of-factors.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from planner.core import (
    LEVEL,
    Estimate,
    Floats,
    Record,
    Refusal,
    Text,
    bad_seconds,
    paragraph,
    percent,
    plain,
    plural,
    sentence_case,
    speak_once,
    t_quantile,
)
from planner.epochs import SAME, SESSION_DOF, SESSION_SD, UNDECIDED
from planner.runs import IDENTITY

Value = str | bool | int | None

VALIDATION_WORK: Final = 1.0 / 3.0
"""Work of a validated image [trained images]: a forward pass without the backward pass."""
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
"""The factors, and the columns that change with each of them."""
PLAINEST: Final[Mapping[str, tuple[Value, ...]]] = MappingProxyType({
    "validation": (False,),
    "augmentation": (False,),
    "storage": ("memory",),
    "workers": (1,),
    "feed": ("fit", "numpy", "PyDataset", "generator", "tf.data", "directory"),
    "jit": (False,),
    "precision": ("float32",),
    "framework": ("TensorFlow", "PyTorch", "JAX"),
})  # fmt: skip
"""Reference values of each factor, in every workload: the first with a pair.

Others come after these, by number or the most common first; what is not stated is last.
"""
ELSEWHERE: Final = (
    "result_set", "machine_id", "session_started_at", "sweep", "repeat", "attempt", "seed",
    "epochs_planned", "position_in_session", "per_device_batch_size", "global_batch_size",
    "source_path",
)  # fmt: skip
"""Identity columns that make no other configuration; the batch has a field of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorRun:
    """One run in a factor's effect.

    `configuration` is everything that must be equal in a pair, without the factor and the batch;
    `value` is the factor's; `brought` are the names and values of fields that may change with it.
    `epoch_s` is the mean later epoch [s]; the counts are images trained and validated in an epoch,
    None if unknown.
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
class EffectPair:
    """Log ratios of one configuration and batch, changed over base, and the runs of both sides."""

    batch: int | None
    log_epoch: float
    log_image: float
    base: tuple[FactorRun, ...]
    changed: tuple[FactorRun, ...]

    @property
    def counted(self) -> bool:
        """Whether both sides state trained images, and both or neither validated ones."""
        unknown = {run.validation_samples_per_epoch is None for run in self.base + self.changed}
        return math.isfinite(self.log_image) and len(unknown) == 1

    @property
    def disagreement(self) -> float:
        """How far the effect per epoch and per image are apart, in logarithms."""
        return abs(self.log_epoch - self.log_image) if self.counted else 0.0


def factor_runs(rows: Iterable[Mapping[str, Any]], factor: str) -> list[FactorRun]:
    """Return the records of good rows of the run table, for one factor of `BROUGHT`.

    Rows without a mean later epoch are left out.

    Raises:
        ValueError: no such factor.
    """
    if factor not in BROUGHT:
        raise ValueError(
            Text(
                "{factor!r} is not a factor. Choose one of {brought}.",
                factor=factor,
                brought=", ".join(BROUGHT),
            )
        )
    apart = {factor, *BROUGHT[factor], *ELSEWHERE}
    equal = [name for name in IDENTITY if name not in apart]
    return [_record(row, factor, equal) for row in rows if row.get("later_epoch_mean_s")]


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


def pairs_of(runs: Sequence[FactorRun], base: Value, changed: Value) -> list[EffectPair]:
    """Return all pairs of `changed` with `base`, one or more for each configuration and batch."""
    cells: dict[Hashable, tuple[list[FactorRun], list[FactorRun]]] = {}
    for run in runs:
        if run.value in {base, changed}:
            sides = cells.setdefault((run.configuration, run.batch), ([], []))
            sides[run.value == changed].append(run)
    return [pair for before, after in cells.values() for pair in _paired(before, after)]


def _paired(before: list[FactorRun], after: list[FactorRun]) -> list[EffectPair]:
    """Return one pair per `brought` of both sides, or one of all runs without any."""
    if not before or not after:
        return []
    both = dict.fromkeys(r.brought for r in before if r.brought in {a.brought for a in after})
    sides = [([r for r in side if r.brought == b] for side in (before, after)) for b in both]
    return [_pair(*two) for two in sides] or [_pair(before, after)]


def _pair(before: list[FactorRun], after: list[FactorRun]) -> EffectPair:
    epoch = _image_trained if _sizes_differ((*before, *after)) else _epoch
    return EffectPair(
        batch=before[0].batch,
        log_epoch=_mean_log(after, epoch) - _mean_log(before, epoch),
        log_image=_mean_log(after, _image) - _mean_log(before, _image),
        base=tuple(before),
        changed=tuple(after),
    )


def _mean_log(runs: Sequence[FactorRun], time_s: Callable[[FactorRun], float]) -> float:
    return math.fsum(math.log(time_s(run)) for run in runs) / len(runs)


def _epoch(run: FactorRun) -> float:
    return run.epoch_s


def _sizes_differ(runs: Sequence[FactorRun]) -> bool:
    """Return whether the epochs of runs differ in size by more than a dropped last batch."""
    sizes = [run.samples_per_epoch for run in runs if run.samples_per_epoch]
    return len(sizes) == len(runs) and min(sizes) < (1.0 - SAME) * max(sizes)


def _image_trained(run: FactorRun) -> float:
    """Return seconds of an epoch per trained image: epochs of unequal size compare by it."""
    return run.epoch_s / (run.samples_per_epoch or math.nan)


def _image(run: FactorRun) -> float:
    """Return seconds per processed image; NaN if trained images are unknown."""
    validated = run.validation_samples_per_epoch or 0
    return run.epoch_s / ((run.samples_per_epoch or math.nan) + VALIDATION_WORK * validated)


ENOUGH: Final = 3
"""Number of pairs from which on their own scatter is used instead of the prior."""
FEW_PAIRS: Final = "So few pairs do not show their scatter: that of two sessions is used."
NOT_COUNTED: Final = "The number of validated images is unknown; only trained ones are counted."


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEffect:
    """The effect at one batch: `pairs` pairs, per epoch and per processed image [1]."""

    batch: int | None
    pairs: int
    per_epoch: Estimate
    per_image: Estimate | Refusal


def pooled_at(batch: int | None, pairs: Sequence[EffectPair], level: float) -> BatchEffect:
    """Return the pooled effect of `pairs`; `batch` is their common one, or None."""
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
            reason="The number of images in an epoch is unknown for both runs of a pair.",
            measure_next="Record the samples trained on and validated in an epoch.",
        ),
    )


def _pooled(ratios: Sequence[float], level: float, reasons: tuple[str, ...]) -> Estimate:
    """Return the geometric mean of ratios, from their logarithms, and its interval."""
    logs = np.array(ratios)
    mean, n = float(logs.mean()), logs.size
    variance, dof = _variance(logs - mean)
    half = float(t_quantile(level, dof)) * math.sqrt(variance / n)
    low, high = math.exp(mean - half), math.exp(mean + half)
    reasons += (FEW_PAIRS,) if n < ENOUGH else ()
    reasons += (UNDECIDED,) if low <= 1.0 <= high else ()
    return Estimate(value=math.exp(mean), low=low, high=high, level=level, reasons=reasons)


def _variance(off: Floats) -> tuple[float, float]:
    """Return scatter of one log ratio, squared, and its degrees of freedom, from the deviations."""
    spread, dof = float((off**2).sum()), off.size - 1.0
    if off.size >= ENOUGH:
        return spread / dof, dof
    dof += SESSION_DOF
    return (SESSION_DOF * 2.0 * SESSION_SD**2 + spread) / dof, dof


DIFFER: Final = 0.01
"""Difference of the effects per epoch and per image from which on both are reported [ln]."""


def sentence_of(
    factor: str, pairs: Sequence[EffectPair], whole: BatchEffect, by_batch: Sequence[BatchEffect]
) -> str:
    """Return factor, values, pairs, times per epoch and image, their range and reasons."""
    sides = pairs[0].changed, pairs[0].base
    changed, base = (value_in_words(side[0].value) for side in sides)
    what = Text(
        "{factor}, {changed} against {base}, {pairs}",
        factor=sentence_case(factor),
        changed=changed,
        base=base,
        pairs=plural(len(pairs), "{count} pair", "{count} pairs"),
    )
    epoch = _times(whole.per_epoch)
    if isinstance(whole.per_image, Estimate):
        text = Text(
            "{what}: an epoch takes {epoch}, a processed image {image}.",
            what=what,
            epoch=epoch,
            image=_times(whole.per_image),
        )
    else:
        text = Text("{what}: an epoch takes {epoch}.", what=what, epoch=epoch)
    odd = max(pairs, key=lambda pair: pair.disagreement)
    why = _why(odd) if odd.disagreement > DIFFER else ""
    return paragraph(text, _range(by_batch), why, _with(pairs))


def value_in_words(value: Value) -> str:
    """Return a factor's value as sentences have it: `on`, `4`, `tf.data`, `not stated`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not stated" if value is None else str(value)


def _with(pairs: Sequence[EffectPair]) -> str:
    """Return the other changes where no two runs agreed in them."""
    mixed = {
        name: f"{name} ({value_in_words(after)} against {value_in_words(before)})"
        for pair in pairs
        for (name, before), (_, after) in zip(
            pair.base[0].brought, pair.changed[0].brought, strict=True
        )
        if before != after
    }
    return Text("Also changed: {values}.", values=" and ".join(mixed.values())) if mixed else ""


def _range(by_batch: Sequence[BatchEffect]) -> str:
    stated = [effect for effect in by_batch if effect.batch is not None]
    if len(stated) < 2:
        return ""
    ends = (min(stated, key=_value), max(stated, key=_value))
    least, most = (
        Text("{value:.2f} at batch {batch:,}", value=_value(end), batch=end.batch) for end in ends
    )
    return Text("Per epoch from {least} to {most}.", least=least, most=most)


def _value(effect: BatchEffect) -> float:
    return float(effect.per_epoch.value)


def _why(pair: EffectPair) -> str:
    (trained, validated), (before, seen) = (_images(side) for side in (pair.changed, pair.base))
    images = Text("{trained} images trained and {validated} validated against {before} and {seen}",
                  trained=trained, validated=validated, before=before, seen=seen)  # fmt: skip
    if pair.batch is not None:
        images = Text("at batch {batch}, {images}", batch=plain(pair.batch), images=images)
    return Text("The two answers differ because an epoch was not the same work ({images}).",
                images=images)  # fmt: skip


def _images(runs: Sequence[FactorRun]) -> tuple[str, str]:
    """Return how many images an epoch trained on and validated on, on average."""
    names = ("samples_per_epoch", "validation_samples_per_epoch")
    first, second = (sum(getattr(run, name) or 0 for run in runs) / len(runs) for name in names)
    return f"{first:,.0f}", f"{second:,.0f}"


def _times(effect: Estimate) -> str:
    level = percent(effect.level)
    interval = f"{level}: {effect.low:.2f} to {effect.high:.2f}"
    interval += ", includes 1" if UNDECIDED in effect.reasons else ""
    return Text("{effect:.2f} times as long ({interval})", effect=effect.value, interval=interval)


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


def factor_effects(runs: Sequence[FactorRun], factor: str) -> tuple[FactorEffect, ...]:
    """Return the effect of every value of a factor against the plainest, by `PLAINEST`.

    The plainer of two values is the base in all workloads, so that effects can be read together:
    each value is compared with the plainest that it has a pair with. Values without a pair are
    left out. Arguments and errors as `factor_effect`.
    """
    values = sorted({run.value for run in runs}, key=lambda v: _plainness(factor, v, runs))
    effects = (_against_plainer(runs, factor, values[: i + 1]) for i in range(1, len(values)))
    return tuple(effect for effect in effects if effect is not None)


def _against_plainer(
    runs: Sequence[FactorRun], factor: str, values: Sequence[Value]
) -> FactorEffect | None:
    """Return the effect of the last value against the first that it has a pair with."""
    *plainer, changed = values
    effects = (factor_effect(runs, factor, base, changed) for base in plainer)
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
        [
            p
            for run in runs
            for p in bad_seconds(Text("An epoch of run {run_id}", run_id=run.run_id), run.epoch_s)
        ]
    )
    pairs = pairs_of(runs, base, changed)
    if not pairs:
        return Refusal(
            reason=Text(
                "No two runs differ in {factor} ({first} and {second}) alone.",
                factor=factor,
                first=value_in_words(base),
                second=value_in_words(changed),
            ),
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


SHORT: Final = "article-002-pattern-3"
"""The result set of pattern (T, T, F): validated, augmented, from memory."""
VALIDATED_AT_ONCE: Final = 32
"""Images of one of its validation batches, for every training batch."""
TO_VALIDATE: Final = 10_000
FASTER_PER_EPOCH: Final = 0.93
FASTER_PER_IMAGE: Final = 0.98
"""(T, T, F) over (T, F, T) at batch 4096 on the TPU [1]."""


def work_notes(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return notes on the effects of one workload, from its rows."""
    return (*_dropped(rows), *_article(rows))


def short_validation(batch: int) -> tuple[int, int]:
    """Return the images that (T, T, F) of article 002 and the others validated in an epoch."""
    steps = TO_VALIDATE // batch
    return VALIDATED_AT_ONCE * steps, batch * steps


def _dropped(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the batch at which most images of an epoch were left out as a remainder."""
    counted = [row for row in rows if row.get("samples_per_epoch")]
    whole = max((row["samples_per_epoch"] for row in counted), default=0)
    short = [row for row in counted if whole % (row.get("global_batch_size") or max(whole, 1))]
    least = min(short, key=lambda row: (_trained(row), -row["global_batch_size"]), default=None)
    if least is not None and _trained(least) == whole - whole % least["global_batch_size"]:
        yield (
            Text(
                "An epoch is not always the same work: at batch {global_batch_size:,} a "
                "feed that drops the remainder trains on {trained:,} of {whole:,} "
                "images.",
                global_batch_size=least["global_batch_size"],
                trained=_trained(least),
                whole=whole,
            )
        )


def _trained(row: Mapping[str, Any]) -> int:
    return int(row["samples_per_epoch"])


def _article(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    batches = [row["global_batch_size"] for row in rows if row.get("result_set") == SHORT]
    if not batches:
        return
    batch = max(batches)
    few, usual = short_validation(batch)
    yield (
        Text(
            "Article 002 finds augmentation faster. Partly that is less validation. At batch "
            "{batch:,} its pattern (T, T, F), augmented from memory, validated {few} images an "
            "epoch: {validated_at_once} × ({to_validate:,} // batch). The patterns from storage "
            "validated {usual:,}. Against (T, F, T), without augmentation, an epoch takes "
            "{faster_per_epoch:.2f} times as long at batch 4,096 on the TPU. A processed image "
            "takes {faster_per_image:.2f} times as long.",
            validated_at_once=VALIDATED_AT_ONCE,
            to_validate=TO_VALIDATE,
            few=few,
            batch=batch,
            usual=usual,
            faster_per_epoch=FASTER_PER_EPOCH,
            faster_per_image=FASTER_PER_IMAGE,
        )
    )


def effects_of(
    rows: Sequence[Mapping[str, Any]], workload: str
) -> dict[str, tuple[FactorEffect, ...]]:
    """Return the factors that have pairs in a workload, with the effect of each of their values.

    `rows` are good rows of the run table, of the workload in any precision: only the effect of
    the precision looks beyond its own.
    """
    own = [row for row in rows if row["workload"] == workload]
    by_factor, notes = {}, work_notes(own)
    for factor in BROUGHT:
        runs = factor_runs(rows if factor == "precision" else own, factor)
        if effects := factor_effects(runs, factor):
            by_factor[factor] = tuple(replace(effect, notes=notes) for effect in effects)
    return by_factor


def effect_rows(effects: Iterable[FactorEffect]) -> list[Record]:
    """Return each effect over all pairs, then batch by batch: ratios of time with bounds [1]."""
    return [row for effect in effects for row in _rows(effect)]


def _rows(effect: FactorEffect) -> list[Record]:
    whole = BatchEffect(
        batch=None, pairs=effect.pairs, per_epoch=effect.per_epoch, per_image=effect.per_image
    )
    each = effect.by_batch if len(effect.by_batch) > 1 else ()
    return [_row(effect, part, pooled=part is whole) for part in (whole, *each)]


def _row(effect: FactorEffect, part: BatchEffect, *, pooled: bool) -> Record:
    only = effect.by_batch[0].batch if len(effect.by_batch) == 1 else None
    return {
        "factor": effect.factor,
        "base": value_in_words(effect.base),
        "changed": value_in_words(effect.changed),
        "batch": only if pooled else part.batch,
        "pooled": pooled,
        "pairs": part.pairs,
        **_bounds("per_epoch", part.per_epoch),
        **_bounds("per_image", part.per_image),
        "notes": _notes(part),
    }


def _bounds(name: str, estimate: Estimate | Refusal) -> dict[str, float | None]:
    if isinstance(estimate, Refusal):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    value, low, high = (round(float(v), 4) for v in (estimate.value, estimate.low, estimate.high))
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _notes(part: BatchEffect) -> str | None:
    notes = [*part.per_epoch.reasons]
    notes += (
        [part.per_image.reason] if isinstance(part.per_image, Refusal) else part.per_image.reasons
    )
    return " ".join(dict.fromkeys(notes)) or None
