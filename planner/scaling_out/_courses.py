"""An answer over device counts, batches and pauses of the slow worker: arrays for charts."""

from dataclasses import dataclass, replace
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Estimate, Floats, Refusal
from planner.scaling_out._answer import SeriesAnswer, UnevenAnswer, outside, slow_answer
from planner.scaling_out._series import DeviceSeries
from planner.throughput import TOO_FAR

GRID: Final = 41
MOST_SLOW: Final = 0.9
"""Largest share of the time that a worker is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCourse:
    """A quantity against the device count, at one batch: arrays of shape (counts,).

    NaN where refused. `measured` are the counts with runs, of which `points` are the values, and
    `outside` whether the fit's interval misses them.
    """

    devices: Floats
    nodes: Floats
    value: Floats
    low: Floats
    high: Floats
    measured: Floats
    points: Floats
    outside: NDArray[np.bool_]


def step_course(answer: SeriesAnswer, batch: float) -> CountCourse:
    """Return the fitted steps at every device count [s], and measured ones."""
    rows = answer.at(batch)
    steps = [
        r.step if isinstance(r.step, Refusal) else answer.series.step(r.batch, r.devices)
        for r in rows
    ]
    value, low, high = np.array(
        [(np.nan,) * 3 if isinstance(s, Refusal) else s.ends for s in steps]
    ).T
    measured = [r for r in rows if r.measured_s]
    missed = {(o.row.held, o.row.devices) for o in outside(answer)}
    return CountCourse(
        devices=np.array([r.devices for r in rows], float),
        nodes=np.array([r.nodes for r in rows], float),
        value=value,
        low=low,
        high=high,
        measured=np.array([r.devices for r in measured], float),
        points=np.array([median(r.measured_s) for r in measured]),
        outside=np.array([(batch, r.devices) in missed for r in measured], bool),
    )


def efficiency_course(answer: SeriesAnswer, batch: float) -> CountCourse:
    """Return the efficiencies [1] of fitted steps, and of measured ones.

    The band is that of the step: at the smallest count, where the efficiency is 1, it has no width.
    """
    steps, rows = step_course(answer, batch), answer.at(batch)
    each = np.array([r.batch for r in rows]) / steps.devices
    first = [r.devices for r in rows].index(answer.series.base)
    share = each * steps.value[first] / each[first]
    low, high = share / steps.high, share / steps.low
    low[first] = high[first] = 1.0
    points = [
        np.nan if isinstance(r.efficiency, Refusal) else float(r.efficiency.value)
        for r in rows
        if r.measured_s
    ]
    return replace(steps, value=share / steps.value, low=low, high=high, points=np.array(points))


def part_shares(
    answer: SeriesAnswer,
) -> tuple[tuple[int, ...], tuple[Floats, Floats, Floats]] | None:
    """Return device counts, and shares [1] of work, overhead and interconnect in their steps.

    At the headline's batch; None where the runs do not separate them.
    """
    parted = [(r.devices, r.parts) for r in answer.shown if r.parts and r.parts.total_s > 0.0]
    if not parted:
        return None
    parts = np.array([(p.compute_s, p.overhead_s, p.link_s) for _, p in parted])
    work, overhead, link = (parts / parts.sum(axis=1, keepdims=True)).T
    return tuple(devices for devices, _ in parted), (work, overhead, link)


def batch_grid(answer: SeriesAnswer) -> Floats:
    """Return global batches [samples] that cover measured ones and the crossovers near them.

    Beyond `TOO_FAR` times the measured ones a step is refused.
    """
    every = [p.batch for s in (answer.series, answer.driver) if s for p in s.points]
    batches = [float(c.batch.value) for c in answer.crossings if isinstance(c.batch, Estimate)]
    low, high = min(every, default=8.0), max([*every, *answer.batches], default=1024.0)
    most = max(TOO_FAR * max(every, default=np.inf), high)
    top = max([high, *(min(2.0 * b, most) for b in batches if b < 8.0 * high)])
    return np.geomspace(low, max(top, 2.0 * low), GRID)


def batch_course(
    series: DeviceSeries, devices: int, batch: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return steps [s] over global batches [samples]; then measured batches and their steps."""
    step = series.step(batch, devices)
    here = [p for p in series.points if p.devices == devices]
    return (
        np.asarray(step.value) if isinstance(step, Estimate) else np.full(batch.shape, np.nan),
        np.array([p.batch for p in here], float),
        np.array([p.step_s for p in here]),
    )


def slow_course(answer: SeriesAnswer, row: UnevenAnswer) -> tuple[Floats, Floats, Floats]:
    """Return stopped shares of the slow worker's time, and samples/s with and without waiting."""
    slow = np.linspace(0.0, MOST_SLOW, GRID)
    count = next(r for r in answer.shown if r.devices == row.devices)
    answers = [slow_answer(count, replace(answer.question, slow=float(s))) for s in slow]
    return (
        slow,
        np.array([a.synchronous_samples_per_s for a in answers]),
        np.array([a.free.samples_per_s for a in answers]),
    )
