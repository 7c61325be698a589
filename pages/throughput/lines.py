"""Curves of systems as the charts draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from planner import figures
from planner.core import Estimate, Floats, Refusal
from planner.figures.palette import slots
from planner.runs import Run
from planner.throughput import SystemCurve, curves


def lines(
    chosen: Sequence[SystemCurve], everything: Sequence[SystemCurve], suspect: Mapping[str, str]
) -> list[figures.ThroughputLine]:
    """Points, curve, band and residuals of each chosen curve, ready to draw."""
    colour = slots([c.key for c in chosen], [c.key for c in everything])
    return [_line(c, colour[c.key], suspect) for c in chosen]


def _line(one: SystemCurve, slot: int, suspect: Mapping[str, str]) -> figures.ThroughputLine:
    grid = curves.grid_of(one)
    value, low, high = _along(one, grid)
    left = float(one.batch.min()) if one.batch.size else float(grid[0])
    right = float(one.batch.max()) if one.batch.size else float(grid[-1])
    return figures.ThroughputLine(
        label=one.label,
        short=one.label if len(one.label) < 28 else f"{one.label[:26]}…",
        device_kind=one.device_kind,
        slot=slot,
        measured=_points(one, one.points, suspect),
        left_out=_points(one, one.left_out, suspect),
        batch=grid,
        value=value,
        low=low,
        high=high,
        smallest=left,
        largest=right,
    )


def _points(one: SystemCurve, runs: Sequence[Run], suspect: Mapping[str, str]) -> figures.Points:
    batch = np.array([r.global_batch_size for r in runs], float)
    step_s = np.array([r.step_time_s for r in runs], float)
    return figures.Points(
        batch=batch,
        throughput=batch / step_s,
        residuals=curves.left_over(one, runs),
        flags=tuple(suspect.get(run.run_id, "") for run in runs),
    )


def _along(one: SystemCurve, grid: Floats) -> tuple[Floats, Floats, Floats]:
    nothing = np.full(grid.shape, np.nan)
    if isinstance(one.curve, Refusal):
        return nothing, nothing, nothing
    e = one.curve.throughput(grid)
    if not isinstance(e, Estimate):
        return nothing, nothing, nothing
    return np.asarray(e.value), np.asarray(e.low), np.asarray(e.high)
