"""Cost of a run against its time: every option with its intervals, and the best trade-offs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.core import between, plain, with_ends
from planner.figures.compare_labels import Cross, Place, places
from planner.figures.frame import HEIGHT, ChartSpec, Drawing, escape, log_ticks
from planner.figures.palette import Theme, rgba
from planner.figures.total_time import time_unit

BASIS_SYMBOLS: Final = {
    "measured": ("circle", "\u25cf"),
    "interpolated": ("square", "\u25a0"),
    "extrapolated": ("triangle-up", "\u25b2"),
    "similar workload": ("diamond", "\u25c6"),
    "transferred from another GPU": ("diamond-open", "\u25c7"),
    "estimated from FLOPs": ("hexagon-open", "\u2b21"),
    "published": ("triangle-down", "\u25bc"),
}
"""Marker of each basis, and its sign in the legend."""
_WIDE: Final = 350.0
"""Width of the chart's inside that names are placed for [px]: half of a usual page."""
_INSIDE: Final = HEIGHT - 74.0
_LEAST: Final = 1e-9
_NEAR: Final = 45.0
"""Further off than this a name has a line to its marker [px]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One option: time [s] and cost [in `currency` of the chart], each (value, low, high).

    `late` is set if it will probably miss the limits, `front` if no other option is both faster and
    cheaper. `note` is added on hover.
    """

    label: str
    short: str
    slot: int
    basis: str
    time: tuple[float, float, float]
    cost: tuple[float, float, float]
    front: bool = False
    late: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of the axes: deadline [s] and most cost [currency], None where there is none."""

    deadline_s: float | None = None
    cost: float | None = None


def time_cost(
    spots: Sequence[Spot], bounds: Bounds, currency: str, theme: Theme, goal: str = "a run"
) -> ChartSpec:
    """Return the options best first: names of the first ones find room first."""
    drawing = Drawing(theme)
    size, unit = time_unit([s.time[0] for s in spots])
    x = _axis([t / size for s in spots for t in s.time], f"time of {goal} ({unit})")
    y = _axis([c for s in spots for c in s.cost], f"cost of a run ({currency})")
    drawing.x, drawing.y = x, y
    _bounds(drawing, bounds, size)
    _front(drawing, spots, size)
    for spot in reversed(spots):
        _spot(drawing, spot, size, currency)
    _names(drawing, spots, size)
    used = [b for b in BASIS_SYMBOLS if any(s.basis == b for s in spots)]
    legend = "   ".join(f"{BASIS_SYMBOLS[b][1]} {b}" for b in used)
    drawing.note(legend, x=0, xref="paper", xanchor="left", y=1, yref="paper", yanchor="bottom")
    return drawing.figure()


def _spot(drawing: Drawing, spot: Spot, size: float, currency: str) -> None:
    colour = drawing.theme.quiet if spot.late else drawing.theme.colours[spot.slot]
    value, low, high = (t / size for t in spot.time)
    note = f"<br>{escape(spot.note)}" if spot.note else ""
    time, soonest, latest = with_ends(*spot.time)
    amount, least, most = (plain(end, 4) for end in spot.cost)
    cost = f"{amount} {currency} ({least} to {most})"
    drawing.points(
        np.array([value]),
        np.array([max(spot.cost[0], _LEAST)]),
        name=escape(spot.label),
        error_x=_bar(value, low, high, colour),
        error_y=_bar(*spot.cost, colour),
        marker={"color": colour, "size": 12, "symbol": BASIS_SYMBOLS[spot.basis][0],
                "line": {"width": 2, "color": colour}},
        hovertemplate=f"<b>%{{fullData.name}}</b><br>{escape(time)} (90 %: "
        f"{escape(between(soonest, latest))})<br>{escape(cost)}<br>"
        f"{escape(spot.basis)}{note}<extra></extra>",
    )  # fmt: skip


def _bar(value: float, low: float, high: float, colour: str) -> dict[str, Any]:
    return {"type": "data", "symmetric": False, "array": [max(high - value, 0.0)], "width": 3,
            "arrayminus": [max(value - low, 0.0)], "color": rgba(colour, 0.55),
            "thickness": 1.5}  # fmt: skip


def _front(drawing: Drawing, spots: Sequence[Spot], size: float) -> None:
    front = sorted((s.time[0] / size, max(s.cost[0], _LEAST)) for s in spots if s.front)
    if len(front) > 1:
        x, y = (np.array(side) for side in zip(*front, strict=True))
        style = {"color": drawing.theme.quiet, "dash": "dash", "width": 1}
        drawing.line(x, y, name="best trade-offs", line=style, hoverinfo="skip")


def _bounds(drawing: Drawing, bounds: Bounds, size: float) -> None:
    """Return the colour of an option; grey if it is too late or too expensive."""
    ends = [10.0**e for e in (*drawing.x["range"], *drawing.y["range"])]
    if bounds.deadline_s is not None:
        _region(drawing, (max(bounds.deadline_s / size, ends[0]), ends[1]), (ends[2], ends[3]))
    if bounds.cost is not None:
        _region(drawing, (ends[0], ends[1]), (max(bounds.cost, ends[2]), ends[3]))


def grey_words(bounds: Bounds) -> str:
    """Return the meaning of grey, as text beside the chart."""
    late, dear = bounds.deadline_s is not None, bounds.cost is not None
    return " or ".join(["too late"] * late + ["too dear"] * dear)


def _region(drawing: Drawing, x: tuple[float, float], y: tuple[float, float]) -> None:
    if x[0] < x[1] and y[0] < y[1]:
        drawing.line(
            np.array([x[0], x[1], x[1], x[0], x[0]]),
            np.array([y[0], y[0], y[1], y[1], y[0]]),
            fill="toself",
            fillcolor=rgba(drawing.theme.quiet, 0.16),
            line={"width": 0},
            hoverinfo="skip",
        )


def _names(drawing: Drawing, spots: Sequence[Spot], size: float) -> None:
    crosses = [_cross(drawing, s, size) for s in spots]
    label_places = places([s.short for s in spots], crosses, _WIDE, _INSIDE)
    for spot, place in zip(spots, label_places, strict=True):
        if place is not None:
            colour = drawing.theme.quiet if spot.late else drawing.theme.colours[spot.slot]
            drawing.note(
                spot.short,
                x=float(np.log10(spot.time[0] / size)),
                y=float(np.log10(max(spot.cost[0], _LEAST))),
                xanchor=("center", "left", "right")[place.side],
                font={"color": colour, "size": 12},
                **_beside(place, colour),
            )


def _beside(place: Place, colour: str) -> dict[str, Any]:
    """Return the place of a name; a distant one has a thin line to its marker."""
    if max(abs(place.across), abs(place.up)) <= _NEAR:
        return {"xshift": place.across, "yshift": place.up}
    return {"showarrow": True, "ax": place.across, "ay": -place.up, "arrowhead": 0, "standoff": 8,
            "arrowwidth": 1, "arrowcolor": rgba(colour, 0.5)}  # fmt: skip


def _cross(drawing: Drawing, spot: Spot, size: float) -> Cross:
    x, left, right = (_pixel(t / size, drawing.x["range"], _WIDE) for t in spot.time)
    y, low, high = (_pixel(c, drawing.y["range"], _INSIDE) for c in spot.cost)
    return Cross(x=x, y=y, left=left, right=right, low=low, high=high)


def _pixel(value: float, span: Sequence[float], pixels: float) -> float:
    return float((np.log10(max(value, _LEAST)) - span[0]) / (span[1] - span[0]) * pixels)


def _axis(values: Sequence[float], title: str) -> dict[str, Any]:
    """Return a logarithmic axis round the values, at least a factor of three wide."""
    finite = [v for v in values if np.isfinite(v) and v > 0.0] or [1.0]
    low, high = min(finite), max(finite)
    wide = max(float(np.sqrt(3.0 * low / high)), 1.0)
    low, high = low / wide, high * wide
    room = 0.12 * np.log10(high / low)
    span = [float(np.log10(low) - room), float(np.log10(high) + room)]
    return {"title": title, "type": "log", "range": span} | log_ticks(low, high)
