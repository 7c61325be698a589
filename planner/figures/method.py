"""Small pictures of single formulas: the interval of a total, devices, runs unlike the others.

Throughput, steps to a target and time to a target are drawn by the charts of their own pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.core import Floats
from planner.figures.frame import ChartSpec, Drawing, batch_axis, escape
from planner.figures.palette import Theme

HEIGHT: Final = 340
"""Height of a small picture [px]."""
MOST_Z: Final = 40.0
"""Largest drawn robust deviation; larger ones are at the border."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A value with its interval over epochs or devices, all in per cent and of shape (n,).

    `value` is NaN where there is no answer; values above `largest` were not measured.
    """

    label: str
    short: str
    slot: int
    x: Floats
    value: Floats
    low: Floats
    high: Floats
    largest: float


def interval_of_epochs(lines: Sequence[Share], epochs: int, theme: Theme) -> ChartSpec:
    """Return the interval of the total of N epochs [%], the narrowest line last."""
    drawing = Drawing(theme, height=HEIGHT)
    for line in lines:
        colour = theme.colours[line.slot]
        drawing.band(line.x, line.low, line.high, colour=colour, name=escape(line.label))
        for end, side in ((line.low, "low"), (line.high, "high")):
            drawing.line(line.x, end, name=escape(line.label), line={"color": colour, "width": 2},
                         hovertemplate="<b>%{fullData.name}</b><br>%{x:,} epochs: %{y:+.2f} %"
                         f"<extra>{side} end</extra>")  # fmt: skip
    _measured(drawing, lines)
    drawing.x = _epochs([v for line in lines for v in line.x[[0, -1]]])
    drawing.y = {"title": "deviation from the estimate (%)", "ticksuffix": " %"}
    drawing.mark(float(epochs), f"{epochs:,} epochs", log=True)
    drawing.end_labels(lines, [float(line.high[-1]) for line in lines], log=False)
    return drawing.figure()


def efficiency(lines: Sequence[Share], theme: Theme) -> ChartSpec:
    """Return scaling efficiency [%] over devices; 100 % is perfect, grey dashes are unmeasured."""
    drawing = Drawing(theme, height=HEIGHT)
    ends = [float(v) for line in lines for v in line.x[[0, -1]]]
    low, high = min(ends, default=1.0), max(ends, default=8.0)
    drawing.line(np.array([low, high]), np.full(2, 100.0), hoverinfo="skip", name="perfect",
                 line={"color": theme.quiet, "dash": "dot", "width": 1})  # fmt: skip
    drawing.note("perfect", x=np.log10(low), y=100, xanchor="left", yanchor="bottom")
    for line in lines:
        _devices(drawing, line)
    drawing.x = batch_axis(low, high) | {"title": "devices"}
    drawing.y = {"title": "efficiency (%)", "range": [0, 125], "ticksuffix": " %"}
    drawing.end_labels(lines, [_last(line) for line in lines], log=False)
    return drawing.figure()


def unlike_neighbours(batch: Floats, z: Floats, odd: int, limit: float, theme: Theme) -> ChartSpec:
    """Return the robust deviation of every run over its batch; `odd` is the selected run.

    Args:
        batch: global batch sizes [samples], shape (runs,).
        z: robust deviations [1], shape (runs,).
        odd: place of the run that was made odd.
        limit: beyond it a run is unlike its neighbours.
        theme: colours.
    """
    drawing = Drawing(theme, height=HEIGHT)
    shown = np.clip(z, -MOST_Z, MOST_Z)
    others = np.arange(z.size) != odd
    hover = "batch %{x:,}<br>z = %{customdata:.1f}<extra></extra>"
    drawing.points(batch[others], shown[others], customdata=z[others], hovertemplate=hover,
                   marker={"color": theme.colours[0], "size": 7, "opacity": 0.7})  # fmt: skip
    flagged = abs(z[odd]) > limit
    drawing.points(batch[[odd]], shown[[odd]], customdata=z[[odd]], hovertemplate=hover,
                   marker={"color": theme.colours[1], "size": 14,
                           "line": {"width": 2, "color": theme.colours[1]},
                           "symbol": "circle-open" if flagged else "circle"})  # fmt: skip
    ends = np.array([batch.min(), batch.max()])
    for side in (-limit, limit):
        drawing.line(ends, np.full(2, side), hoverinfo="skip", name="limit",
                     line={"color": theme.quiet, "dash": "dash", "width": 1})  # fmt: skip
    drawing.note(f"beyond {limit:g}: unlike its neighbours", x=float(np.log10(ends[0])), y=limit,
                 xanchor="left", yanchor="bottom")  # fmt: skip
    drawing.x = batch_axis(float(ends[0]), float(ends[1]))
    most = max(1.6 * limit, 1.15 * float(np.abs(shown).max()))
    drawing.y = {"title": "robust z", "range": [-most, most]}
    return drawing.figure()


def _measured(drawing: Drawing, lines: Sequence[Share]) -> None:
    """A marker where the measured epochs end, as on the chart of totals."""
    for line in lines[:1]:
        drawing.points(
            np.array([line.largest]),
            np.zeros(1),
            marker={"color": drawing.theme.text, "size": 8},
            hovertemplate=f"measured up to epoch {line.largest:g}<extra></extra>",
        )


def _devices(drawing: Drawing, line: Share) -> None:
    colour, name = drawing.theme.colours[line.slot], escape(line.label)
    drawing.band(line.x, line.low, line.high, colour=colour, name=name)
    inside = line.x <= line.largest
    grey = {"color": drawing.theme.quiet, "width": 2, "dash": "dash"}
    solid = {"color": colour, "width": 2}
    for mask, style, label in ((inside, solid, "fit"), (line.x >= line.largest, grey, "beyond")):
        if np.isfinite(line.value[mask]).sum() > 1:
            drawing.line(line.x[mask], line.value[mask], name=name, line=style,
                         hovertemplate="<b>%{fullData.name}</b><br>%{x:,} devices: %{y:.0f} %"
                         f"<extra>{label}</extra>")  # fmt: skip
    measured = np.isfinite(line.value) & inside
    drawing.points(line.x[measured], line.value[measured], name=name, hoverinfo="skip",
                   marker={"color": colour, "size": 8})  # fmt: skip


def _last(line: Share) -> float:
    finite = line.value[np.isfinite(line.value)]
    return float(finite[-1]) if finite.size else 100.0


def _epochs(ends: Sequence[float]) -> dict[str, Any]:
    low, high = min(ends, default=1.0), max(ends, default=10.0)
    ticks = [m * 10**k for k in range(7) for m in (1, 2, 5) if low <= m * 10**k <= high]
    return {"title": "number of epochs", "type": "log", "tickvals": ticks,
            "ticktext": [f"{t:,}" for t in ticks],
            "range": [np.log10(low) - 0.05, np.log10(high) + 0.05]}  # fmt: skip
