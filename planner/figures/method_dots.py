"""Values side by side as dots, each with its whisker and its name above it.

Names are inside the chart, because on a phone a margin of names would take half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.figures.frame import ChartSpec, Drawing, escape, log_ticks
from planner.figures.palette import Theme

PITCH: Final = 38
"""Height of one row [px]."""
_AROUND: Final = 92
"""Height that the axis and the space above the rows take [px]."""
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
    are ratios with two decimals.
    """

    title: str
    unit: str
    least: float
    compare: float = np.nan
    compared: str = ""


def dots(rows: Sequence[Dot], scale: Scale, theme: Theme) -> ChartSpec:
    """Return the rows from top to bottom in their order and groups."""
    places = _places(rows)
    drawing = Drawing(theme, height=_AROUND + round(PITCH * (max(places, default=0.0) + 1)))
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
    colour, has_value = drawing.theme.colours[row.slot], np.isfinite(row.value)
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
