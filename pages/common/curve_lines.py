"""Throughput curves in the form of the charts."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from planner import figures
from planner.core import Estimate, Floats, Refusal, short_labels
from planner.runs import Run
from planner.throughput import SystemCurve, curves


def lines(
    chosen: Sequence[SystemCurve], suspect: Mapping[str, str]
) -> list[figures.ThroughputLine]:
    """Return points, curve, band and residuals of each chosen curve, in its system's colour."""
    colour = figures.option_slots([(c.key, c.runs[0].system) for c in chosen])
    shorts = short_labels([c.label for c in chosen])
    return [
        _line(c, short, colour[c.key], suspect) for c, short in zip(chosen, shorts, strict=True)
    ]


def _line(
    curve: SystemCurve, short: str, slot: int, suspect: Mapping[str, str]
) -> figures.ThroughputLine:
    grid = curves.grid_of(curve)
    value, low, high = _along(curve, grid)
    left = float(curve.batch.min()) if curve.batch.size else float(grid[0])
    right = float(curve.batch.max()) if curve.batch.size else float(grid[-1])
    return figures.ThroughputLine(
        label=curve.label,
        short=short,
        device_kind=curve.device_kind,
        slot=slot,
        measured=_points(curve, curve.points, suspect),
        left_out=_points(curve, curve.left_out, suspect),
        batch=grid,
        value=value,
        low=low,
        high=high,
        smallest=left,
        largest=right,
        too_large=math.nan if curve.too_large is None else float(curve.too_large),
    )


def _points(
    curve: SystemCurve, runs: Sequence[Run], suspect: Mapping[str, str]
) -> figures.MeasuredPoints:
    batch, throughput = curves.speeds(runs)
    return figures.MeasuredPoints(
        batch=batch,
        throughput=throughput,
        residuals=curves.left_over(curve, runs),
        flags=tuple(suspect.get(run.run_id, "") for run in runs),
        memory_gb=tuple(map(curves.memory_gb, runs)),
    )


def _along(curve: SystemCurve, grid: Floats) -> tuple[Floats, Floats, Floats]:
    nothing = np.full(grid.shape, np.nan)
    if isinstance(curve.curve, Refusal):
        return nothing, nothing, nothing
    e = curve.curve.throughput(grid)
    if not isinstance(e, Estimate):
        return nothing, nothing, nothing
    return e.arrays
