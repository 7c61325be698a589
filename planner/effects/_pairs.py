"""Pairs of runs that differ in one factor alone.

A factor may change others with it (`BROUGHT`): four workers are processes, a generator drops the
remainder, a framework has its own backend. Runs that agree in those too are paired first. If none
do, one pair is made of all of them, and `planner.effects._sentences` names the other changes.
Repeats of one side of a pair are averaged, in logarithms, before the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from planner.epochs import SAME
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
class Pair:
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
        raise ValueError(f"{factor!r} is not a factor. Choose one of {', '.join(BROUGHT)}.")
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


def pairs_of(runs: Sequence[FactorRun], base: Value, changed: Value) -> list[Pair]:
    """Return all pairs of `changed` with `base`, one or more for each configuration and batch."""
    cells: dict[Hashable, tuple[list[FactorRun], list[FactorRun]]] = {}
    for run in runs:
        if run.value in {base, changed}:
            sides = cells.setdefault((run.configuration, run.batch), ([], []))
            sides[run.value == changed].append(run)
    return [pair for before, after in cells.values() for pair in _paired(before, after)]


def _paired(before: list[FactorRun], after: list[FactorRun]) -> list[Pair]:
    """Return one pair per `brought` of both sides, or one of all runs without any."""
    if not before or not after:
        return []
    both = dict.fromkeys(r.brought for r in before if r.brought in {a.brought for a in after})
    sides = [([r for r in side if r.brought == b] for side in (before, after)) for b in both]
    return [_pair(*two) for two in sides] or [_pair(before, after)]


def _pair(before: list[FactorRun], after: list[FactorRun]) -> Pair:
    epoch = _image_trained if _sizes_differ((*before, *after)) else _epoch
    return Pair(
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
