"""One run at a glance: its later epochs, epoch 1, throughput and memory as tiles."""

import math
from typing import Final

from planner import figures
from planner.core import Estimate, Text
from planner.runs import Run

_GB: Final = 1e9


def title(run: Run) -> str:
    """Return what was measured: workload, system and batch."""
    if run.global_batch_size is None:
        return Text("{workload} on {system}", workload=run.workload, system=run.system)
    return Text(
        "{workload} on {system} at batch {batch:,}",
        workload=run.workload, system=run.system, batch=run.global_batch_size,
    )  # fmt: skip


def tiles(run: Run) -> list[figures.Tile]:
    """Return at most four values of a run, those it states; rounded to what the sd allows."""
    made = []
    if run.later_epoch_mean_s is not None:
        made.append(_later_epochs(run, run.later_epoch_mean_s))
    if run.first_epoch_s is not None:
        made.append(figures.time_tile("Epoch 1", _exact(run.first_epoch_s)))
    if run.samples_per_s is not None:
        made.append(figures.number_tile("Throughput", _exact(run.samples_per_s), "samples/s"))
    if run.device_memory_bytes is not None:
        memory = _exact(run.device_memory_bytes / _GB)
        made.append(figures.number_tile("Peak memory of a device", memory, "GB"))
    if run.asymptotic_throughput is not None and not made:
        most = _exact(run.asymptotic_throughput)
        made.append(figures.number_tile("Asymptotic throughput v0", most, "samples/s"))
        if run.overhead_s is not None:
            made.append(figures.time_tile("Overhead per step t", _exact(run.overhead_s)))
    return made[:4]


def _later_epochs(run: Run, mean_s: float) -> figures.Tile:
    """Return the mean of the later epochs; its bar is one sd of single epochs to either side."""
    sd_s, count = run.later_epoch_sd_s, run.epochs_measured
    epochs = "Epochs 2 and later" if count is None or count > 2 else "Epoch 2"
    if not sd_s or not math.isfinite(sd_s) or sd_s >= mean_s:
        return figures.time_tile(epochs, _exact(mean_s))
    time = Estimate(value=mean_s, low=mean_s - sd_s, high=mean_s + sd_s)
    return figures.time_tile(
        epochs, time, note="mean ± sd of single epochs", ends_are="mean ± standard deviation"
    )


def _exact(value: float) -> Estimate:
    """Return a measured value without an interval."""
    return Estimate(value=value, low=value, high=value)
