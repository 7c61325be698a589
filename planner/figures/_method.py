"""Small pictures of single formulas: the interval of a total, devices, runs unlike the others.

Throughput, steps to a target and time to a target are drawn by the charts of their own pages.

Values side by side as dots, each with its whisker and its name above it.

Names are inside the chart, because on a phone a margin of names would take half of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.core import Floats, Text
from planner.figures.frame import (
    BAND,
    BEYOND,
    LAST_MEASURED,
    LEAST_HEIGHT,
    MEASURED,
    ChartSpec,
    Drawing,
    LegendEntry,
    Theme,
    batch_axis,
    escape,
    log_ticks,
)

MOST_Z: Final = 40.0
"""Largest drawn robust deviation; larger ones are at the border."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareLine:
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


def interval_of_epochs(lines: Sequence[ShareLine], epochs: int, theme: Theme) -> ChartSpec:
    """Return the interval of the total of N epochs [%], the narrowest line last."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    for line in lines:
        colour = theme.colour(line.slot)
        drawing.band(line.x, line.low, line.high, colour=colour, name=escape(line.label))
        for end, side in ((line.low, "low"), (line.high, "high")):
            drawing.line(line.x, end, name=escape(line.label), line={"color": colour, "width": 2},
                         hovertemplate="<b>%{fullData.name}</b><br>%{x:,} epochs: %{y:+.2f} %"
                         f"<extra>{side} end</extra>")  # fmt: skip
    _measured(drawing, lines)
    drawing.legend(LAST_MEASURED, BAND)
    drawing.x = _epochs([v for line in lines for v in line.x[[0, -1]]])
    drawing.y = {"title": "deviation from the estimate (%)", "ticksuffix": " %"}
    drawing.mark(float(epochs), f"{epochs:,} epochs", log=True)
    drawing.end_labels(lines, [float(line.high[-1]) for line in lines], log=False)
    return drawing.figure()


def efficiency(lines: Sequence[ShareLine], theme: Theme) -> ChartSpec:
    """Return scaling efficiency [%] over devices; 100 % is perfect, grey dashes are unmeasured."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    ends = [float(v) for line in lines for v in line.x[[0, -1]]]
    low, high = min(ends, default=1.0), max(ends, default=8.0)
    drawing.line(np.array([low, high]), np.full(2, 100.0), hoverinfo="skip", name="perfect",
                 line={"color": theme.quiet, "dash": "dot", "width": 1})  # fmt: skip
    drawing.note("perfect", x=np.log10(low), y=100, xanchor="left", yanchor="bottom")
    for line in lines:
        _devices(drawing, line)
    far = any(bool((line.x > line.largest).any()) for line in lines)
    drawing.legend(MEASURED, BAND, *([BEYOND] if far else []))
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
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    shown = np.clip(z, -MOST_Z, MOST_Z)
    others = np.arange(z.size) != odd
    hover = "batch %{x:,}<br>z = %{customdata:.1f}<extra></extra>"
    drawing.points(batch[others], shown[others], customdata=z[others], hovertemplate=hover,
                   marker={"color": theme.colour(0), "size": 7, "opacity": 0.7})  # fmt: skip
    flagged = abs(z[odd]) > limit
    symbol = "circle-open" if flagged else "circle"
    drawing.legend(
        LegendEntry(words="other runs", symbol="circle", slot=0),
        LegendEntry(words="the odd run, flagged" if flagged else "the odd run", symbol=symbol,
                    slot=1),
    )  # fmt: skip
    drawing.points(batch[[odd]], shown[[odd]], customdata=z[[odd]], hovertemplate=hover,
                   marker={"color": theme.colour(1), "size": 14,
                           "line": {"width": 2, "color": theme.colour(1)},
                           "symbol": symbol})  # fmt: skip
    ends = np.array([batch.min(), batch.max()])
    for side in (-limit, limit):
        drawing.line(ends, np.full(2, side), hoverinfo="skip", name="limit",
                     line={"color": theme.quiet, "dash": "dash", "width": 1})  # fmt: skip
    drawing.note(
        Text("beyond {limit:g}: unlike its neighbours", limit=limit),
        x=float(np.log10(ends[0])),
        y=limit,
        xanchor="left",
        yanchor="bottom",
    )
    drawing.x = batch_axis(float(ends[0]), float(ends[1]))
    most = max(1.6 * limit, 1.15 * float(np.abs(shown).max()))
    drawing.y = {"title": "robust z", "range": [-most, most]}
    return drawing.figure()


def _measured(drawing: Drawing, lines: Sequence[ShareLine]) -> None:
    """A marker where the measured epochs end, as on the chart of totals."""
    for line in lines[:1]:
        drawing.points(
            np.array([line.largest]),
            np.zeros(1),
            marker={"color": drawing.theme.text, "size": 8},
            hovertemplate=f"measured up to epoch {line.largest:g}<extra></extra>",
        )


def _devices(drawing: Drawing, line: ShareLine) -> None:
    colour, name = drawing.theme.colour(line.slot), escape(line.label)
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


def _last(line: ShareLine) -> float:
    finite = line.value[np.isfinite(line.value)]
    return float(finite[-1]) if finite.size else 100.0


def _epochs(ends: Sequence[float]) -> dict[str, Any]:
    low, high = min(ends, default=1.0), max(ends, default=10.0)
    ticks = [m * 10**k for k in range(7) for m in (1, 2, 5) if low <= m * 10**k <= high]
    return {"title": "number of epochs", "type": "log", "tickvals": ticks,
            "ticktext": [f"{t:,}" for t in ticks],
            "range": [np.log10(low) - 0.05, np.log10(high) + 0.05]}  # fmt: skip


PITCH: Final = 38
"""Height of one row [px]."""
_AROUND: Final = 92
"""Height that the axis and the space above the rows take [px]."""
_ENTRY: Final = 20
"""Height of an entry of the legend on a telephone [px]."""
_LEFT: Final = -56
"""Where names begin, from the left end of the axis [px]: in the margin that has no tick names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One row: `value` with a whisker from `low` to `high` (NaN where there is none).

    `label` is above it, `group` above the first row of a group. A `strong` row is drawn large and
    bold, a `faint` one with an open marker. `note` is added on hover.
    """

    label: str
    slot: int
    value: float
    low: float = np.nan
    high: float = np.nan
    group: str = ""
    note: str = ""
    strong: bool = False
    faint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The logarithmic axis: its title, unit, and a reference value with its name.

    Values below `least` are drawn there, with a marker that points to the left. Without a unit they
    are ratios with two decimals. `marker`, `whisker` and `faint` are the words of the legend.
    """

    title: str
    unit: str
    least: float
    compare: float = np.nan
    compared: str = ""
    marker: str = ""
    whisker: str = ""
    faint: str = ""

    @property
    def legend(self) -> list[LegendEntry]:
        """What markers and whiskers mean."""
        every = (
            LegendEntry(words=self.marker, symbol="circle"),
            LegendEntry(words=self.whisker, width=1.5),
            LegendEntry(words=self.faint, symbol="circle-open"),
        )
        return [entry for entry in every if entry.words]


def dots(rows: Sequence[Dot], scale: Scale, theme: Theme) -> ChartSpec:
    """Return the rows from top to bottom in their order and groups."""
    places = _places(rows)
    height = _AROUND + round(PITCH * (max(places, default=0.0) + 1))
    drawing = Drawing(theme, height=height + _ENTRY * len(scale.legend))
    drawing.legend(*scale.legend)
    top = max(places, default=0.0)
    for row, place in zip(rows, places, strict=True):
        _row(drawing, row, top - place, scale)
    for i, row in enumerate(rows):
        if row.group and (not i or rows[i - 1].group != row.group):
            bold = {"color": theme.text, "size": 13, "weight": 700}
            _name(drawing, row.group, top - places[i] + 0.92, bold)
    drawing.x = _axis(rows, scale)
    drawing.y = {"showticklabels": False, "showgrid": False, "fixedrange": True,
                 "range": [-0.6, top + (1.35 if rows and rows[0].group else 0.7)]}  # fmt: skip
    if np.isfinite(scale.compare):
        drawing.mark(scale.compare, scale.compared, log=True)
    return drawing.figure()


def _places(rows: Sequence[Dot]) -> list[float]:
    """Return how many rows down each row is; a group that begins takes most of one for its name."""
    places, down = [], -1.0
    for i, row in enumerate(rows):
        begins = bool(row.group) and (i > 0 and rows[i - 1].group != row.group)
        down += 1.85 if begins else 1.0
        places.append(down)
    return places


def _row(drawing: Drawing, row: Dot, y: float, scale: Scale) -> None:
    colour, has_value = drawing.theme.colour(row.slot), np.isfinite(row.value)
    font = {"color": drawing.theme.text if row.strong else drawing.theme.quiet, "size": 12}
    text = f"{row.label} \u00b7 {_text(row.value, scale)}" if has_value else row.label
    _name(drawing, text, y, font | ({"weight": 700} if row.strong else {}), up=13)
    if not has_value:
        return
    ends = np.maximum([row.low, row.high], scale.least)
    if np.isfinite(ends).all():
        drawing.line(np.asarray(ends), np.full(2, y), hoverinfo="skip", name=escape(row.label),
                     line={"color": colour, "width": 5 if row.strong else 1.5})  # fmt: skip
    inside = row.value >= scale.least
    symbol = "circle" if inside else "triangle-left"
    drawing.points(
        np.array([max(row.value, scale.least)]),
        np.array([y]),
        name=escape(row.label),
        marker={"color": colour, "size": 14 if row.strong else 9,
                "line": {"width": 2, "color": colour},
                "symbol": f"{symbol}-open" if row.faint else symbol},
        hovertemplate=f"<b>%{{fullData.name}}</b><br>{_text(row.value, scale)}"
        f"{_lines(row.note)}<extra></extra>",
    )  # fmt: skip


def _name(drawing: Drawing, text: str, y: float, font: dict[str, Any], up: int = 0) -> None:
    drawing.note(text, x=0, xref="paper", xanchor="left", xshift=_LEFT, y=y, yshift=up, font=font)


def _lines(note: str) -> str:
    return "".join(f"<br>{escape(line)}" for line in note.splitlines())


def _axis(rows: Sequence[Dot], scale: Scale) -> dict[str, Any]:
    ends = [v for r in rows for v in (r.value, r.low, r.high)] + [scale.compare]
    finite = np.maximum([v for v in ends if np.isfinite(v)] or [scale.least], scale.least)
    low, high = float(finite.min()), float(finite.max())
    if high < 2.0 * low:  # close values are in the middle of their axis
        middle = float(np.sqrt(low * high))
        low, high = max(middle / 1.6, scale.least), 1.6 * middle
    ticks = log_ticks(low, high)
    if any(r.value < scale.least for r in rows):
        ticks = {
            "tickvals": [scale.least, *(t for t in ticks["tickvals"] if t > 1.9 * scale.least)],
            "ticktext": [f"≤ {scale.least:g}",
                         *(f"{t:g}" for t in ticks["tickvals"] if t > 1.9 * scale.least)],
        }  # fmt: skip
    room = 0.06 * np.log10(high / low)
    span = [np.log10(low) - room, np.log10(high) + room]
    return {"title": scale.title, "type": "log", "range": span} | ticks


def _text(value: float, scale: Scale) -> str:
    return f"{number(value)} {scale.unit}" if scale.unit else f"{value:.2f}"


def number(value: float) -> str:
    """Return two significant digits: 0, 0.54, 3.0, 12, 837."""
    return f"{value:,.0f}" if abs(value) >= 9.95 or not value else f"{value:#.2g}"
