"""A step of the described workload that was timed by hand, and what the next one would narrow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from planner.catalog import Catalog, accelerator_named
from planner.compare.comparison import Comparison, Row
from planner.core import LEVEL, Estimate, Problem, Refusal, plain, t_quantile, with_ends
from planner.job import GivenStep, Hardware, Job, TimedStep, question_of, timed_share
from planner.mfu import EVERYTHING, efficiency_of, node_size, sd_after, shared_by

MINUTES: Final = 4.0
"""How long a machine is rented to time a step on it, with its start [minutes]."""
_NO_FAMILY: Final = (
    "A timed step narrows estimates of language models, encoders and image networks. Choose the "
    "kind of network."
)


def with_step(job: Job, given: GivenStep | None, catalog: Catalog) -> tuple[Job, Problem | None]:
    """Return the job with the timed step, or without it and why it cannot be used."""
    if given is None:
        return job, None
    found = accelerator_named(catalog, given.accelerator)
    if isinstance(found, Refusal):
        message = f"{found.reason}. {found.measure_next}"
        return job, Problem(parameter="step_accelerator", message=message)
    nodes = math.ceil(given.count / node_size(found))
    where = Hardware(label=found.name, accelerator=found, count=given.count, nodes=nodes)
    timed = replace(job, step=TimedStep(hardware=where, batch=given.batch, seconds=given.seconds))
    share, question = timed_share(timed), question_of(job, where, given.batch)
    if share is None or question is None or efficiency_of(question) is None:
        return job, Problem(parameter="step_s", message=_NO_FAMILY)
    if share > 1.0:
        message = (
            f"{plain(given.batch)} samples in {plain(given.seconds, 3)} s are "
            f"{plain(100.0 * share, 3)} % of the peak of {given.count} x {found.name}. Check "
            "seconds, batch, accelerator and operations per sample."
        )
        return job, Problem(parameter="step_s", message=message)
    return timed, None


def next_step(comparison: Comparison) -> str:
    """Return what one timed step would narrow, in numbers; "" where no step is to be timed."""
    row, job = comparison.leader, comparison.question.job
    if (
        row is None
        or not isinstance(row.time, Estimate)
        or row.time.basis != "estimated from FLOPs"
    ):
        return ""
    hardware = row.candidate.hardware
    question = question_of(job, hardware, job.batch)
    found = None if question is None else efficiency_of(question)
    if found is None or job.assumed_mfu is not None or hardware.accelerator is None:
        return ""
    step = None if job.step is None else job.step.hardware.accelerator
    if step is not None and shared_by(hardware.accelerator, step):
        return ""
    time = row.time
    now = math.log(float(time.high) / float(time.low)) / 2.0 / _far()
    alike = _narrowed(now, found.sd, sd_after(found, {"workload", "maker"}))
    there = _narrowed(now, found.sd, sd_after(found, EVERYTHING))
    card = hardware.accelerator
    shown, _, _ = with_ends(float(time.value), float(time.low), float(time.high))
    return (
        f"Time one step: {shown} ± {_half_width(now)} becomes "
        f"± {_half_width(alike)} on any {card.maker} accelerator, ± {_half_width(there)} on "
        f"{hardware.count} x {card.name}{_price(row)}. Enter it under “Timed step”."
    )


def _narrowed(now: float, before: float, after: float) -> float:
    """The sd of a time when that of its efficiency is another."""
    return math.sqrt(max(now**2 - before**2, 0.0) + after**2)


def _half_width(sd: float) -> str:
    """Half the 90 % interval over the value: '70 %'."""
    return f"{math.sinh(_far() * sd):.0%}".replace("%", " %")


def _far() -> float:
    """Standard deviations on either side of an interval."""
    return float(t_quantile(LEVEL, math.inf))


def _price(row: Row) -> str:
    """What renting the machine for so long costs, in words; "" of what is not rented."""
    offer = row.candidate.offer
    if offer is None or row.candidate.way != "rent":
        return ""
    price = offer.price_per_accelerator_hour * row.candidate.hardware.count
    paid = price * MINUTES / 60.0
    return f" (rented for {MINUTES:.0f} minutes: {paid:.2g} {offer.currency})"
