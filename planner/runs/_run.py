"""A run as the reasoning sees it (one row, frozen), forms of a network, and sizes of data sets.

Forms for inference (int8, pruned, distilled ...) have a speed-up and an accuracy loss. Speed is the
largest measured throughput of a form, against that of the network as it was trained on the same
system, software and engine; accuracy is given in points lost against it.

The table of public data sets has the samples of their training and validation split, by name. A run
that names such a data set but not its size is converted by it; a synthetic stand-in ("synthetic
CIFAR-10") has the size of the original. Every row names the source of the size. `synthetic tokens`
and `digits` are the project's own (docs/measure.md).
"""

import itertools
import math
import re
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, TypeVar

from planner.core import Record, Text, percent, shipped_rows
from planner.runs.later_epochs import EPOCHS, EpochPrior

PER_NODE: Final = 8
"""Accelerators in one machine, as servers are sold; a TPU slice counts as one machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The hardware of a run: devices over nodes, launch mode, link and start-up [s]."""

    devices: int
    nodes: int
    launch: str | None
    peer_to_peer: bool | None
    startup_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One row of the run table, with its labels. Times in s, throughput in samples/s.

    `step_time_s` is the measured step time or, where only epochs were published, mean epoch
    time / steps per epoch (validation included); None is unmeasured. `epoch_prior` is the prior of
    epoch scatter from the other runs of its result set on its system. `standing` is "unofficial"
    for a run of an unofficial set, whose `system` says so too.
    """

    run_id: str
    result_set: str
    folder: str
    file: str
    status: str
    status_reason: str | None
    basis: str
    source: str | None
    source_url: str | None
    licence: str | None
    note: str | None
    recorded_at: datetime
    model: str
    workload: str
    system: str
    pattern: str
    software: str
    device_kind: str
    mode: str
    global_batch_size: int | None
    pre_train_s: float | None
    first_epoch_s: float | None
    until_first_epoch_end_s: float | None
    later_epoch_mean_s: float | None
    later_epoch_sd_s: float | None
    epochs_measured: int | None
    total_s: float | None
    steps_per_epoch: int | None
    samples_per_epoch: int | None
    step_time_s: float | None
    samples_per_s: float | None
    asymptotic_throughput: float | None
    overhead_s: float | None
    dataset: str | None = None
    train_samples: int | None = None
    validation_s: float | None = None
    validation_samples_per_epoch: int | None = None
    drop_remainder: bool | None = None
    peak_memory_bytes: int | None = None
    peak_memory_method: str | None = None
    standing: str | None = None
    epoch_prior: EpochPrior = EPOCHS

    @property
    def has_start(self) -> bool:
        """Whether its total has the start-up time in it."""
        return self.pre_train_s is not None or self.until_first_epoch_end_s is not None

    @property
    def device_memory_bytes(self) -> int | None:
        """Largest memory in use on one device [bytes]; None where unknown or of the host."""
        of_host = "resident" in (self.peak_memory_method or "")
        return None if of_host else self.peak_memory_bytes

    @property
    def set_folder(self) -> str:
        """Name of the run's folder: the set it is shown with, even after a rename."""
        return self.file.rsplit("/", 2)[-2] if "/" in self.file else self.result_set


@dataclass(frozen=True, slots=True)
class FormRun:
    """One inference run: its form, where it ran, samples/s, accuracy [0..1] and parameters."""

    variant: str | None
    precision: str | None
    system: str
    software: str
    engine: str | None
    batch: int | None
    samples_per_s: float
    metric: float | None
    params: int | None
    metric_name: str | None

    @property
    def place(self) -> tuple[str, str, str]:
        """The fields that must be equal to compare two forms."""
        return self.system, self.software, self.engine or ""

    @property
    def form(self) -> str:
        """Its name in words."""
        if self.variant:
            return self.variant
        plain = self.precision in {None, "float32"}
        return "as trained, float32" if plain else str(self.precision)

    @property
    def changed(self) -> bool:
        """Whether it differs from the network as trained."""
        return bool(self.variant) or self.precision not in {None, "float32"}


def form_rows(runs: Iterable[FormRun]) -> list[Record]:
    """Return one row a form and place, the unchanged network first.

    Empty where no form was changed.
    """
    ordered = sorted(runs, key=lambda r: (*r.place, r.changed, r.form))
    rows: list[Record] = []
    for _, group in itertools.groupby(ordered, key=lambda r: r.place):
        here = list(group)
        if any(run.changed for run in here):
            rows += _of_place(here)
    return rows


def _of_place(here: Sequence[FormRun]) -> list[Record]:
    forms = {r.form: [x for x in here if x.form == r.form] for r in here}
    base = next((runs for runs in forms.values() if not runs[0].changed), None)
    return [_row(form, runs, base) for form, runs in forms.items()]


def _row(form: str, runs: Sequence[FormRun], base: Sequence[FormRun] | None) -> Record:
    fastest = max(runs, key=lambda r: r.samples_per_s)
    accuracy, unchanged = _accuracy(runs), _accuracy(base or ())
    lost = None if accuracy is None or unchanged is None else 100 * (unchanged - accuracy)
    return {
        "Form": form,
        "Samples/s": round(fastest.samples_per_s),
        "At batch": fastest.batch,
        "Speed-up": _speed_up(runs, base),
        "Accuracy": None if accuracy is None else percent(accuracy, 1),
        "Points lost": None if lost is None else round(lost, 1) + 0.0,
        "Parameters": fastest.params,
        "System": fastest.system,
        "Software": f"{fastest.software}, engine {fastest.engine}",
    }


def _accuracy(runs: Sequence[FormRun]) -> float | None:
    metrics = [r.metric for r in runs if r.metric is not None and r.metric_name == "accuracy"]
    return statistics.fmean(metrics) if metrics else None


def _speed_up(runs: Sequence[FormRun], base: Sequence[FormRun] | None) -> str | None:
    """Return the speed-up at the largest batch that both were measured at."""
    if not base:
        return None
    ours = {r.batch: r.samples_per_s for r in runs if r.batch}
    theirs = {r.batch: r.samples_per_s for r in base if r.batch}
    common = max(ours.keys() & theirs.keys(), default=None)
    return None if common is None else f"{ours[common] / theirs[common]:.2f}x at {common:,}"


_Item = TypeVar("_Item")

READ: Final = (
    "run_id", "workload", "software", "pattern", "system_name", "global_batch_size",
    "pre_train_s", "first_epoch_s", "until_first_epoch_end_s", "later_epoch_mean_s",
    "later_epoch_sd_s", "epochs_measured", "total_s", "steps_per_epoch", "samples_per_epoch",
    "step_time_s", "samples_per_s", "suspect_reason",
)  # fmt: skip
"""Columns of the run table that become fields of the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """One good run for the checks: names and units of the run table, None is unknown.

    `label` is its name in evidence; `software` is everything else that must be equal (framework,
    launch ...); `devices` counts all of the run.
    """

    run_id: str
    label: str
    workload: str
    software: str
    pattern: str
    system_name: str
    devices: int = 1
    global_batch_size: int | None = None
    pre_train_s: float | None = None
    first_epoch_s: float | None = None
    until_first_epoch_end_s: float | None = None
    later_epoch_mean_s: float | None = None
    later_epoch_sd_s: float | None = None
    epochs_measured: int | None = None
    total_s: float | None = None
    steps_per_epoch: int | None = None
    samples_per_epoch: int | None = None
    step_time_s: float | None = None
    samples_per_s: float | None = None
    suspect_reason: str | None = None


def checked_run(row: Mapping[str, Any]) -> CheckedRun:
    """Return the record of a row with the columns `READ`, `system` and the device counts."""
    devices = int(row.get("accelerators_per_node") or 1) * int(row.get("number_of_nodes") or 1)
    batch = row.get("global_batch_size")
    label = str(row.get("system") or row["system_name"])
    if batch:
        label = Text("{system} at batch {batch:,}", system=label, batch=batch)
    columns: dict[str, Any] = {name: row.get(name) for name in READ}
    return CheckedRun(label=label, devices=devices, **columns)


def is_positive(value: float | None) -> bool:
    """Return a number one can compare: finite and above 0."""
    return value is not None and 0.0 < value < math.inf


def case_of(run: CheckedRun) -> tuple[str, ...]:
    """Return the key of a curve, whose runs differ in batch and devices only."""
    return run.workload, run.software, run.pattern, run.system_name


def configuration_of(run: CheckedRun) -> tuple[Hashable, ...]:
    """Return the key of a row of neighbours, whose runs differ in input pattern only."""
    return run.system_name, run.devices, run.software, run.global_batch_size


def grouped(items: Iterable[_Item], key: Callable[[_Item], Hashable]) -> list[list[_Item]]:
    """Return items grouped by key, groups and items in their order."""
    groups: dict[Hashable, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def numbered(names: Sequence[Hashable]) -> list[int]:
    """Return each name as a number, counted from 0 in the order they come."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSize:
    """Samples of the splits of one data set; `validation_samples` None is no standard split."""

    name: str
    train_samples: int
    source: str
    validation_samples: int | None = None


STAND_IN: Final = "synthetic"
SIZES: Final = tuple(
    DatasetSize(**row)
    for row in shipped_rows(__package__, "datasets.csv", train_samples=int, validation_samples=int)
)
ALIASES: Final = MappingProxyType(
    {
        "imagenet1k": "ImageNet",
        "imagenet2012": "ImageNet",
        "imagenetilsvrc2012": "ImageNet",
        "ilsvrc2012": "ImageNet",
        "coco2017": "COCO 2017",
        "imdb": "IMDB reviews",
    }
)
"""Other spellings in use, without blanks and punctuation."""


def is_stand_in(dataset: str | None) -> bool:
    """Return whether a data set is synthetic data in the shape of another one."""
    return (dataset or "").strip().lower().startswith(f"{STAND_IN} ")


def dataset_size(dataset: str | None) -> DatasetSize | None:
    """Return the size of a data set by its name, or None.

    Case, blanks and punctuation do not matter.
    """
    plain = _plain(dataset or "")
    own = _BY_NAME.get(plain)
    return own or _BY_NAME.get(plain.removeprefix(STAND_IN))


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]", "", name.lower())


_BY_NAME: Final = MappingProxyType(
    {_plain(size.name): size for size in SIZES}
    | {short: size for short, name in ALIASES.items() for size in SIZES if size.name == name}
)
