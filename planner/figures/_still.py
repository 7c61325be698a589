"""A chart as a still picture (SVG), drawn without a browser or a script: for reports and print.

It reads the specification of the pages' charts: lines, markers, bars, bands, error bars, marks,
notes and the legend. Colours and labels are the chart's own.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np

from planner.core import percent, plain
from planner.figures._tiles import Markup
from planner.figures.as_text import bars_of, words_of
from planner.figures.frame import ChartSpec, log_ticks

WIDTH: Final = 760.0
_LETTER: Final = 6.3
"""Width of a letter of 12 px."""
_LINE: Final = 15.0
_TOP: Final = 12.0
_BELOW: Final = 46.0
"""Height of the ticks and the title below the chart."""
_LEGEND_ROW: Final = 19.0
_NO_TICKS: Final = 26.0
"""Width left of the chart where the axis has no labels: names of bars begin there."""
_SIGN: Final = 22.0
"""Width of the sign of a legend's entry."""
_DASHES: Final = {"dot": "2 4", "dash": "8 5", "dashdot": "8 4 2 4", "longdash": "12 5"}
_QUIET: Final = "#5A6872"
_GRID: Final = "#DDE3E8"
_MOST_TICKS: Final = 7
_TURN: Final = 40.0
"""Angle of labels that have no room side by side [degrees]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """Map of values to pixels from `begin` to `end`; categories are places 0, 1, 2 ..."""

    low: float
    high: float
    begin: float
    end: float
    log: bool
    names: tuple[str, ...] = ()
    form: str = ""
    suffix: str = ""
    ticks: tuple[tuple[float, str], ...] = ()
    title: str = ""

    @property
    def turned(self) -> float:
        """Height of turned labels: those without room side by side; 0 where they have it."""
        places = [self.of(at) for at, _ in self.ticks]
        room = min((b - a for a, b in itertools.pairwise(places)), default=math.inf)
        widest = _LETTER * max((len(text) for _, text in self.ticks), default=0)
        return 0.0 if widest <= room else widest * math.sin(math.radians(_TURN))

    def at(self, value: object) -> float:
        """Return the pixel of a value as data has it; NaN where there is none."""
        return self.of(self.number(value))

    def number(self, value: object) -> float:
        """Return the value on the axis: a place, a logarithm, or itself; NaN where none."""
        if value is None:
            return math.nan
        if self.names:
            return float(self.names.index(str(value)))
        number = float(value)  # type: ignore[arg-type] # a number of a chart
        if self.log:
            return math.log10(number) if number > 0.0 else math.nan
        return number

    def of(self, place: float) -> float:
        """Return the pixel of a place on the axis: of a logarithm where `log`."""
        share = (place - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)


def svg(chart: ChartSpec, alt: str) -> Markup:
    """Return the chart as SVG of `WIDTH`, with `alt` for screen readers."""
    layout, traces = chart["layout"], chart["data"]
    entries = [t for t in traces if t.get("showlegend") and layout.get("showlegend")]
    rows = _legend_rows(entries)
    height = float(layout.get("height", 430)) * 0.84
    top = max(_TOP, float(layout.get("margin", {}).get("t", _TOP)) - 20.0)
    y = _axis(layout.get("yaxis", {}), traces, "y", (top + height - _BELOW - _TOP, top))
    left = 34.0 + max((_LETTER * len(text) for _, text in y.ticks), default=_NO_TICKS)
    right = WIDTH - max(16.0, float(layout.get("margin", {}).get("r", 16.0)))
    x = _axis(layout.get("xaxis", {}), traces, "x", (left, right))
    parts = [
        *_grid(x, y),
        *(_shape(s, x, y) for s in layout.get("shapes", []) if s.get("layer") == "below"),
        *_drawn(traces, x, y, layout.get("barmode", "")),
        *(_shape(s, x, y) for s in layout.get("shapes", []) if s.get("layer") != "below"),
        *(_note(n, x, y) for n in layout.get("annotations", [])),
        *_legend(rows, left, y.begin + _BELOW + x.turned + 8.0),
    ]
    whole = y.begin + _BELOW + x.turned + _LEGEND_ROW * len(rows)
    return Markup(
        f'<svg viewBox="0 0 {WIDTH:g} {whole:.0f}" role="img" aria-label="{escape(alt)}" '
        f'font-family="system-ui,sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


# -- axes ------------------------------------------------------------------------------------------


def _axis(stated: dict[str, Any], traces: Sequence[dict[str, Any]], name: str,
          ends: tuple[float, float]) -> _Axis:  # fmt: skip
    values = [v for t in traces for v in t.get(name, ()) if v is not None]
    names: tuple[str, ...] = ()
    if stated.get("type") == "category" or any(isinstance(v, str) for v in values):
        names = tuple(dict.fromkeys(map(str, values)))
    log = stated.get("type") == "log"
    title = stated.get("title") or ""
    bare = _Axis(low=0.0, high=1.0, begin=ends[0], end=ends[1], log=log, names=names)
    low, high = _range(stated, bare, traces, name)
    form, suffix = str(stated.get("tickformat", "")), str(stated.get("ticksuffix", ""))
    ticks = _ticks(stated, (low, high), bare, form)
    return _Axis(
        low=low, high=high, begin=ends[0], end=ends[1], log=log, names=names, form=form,
        suffix=suffix, ticks=tuple((at, f"{text}{suffix}") for at, text in ticks),
        title=words_of(str(title.get("text", "") if isinstance(title, dict) else title), " "),
    )  # fmt: skip


def _range(
    stated: dict[str, Any], axis: _Axis, traces: Sequence[dict[str, Any]], name: str
) -> tuple[float, float]:
    """Return both ends of an axis: as given, or around its values with some room."""
    if stated.get("range"):
        low, high = (float(end) for end in stated["range"])
        return low, high if high != low else low + 1.0
    if axis.names:
        return -0.5, len(axis.names) - 0.5
    places = [p for t in traces for p in _reached(t, axis, name) if math.isfinite(p)]
    low, high = (min(places), max(places)) if places else (0.0, 1.0)
    if any(t.get("type") == "bar" for t in traces) and name == "y" and not axis.log:
        high = max([high, *_stacked(traces)])
        low = min(low, 0.0)
    room = 0.05 * (high - low) or 0.5
    if stated.get("rangemode") == "tozero" and low >= 0.0 and not axis.log:
        return 0.0, high + room
    return (low if low == 0.0 and not axis.log else low - room), high + room


def _stacked(traces: Sequence[dict[str, Any]]) -> list[float]:
    sums: dict[str, float] = {}
    for trace in traces:
        if trace.get("type") == "bar":
            for name, value in zip(trace["x"], trace["y"], strict=True):
                sums[str(name)] = sums.get(str(name), 0.0) + float(value)
    return list(sums.values())


def _reached(trace: dict[str, Any], axis: _Axis, name: str) -> Iterator[float]:
    """Yield the places that a trace reaches on an axis, with its error bars."""
    values = list(trace.get(name, ()))
    for value, bar in zip(values, bars_of(trace, f"error_{name}"), strict=False):
        if value is not None:
            yield axis.number(value)
            if bar and any(bar):
                below, above = bar
                yield axis.number(float(value) - below)
                yield axis.number(float(value) + above)


def _ticks(
    stated: dict[str, Any], ends: tuple[float, float], axis: _Axis, form: str
) -> list[tuple[float, str]]:
    if stated.get("showticklabels") is False:
        return []
    if axis.names:
        return list(enumerate(axis.names))
    low, high = min(ends), max(ends)
    values = stated.get("tickvals")
    if values is None and axis.log:
        made = log_ticks(10.0**low, 10.0**high)
        values, texts = made["tickvals"], made["ticktext"]
    elif values is None:
        values = _even(low, high)
        texts = [_number(v, form) for v in values]
    else:
        texts = stated.get("ticktext") or [_number(float(v), form) for v in values]
    placed = [(axis.number(v), words_of(str(t), " ")) for v, t in zip(values, texts, strict=True)]
    inside = [(at, text) for at, text in placed if low - 1e-9 <= at <= high + 1e-9]
    every = 1 if stated.get("ticktext") else max(1, math.ceil(len(inside) / (2 * _MOST_TICKS)))
    return inside[::every]


def _even(low: float, high: float) -> list[float]:
    """Return up to `_MOST_TICKS` round values between two ends."""
    rough = (high - low) / (_MOST_TICKS - 1) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step) + 1)]


def _number(value: float, form: str) -> str:
    return percent(value) if form.endswith("%") else plain(value, 4)


def _grid(x: _Axis, y: _Axis) -> list[str]:
    parts = []
    for at, text in x.ticks:
        pixel = x.of(at)
        if not x.names:
            parts.append(_line(pixel, y.begin, pixel, y.end, _GRID))
        if x.turned:
            label = _text(0, 0, text, anchor="end")
            where = f"translate({pixel + 4:.1f} {y.begin + 15:.1f}) rotate({-_TURN:g})"
            parts.append(f'<g transform="{where}">{label}</g>')
        else:
            parts.append(_text(pixel, y.begin + 17, text, anchor="middle"))
    for at, text in y.ticks:
        pixel = y.of(at)
        parts.append(_line(x.begin, pixel, x.end, pixel, _GRID))
        parts.append(_text(x.begin - 7, pixel + 4, text, anchor="end"))
    middle = (y.begin + y.end) / 2
    parts.append(_text((x.begin + x.end) / 2, y.begin + 36 + x.turned, x.title, anchor="middle"))
    parts.append(
        f'<g transform="rotate(-90 13 {middle:.0f})">'
        f"{_text(13, middle, y.title, anchor='middle')}</g>"
    )
    return parts


# -- marks -----------------------------------------------------------------------------------------


def _drawn(traces: Sequence[dict[str, Any]], x: _Axis, y: _Axis, mode: str) -> Iterator[str]:
    """Yield the marks of every trace, in order."""
    bars = [t for t in traces if t.get("type") == "bar"]
    heights: dict[str, float] = {}
    before: list[tuple[float, float]] = []
    for trace in traces:
        if trace.get("type") == "bar":
            yield from _bar(trace, x, y, (bars, mode, heights))
            continue
        if trace.get("type") == "box":
            yield from _box(trace, x, y)
            continue
        if trace.get("type") == "heatmap":  # shades behind points
            continue
        points = [
            (x.at(a), y.at(b)) for a, b in zip(trace.get("x", ()), trace.get("y", ()), strict=False)
        ]
        if trace.get("fill") == "tonexty":
            yield _band([*before, *points[::-1]], y, str(trace.get("fillcolor", _GRID)))
        elif trace.get("fill") == "toself":
            yield _band(points, y, str(trace.get("fillcolor", _GRID)))
        before = points
        yield from _scatter(trace, points, x, y)


_FAINT: Final = 0.25
"""Opacity of points beside the marked ones, as on the pages."""


def _scatter(
    trace: dict[str, Any], points: Sequence[tuple[float, float]], x: _Axis, y: _Axis
) -> Iterator[str]:
    mode, line = str(trace.get("mode", "lines")), trace.get("line", {})
    yield from _errors(trace, x, y)
    if "lines" in mode and line.get("width", 2):
        yield from _lines(points, line)
    if "markers" in mode:
        marker = trace.get("marker", {})
        marked = set(trace.get("selectedpoints", range(len(points))))
        for place, (left, up) in enumerate(points):
            if math.isfinite(left) and math.isfinite(up):
                sign = _sign(left, up, marker, place)
                yield sign if place in marked else f'<g opacity="{_FAINT}">{sign}</g>'
    if "text" in mode:
        for (left, up), text in zip(points, trace.get("text", ()), strict=False):
            if math.isfinite(left) and math.isfinite(up):
                yield _text(left, up - 8, words_of(str(text), " "), anchor="middle")


def _lines(points: Sequence[tuple[float, float]], line: dict[str, Any]) -> Iterator[str]:
    """Yield a line per stretch without a gap."""
    dash = _DASHES.get(str(line.get("dash", "")))
    style = f' stroke-dasharray="{dash}"' if dash else ""
    for part in _stretches(points):
        at = " ".join(f"{a:.1f},{b:.1f}" for a, b in part)
        yield (
            f'<polyline points="{at}" fill="none" stroke="{escape(str(line.get("color", _QUIET)))}"'
            f' stroke-width="{float(line.get("width", 2)):g}"{style}/>'
        )


def _stretches(points: Sequence[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
    part: list[tuple[float, float]] = []
    for point in [*points, (math.nan, math.nan)]:
        if math.isfinite(point[0]) and math.isfinite(point[1]):
            part.append(point)
        elif part:
            yield part
            part = []


def _band(points: Sequence[tuple[float, float]], y: _Axis, colour: str) -> str:
    """Return a filled shape, cut at the ends of the axis."""
    inside = ((a, min(max(b, y.end), y.begin)) for a, b in points if math.isfinite(a + b))
    at = " ".join(f"{a:.1f},{b:.1f}" for a, b in inside)
    return f'<polygon points="{at}" fill="{escape(colour)}"/>'


def _errors(trace: dict[str, Any], x: _Axis, y: _Axis) -> Iterator[str]:
    """Yield the error bars of a trace; they are as wide as the chart's own."""
    for name, across in (("error_x", True), ("error_y", False)):
        bar = trace.get(name) or {}
        if "array" not in bar:
            continue
        colour = str(bar.get("color", _QUIET))
        thick = float(bar.get("thickness", 2))
        for a, b, ends_of in zip(trace["x"], trace["y"], bars_of(trace, name), strict=True):
            below, above = ends_of or (0.0, 0.0)
            if across:
                ends = (x.at(float(a) - below), y.at(b), x.at(float(a) + above), y.at(b))
            else:
                ends = (x.at(a), y.at(float(b) - below), x.at(a), y.at(float(b) + above))
            if all(map(math.isfinite, ends)):
                yield _line(*ends, colour, thick)


def _bar(
    trace: dict[str, Any],
    x: _Axis,
    y: _Axis,
    among: tuple[Sequence[dict[str, Any]], str, dict[str, float]],
) -> Iterator[str]:
    """Yield the bars of a trace: stacked on the bars before it, or beside them."""
    bars, mode, heights = among
    wide = 0.7 * abs(x.of(1.0) - x.of(0.0))
    stacked = mode == "stack"
    part = wide if stacked else wide / len(bars)
    shift = 0.0 if stacked else (bars.index(trace) + 0.5) * part - wide / 2
    colour = escape(str(trace.get("marker", {}).get("color", _QUIET)))
    for name, value in zip(trace["x"], trace["y"], strict=True):
        base = heights.get(str(name), 0.0) if stacked else 0.0
        heights[str(name)] = base + float(value)
        low, high = y.at(base), y.at(base + float(value))
        if math.isfinite(low) and math.isfinite(high):
            yield (
                f'<rect x="{x.at(name) + shift - part / 2:.1f}" y="{min(low, high):.1f}" '
                f'width="{part:.1f}" height="{abs(high - low):.1f}" fill="{colour}"/>'
            )


def _box(trace: dict[str, Any], x: _Axis, y: _Axis) -> Iterator[str]:
    """Yield boxes of stated quartiles, with the lines to their fences."""
    colour, half = str(trace.get("line", {}).get("color", _QUIET)), float(trace["width"]) / 2
    names = ("lowerfence", "q1", "median", "q3", "upperfence")
    for place, *values in zip(trace["x"], *(trace[name] for name in names), strict=True):
        least, low, middle, high, most = map(y.at, values)
        left, centre, right = (x.at(float(place) + shift) for shift in (-half, 0.0, half))
        yield (
            f'<rect x="{left:.1f}" y="{high:.1f}" width="{right - left:.1f}" '
            f'height="{low - high:.1f}" fill="{escape(str(trace.get("fillcolor", _GRID)))}" '
            f'stroke="{escape(colour)}"/>'
        )
        for ends in ((left, middle, right, middle), (centre, least, centre, low),
                     (centre, high, centre, most)):  # fmt: skip
            yield _line(*ends, colour, 1.5)


def _sign(left: float, up: float, marker: dict[str, Any], place: int) -> str:
    """Return a marker: full, or with an edge only where its symbol is open."""
    symbol, colour = str(_each(marker.get("symbol", "circle"), place)), marker.get("color", _QUIET)
    colour = escape(str(_each(colour, place)))
    half = float(_each(marker.get("size", 8), place)) / 2
    open_ = "-open" in symbol or "thin" in symbol
    look = (
        f'fill="none" stroke="{colour}" stroke-width="1.8"'
        if open_
        else f'fill="{colour}" fill-opacity="{float(marker.get("opacity", 1.0)):g}"'
    )
    kind = symbol.split("-", maxsplit=1)[0]
    if kind == "circle":
        return f'<circle cx="{left:.1f}" cy="{up:.1f}" r="{half:.1f}" {look}/>'
    if kind == "x" and open_:
        cross = f"M{-half:.1f} {-half:.1f}L{half:.1f} {half:.1f}M{half:.1f} {-half:.1f}"
        return f'<path transform="translate({left:.1f} {up:.1f})" d="{cross}L{-half:.1f} {half:.1f}" {look}/>'  # noqa: E501
    corners = [(left + half * a, up + half * b) for a, b in _corners(symbol)]
    at = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    return f'<polygon points="{at}" {look}/>'


_SHAPES: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "cross": (
        (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2),
        (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4),
    ),
    "x": (
        (0, -0.5), (0.7, -1.2), (1.2, -0.7), (0.5, 0), (1.2, 0.7), (0.7, 1.2), (0, 0.5),
        (-0.7, 1.2), (-1.2, 0.7), (-0.5, 0), (-1.2, -0.7), (-0.7, -1.2),
    ),
    "star": tuple(
        (r * math.sin(math.pi * k / 5), -r * math.cos(math.pi * k / 5))
        for k in range(10)
        for r in (1.3 if k % 2 == 0 else 0.55,)
    ),
    "hexagon": tuple(
        (1.1 * math.cos(math.pi * k / 3), 1.1 * math.sin(math.pi * k / 3)) for k in range(6)
    ),
    "triangle-left": ((-1.2, 0), (1, -1.1), (1, 1.1)),
    "triangle-right": ((1.2, 0), (-1, -1.1), (-1, 1.1)),
    "triangle-down": ((0, 1.2), (-1.1, -1), (1.1, -1)),
    "triangle-up": ((0, -1.2), (1.1, 1), (-1.1, 1)),
}  # fmt: skip
"""Corners of the markers, for half a size of 1."""


def _corners(symbol: str) -> tuple[tuple[float, float], ...]:
    name = symbol.removesuffix("-open")
    return _SHAPES.get(name, _SHAPES.get(name.split("-", maxsplit=1)[0], _SHAPES["square"]))


def _each(value: object, place: int) -> Any:  # noqa: ANN401 - a colour, a size or a symbol
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return value
    return value[place]


# -- shapes, notes, legend -------------------------------------------------------------------------


def _shape(shape: dict[str, Any], x: _Axis, y: _Axis) -> str:
    """Return a band or a line of the layout; ends on "paper" are shares of the chart."""
    left, right = (_end(shape, x, "x", end) for end in ("x0", "x1"))
    low, high = (_end(shape, y, "y", end) for end in ("y0", "y1"))
    if not all(map(math.isfinite, (left, right, low, high))):
        return ""
    left, right = (min(max(v, x.begin), x.end) for v in (left, right))
    line = shape.get("line", {})
    if shape.get("type") == "rect":
        return (
            f'<rect x="{min(left, right):.1f}" y="{min(low, high):.1f}" '
            f'width="{abs(right - left):.1f}" height="{abs(high - low):.1f}" '
            f'fill="{escape(str(shape.get("fillcolor", _GRID)))}"/>'
        )
    return _line(left, low, right, high, str(line.get("color", _QUIET)),
                 float(line.get("width", 1)), str(line.get("dash", "")))  # fmt: skip


def _end(shape: dict[str, Any], axis: _Axis, name: str, end: str) -> float:
    if shape.get(f"{name}ref") == "paper":
        return axis.begin + float(shape[end]) * (axis.end - axis.begin)
    return axis.at(shape[end])


def _note(note: dict[str, Any], x: _Axis, y: _Axis) -> str:
    """Return a text of the layout; on a logarithmic axis its place is a logarithm."""
    left = _placed(note, x, "x") + float(note.get("ax", note.get("xshift", 0)))
    up = _placed(note, y, "y") + float(note.get("ay", -float(note.get("yshift", 0))))
    if not (math.isfinite(left) and math.isfinite(up)):
        return ""
    font = note.get("font", {})
    lines = words_of(str(note.get("text", "")), "\n").split("\n")
    anchor = {"left": "start", "right": "end"}.get(str(note.get("xanchor", "center")), "middle")
    first = {"bottom": up - 4 - _LINE * (len(lines) - 1), "top": up + 12}.get(
        str(note.get("yanchor", "middle")), up + 4 - _LINE * (len(lines) - 1) / 2
    )
    colour = str(font.get("color", _QUIET))
    return "".join(
        _text(left, first + _LINE * n, text, anchor=anchor, colour=colour)
        for n, text in enumerate(lines)
    )


def _placed(note: dict[str, Any], axis: _Axis, name: str) -> float:
    value = note.get(name, 0.0)
    if note.get(f"{name}ref") == "paper":
        return axis.begin + float(value) * (axis.end - axis.begin)
    return axis.of(axis.number(value) if axis.names else float(value))


def _legend_rows(entries: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    rows: list[list[dict[str, Any]]] = []
    free = 0.0
    for entry in entries:
        wide = _entry_width(entry)
        if wide > free:
            rows.append([])
            free = WIDTH - 80.0
        rows[-1].append(entry)
        free -= wide
    return rows


def _entry_width(entry: dict[str, Any]) -> float:
    return _SIGN + 24.0 + _LETTER * len(words_of(str(entry.get("name", "")), " "))


def _legend(rows: Sequence[Sequence[dict[str, Any]]], left: float, top: float) -> Iterator[str]:
    for n, row in enumerate(rows):
        at, up = left, top + _LEGEND_ROW * n
        for entry in row:
            yield from _entry(entry, at, up)
            yield _text(at + _SIGN + 6, up + 4, words_of(str(entry.get("name", "")), " "))
            at += _entry_width(entry)


def _entry(entry: dict[str, Any], left: float, up: float) -> Iterator[str]:
    middle = left + _SIGN / 2
    if entry.get("type") == "bar":
        colour = escape(str(entry.get("marker", {}).get("color", _QUIET)))
        yield (
            f'<rect x="{middle - 6:.1f}" y="{up - 6:.1f}" width="12" height="12" fill="{colour}"/>'
        )
        return
    mode = str(entry.get("mode", "lines"))
    if "lines" in mode:
        yield from _lines([(left, up), (left + _SIGN, up)], entry.get("line", {}))
    if "markers" in mode:
        yield _sign(middle, up, entry.get("marker", {}), 0)


def _line(  # noqa: PLR0917 - two ends and a look
    x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0, dash: str = ""
) -> str:
    style = f' stroke-dasharray="{_DASHES[dash]}"' if dash in _DASHES else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{escape(colour)}" stroke-width="{width:g}"{style}/>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = _QUIET) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{escape(colour)}">'
        f"{escape(text)}</text>"
    )
