"""Charts of a comparison: cost against time, rent or buy, and the tornado chart.

Every name is tried at places around its marker, the nearest first; the first free one is used. A
name without a free place is not drawn, but shown on hover.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.core import Floats, Record, Text, between, plain, with_ends
from planner.figures._curves import time_unit
from planner.figures.frame import (
    BAND,
    HEIGHT,
    ChartSpec,
    Drawing,
    LegendEntry,
    Theme,
    escape,
    log_ticks,
    rgba,
)

LETTER: Final = 6.4
"""Width of a letter [px]."""
LINE: Final = 15.0
"""Height of a name [px]."""
_AWAY: Final = ((8.0, 12.0), (8.0, 26.0), (26.0, 12.0), (8.0, 42.0), (44.0, 26.0), (8.0, 58.0),
                (62.0, 12.0), (62.0, 42.0), (8.0, 74.0), (90.0, 26.0), (8.0, 90.0))  # fmt: skip
"""Distances from the marker across and up [px], nearest first."""
_SIDES: Final = ((1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle in the chart [px], `y` counted upwards."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: "Box") -> bool:
        """Return whether the two overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Cross:
    """A marker with its error bars [px]: centre, and how far the bars reach."""

    x: float
    y: float
    left: float
    right: float
    low: float
    high: float

    def boxes(self) -> tuple[Box, Box, Box]:
        """Return the covered boxes: two bars and the marker."""
        return (
            Box(left=self.left - 2, right=self.right + 2, low=self.y - 3, high=self.y + 3),
            Box(left=self.x - 3, right=self.x + 3, low=self.low - 2, high=self.high + 2),
            Box(left=self.x - 7, right=self.x + 7, low=self.y - 7, high=self.y + 7),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlace:
    """Where a name begins (`side` 1), ends (-1) or has its middle (0), from its marker [px]."""

    across: float
    up: float
    side: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A chart as one screen shows it: size of its inside [px], and the marker of each name."""

    width: float
    height: float
    crosses: Sequence[Cross]

    def holds(self, box: Box) -> bool:
        """Return whether the box is inside."""
        across = box.left >= 0 and box.right <= self.width
        return across and box.low >= 0 and box.high <= self.height


def places(names: Sequence[str], screens: Sequence[Screen]) -> list[LabelPlace | None]:
    """Return a place for each name in turn, the first ones first; None where there is no room.

    It is free on every screen, else on the first one: the distance from the marker is the same.
    """
    occupied = [[box for cross in screen.crosses for box in cross.boxes()] for screen in screens]
    chosen: list[LabelPlace | None] = []
    for n, name in enumerate(names):
        own = [screen.crosses[n] for screen in screens]
        best: tuple[LabelPlace, list[Box]] | None = None
        for place in _tries(own):
            boxes = [_box(name, cross, place) for cross in own]
            free = [
                screen.holds(box) and not any(box.meets(t) for t in taken)
                for screen, box, taken in zip(screens, boxes, occupied, strict=True)
            ]
            if free[0] and (best is None or all(free)):
                best = place, boxes
            if all(free):
                break
        for taken, box in zip(occupied, best[1] if best else (), strict=False):
            taken.append(box)
        chosen.append(best[0] if best else None)
    return chosen


def _tries(own: Sequence[Cross]) -> list[LabelPlace]:
    """Return the places beside a marker, nearest first, and at the ends of its bars."""
    near = [(side * across, above * up, side) for across, up in _AWAY for side, above in _SIDES]
    ends = [  # of a bar up or down: one across has another length on each screen
        (0.0, max(c.high - c.y for c in own) + LINE / 2 + 3, 0),
        (0.0, min(c.low - c.y for c in own) - LINE / 2 - 3, 0),
    ]
    return [LabelPlace(across=x, up=y, side=s) for x, y, s in (*near[:8], *ends, *near[8:])]


def _box(name: str, cross: Cross, place: LabelPlace) -> Box:
    wide, x, y = LETTER * len(name), cross.x + place.across, cross.y + place.up
    left = x - wide * (1 - place.side) / 2
    return Box(left=left, right=left + wide, low=y - LINE / 2, high=y + LINE / 2)


_DASHES: Final = {"rent": "solid", "buy": "dash", "own": "dot"}
_WAYS: Final = {"rent": "rented", "buy": "bought", "own": "already owned"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UseLine:
    """Cost of one option against use: `x` rising, `value` with `low` and `high`, one shape."""

    label: str
    short: str
    slot: int
    way: str
    x: Floats
    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class UseAxes:
    """Titles, the requested value on the x axis, and the interval of the break-even."""

    x_title: str
    y_title: str
    request: float
    request_words: str
    pays_off: tuple[float, float, float] | None = None
    per_cent: bool = False
    log: bool = False


def rent_or_buy(lines: Sequence[UseLine], axes: UseAxes, theme: Theme) -> ChartSpec:
    """Return one line per option: solid rented, dashed bought, dotted already owned."""
    drawing = Drawing(theme)
    right = max((float(line.x[-1]) for line in lines), default=1.0)
    top = max((float(np.nanmax(line.value)) for line in lines), default=1.0)
    if axes.pays_off is not None:
        value, low, high = axes.pays_off
        drawing.zone(low, min(high, right))
        style = {"color": theme.quiet, "dash": "dot", "width": 1}
        drawing.line(np.array([value, value]), _ends(lines, top, axes), line=style,
                     hoverinfo="skip", name="pays off")  # fmt: skip
        drawing.legend(LegendEntry(words="buying pays off from here", dash="dot", width=1.0),
                       LegendEntry(words="its 90 % interval", shade=0.16))  # fmt: skip
    for line in lines:
        _draw(drawing, line, axes)
    ways = {line.way for line in lines}
    drawing.legend(
        *(LegendEntry(words=_WAYS[w], dash=d) for w, d in _DASHES.items() if w in ways), BAND
    )
    drawing.x = {"title": axes.x_title, "range": [0.0, right]}
    drawing.x |= {"tickformat": ".0%"} if axes.per_cent else {"tickformat": ",~r"}
    drawing.y = {"title": axes.y_title, "range": [0.0, 1.12 * top], "tickformat": ",~r"}
    if axes.log:
        bottom = float(_ends(lines, top, axes)[0])
        span = [float(np.log10(bottom)), float(np.log10(1.3 * top))]
        drawing.y = {"title": axes.y_title, "type": "log", "range": span} | log_ticks(bottom, top)
    if 0.0 <= axes.request <= right:
        drawing.mark(axes.request, axes.request_words, log=False)
    drawing.end_labels(lines, [float(line.value[-1]) for line in lines], log=axes.log)
    return drawing.figure()


def _ends(lines: Sequence[UseLine], top: float, axes: UseAxes) -> Floats:
    """Return bottom and top of the y axis."""
    values = [v for line in lines for v in line.value.tolist() if v > 0.0]
    return np.array([0.8 * min(values, default=0.1) if axes.log else 0.0, 1.12 * top])


def _draw(drawing: Drawing, line: UseLine, axes: UseAxes) -> None:
    colour = drawing.theme.colour(line.slot)
    drawing.band(line.x, line.low, line.high, colour=colour, name=line.label)
    at = "%{x:.0%}" if axes.per_cent else "%{x:,.3~r}"
    drawing.line(
        line.x,
        line.value,
        name=escape(line.label),
        customdata=np.stack([line.low, line.high], axis=-1),
        line={"color": colour, "width": 2, "dash": _DASHES[line.way]},
        hovertemplate=f"<b>%{{fullData.name}}</b><br>{escape(axes.x_title)} {at}: "
        "%{y:,.3~r}<br>90 %: %{customdata[0]:,.3~r} to %{customdata[1]:,.3~r}<extra></extra>",
    )


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
_BAR: Final = LegendEntry(words="90 % interval", width=1.5)
_SCREENS: Final = ((420.0, HEIGHT - 190.0), (1020.0, HEIGHT - 146.0))
"""Insides that names are placed for [px]: of a telephone held across, and at a desk."""
_LEAST: Final = 1e-9
_NEAR: Final = 30.0
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
    x = _axis(
        [t / size for s in spots for t in s.time],
        Text("time of {goal} ({unit})", goal=goal, unit=unit),
    )
    y = _axis(
        [c for s in spots for c in s.cost], Text("cost of a run ({currency})", currency=currency)
    )
    drawing.x, drawing.y = x, y
    _bounds(drawing, bounds, size)
    _front(drawing, spots, size)
    for spot in reversed(spots):
        _spot(drawing, spot, size, currency)
    _names(drawing, spots, size)
    used = [b for b in BASIS_SYMBOLS if any(s.basis == b for s in spots)]
    drawing.legend(*(LegendEntry(words=b, symbol=BASIS_SYMBOLS[b][0]) for b in used), _BAR)
    if sum(s.front for s in spots) > 1:
        drawing.legend(LegendEntry(words="best trade-offs", dash="dash", width=1.0))
    if words := grey_words(bounds):
        drawing.legend(LegendEntry(words=words, shade=0.16))
    return drawing.figure()


def _spot(drawing: Drawing, spot: Spot, size: float, currency: str) -> None:
    colour = drawing.theme.quiet if spot.late else drawing.theme.colour(spot.slot)
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
    screens = [
        Screen(width=width, height=height,
               crosses=[_cross(drawing, s, size, width, height) for s in spots])
        for width, height in _SCREENS
    ]  # fmt: skip
    label_places = places([s.short for s in spots], screens)
    for spot, place in zip(spots, label_places, strict=True):
        if place is not None:
            colour = drawing.theme.quiet if spot.late else drawing.theme.words(spot.slot)
            drawing.note(
                spot.short,
                x=float(np.log10(spot.time[0] / size)),
                y=float(np.log10(max(spot.cost[0], _LEAST))),
                xanchor=("center", "left", "right")[place.side],
                font={"color": colour, "size": 12},
                **_beside(place, colour),
            )


def _beside(place: LabelPlace, colour: str) -> dict[str, Any]:
    """Return the place of a name; a distant one has a thin line to its marker."""
    if max(abs(place.across), abs(place.up)) <= _NEAR:
        return {"xshift": place.across, "yshift": place.up}
    return {"showarrow": True, "ax": place.across, "ay": -place.up, "arrowhead": 0, "standoff": 8,
            "arrowwidth": 1, "arrowcolor": rgba(colour, 0.5)}  # fmt: skip


def _cross(drawing: Drawing, spot: Spot, size: float, width: float, height: float) -> Cross:
    x, left, right = (_pixel(t / size, drawing.x["range"], width) for t in spot.time)
    y, low, high = (_pixel(c, drawing.y["range"], height) for c in spot.cost)
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


_REVERSED: Final = LegendEntry(words="beyond it the ranking reverses", dash="dash", width=1.0)
PITCH: Final = 40
"""Height of one row [px]."""
_AROUND: Final = 96
_LEGEND: Final = 80
"""Height of the four entries of the legend on a telephone [px]."""
_LEFT: Final = -56


@dataclass(frozen=True, slots=True, kw_only=True)
class TornadoBar:
    """The answer with one input at its 5th (`low`) and its 95th percentile (`high`)."""

    label: str
    low: float
    high: float


def bar_rows(bars: Sequence[TornadoBar], unit: str) -> list[Record]:
    """Return the bars as rows of a table, the values in `unit`."""
    return [
        {
            "Input": bar.label,
            Text("At its low end ({unit})", unit=unit): plain(bar.low, 3),
            Text("At its high end ({unit})", unit=unit): plain(bar.high, 3),
        }
        for bar in bars
    ]


def tornado(
    bars: Sequence[TornadoBar], base: float, title: str, theme: Theme, *, compared: bool
) -> ChartSpec:
    """Return bars from the widest down; `compared` marks 0, where the two options cost the same."""
    drawing = Drawing(theme, height=_AROUND + PITCH * len(bars) + _LEGEND)
    drawing.legend(LegendEntry(words="one input at its low end (5 %)", slot=0, width=9.0),
                   LegendEntry(words="at its high end (95 %)", slot=1, width=9.0),
                   LegendEntry(words="all in the middle", width=1.0))  # fmt: skip
    top = len(bars) - 1
    for place, bar in enumerate(bars):
        _tornado_bar(drawing, bar, base, top - place)
    drawing.x = _tornado_axis([v for b in bars for v in (b.low, b.high)] + [base], title, compared)
    drawing.y = {"showticklabels": False, "showgrid": False, "fixedrange": True,
                 "range": [-0.5, top + 0.75]}  # fmt: skip
    drawing.line(np.array([base, base]), np.array([-0.5, top + 0.6]), hoverinfo="skip",
                 name="middle", line={"color": theme.quiet, "width": 1})  # fmt: skip
    if compared and drawing.x["range"][0] < 0.0 < drawing.x["range"][1]:
        drawing.mark(0.0, "cost the same", log=False)
        drawing.legend(_REVERSED)
    return drawing.figure()


def _tornado_bar(drawing: Drawing, bar: TornadoBar, base: float, y: float) -> None:
    font = {"color": drawing.theme.text, "size": 12}
    drawing.note(bar.label, x=0, xref="paper", xanchor="left", xshift=_LEFT, y=y, yshift=14,
                 font=font, bgcolor=drawing.theme.background, borderpad=1)  # fmt: skip
    for end, side, slot in ((bar.low, "low", 0), (bar.high, "high", 1)):
        drawing.line(
            np.array([base, end]),
            np.array([y, y]),
            name=escape(bar.label),
            line={"color": drawing.theme.colour(slot), "width": 9},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{side}: %{{x:,.3~r}}<extra></extra>",
        )


def _tornado_axis(values: Sequence[float], title: str, compared: bool) -> dict[str, Any]:  # noqa: FBT001
    shown = [*values, *([0.0] if compared and min(values) < 2 * max(values) else [])]
    low, high = min(shown), max(shown)
    room = 0.06 * (high - low) or 1.0
    return {"title": title, "range": [low - room, high + room], "tickformat": ",~r"}
