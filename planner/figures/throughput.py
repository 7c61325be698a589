"""Samples per second against batch size, and how far points lie from their curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from planner.estimate import Floats
from planner.figures.frame import Drawing, escape, last, log_ticks
from planner.palette import DASHES, SYMBOLS, Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputLine:
    """One system's measured points and fitted curve over batch size, throughput in samples/s.

    `batch`, `value`, `low`, `high` are the curve (NaN where refused or not known);
    `measured_batch` and `measured` the points; the curve is dashed and grey below `smallest` and
    above `largest`. `residuals` are relative, one per point, or empty.
    """

    label: str
    short: str
    device_kind: str
    slot: int
    measured_batch: Floats
    measured: Floats
    batch: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float
    residuals: Floats


def throughput(lines: Sequence[ThroughputLine], theme: Theme, *, log: bool) -> go.Figure:
    """Samples per second against batch size: points, fitted line, band, dashed beyond."""
    drawing = Drawing(theme)
    for line in lines:
        _curve(drawing, line)
        _points(drawing, line, line.measured, "batch %{x:,}<br>%{y:,.4g} samples/s")
    drawing.x = _batch_axis(lines)
    drawing.y = {"title": "samples per second", "type": "log" if log else "linear",
                 "rangemode": "tozero", "tickformat": ",~r"}  # fmt: skip
    values = np.concatenate([np.r_[x.measured, x.value] for x in lines] or [np.ones(1)])
    values = values[np.isfinite(values) & (values > 0)]
    if log and values.size:
        drawing.y |= log_ticks(float(values.min()), float(values.max()))
    ends = [last(x.value if np.isfinite(x.value).any() else x.measured) for x in lines]
    drawing.end_labels(lines, ends, log=log)
    return drawing.figure()


def residuals(lines: Sequence[ThroughputLine], theme: Theme) -> go.Figure:
    """How far each measured step time lies from its fit [%], against batch size."""
    drawing = Drawing(theme, height=260)
    with_fit = [x for x in lines if x.residuals.size]
    for line in with_fit:
        hover = "batch %{x:,}<br>%{y:+.2f} % of the fitted step time"
        _points(drawing, line, 100 * line.residuals, hover)
    drawing.x = _batch_axis(with_fit)
    drawing.y = {"title": "measured against fit (%)", "zeroline": True,
                 "zerolinecolor": theme.quiet}  # fmt: skip
    return drawing.figure()


def _curve(drawing: Drawing, line: ThroughputLine) -> None:
    colour = drawing.theme.colours[line.slot]
    drawing.band(line.batch, line.low, line.high, colour=colour, name=line.label)
    inside = (line.batch <= line.largest) & (line.batch >= line.smallest)
    _part(drawing, line, inside, colour, "fit")
    for beyond in (line.batch <= line.smallest, line.batch >= line.largest):
        _part(drawing, line, beyond, drawing.theme.quiet, "beyond what was measured")


def _part(
    drawing: Drawing, line: ThroughputLine, mask: NDArray[np.bool_], colour: str, what: str
) -> None:
    if np.isfinite(line.value[mask]).sum() > 1:
        dash = DASHES[line.device_kind] if what == "fit" else "dash"
        drawing.line(
            line.batch[mask],
            line.value[mask],
            name=escape(line.label),
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>batch %{{x:,.0f}}, {what}: "
            "%{y:,.4g} samples/s<extra></extra>",
        )


def _points(drawing: Drawing, line: ThroughputLine, y: Floats, hover: str) -> None:
    if line.measured_batch.size:
        drawing.points(
            line.measured_batch,
            y,
            name=escape(line.label),
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{hover}<extra>measured</extra>",
            marker={
                "color": drawing.theme.colours[line.slot],
                "size": 9,
                "symbol": SYMBOLS[line.device_kind],
            },
        )


def _batch_axis(lines: Sequence[ThroughputLine]) -> dict[str, Any]:
    """Powers of two as ticks: plotly's own logarithmic ticks print stray digits."""
    sizes = [float(v) for x in lines for v in (x.smallest, *x.batch[[0, -1]]) if np.isfinite(v)]
    low, high = (min(sizes), max(sizes)) if sizes else (1.0, 1024.0)
    powers = np.arange(np.floor(np.log2(low)), np.ceil(np.log2(high)) + 1)
    every = max(1, int(np.ceil(powers.size / 9)))
    ticks = [int(2**p) for p in powers[::every] if p >= 0]
    return {
        "title": "batch size (samples)",
        "type": "log",
        "tickvals": ticks,
        "ticktext": [f"{t:,}" for t in ticks],
        "range": [np.log10(low) - 0.05, np.log10(high) + 0.05],
    }
