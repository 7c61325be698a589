"""Total time against epochs, one line per option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import plotly.graph_objects as go

from planner.durations import in_words
from planner.estimate import Floats
from planner.figures.frame import band, end_labels, layout
from planner.palette import DASHES, SYMBOLS, Theme

_TIMES: Final = (
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3600.0, "1 h"),
    (36_000.0, "10 h"),
    (86_400.0, "1 day"),
    (604_800.0, "1 week"),
    (2_592_000.0, "30 days"),
    (31_557_600.0, "1 year"),
    (315_576_000.0, "10 years"),
    (3_155_760_000.0, "100 years"),
)


_UNITS: Final = (
    (86_400.0 * 3, 86_400.0, "days"),
    (3600.0 * 3, 3600.0, "hours"),
    (180.0, 60.0, "minutes"),
    (0.0, 1.0, "seconds"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """Total time [s] against epochs for one option, with its interval (arrays of one shape)."""

    label: str
    short: str
    device_kind: str
    slot: int
    epochs: Floats
    value: Floats
    low: Floats
    high: Floats
    measured_epochs: int


def total_time(lines: Sequence[TimeLine], asked: int, theme: Theme, *, log: bool) -> go.Figure:
    """Total time against epochs; `asked` is the N of the question, marked by a line."""
    figure = go.Figure()
    scale, unit = (1.0, "") if log else _unit([float(np.nanmax(x.value)) for x in lines])
    for line in lines:
        colour = theme.colours[line.slot]
        band(
            figure, line.epochs, line.low / scale, line.high / scale, colour=colour, name=line.label
        )
        _time_curve(figure, line, colour, scale)
    low = min((float(np.nanmin(x.low)) for x in lines), default=1.0)
    high = max((float(np.nanmax(x.high)) for x in lines), default=10.0)
    layout(figure, theme, [x.short for x in lines])
    _epochs_axis(figure, theme, lines, asked, log=log)
    _time_axis(figure, low, high, unit, log=log)
    ends = [float(x.value[-1]) / scale for x in lines]
    end_labels(figure, theme, lines, ends, log=log)
    return figure


def _time_curve(figure: go.Figure, line: TimeLine, colour: str, scale: float) -> None:
    custom = np.c_[_words(line.value), _words(line.low), _words(line.high)]
    figure.add_scatter(
        x=line.epochs,
        y=line.value / scale,
        mode="lines",
        name=line.label,
        customdata=custom,
        line={"color": colour, "width": 2, "dash": DASHES[line.device_kind]},
        hovertemplate="<b>%{fullData.name}</b><br>%{x:,} epochs: %{customdata[0]}<br>"
        "90 %: %{customdata[1]} to %{customdata[2]}<extra></extra>",
    )
    at = int(np.argmin(np.abs(line.epochs - line.measured_epochs)))
    figure.add_scatter(
        x=[float(line.epochs[at])],
        y=[float(line.value[at]) / scale],
        mode="markers",
        marker={"color": colour, "size": 8, "symbol": SYMBOLS[line.device_kind]},
        hovertemplate=f"measured up to epoch {line.measured_epochs}<extra></extra>",
    )


def _epochs_axis(
    figure: go.Figure, theme: Theme, lines: Sequence[TimeLine], asked: int, *, log: bool
) -> None:
    last = max((float(x.epochs[-1]) for x in lines), default=float(asked))
    decades = [10**k for k in range(13) if 10**k <= last * 1.01]
    figure.update_xaxes(title="epochs", type="log" if log else "linear", tickformat=",d")
    if log:
        figure.update_xaxes(tickvals=decades, ticktext=[f"{d:,}" for d in decades])
    figure.add_vline(x=asked, line={"color": theme.quiet, "dash": "dash", "width": 1})
    figure.add_annotation(
        x=np.log10(asked) if log else asked,
        y=1,
        yref="paper",
        yanchor="bottom",
        text=f"{asked:,} epochs",
        showarrow=False,
        font={"color": theme.quiet},
    )


def _time_axis(figure: go.Figure, low: float, high: float, unit: str, *, log: bool) -> None:
    if not log:
        figure.update_yaxes(title=f"total time ({unit})", rangemode="tozero", tickformat=",~r")
        return
    ticks = [(s, t) for s, t in _TIMES if low * 0.5 <= s <= high * 2]
    figure.update_yaxes(
        type="log",
        title="total time",
        tickvals=[s for s, _ in ticks],
        ticktext=[t for _, t in ticks],
        range=[np.log10(low) - 0.1, np.log10(high) + 0.1],
    )


def _unit(values: Sequence[float]) -> tuple[float, str]:
    most = max(values, default=1.0)
    return next((size, name) for least, size, name in _UNITS if most >= least)


def _words(seconds: Floats) -> np.ndarray:
    return np.array([in_words(float(s)) if np.isfinite(s) else "not known" for s in seconds])
