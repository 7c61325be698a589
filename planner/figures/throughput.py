"""Samples per second against batch size, and the residuals of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.core import Floats
from planner.figures.frame import (
    DASHES,
    LEAST_HEIGHT,
    LEFT_OUT,
    MEASURED,
    SUSPECT,
    SYMBOLS,
    ChartSpec,
    Drawing,
    Entry,
    Theme,
    batch_axis,
    escape,
    kind_entries,
    last,
    log_ticks,
)

_SPEED: Final = "batch %{x:,}<br>%{y:,.4g} samples/s"
LEAST_SCALE_PERCENT: Final = 0.1
"""Least range of the axis of residuals to either side."""
_OFF: Final = "batch %{x:,}<br>%{y:+.2f} % of the fitted step time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Measured points: batch [samples], throughput [samples/s], all of shape (n,).

    `residuals` are relative, NaN without a fit; `flags` are those of each point, empty without any;
    `memory_gb` is the memory of each point on a device [GB], None where unknown, or empty.
    """

    batch: Floats
    throughput: Floats
    residuals: Floats
    flags: tuple[str, ...]
    memory_gb: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputLine:
    """One system's measured points and fitted curve over batch size, throughput in samples/s.

    `batch`, `value`, `low`, `high` are the curve (NaN where refused or unknown), dashed and grey
    below `smallest` and above `largest`. `measured` are the fitted points, suspect ones open;
    `left_out` the excluded ones, open and grey.
    """

    label: str
    short: str
    device_kind: str
    slot: int
    measured: Points
    left_out: Points
    batch: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float


def throughput(lines: Sequence[ThroughputLine], theme: Theme, *, log: bool) -> ChartSpec:
    """Return samples per second against batch size: points, fitted line, band, dashed beyond."""
    drawing = Drawing(theme)
    for line in lines:
        drawing.fitted(line, dash=DASHES[line.device_kind], unit="%{y:,.4g} samples/s")
        for points in (line.measured, line.left_out):
            _points(drawing, line, points, points.throughput, _SPEED)
    drawing.x = _batch_axis(lines)
    drawing.y = {"title": "samples per second", "type": "log" if log else "linear",
                 "rangemode": "tozero", "tickformat": ",~r"}  # fmt: skip
    drawn = [np.r_[x.measured.throughput, x.left_out.throughput, x.value] for x in lines]
    values = np.concatenate(drawn or [np.ones(1)])
    values = values[np.isfinite(values) & (values > 0)]
    if log and values.size:
        drawing.y |= log_ticks(float(values.min()), float(values.max()))
    drawing.legend(*_meanings(lines))
    ends = [_end(x) for x in lines]
    drawing.end_labels(lines, ends, log=log)
    return drawing.figure()


def _meanings(lines: Sequence[ThroughputLine]) -> list[Entry]:
    """Return what markers and dashes mean, those that are drawn."""
    kinds = kind_entries({x.device_kind for x in lines})
    return [
        MEASURED,
        *(kinds or [Entry(words="fit")]),
        *([SUSPECT] if any(any(x.measured.flags) for x in lines) else []),
        *([LEFT_OUT] if any(x.left_out.batch.size for x in lines) else []),
    ]


def residuals(lines: Sequence[ThroughputLine], theme: Theme) -> ChartSpec:
    """Return the residuals of step times [%] against batch size."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    with_fit = [x for x in lines if np.isfinite(x.measured.residuals).any()]
    for line in with_fit:
        for points in (line.measured, line.left_out):
            _points(drawing, line, points, 100 * points.residuals, _OFF)
    drawing.x = _batch_axis(with_fit)
    drawing.y = {"title": "measured against fit (%)", "zeroline": True,
                 "zerolinecolor": theme.quiet, "exponentformat": "none"}  # fmt: skip
    drawing.legend(*(
        Entry(words=x.label, symbol=SYMBOLS[x.device_kind], slot=x.slot) for x in with_fit
    ))  # fmt: skip
    values = [np.r_[x.measured.residuals, x.left_out.residuals] for x in with_fit]
    if np.nanmax(100 * np.abs(np.concatenate(values or [np.zeros(1)]))) < LEAST_SCALE_PERCENT:
        drawing.y["range"] = [-LEAST_SCALE_PERCENT, LEAST_SCALE_PERCENT]
    return drawing.figure()


def _points(drawing: Drawing, line: ThroughputLine, points: Points, y: Floats, hover: str) -> None:
    if not np.isfinite(y).any():
        return
    out = points is line.left_out
    colour = drawing.theme.quiet if out else drawing.theme.colour(line.slot)
    drawing.points(
        points.batch,
        y,
        name=escape(line.label),
        customdata=_further(points),
        hovertemplate=f"<b>%{{fullData.name}}</b><br>{hover}%{{customdata}}"
        f"<extra>{'left out of the fit' if out else 'measured'}</extra>",
        marker={"color": colour, "size": 9} | _symbols(SYMBOLS[line.device_kind], points.flags),
    )


def _further(points: Points) -> list[str]:
    """Return the memory and the flag of each point, as lines of its hover text."""
    memory = points.memory_gb or (None,) * len(points.flags)
    return [
        f"{'' if used is None else f'<br>{used:,.3g} GB'}"
        f"{f'<br>suspect: {escape(flag)}' if flag else ''}"
        for used, flag in zip(memory, points.flags, strict=True)
    ]


def _symbols(symbol: str, flags: Sequence[str]) -> dict[str, Any]:
    """Return the markers of points; suspect ones are open, with the system's shape and colour."""
    if not any(flags):
        return {"symbol": symbol}
    return {
        "symbol": [f"{symbol}-open" if f else symbol for f in flags],
        "line": {"width": [2 if f else 0 for f in flags]},
    }


def _end(line: ThroughputLine) -> float:
    """Return the place of the name: the end of the curve, or of the points without one."""
    parts = (line.value, line.measured.throughput, line.left_out.throughput)
    return last(next((y for y in parts if np.isfinite(y).any()), line.value))


def _batch_axis(lines: Sequence[ThroughputLine]) -> dict[str, Any]:
    batches = [np.r_[x.smallest, x.batch[[0, -1]], x.left_out.batch] for x in lines]
    sizes = [float(v) for each in batches for v in each if np.isfinite(v)]
    return batch_axis(min(sizes), max(sizes)) if sizes else batch_axis(1.0, 1024.0)
