"""A run as the reasoning sees it: the summary of one row, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from planner.runs.later_epochs import EPOCHS, EpochPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The hardware of a run: devices over nodes, launch mode and link."""

    devices: int
    nodes: int
    launch: str | None
    peer_to_peer: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One row of the run table, with its labels. Times in s, throughput in samples/s.

    `step_time_s` is the measured step time or, where only epochs were published, mean epoch
    time / steps per epoch (validation included); None is unmeasured. `epoch_prior` is the prior of
    epoch scatter from the other runs of its result set on its system.
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
    epoch_prior: EpochPrior = EPOCHS

    @property
    def start_known(self) -> bool:
        """Whether its total has the start-up time in it."""
        return self.pre_train_s is not None or self.until_first_epoch_end_s is not None

    @property
    def set_folder(self) -> str:
        """Name of the run's folder: the set it is shown with, even after a rename."""
        return self.file.rsplit("/", 2)[-2] if "/" in self.file else self.result_set
