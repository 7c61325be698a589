"""The batch at which a job runs on hardware where it was not timed.

A transferred time has the batch of the run it is transferred from: the run on the same accelerator
where there is one, else the fastest on any. An estimate from FLOPs has the same batch, or
`USUAL_BATCH` where no run states one. A batch in the question leaves only runs at that batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.catalog import Catalog
from planner.core import Refusal, plain
from planner.job._nearest import nearest_measured
from planner.job._placing import placed
from planner.job._records import Hardware, Job, Speed
from planner.job._sheets import effective_precision
from planner.job.efficiency import per_accelerator
from planner.transfer import Library, with_speeds

USUAL_BATCH: Final = 256.0
"""Of a description without one [samples]: assumed."""
OTHER_BATCH: Final = (
    "Another batch may be faster there; a larger one needs more epochs for the same target."
)


def speeds_of(
    catalog: Catalog, rows: Iterable[Mapping[str, Any]], precision: str
) -> tuple[Speed, ...]:
    """Return the fastest run on each accelerator of the catalogue at each batch, as a library has.

    Args:
        catalog: to place the runs.
        rows: good training runs of one workload, as `planner.job._sheets.library_of`, with
            `global_batch_size` and `device_kind`.
        precision: of the job; runs in another number format are left out.
    """
    effective = effective_precision(precision)
    found: dict[tuple[str, float], float] = {}
    for row in rows:
        speed = row.get("samples_per_s")
        if row.get("device_kind") == "cpu" or not speed or not math.isfinite(speed):
            continue
        there = placed(catalog, row)
        if there.accelerator is None:
            continue
        if effective_precision(str(row["precision"] or "")) == effective:
            key = (there.accelerator.id, float(row["global_batch_size"] or 0))
            found[key] = max(per_accelerator(speed, there), found.get(key, 0.0))
    return tuple(
        Speed(card=card, batch=batch or None, samples_per_s=speed)
        for (card, batch), speed in sorted(found.items())
    )


def library_at(library: Library | None, job: Job, at_batch: float | None) -> Library | None:
    """Leave only the job's runs at a batch in the library; None is every batch."""
    if library is None or at_batch is None or not job.speeds:
        return library
    kept = {card: s.samples_per_s for card, s in _sources(job, at_batch).items()}
    return with_speeds(library, (job.workload, effective_precision(job.precision)), kept)


def batch_on(job: Job, hardware: Hardware, at_batch: float | None = None) -> float | None:
    """Return the global batch of a job where it was not timed [samples]; None: no run states it."""
    if at_batch is not None:
        return at_batch
    if job.described:
        return job.batch or USUAL_BATCH
    nearest = nearest_measured(job, hardware)
    if nearest is not None:
        batch = nearest[1].run.global_batch_size
        return None if batch is None else float(batch)
    used = _used(job, hardware)
    if not used:
        return job.batch or USUAL_BATCH
    return max(used.values(), key=lambda s: s.samples_per_s).batch


def batch_told(job: Job, hardware: Hardware, at_batch: float | None) -> str:
    """Return which batch is assumed and why, as sentences; "" where a person named it."""
    batch = batch_on(job, hardware, at_batch)
    if batch is None or at_batch is not None or (job.described and job.batch is not None):
        return ""
    if job.described:
        return f"Assumes batch {plain(batch)}, since none is given. {OTHER_BATCH}"
    if not job.speeds and job.batch is None:
        return f"Assumes batch {plain(batch)}, since no run states one. {OTHER_BATCH}"
    used = {s.batch for s in _used(job, hardware).values() if s.batch}
    if len(used) > 1 and nearest_measured(job, hardware) is None:
        several = " and ".join(f"{plain(b)}" for b in sorted(used))
        return f"Its fastest runs had batches {several}; the fastest of all is shown. {OTHER_BATCH}"
    return f"Assumes batch {plain(batch)}, that of the fastest measured run. {OTHER_BATCH}"


def not_measured_at(job: Job, batch: float) -> Refusal | None:
    """Return why a batch has no time where it was not timed; None where a run has that batch.

    The run has to be on an accelerator of the catalogue where any run is: nothing else transfers.
    """
    if job.described:
        return None
    sizes = {s.batch for s in job.speeds} or {m.run.global_batch_size for m in job.measured}
    if batch in sizes:
        return None
    where = " on any accelerator of the catalogue" if job.speeds else ""
    return Refusal(
        reason=f"It was not measured at batch {plain(batch)}{where}.",
        measure_next=choose_batch(sizes),
    )


def choose_batch(sizes: Iterable[float | None]) -> str:
    """Return what to do where a batch was not measured: the measured ones, or none."""
    known = ", ".join(plain(b) for b in sorted(b for b in sizes if b))
    if not known:
        return "Leave the batch open for the fastest."
    return f"Choose a measured batch ({known}), or leave it open for the fastest."


def _sources(job: Job, at_batch: float | None = None) -> dict[str, Speed]:
    """The fastest of each accelerator, at a batch where one is named."""
    found: dict[str, Speed] = {}
    for one in job.speeds:
        faster = one.card not in found or one.samples_per_s > found[one.card].samples_per_s
        if at_batch in (None, one.batch) and faster:
            found[one.card] = one
    return found


def _used(job: Job, hardware: Hardware) -> Mapping[str, Speed]:
    """Those that the time rests on: the accelerator's own, else all of them."""
    every = _sources(job)
    card = hardware.accelerator.id if hardware.accelerator else ""
    return {card: every[card]} if card in every else every
