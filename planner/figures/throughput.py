"""Samples per second against batch size, and how far points lie from their curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from planner.estimate import Floats
from planner.figures.frame import band, end_labels, last, layout, log_ticks
from planner.palette import DASHES, SYMBOLS, Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputLine:
    """One system's measured points and fitted curve over batch size, throughput in samples/s.

    `batch`, `value`, `low`, `high` are the curve (NaN where refused or not known);
    `measured_batch` and `measured` the points; the curve is dashed and grey above `largest`.
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
    figure = go.Figure()
    for line in lines:
        colour = theme.colours[line.slot]
        band(figure, line.batch, line.low, line.high, colour=colour, name=line.label)
        inside = (line.batch <= line.largest) & (line.batch >= line.smallest)
        below, above = line.batch <= line.smallest, line.batch >= line.largest
        _curve(figure, line, inside, colour=colour, dash=DASHES[line.device_kind], what="fit")
        _curve(
            figure, line, below, colour=theme.quiet, dash="dash", what="beyond what was measured"
        )
        _curve(
            figure, line, above, colour=theme.quiet, dash="dash", what="beyond what was measured"
        )
        _points(
            figure,
            line.measured_batch,
            line.measured,
            line=line,
            colour=colour,
            hover="batch %{x:,}<br>%{y:,.4g} samples/s",
        )
    layout(figure, theme, [x.short for x in lines])
    _batch_axis(figure, lines)
    values = np.concatenate([np.r_[x.measured, x.value] for x in lines] or [np.array([1.0])])
    values = values[np.isfinite(values) & (values > 0)]
    figure.update_yaxes(
        title="samples per second",
        type="log" if log else "linear",
        rangemode="tozero",
        tickformat=",~r",
    )
    if log and values.size:
        log_ticks(figure, float(values.min()), float(values.max()))
    ends = [last(x.value if np.isfinite(x.value).any() else x.measured) for x in lines]
    end_labels(figure, theme, lines, ends, log=log)
    return figure


def residuals(lines: Sequence[ThroughputLine], theme: Theme) -> go.Figure:
    """How far each measured step time lies from its fit [%], against batch size."""
    figure = go.Figure()
    for line in lines:
        if line.residuals.size:
            colour = theme.colours[line.slot]
            _points(
                figure,
                line.measured_batch,
                100 * line.residuals,
                line=line,
                colour=colour,
                hover="batch %{x:,}<br>%{y:+.2f} % of the fitted step time",
            )
    layout(figure, theme, [])
    _batch_axis(figure, [x for x in lines if x.residuals.size])
    figure.update_yaxes(title="measured against fit (%)", zeroline=True, zerolinecolor=theme.quiet)
    figure.update_layout(height=260)
    return figure


def _curve(
    figure: go.Figure,
    line: ThroughputLine,
    mask: NDArray[np.bool_],
    *,
    colour: str,
    dash: str,
    what: str,
) -> None:
    if np.isfinite(line.value[mask]).sum() > 1:
        figure.add_scatter(
            x=line.batch[mask],
            y=line.value[mask],
            mode="lines",
            name=line.label,
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>batch %{{x:,.0f}}, {what}: "
            "%{y:,.4g} samples/s<extra></extra>",
        )


def _points(
    figure: go.Figure, x: Floats, y: Floats, *, line: ThroughputLine, colour: str, hover: str
) -> None:
    if x.size:
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            name=line.label,
            marker={"color": colour, "size": 9, "symbol": SYMBOLS[line.device_kind]},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{hover}<extra>measured</extra>",
        )


def _batch_axis(figure: go.Figure, lines: Sequence[ThroughputLine]) -> None:
    sizes = [float(v) for x in lines for v in (x.smallest, *x.batch[[0, -1]]) if np.isfinite(v)]
    low, high = (min(sizes), max(sizes)) if sizes else (1.0, 1024.0)
    powers = np.arange(np.floor(np.log2(low)), np.ceil(np.log2(high)) + 1)
    every = max(1, int(np.ceil(powers.size / 9)))
    ticks = [int(2**p) for p in powers[::every] if p >= 0]
    figure.update_xaxes(
        title="batch size (samples)",
        type="log",
        tickvals=ticks,
        ticktext=[_power(t) for t in ticks],
        range=[np.log10(low) - 0.05, np.log10(high) + 0.05],
    )


def _power(size: int) -> str:
    return f"{size // 1024}k" if size >= 8192 and size % 1024 == 0 else f"{size:,}"
