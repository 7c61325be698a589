"""The measured device count that is closest to a requested one."""

from __future__ import annotations

from planner.epochs import Option as MeasuredRun
from planner.job._records import Hardware, Job
from planner.job.efficiency import octaves_between


def nearest_measured(
    job: Job, hardware: Hardware, at_batch: float | None = None
) -> tuple[Hardware, MeasuredRun] | None:
    """Return the closest hardware the job was timed on, and its fastest run there.

    Only hardware with the same accelerator counts, and only runs at `at_batch` unless that is None.
    The order: one or several nodes alike, fewest doublings away, fastest. None where the
    accelerator is unknown or was not measured.
    """
    candidates = [
        (job.hardware[option.run.run_id], option)
        for option in job.measured
        if option.run.samples_per_s
        and job.hardware[option.run.run_id].accelerator == hardware.accelerator
        and at_batch in (None, option.run.global_batch_size)
    ]
    if hardware.accelerator is None or not candidates:
        return None
    return min(candidates, key=lambda pair: _distance(hardware, *pair))


def _distance(
    hardware: Hardware, there: Hardware, option: MeasuredRun
) -> tuple[bool, float, float, str]:
    unlike = (there.nodes > 1) is not (hardware.nodes > 1)
    octaves = abs(octaves_between(hardware, there))
    return unlike, octaves, -(option.run.samples_per_s or 0.0), option.run.run_id
