"""Every chart of the product, drawn without a browser: plotly lives in this file alone.

Observed points are markers, fits are lines, bands take the line's colour, and what lies beyond
the measurements is dashed and grey. Labels stand at the line ends, pushed apart where lines meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from planner.estimate import Floats
from planner.palette import DASHES, SYMBOLS, Theme, rgba

HEIGHT: Final = 430
"""Height of a chart [px]."""

_TIMES: Final = (
    (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"),
    (36_000.0, "10 h"), (86_400.0, "1 day"), (604_800.0, "1 week"), (2_592_000.0, "30 days"),
    (31_557_600.0, "1 year"), (315_576_000.0, "10 years"), (3_155_760_000.0, "100 years"),
)  # fmt: skip
_UNITS: Final = ((86_400.0 * 3, 86_400.0, "days"), (3600.0 * 3, 3600.0, "hours"),
                 (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))  # fmt: skip
_LABEL_GAP: Final = 17.0
_MARGIN: Final = {"l": 64, "r": 16, "t": 26, "b": 48}


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


def total_time(lines: Sequence[TimeLine], asked: int, theme: Theme, *, log: bool) -> go.Figure:
    """Total time against epochs; `asked` is the N of the question, marked by a line."""
    figure = go.Figure()
    scale, unit = (1.0, "") if log else _unit([float(np.nanmax(x.value)) for x in lines])
    for line in lines:
        colour = theme.colours[line.slot]
        _band(figure, line.epochs, line.low / scale, line.high / scale, colour, line.label)
        _time_curve(figure, line, colour, scale)
    low = min((float(np.nanmin(x.low)) for x in lines), default=1.0)
    high = max((float(np.nanmax(x.high)) for x in lines), default=10.0)
    _layout(figure, theme, [x.short for x in lines])
    _epochs_axis(figure, theme, lines, asked, log=log)
    _time_axis(figure, low, high, unit, log=log)
    ends = [float(x.value[-1]) / scale for x in lines]
    _end_labels(figure, theme, lines, ends, log=log)
    return figure


def throughput(lines: Sequence[ThroughputLine], theme: Theme, *, log: bool) -> go.Figure:
    """Samples per second against batch size: points, fitted line, band, dashed beyond."""
    figure = go.Figure()
    for line in lines:
        colour = theme.colours[line.slot]
        _band(figure, line.batch, line.low, line.high, colour, line.label)
        inside = (line.batch <= line.largest) & (line.batch >= line.smallest)
        below, above = line.batch <= line.smallest, line.batch >= line.largest
        _curve(figure, line, inside, colour, DASHES[line.device_kind], "fit")
        _curve(figure, line, below, theme.quiet, "dash", "beyond what was measured")
        _curve(figure, line, above, theme.quiet, "dash", "beyond what was measured")
        _points(figure, line.measured_batch, line.measured, line, colour,
                "batch %{x:,}<br>%{y:,.4g} samples/s")  # fmt: skip
    _layout(figure, theme, [x.short for x in lines])
    _batch_axis(figure, lines)
    values = np.concatenate([np.r_[x.measured, x.value] for x in lines] or [np.array([1.0])])
    values = values[np.isfinite(values) & (values > 0)]
    figure.update_yaxes(title="samples per second", type="log" if log else "linear",
                        rangemode="tozero", tickformat=",~r")  # fmt: skip
    if log and values.size:
        _log_ticks(figure, float(values.min()), float(values.max()))
    ends = [_last(x.value if np.isfinite(x.value).any() else x.measured) for x in lines]
    _end_labels(figure, theme, lines, ends, log=log)
    return figure


def residuals(lines: Sequence[ThroughputLine], theme: Theme) -> go.Figure:
    """How far each measured step time lies from its fit [%], against batch size."""
    figure = go.Figure()
    for line in lines:
        if line.residuals.size:
            colour = theme.colours[line.slot]
            _points(figure, line.measured_batch, 100 * line.residuals, line, colour,
                    "batch %{x:,}<br>%{y:+.2f} % of the fitted step time")  # fmt: skip
    _layout(figure, theme, [])
    _batch_axis(figure, [x for x in lines if x.residuals.size])
    figure.update_yaxes(title="measured against fit (%)", zeroline=True, zerolinecolor=theme.quiet)
    figure.update_layout(height=260)
    return figure


def epoch_times(epoch: Floats, epoch_s: Floats, mean_s: float | None, theme: Theme) -> go.Figure:
    """Seconds of every epoch of one run, with the mean of epochs 2 and later."""
    figure = go.Figure()
    figure.add_scatter(
        x=epoch, y=epoch_s, mode="markers+lines", line={"color": theme.colours[0], "width": 1},
        marker={"color": theme.colours[0], "size": 8}, name="epoch",
        hovertemplate="epoch %{x}<br>%{y:.4g} s<extra></extra>",
    )  # fmt: skip
    if mean_s is not None:
        figure.add_hline(y=mean_s, line={"color": theme.quiet, "dash": "dash", "width": 1},
                         annotation={"text": f"mean of epochs 2 and later: {mean_s:,.4g} s",
                                     "font": {"color": theme.quiet}})  # fmt: skip
    _layout(figure, theme, [])
    figure.update_xaxes(title="epoch", tickformat="d")
    figure.update_yaxes(title="seconds", rangemode="tozero")
    figure.update_layout(height=300)
    return figure


def html(figure: go.Figure) -> str:
    """The chart as a piece of a self-contained page: with plotly.js, without any upload button."""
    piece: str = figure.to_html(
        full_html=False, include_plotlyjs=True,
        config={"displaylogo": False, "modeBarButtonsToRemove": ["sendChartToCloud"],
                "responsive": True},
    )  # fmt: skip
    return piece


CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d"],
    "toImageButtonOptions": {"format": "png", "filename": "epochwise", "scale": 2},
}
"""How a chart behaves in the page: the picture button stays, nothing leaves the machine."""


def _time_curve(figure: go.Figure, line: TimeLine, colour: str, scale: float) -> None:
    custom = np.c_[_words(line.value), _words(line.low), _words(line.high)]
    figure.add_scatter(
        x=line.epochs, y=line.value / scale, mode="lines", name=line.label, customdata=custom,
        line={"color": colour, "width": 2, "dash": DASHES[line.device_kind]},
        hovertemplate="<b>%{fullData.name}</b><br>%{x:,} epochs: %{customdata[0]}<br>"
        "90 %: %{customdata[1]} to %{customdata[2]}<extra></extra>",
    )  # fmt: skip
    at = int(np.argmin(np.abs(line.epochs - line.measured_epochs)))
    figure.add_scatter(
        x=[float(line.epochs[at])], y=[float(line.value[at]) / scale], mode="markers",
        marker={"color": colour, "size": 8, "symbol": SYMBOLS[line.device_kind]},
        hovertemplate=f"measured up to epoch {line.measured_epochs}<extra></extra>",
    )  # fmt: skip


def _curve(figure: go.Figure, line: ThroughputLine, mask: np.ndarray, colour: str, dash: str,
           what: str) -> None:  # fmt: skip
    if np.isfinite(line.value[mask]).sum() > 1:
        figure.add_scatter(
            x=line.batch[mask], y=line.value[mask], mode="lines", name=line.label,
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>batch %{{x:,.0f}}, {what}: "
            "%{y:,.4g} samples/s<extra></extra>",
        )  # fmt: skip


def _points(figure: go.Figure, x: Floats, y: Floats, line: ThroughputLine, colour: str,
            hover: str) -> None:  # fmt: skip
    if x.size:
        figure.add_scatter(
            x=x, y=y, mode="markers", name=line.label,
            marker={"color": colour, "size": 9, "symbol": SYMBOLS[line.device_kind]},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{hover}<extra>measured</extra>",
        )  # fmt: skip


def _band(figure: go.Figure, x: Floats, low: Floats, high: Floats, colour: str, name: str) -> None:
    good = np.isfinite(low) & np.isfinite(high)
    if good.sum() < 2:
        return
    edge = {"width": 0, "color": colour}
    figure.add_scatter(x=x[good], y=high[good], mode="lines", line=edge, hoverinfo="skip",
                       name=name, legendgroup=name)  # fmt: skip
    figure.add_scatter(x=x[good], y=low[good], mode="lines", line=edge, hoverinfo="skip",
                       name=name, legendgroup=name, fill="tonexty",
                       fillcolor=rgba(colour, 0.18))  # fmt: skip


def _layout(figure: go.Figure, theme: Theme, labels: Sequence[str]) -> None:
    """Room on the right for the longest end label; no legend, no title inside the chart."""
    right = max((7 * len(text) for text in labels), default=0) + _MARGIN["r"]
    axis = {"gridcolor": theme.grid, "linecolor": theme.grid, "zeroline": False,
            "tickfont": {"color": theme.quiet}, "title_font": {"color": theme.quiet}}  # fmt: skip
    figure.update_layout(
        height=HEIGHT, margin=_MARGIN | {"r": min(right, 190)}, showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", hovermode="closest",
        font={"color": theme.text, "family": "Source Sans, Source Sans Pro, sans-serif"},
        hoverlabel={"bgcolor": theme.background, "font": {"color": theme.text}, "align": "left"},
        xaxis=axis, yaxis=axis, dragmode="zoom", title_text="",
    )  # fmt: skip


def _epochs_axis(figure: go.Figure, theme: Theme, lines: Sequence[TimeLine], asked: int, *,
                 log: bool) -> None:  # fmt: skip
    last = max((float(x.epochs[-1]) for x in lines), default=float(asked))
    decades = [10**k for k in range(13) if 10**k <= last * 1.01]
    figure.update_xaxes(title="epochs", type="log" if log else "linear", tickformat=",d")
    if log:
        figure.update_xaxes(tickvals=decades, ticktext=[f"{d:,}" for d in decades])
    figure.add_vline(x=asked, line={"color": theme.quiet, "dash": "dash", "width": 1})
    figure.add_annotation(x=np.log10(asked) if log else asked, y=1, yref="paper", yanchor="bottom",
                          text=f"{asked:,} epochs", showarrow=False,
                          font={"color": theme.quiet})  # fmt: skip


def _time_axis(figure: go.Figure, low: float, high: float, unit: str, *, log: bool) -> None:
    if not log:
        figure.update_yaxes(title=f"total time ({unit})", rangemode="tozero", tickformat=",~r")
        return
    ticks = [(s, t) for s, t in _TIMES if low * 0.5 <= s <= high * 2]
    figure.update_yaxes(type="log", title="total time", tickvals=[s for s, _ in ticks],
                        ticktext=[t for _, t in ticks],
                        range=[np.log10(low) - 0.1, np.log10(high) + 0.1])  # fmt: skip


def _batch_axis(figure: go.Figure, lines: Sequence[ThroughputLine]) -> None:
    sizes = [float(v) for x in lines for v in (x.smallest, *x.batch[[0, -1]]) if np.isfinite(v)]
    low, high = (min(sizes), max(sizes)) if sizes else (1.0, 1024.0)
    powers = np.arange(np.floor(np.log2(low)), np.ceil(np.log2(high)) + 1)
    every = max(1, int(np.ceil(powers.size / 9)))
    ticks = [int(2**p) for p in powers[::every] if p >= 0]
    figure.update_xaxes(title="batch size (samples)", type="log", tickvals=ticks,
                        ticktext=[_power(t) for t in ticks],
                        range=[np.log10(low) - 0.05, np.log10(high) + 0.05])  # fmt: skip


def _power(size: int) -> str:
    return f"{size // 1024}k" if size >= 8192 and size % 1024 == 0 else f"{size:,}"


def _log_ticks(figure: go.Figure, low: float, high: float) -> None:
    decades = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)
    ticks = [m * 10.0**k for k in decades for m in (1, 2, 5) if low * 0.7 <= m * 10.0**k <= high * 1.4]
    figure.update_yaxes(tickvals=ticks, ticktext=[f"{t:,.3g}" if t < 1 else f"{t:,.0f}" for t in ticks])


def _end_labels(figure: go.Figure, theme: Theme, lines: Sequence[TimeLine | ThroughputLine],
                ends: Sequence[float], *, log: bool) -> None:  # fmt: skip
    """Names at the line ends instead of a legend, at least one text height apart."""
    at = np.array([np.log10(max(e, 1e-12)) if log else e for e in ends])
    shifts = _apart(at, figure, log=log)
    for line, y, shift in zip(lines, at, shifts, strict=True):
        figure.add_annotation(
            x=1, xref="paper", xanchor="left", y=float(y), yshift=float(shift), showarrow=False,
            xshift=4, text=_escape(line.short), font={"color": theme.colours[line.slot], "size": 12},
        )  # fmt: skip


def _apart(at: Floats, figure: go.Figure, *, log: bool) -> Floats:
    """Pixel shifts that keep neighbouring labels `_LABEL_GAP` px apart, in their order."""
    if at.size < 2:
        return np.zeros(at.size)
    given = figure.layout.yaxis.range
    low, high = (given[0], given[1]) if given else (min(0.0, at.min()) if not log else at.min() - 1,
                                                    at.max())  # fmt: skip
    pixels = (at - low) / max(high - low, 1e-12) * (HEIGHT - _MARGIN["t"] - _MARGIN["b"])
    placed = pixels.copy()
    order = np.argsort(pixels)
    for _ in range(40):
        for a, b in zip(order[:-1], order[1:], strict=True):
            lack = _LABEL_GAP - (placed[b] - placed[a])
            if lack > 0:
                placed[a] -= lack / 2
                placed[b] += lack / 2
    return placed - pixels


def _unit(values: Sequence[float]) -> tuple[float, str]:
    most = max(values, default=1.0)
    return next((size, name) for least, size, name in _UNITS if most >= least)


def _words(seconds: Floats) -> np.ndarray:
    from planner.durations import in_words

    return np.array([in_words(float(s)) if np.isfinite(s) else "not known" for s in seconds])


def _last(values: Floats) -> float:
    good = values[np.isfinite(values)]
    return float(good[-1]) if good.size else 1.0


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
