"""Which measured number of an accelerator says most about another one."""

from __future__ import annotations

from planner.epochs import Option as MeasuredRun
from planner.job._records import Hardware, Job
from planner.job.efficiency import octaves_between


def nearest_measured(
    job: Job, hardware: Hardware, at_batch: float | None = None
) -> tuple[Hardware, MeasuredRun] | None:
    """Where the job was timed on the same accelerator, and its fastest run there (at a batch).

    On as many nodes, one or several, before the others; then the fewest doublings away; then the
    fastest. None where the accelerator is not known or was not measured.
    """
    found = [
        (job.hardware[option.run.run_id], option)
        for option in job.measured
        if option.run.samples_per_s
        and job.hardware[option.run.run_id].accelerator == hardware.accelerator
        and at_batch in (None, option.run.global_batch_size)
    ]
    if hardware.accelerator is None or not found:
        return None
    return min(found, key=lambda pair: _distance(hardware, *pair))


def _distance(
    hardware: Hardware, there: Hardware, option: MeasuredRun
) -> tuple[bool, float, float, str]:
    unlike = (there.nodes > 1) is not (hardware.nodes > 1)
    octaves = abs(octaves_between(hardware, there))
    return unlike, octaves, -(option.run.samples_per_s or 0.0), option.run.run_id
