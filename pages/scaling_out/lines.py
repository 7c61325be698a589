"""The answer of Scaling out in the form of its charts, made once for all sessions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from pages.common import kept
from planner import figures
from planner.answers.records import ScalingOut, SplitOut
from planner.core import Floats, Record, Text, percent, sentence_case
from planner.figures.frame import Theme
from planner.scaling_out import (
    CountCourse,
    DeviceSeries,
    SeriesAnswer,
    batch_course,
    batch_grid,
    batch_text,
    devices,
    efficiency_course,
    part_shares,
    slow_course,
    step_course,
)
from planner.store import Store

Made = TypeVar("Made")
MOST_COUNTS: Final = 4
"""Most device counts in the chart of steps against batches."""
MOST_CUTS: Final = 12
"""Cuts in the chart of memory."""
PARTS: Final = ("work on samples and input", "overhead of one device", "interconnect, the rest")


def by_devices(answer: SeriesAnswer, *, efficiency: bool) -> list[figures.CountLine]:
    """Return step times [s] or efficiencies [1] against the device count, a line per batch."""
    course = efficiency_course if efficiency else step_course
    return [
        _count_line(answer, batch, slot, course(answer, batch))
        for slot, batch in enumerate(answer.batches)
    ]


def _count_line(
    answer: SeriesAnswer, batch: float, slot: int, of: CountCourse
) -> figures.CountLine:
    size = batch_text(batch)
    return figures.CountLine(
        label=batch_label(answer, batch),
        short=Text("batch {size}", size=size)
        if answer.hold == "global"
        else Text("{size} each", size=size),
        slot=slot,
        devices=of.devices,
        nodes=of.nodes,
        value=of.value,
        low=of.low,
        high=of.high,
        measured=of.measured,
        points=of.points,
        outside=of.outside,
        most=float(answer.series.counts[-1]),
    )


def batch_label(answer: SeriesAnswer, batch: float) -> str:
    """Return a batch as it is held: over all devices, or on each."""
    if answer.hold == "global":
        return Text("global batch {batch_text}", batch_text=batch_text(batch))
    return Text("batch {batch_text} per device", batch_text=batch_text(batch))


def shares(answer: SeriesAnswer) -> figures.StepShares | None:
    """Return the parts of a step at the headline's batch; None where runs do not separate them."""
    made = part_shares(answer)
    if made is None:
        return None
    counts, parts = made
    return figures.StepShares(
        counts=tuple(f"{n:,}" for n in counts), parts=tuple(zip(PARTS, parts, strict=True))
    )


def share_rows(of: figures.StepShares) -> list[Record]:
    """Return the parts of a step at each device count in whole per cent: none has an interval."""
    return [
        {"Devices": count, **{sentence_case(name): percent(part[n]) for name, part in of.parts}}
        for n, count in enumerate(of.counts)
    ]


def profiled(record: ScalingOut) -> figures.StepShares | None:
    """Return the shares that a profiler measured; None where no run states them."""
    rows = record.profiled
    if not rows:
        return None
    parts = {
        "compute": [r.compute_share for r in rows],
        "communication without compute": [r.communication_share for r in rows],
        "input without either": [r.input_share for r in rows],
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


def by_batch(answer: SeriesAnswer) -> list[figures.StepLine]:
    """Return steps against the global batch: of the driver, else the fewest devices, and others."""
    series, driver = answer.series, answer.driver
    grid = batch_grid(answer)
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


def _step_line(
    series: DeviceSeries, count: int, grid: Floats, slot: int, label: str, *, is_driver: bool
) -> figures.StepLine:
    value, measured, points = batch_course(series, count, grid)
    return figures.StepLine(
        label=label, short=label, slot=slot, batch=grid, value=value, measured=measured,
        points=points, is_driver=is_driver,
    )  # fmt: skip


uneven = slow_course


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Figures and rows of one question, made once for all sessions.

    `of_steps` is the part of the question `key` that step times depend on.
    """

    shared: Store
    key: Hashable
    of_steps: Hashable
    theme: Theme

    def once(self, what: str, make: Callable[[], Made]) -> Made:
        """Return what `make` makes for this question and theme."""
        return self._once(what, self.key, make)

    def steps(self, what: str, make: Callable[[], Made]) -> Made:
        """Return a figure of step times: the same whatever totals and cuts are asked for."""
        return self._once(what, self.of_steps, make)

    def _once(self, what: str, of: Hashable, make: Callable[[], Made]) -> Made:
        return kept.drawn(
            self.shared, Text("scaling-out {what}", what=what), (of, self.theme), make
        )
