"""A step timed by hand for a described workload, and how much the next one would narrow."""

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
"""Rental time for timing one step, start-up included [minutes]."""
_NO_FAMILY: Final = (
    "A timed step narrows estimates of language models, encoders and image networks. Choose the "
    "kind of network."
)


def with_step(job: Job, step: GivenStep | None, catalog: Catalog) -> tuple[Job, Problem | None]:
    """Return the job with the timed step; or the job without it, and the problem."""
    if step is None:
        return job, None
    accelerator = accelerator_named(catalog, step.accelerator)
    if isinstance(accelerator, Refusal):
        message = f"{accelerator.reason}. {accelerator.measure_next}"
        return job, Problem(parameter="step_accelerator", message=message)
    nodes = math.ceil(step.count / node_size(accelerator))
    where = Hardware(label=accelerator.name, accelerator=accelerator, count=step.count, nodes=nodes)
    timed = replace(job, step=TimedStep(hardware=where, batch=step.batch, seconds=step.seconds))
    share, question = timed_share(timed), question_of(job, where, step.batch)
    if share is None or question is None or efficiency_of(question) is None:
        return job, Problem(parameter="step_s", message=_NO_FAMILY)
    if share > 1.0:
        message = (
            f"{plain(step.batch)} samples in {plain(step.seconds, 3)} s are "
            f"{plain(100.0 * share, 3)} % of the peak of {step.count} x {accelerator.name}. Check "
            "seconds, batch, accelerator and operations per sample."
        )
        return job, Problem(parameter="step_s", message=message)
    return timed, None


def next_step(comparison: Comparison) -> str:
    """Return how much one timed step would narrow the time; "" where it would not."""
    row, job = comparison.leader, comparison.question.job
    if (
        row is None
        or not isinstance(row.time, Estimate)
        or row.time.basis != "estimated from FLOPs"
    ):
        return ""
    hardware = row.candidate.hardware
    question = question_of(job, hardware, job.batch)
    efficiency = None if question is None else efficiency_of(question)
    if efficiency is None or job.assumed_mfu is not None or hardware.accelerator is None:
        return ""
    timed_on = None if job.step is None else job.step.hardware.accelerator
    if timed_on is not None and shared_by(hardware.accelerator, timed_on):
        return ""
    time = row.time
    now = math.log(float(time.high) / float(time.low)) / 2.0 / _far()
    alike = _narrowed(now, efficiency.sd, sd_after(efficiency, {"workload", "maker"}))
    there = _narrowed(now, efficiency.sd, sd_after(efficiency, EVERYTHING))
    card = hardware.accelerator
    shown, _, _ = with_ends(float(time.value), float(time.low), float(time.high))
    return (
        f"Time one step: {shown} ± {_half_width(now)} becomes "
        f"± {_half_width(alike)} on any {card.maker} accelerator, ± {_half_width(there)} on "
        f"{hardware.count} x {card.name}{_price(row)}. Enter it under “Timed step”."
    )


def _narrowed(now: float, before: float, after: float) -> float:
    """Return the sd of a time after that of its efficiency changes."""
    return math.sqrt(max(now**2 - before**2, 0.0) + after**2)


def _half_width(sd: float) -> str:
    """Return half the 90 % interval relative to the value: '70 %'."""
    return f"{math.sinh(_far() * sd):.0%}".replace("%", " %")


def _far() -> float:
    """Return the half-width of an interval in standard deviations."""
    return float(t_quantile(LEVEL, math.inf))


def _price(row: Row) -> str:
    """Return the rent for timing a step, in words; "" where it is not rented."""
    offer = row.candidate.offer
    if offer is None or row.candidate.way != "rent":
        return ""
    price = offer.price_per_accelerator_hour * row.candidate.hardware.count
    paid = price * MINUTES / 60.0
    return f" (rented for {MINUTES:.0f} minutes: {paid:.2g} {offer.currency})"
