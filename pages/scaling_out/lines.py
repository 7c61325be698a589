"""The answer of Scaling out in the form of its charts."""

from dataclasses import replace
from typing import Final

import numpy as np

from planner import figures
from planner.answers.records import ScalingOut, SplitOut
from planner.core import Estimate, Floats, Refusal, Text
from planner.scaling_out import (
    Answer,
    Series,
    UnevenAnswer,
    batch_text,
    devices,
    outside,
    slow_answer,
)

GRID: Final = 41
MOST_COUNTS: Final = 4
"""Most device counts in the chart of steps against batches."""
MOST_CUTS: Final = 12
"""Cuts in the chart of memory."""
PARTS: Final = ("work on samples", "overhead", "interconnect")


def by_devices(answer: Answer, *, efficiency: bool) -> list[figures.CountLine]:
    """Return step times [s] or efficiencies [%] against the device count, a line per batch."""
    return [
        _count_line(answer, batch, slot, efficiency=efficiency)
        for slot, batch in enumerate(answer.batches)
    ]


def _count_line(answer: Answer, batch: float, slot: int, *, efficiency: bool) -> figures.CountLine:
    series, rows = answer.series, answer.at(batch)
    steps = [
        r.step if isinstance(r.step, Refusal) else series.step(r.batch, r.devices) for r in rows
    ]
    ends = np.array([_ends(s) for s in steps]).T
    counts = np.array([r.devices for r in rows], float)
    together = np.array([r.batch for r in rows])
    measured = [r for r in rows if r.measured_s]
    points = np.array([float(np.median(r.measured_s)) for r in measured])
    where = np.array([float(r.devices) for r in measured])
    missed = {(o.row.held, o.row.devices) for o in outside(answer)}
    value, low, high = ends
    if efficiency:
        first = [r.devices for r in rows].index(series.base)
        value, low, high = _efficiencies(together / counts, ends, first)
        points = np.array([_percent(r.efficiency) for r in measured])
    size = batch_text(batch)
    return figures.CountLine(
        label=batch_label(answer, batch),
        short=Text("batch {size}", size=size)
        if answer.hold == "global"
        else Text("{size} each", size=size),
        slot=slot,
        devices=counts,
        nodes=np.array([r.nodes for r in rows], float),
        value=value,
        low=low,
        high=high,
        measured=where,
        points=points,
        outside=np.array([(batch, r.devices) in missed for r in measured], bool),
        most=float(series.counts[-1]),
    )


def batch_label(answer: Answer, batch: float) -> str:
    """Return a batch as it is held: over all devices, or on each."""
    if answer.hold == "global":
        return Text("global batch {batch_text}", batch_text=batch_text(batch))
    return Text("batch {batch_text} per device", batch_text=batch_text(batch))


def _ends(step: Estimate | Refusal) -> tuple[float, float, float]:
    if isinstance(step, Refusal):
        return np.nan, np.nan, np.nan
    return step.ends


def _efficiencies(each: Floats, ends: Floats, first: int) -> tuple[Floats, Floats, Floats]:
    """Return efficiencies [%] of fitted steps against one row; the band is that of the step."""
    value, low, high = ends
    base = each[first] / value[first]
    share = 100.0 * each / base
    low_share, high_share = share / high, share / low
    low_share[first] = high_share[first] = 100.0  # by definition
    return share / value, low_share, high_share


def _percent(share: Estimate | Refusal) -> float:
    return np.nan if isinstance(share, Refusal) else 100.0 * float(share.value)


def shares(answer: Answer) -> figures.StepShares | None:
    """Return the parts of a step at the headline's batch; None where runs do not separate them."""
    rows = [r for r in answer.shown if r.parts is not None and r.parts.total_s > 0.0]
    if not rows:
        return None
    parts = np.array([
        (r.parts.compute_s, r.parts.overhead_s, r.parts.link_s) for r in rows if r.parts
    ])  # fmt: skip
    parts /= parts.sum(axis=1, keepdims=True)
    return figures.StepShares(
        counts=tuple(f"{r.devices:,}" for r in rows), parts=tuple(zip(PARTS, parts.T, strict=True))
    )


def profiled(record: ScalingOut) -> figures.StepShares | None:
    """Return the shares that a profiler measured; None where no run states them."""
    rows = record.profiled
    if not rows:
        return None
    parts = {
        "compute": [r.compute_share for r in rows],
        "communication": [r.communication_share for r in rows],
        "input": [r.input_share for r in rows],
        "host": [r.host_share for r in rows],
    }
    return figures.StepShares(
        counts=tuple(f"{r.devices:,}" for r in rows),
        parts=tuple((name, np.array(shares, float)) for name, shares in parts.items()),
    )


def cuts(split: SplitOut) -> figures.Cuts:
    """Return the memory of the cuts, fewest shards first, the advised one among them."""
    place = next((i for i, r in enumerate(split.rows) if r.advised), 0)
    first = max(min(place - MOST_CUTS // 2, len(split.rows) - MOST_CUTS), 0)
    rows = split.rows[first : first + MOST_CUTS]
    return figures.Cuts(
        names=tuple(f"{r.tensor} x {r.pipeline} x {r.data}" for r in rows),
        state_gb=np.array([float(r.state_gb) for r in rows]),
        activations_gb=np.array([float(r.activations_gb) for r in rows]),
        memory_gb=float(rows[0].memory_gb),
        bubble=np.array([float(r.bubble) for r in rows]),
    )


def by_batch(answer: Answer) -> list[figures.StepLine]:
    """Return steps against the global batch: of the driver, else the fewest devices, and others."""
    series, driver = answer.series, answer.driver
    grid = _grid(answer)
    first = driver or series
    count = answer.driver_devices if driver else series.base
    name = "driver" if driver else "same series"
    lines = [_step_line(first, count, grid, 0, f"{devices(count)}, {name}", is_driver=True)]
    others = [n for n in series.counts if driver or n != series.base][-MOST_COUNTS:]
    lines += [
        _step_line(series, n, grid, slot, devices(n), is_driver=False)
        for slot, n in enumerate(others)
    ]
    return [x for x in lines if np.isfinite(x.value).any() or x.points.size]


def _grid(answer: Answer) -> Floats:
    """Return global batches [samples] that cover measured ones and the crossovers."""
    every = [p.batch for s in (answer.series, answer.driver) if s for p in s.points]
    batches = [float(c.batch.value) for c in answer.crossings if isinstance(c.batch, Estimate)]
    low, high = min(every, default=8.0), max([*every, *answer.batches], default=1024.0)
    top = max([high, *(2.0 * b for b in batches if b < 8.0 * high)])
    return np.geomspace(low, max(top, 2.0 * low), GRID)


def _step_line(
    series: Series, count: int, grid: Floats, slot: int, label: str, *, is_driver: bool
) -> figures.StepLine:
    here = [p for p in series.points if p.devices == count]
    step = series.step(grid, count)
    value = np.asarray(step.value) if isinstance(step, Estimate) else np.full(grid.shape, np.nan)
    return figures.StepLine(
        label=label,
        short=label,
        slot=slot,
        batch=grid,
        value=value,
        measured=np.array([float(p.batch) for p in here]),
        points=np.array([p.step_s for p in here]),
        is_driver=is_driver,
    )


def uneven(answer: Answer, row: UnevenAnswer) -> tuple[Floats, Floats, Floats]:
    """Return stopped shares of the slow worker's time, and samples/s with and without waiting."""
    slow = np.linspace(0.0, 0.9, GRID)
    count = next(r for r in answer.shown if r.devices == row.devices)
    answers = [slow_answer(count, replace(answer.question, slow=float(s))) for s in slow]
    return (
        slow,
        np.array([f.synchronous_samples_per_s for f in answers]),
        np.array([f.free.samples_per_s for f in answers]),
    )
