"""Records of runs for the checks of suspect runs, and their groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

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
    label = f"{row.get('system') or row['system_name']}{f' at batch {batch:,}' if batch else ''}"
    columns: dict[str, Any] = {name: row.get(name) for name in READ}
    return CheckedRun(label=label, devices=devices, **columns)


def is_known(value: float | None) -> bool:
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
