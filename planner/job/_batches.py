"""The batch at which a job runs on hardware where it was not timed.

A transferred time has the batch of its source run: the one on the same accelerator if there is
one, else the fastest on any. An estimate from FLOPs has the same batch, or
`USUAL_BATCH` where no run states one. A requested batch selects the runs at that batch.
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
"""Batch assumed for a description without one [samples]."""
OTHER_BATCH: Final = (
    "Another batch may be faster there; a larger one needs more epochs for the same target."
)


def speeds_of(
    catalog: Catalog, rows: Iterable[Mapping[str, Any]], precision: str
) -> tuple[Speed, ...]:
    """Return the fastest run on each accelerator of the catalogue at each batch.

    Args:
        catalog: to place the runs.
        rows: good training runs of one workload, as `planner.job._sheets.library_of`, with
            `global_batch_size` and `device_kind`.
        precision: of the job; runs in another number format are left out.
    """
    effective = effective_precision(precision)
    fastest: dict[tuple[str, float], float] = {}
    for row in rows:
        speed = row.get("samples_per_s")
        if row.get("device_kind") == "cpu" or not speed or not math.isfinite(speed):
            continue
        there = placed(catalog, row)
        if there.accelerator is None:
            continue
        if effective_precision(str(row["precision"] or "")) == effective:
            key = (there.accelerator.id, float(row["global_batch_size"] or 0))
            fastest[key] = max(per_accelerator(speed, there), fastest.get(key, 0.0))
    return tuple(
        Speed(card=card, batch=batch or None, samples_per_s=speed)
        for (card, batch), speed in sorted(fastest.items())
    )


def library_at(library: Library | None, job: Job, at_batch: float | None) -> Library | None:
    """Return the library with only the job's runs at a batch; None keeps every batch."""
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


def batch_sentence(job: Job, hardware: Hardware, at_batch: float | None) -> str:
    """Return which batch is assumed and why, as sentences; "" where the user chose it."""
    batch = batch_on(job, hardware, at_batch)
    if batch is None or at_batch is not None or (job.described and job.batch is not None):
        return ""
    if job.described:
        return f"Assumes batch {plain(batch)}, since none is stated. {OTHER_BATCH}"
    if not job.speeds and job.batch is None:
        return f"Assumes batch {plain(batch)}, since no run states one. {OTHER_BATCH}"
    used = {s.batch for s in _used(job, hardware).values() if s.batch}
    if len(used) > 1 and nearest_measured(job, hardware) is None:
        several = " and ".join(f"{plain(b)}" for b in sorted(used))
        return f"Its fastest runs had batches {several}; the fastest of all is shown. {OTHER_BATCH}"
    return f"Assumes batch {plain(batch)}, that of the fastest measured run. {OTHER_BATCH}"


def not_measured_at(job: Job, batch: float) -> Refusal | None:
    """Return why a batch has no time; None where a run has that batch.

    Only runs on accelerators of the catalogue count where there are any: others do not transfer.
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
    """Return the advice to choose a measured batch, or none."""
    measured = ", ".join(plain(b) for b in sorted(b for b in sizes if b))
    if not measured:
        return "Leave the batch open for the fastest."
    return f"Choose a measured batch ({measured}), or leave it open for the fastest."


def _sources(job: Job, at_batch: float | None = None) -> dict[str, Speed]:
    """Return the fastest run of each accelerator, at one batch or at any."""
    fastest: dict[str, Speed] = {}
    for speed in job.speeds:
        faster = (
            speed.card not in fastest or speed.samples_per_s > fastest[speed.card].samples_per_s
        )
        if at_batch in (None, speed.batch) and faster:
            fastest[speed.card] = speed
    return fastest


def _used(job: Job, hardware: Hardware) -> Mapping[str, Speed]:
    """Return the runs that the time is based on: the accelerator's own, else all."""
    every = _sources(job)
    card = hardware.accelerator.id if hardware.accelerator else ""
    return {card: every[card]} if card in every else every
