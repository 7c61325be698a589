"""What all charts share: size, colours, bands, axes, names at the line ends, export."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import plotly.graph_objects as go

from planner.estimate import Floats
from planner.palette import Theme, rgba


class Named(Protocol):
    """A line with a name and a colour of its own."""

    @property
    def short(self) -> str:
        """What stands at the line's end."""
        ...

    @property
    def slot(self) -> int:
        """Place of its colour among the ten."""
        ...


HEIGHT: Final = 430
"""Height of a chart [px]."""


_LABEL_GAP: Final = 17.0


MARGIN: Final = {"l": 64, "r": 16, "t": 26, "b": 48}


CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d"],
    "toImageButtonOptions": {"format": "png", "filename": "epochwise", "scale": 2},
}
"""How a chart behaves in the page: the picture button stays, nothing leaves the machine."""


def html(figure: go.Figure) -> str:
    """The chart as a piece of a self-contained page: with plotly.js, without any upload button."""
    piece: str = figure.to_html(
        full_html=False,
        include_plotlyjs=True,
        config={
            "displaylogo": False,
            "modeBarButtonsToRemove": ["sendChartToCloud"],
            "responsive": True,
        },
    )
    return piece


def layout(figure: go.Figure, theme: Theme, labels: Sequence[str]) -> None:
    """Room on the right for the longest end label; no legend, no title inside the chart."""
    right = max((7 * len(text) for text in labels), default=0) + MARGIN["r"]
    axis = {
        "gridcolor": theme.grid,
        "linecolor": theme.grid,
        "zeroline": False,
        "tickfont": {"color": theme.quiet},
        "title_font": {"color": theme.quiet},
    }
    figure.update_layout(
        height=HEIGHT,
        margin=MARGIN | {"r": min(right, 190)},
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        font={"color": theme.text, "family": "Source Sans, Source Sans Pro, sans-serif"},
        hoverlabel={"bgcolor": theme.background, "font": {"color": theme.text}, "align": "left"},
        xaxis=axis,
        yaxis=axis,
        dragmode="zoom",
        title_text="",
    )


def band(
    figure: go.Figure, x: Floats, low: Floats, high: Floats, *, colour: str, name: str
) -> None:
    """A filled interval in the line's own colour; nothing where fewer than two bounds are known."""
    good = np.isfinite(low) & np.isfinite(high)
    if good.sum() < 2:
        return
    edge = {"width": 0, "color": colour}
    figure.add_scatter(
        x=x[good],
        y=high[good],
        mode="lines",
        line=edge,
        hoverinfo="skip",
        name=name,
        legendgroup=name,
    )
    figure.add_scatter(
        x=x[good],
        y=low[good],
        mode="lines",
        line=edge,
        hoverinfo="skip",
        name=name,
        legendgroup=name,
        fill="tonexty",
        fillcolor=rgba(colour, 0.18),
    )


def end_labels(
    figure: go.Figure,
    theme: Theme,
    lines: Sequence[Named],
    ends: Sequence[float],
    *,
    log: bool,
) -> None:
    """Names at the line ends instead of a legend, at least one text height apart."""
    at = np.array([np.log10(max(e, 1e-12)) if log else e for e in ends])
    shifts = _apart(at, figure, log=log)
    for line, y, shift in zip(lines, at, shifts, strict=True):
        figure.add_annotation(
            x=1,
            xref="paper",
            xanchor="left",
            y=float(y),
            yshift=float(shift),
            showarrow=False,
            xshift=4,
            text=_escape(line.short),
            font={"color": theme.colours[line.slot], "size": 12},
        )


def _apart(at: Floats, figure: go.Figure, *, log: bool) -> Floats:
    """Pixel shifts that keep neighbouring labels `_LABEL_GAP` px apart, in their order."""
    if at.size < 2:
        return np.zeros(at.size)
    given = figure.layout.yaxis.range
    low, high = (
        (given[0], given[1])
        if given
        else (min(0.0, at.min()) if not log else at.min() - 1, at.max())
    )
    pixels = (at - low) / max(high - low, 1e-12) * (HEIGHT - MARGIN["t"] - MARGIN["b"])
    placed = pixels.copy()
    order = np.argsort(pixels)
    for _ in range(40):
        for a, b in itertools.pairwise(order):
            lack = _LABEL_GAP - (placed[b] - placed[a])
            if lack > 0:
                placed[a] -= lack / 2
                placed[b] += lack / 2
    shifts: Floats = placed - pixels
    return shifts


def log_ticks(figure: go.Figure, low: float, high: float) -> None:
    """Ticks at 1, 2, 5 times powers of ten, between `low` and `high`."""
    decades = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)
    ticks = [
        m * 10.0**k for k in decades for m in (1, 2, 5) if low * 0.7 <= m * 10.0**k <= high * 1.4
    ]
    figure.update_yaxes(
        tickvals=ticks, ticktext=[f"{t:,.3g}" if t < 1 else f"{t:,.0f}" for t in ticks]
    )


def last(values: Floats) -> float:
    """The last value that is known; 1 where none is."""
    good = values[np.isfinite(values)]
    return float(good[-1]) if good.size else 1.0


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
