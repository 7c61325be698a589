"""Charts of chosen runs: scatter, lines, pivot tables, and the columns of a SELECT statement.

Markers are SVG: plotly's WebGL needs `eval`, which the app's content policy forbids. Of many points
a sample is drawn over shades of all (docs/decisions/0050). Each point carries its place among the
points (`customdata`), so that a click finds its run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats, cut
from planner.figures.frame import (
    CONFIG,
    LEAST_HEIGHT,
    MARKING,
    SUSPECT,
    ChartSpec,
    Drawing,
    Theme,
    escape,
    log_ticks,
    mixed,
    rgba,
    whole_epochs,
)

Indices = NDArray[np.int64]
HEIGHT: Final = 520
PANEL: Final = 300
"""Height of one row of panels [px]."""
MARKERS: Final = (
    "circle", "square", "diamond", "triangle-up", "cross", "star", "x", "triangle-down",
)  # fmt: skip
SIGNS: Final = "●■◆▲✚★✖▼"
"""The markers as characters, in the same order."""
_WITHOUT: Final = ("hexagon2", "⬣")
"""Marker and sign of points without a symbol."""
SMALLEST: Final = 6.0
LARGEST: Final = 26.0
"""Diameters of markers whose area shows a number [px]."""
USUAL: Final = 9.0
MANY: Final = 3_000
SMALL: Final = 6.0
"""Diameter where there are more than `MANY` points [px]."""
SHADES: Final = 64
"""Cells along each axis whose shade shows a count."""
LONGEST_NAME: Final = 34
_GAP: Final = 0.06
EXPLORE_CONFIG: Final[dict[str, Any]] = CONFIG | {
    "modeBarButtonsToRemove": [n for n in CONFIG["modeBarButtonsToRemove"] if n not in MARKING],
    "scrollZoom": False,
    "displayModeBar": True,
}
"""As other charts, with the buttons that mark an area."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Points with their looks, each array of shape (n,).

    `hue`, `symbol` and `panel` are places in `hues`, `symbols` and `panels`, -1 for none. `slots`
    are the colours of `hues`. `shade` colours by a number instead, on a scale named `shade_title`.
    `size` is a number shown as area. `drawn` are the places of the points with a marker, `hover`
    has the facts of each of them as HTML, `hover_axes` the names of axes shown there, by axis.
    Colours in `hidden` are only in the legend. `without` is the name of points without a colour.
    """

    x: Floats
    y: Floats
    drawn: Indices
    hover: Mapping[int, str]
    hover_axes: Mapping[str, str]
    hue: Indices
    hues: tuple[str, ...]
    slots: tuple[int, ...]
    symbol: Indices
    symbols: tuple[str, ...]
    panel: Indices
    panels: tuple[str, ...]
    case: Indices
    suspect: NDArray[np.bool_]
    marked: NDArray[np.bool_]
    shade: Floats | None = None
    shade_title: str = ""
    size: Floats | None = None
    groups: tuple[str, ...] = ()
    group: Indices | None = None
    hidden: tuple[str, ...] = ()
    without: str = ""

    @property
    def many(self) -> bool:
        """Whether markers are small."""
        return self.drawn.size > MANY


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudCurve:
    """A fitted curve with its band, measured from `smallest` to `largest`.

    `hue` and `panel` are those of its points.
    """

    label: str
    hue: int
    panel: int
    x: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudAxes:
    """Titles and scales of the axes, the marks, and the corners of the marked area.

    A zoom is kept while the axes and `within`, the area that is drawn, stay.
    """

    x_title: str
    y_title: str
    log_x: bool
    log_y: bool
    marks: str
    brush: tuple[float, ...] = ()
    brush_panel: int = 0
    within: tuple[float, ...] = ()


def explore(cloud: Cloud, curves: Sequence[CloudCurve], axes: CloudAxes, theme: Theme) -> ChartSpec:
    """Return the chart: points, lines or boxes in each panel, curves and the marked area."""
    several = max(len(cloud.panels), 1)
    across = 1 if several == 1 else 2 if several in (2, 4) else 3
    rows = math.ceil(several / across)
    # one legend for all panels, above them
    drawing = Drawing(theme, height=HEIGHT if rows == 1 else rows * PANEL + 120)
    named: set[str] = set()
    for panel in range(several):
        everywhere = cloud.panel == panel if cloud.panels else np.ones(cloud.x.size, np.bool_)
        inside = cloud.drawn[everywhere[cloud.drawn]]
        at = _Place(panel)
        if cloud.drawn.size < cloud.x.size and axes.marks == "points" and not cloud.groups:
            _shades(drawing, cloud, np.flatnonzero(everywhere), at, axes)
        for curve in curves:
            if curve.panel == panel or not cloud.panels:
                _curve(drawing, curve, cloud, at)
        if axes.marks == "box":
            _boxes(drawing, cloud, np.flatnonzero(everywhere), at)
        _points(drawing, cloud, inside, at, lines=axes.marks == "lines", named=named)
    _axes(drawing, cloud, axes, rows, across)
    return drawing.figure()


def explore_pictures(
    cloud: Cloud, curves: Sequence[CloudCurve], axes: CloudAxes, theme: Theme
) -> list[tuple[str, ChartSpec]]:
    """Return the chart for print: the name of each panel, "" of a single one, and its picture.

    Hidden colours are left out.
    """
    spec = explore(cloud, curves, axes, theme)
    layout = {k: v for k, v in spec["layout"].items() if not k.startswith(("xaxis", "yaxis"))}
    layout |= {"height": HEIGHT, "annotations": []}
    shown = [t for t in spec["data"] if t.get("visible") != "legendonly"]
    titles = {"xaxis": axes.x_title, "yaxis": axes.y_title}
    pictures = []
    for panel, name in enumerate(cloud.panels or ("",)):
        at = _Place(panel)
        traces = [
            _printed(t, theme) for t in shown if t["showlegend"] or t.get("xaxis", "x") == at.x
        ]
        both = {"xaxis": spec["layout"][at.x_axis], "yaxis": spec["layout"][at.y_axis]}
        own = {k: v | {"title": _title(Drawing(theme), titles[k])} for k, v in both.items()}
        pictures.append((name, {"data": traces, "layout": layout | own}))
    return pictures


def _printed(trace: dict[str, Any], theme: Theme) -> dict[str, Any]:
    """Return a trace whose points have colours instead of numbers on a scale."""
    marker = trace.get("marker", {})
    if "cmin" not in marker:
        return trace
    low, high = marker["cmin"], marker["cmax"]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.nan_to_num((np.asarray(marker["color"]) - low) / (high - low), nan=0.0)
    colours = [mixed(theme.accent_soft, theme.accent, float(np.clip(s, 0, 1))) for s in shares]
    return trace | {"marker": marker | {"color": colours}}


class _Place:
    """The axes of a panel, as traces and layouts name them."""

    def __init__(self, panel: int) -> None:
        number = "" if panel == 0 else str(panel + 1)
        self.x, self.y = f"x{number}", f"y{number}"
        self.x_axis, self.y_axis = f"xaxis{number}", f"yaxis{number}"

    @property
    def axes(self) -> dict[str, str]:
        """Keys of a trace."""
        return {"xaxis": self.x, "yaxis": self.y}


def _points(
    drawing: Drawing, cloud: Cloud, inside: Indices, at: _Place, *, lines: bool, named: set[str]
) -> None:
    """Draw the points of a panel, one trace a colour: the legend shows and hides it."""
    if cloud.shade is not None:
        _shaded(drawing, cloud, inside, at, lines=lines)
        return
    names = [*cloud.hues, cloud.without] if cloud.hues else [""]
    for hue, name in enumerate(names):
        code = hue if hue < len(cloud.hues) else -1
        part = inside[cloud.hue[inside] == code] if cloud.hues else inside
        if not part.size:
            continue
        colour = _colour(drawing.theme, cloud, code)
        visible = "legendonly" if name and name in cloud.hidden else True
        marker = {"color": colour, "size": _size(cloud, part), "opacity": _opacity(cloud)}
        marker |= _shapes(cloud, part, colour)
        first = bool(name) and name not in named
        named.add(name)
        own = first and not cloud.panels and isinstance(marker["symbol"], str)  # its own entry
        if first and not own:
            symbol = _own_symbol(cloud, hue)
            _legend_entry(drawing, name, colour, symbol, group=name, visible=visible)
        if lines:
            _lines(drawing, cloud, part, at, colour=colour, name=name, visible=visible)
        drawing.points(
            cloud.x[part], cloud.y[part], **_looks(cloud, part), **at.axes, marker=marker,
            name=escape(_short(name)), legendgroup=name, showlegend=own, visible=visible,
        )  # fmt: skip


def _shaded(drawing: Drawing, cloud: Cloud, part: Indices, at: _Place, *, lines: bool) -> None:
    """Draw points whose colour shows a number."""
    if lines:
        _lines(drawing, cloud, part, at, colour=drawing.theme.quiet, name="")
    shade = np.asarray(cloud.shade)
    finite = shade[np.isfinite(shade)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    wide = low > 0 and high > 20 * low  # a scale over decades shows their logarithm
    values = np.log10(np.where(shade > 0, shade, np.nan)) if wide else shade
    ticks = log_ticks(low, high) if wide else {}
    bar = {
        "title": {"text": escape(cloud.shade_title), "side": "right"}, "thickness": 12,
        "outlinewidth": 0, "tickfont": {"color": drawing.theme.quiet},
    }  # fmt: skip
    if ticks:
        bar |= {"tickvals": [math.log10(t) for t in ticks["tickvals"]],
                "ticktext": ticks["ticktext"]}  # fmt: skip
    ends = (math.log10(low), math.log10(high)) if wide else (low, high)
    marker = {
        "color": values[part], "colorscale": "Viridis", "cmin": ends[0], "cmax": ends[1],
        "showscale": at.x == "x", "colorbar": bar, "size": _size(cloud, part),
        "opacity": _opacity(cloud),
    }  # fmt: skip
    drawing.points(
        cloud.x[part], cloud.y[part], **_looks(cloud, part), **at.axes, name="", showlegend=False,
        marker=marker | _shapes(cloud, part, None),
    )  # fmt: skip


def _looks(cloud: Cloud, part: Indices) -> dict[str, Any]:
    """Return the place of each point, its hover text and what is marked."""
    numbers = "".join(f"<br>{name}: %{{{a}:,.4~r}}" for a, name in cloud.hover_axes.items())
    looks: dict[str, Any] = {
        "type": "scatter",
        "customdata": part,
        "text": [cloud.hover[i] for i in part.tolist()],  # an array of texts is slow to encode
        "hovertemplate": f"%{{text}}{numbers}<extra></extra>",
        "unselected": {"marker": {"opacity": 0.25}},
    }
    if cloud.marked.any():
        looks["selectedpoints"] = np.flatnonzero(cloud.marked[part])
    return looks


def _shapes(cloud: Cloud, part: Indices, colour: str | None) -> dict[str, Any]:
    """Return the symbols of points; suspect ones are open."""
    names = None
    if cloud.symbols:
        places = cloud.symbol[part]
        names = np.where(places < 0, _WITHOUT[0], np.array(MARKERS)[places % len(MARKERS)])
    suspect = cloud.suspect[part]
    if names is None and not suspect.any():
        return {"symbol": MARKERS[0]}
    shapes = np.full(part.size, MARKERS[0], dtype=object) if names is None else names.astype(object)
    shapes[suspect] = [f"{name}-open" for name in shapes[suspect]]
    if not suspect.any():
        alike = bool((shapes == shapes[0]).all())
        return {"symbol": str(shapes[0]) if alike else shapes.astype(str)}
    line = {"width": np.where(suspect, 2, 0)} | ({} if colour is None else {"color": colour})
    return {"symbol": shapes.astype(str), "line": line}


def _shades(drawing: Drawing, cloud: Cloud, inside: Indices, at: _Place, axes: CloudAxes) -> None:
    """Draw how many of all points each cell has, as a shade of grey."""
    x, y = cloud.x[inside], cloud.y[inside]
    ends = [_edges(x, log=axes.log_x), _edges(y, log=axes.log_y)]
    counts = np.histogram2d(x, y, ends)[0].T
    colour = drawing.theme.quiet
    drawing.trace(
        type="heatmap", x=ends[0], y=ends[1],
        z=np.where(counts > 0, np.log10(counts + 1.0), np.nan),
        colorscale=[[0.0, rgba(colour, 0.08)], [1.0, rgba(colour, 0.5)]], showscale=False,
        hoverinfo="skip", hoverongaps=False, **at.axes,
    )  # fmt: skip


def _edges(values: Floats, *, log: bool) -> Floats:
    """Return the edges of the cells along an axis."""
    low, high = float(values.min()), float(values.max())
    if not low < high:
        low, high = (low / 1.1, high * 1.1) if log else (low - 0.5, high + 0.5)
    between = np.geomspace if log else np.linspace
    edges = np.asarray(between(low, high, SHADES + 1), dtype=np.float64)
    edges[0], edges[-1] = low, high
    return edges


def _size(cloud: Cloud, part: Indices) -> Any:  # noqa: ANN401 - one diameter, or one a point
    if cloud.size is None:
        return SMALL if cloud.many else USUAL
    largest = np.nanmax(np.abs(cloud.size)) if np.isfinite(cloud.size).any() else 1.0
    share = np.sqrt(np.abs(cloud.size[part]) / (largest or 1.0))
    return np.where(np.isfinite(share), SMALLEST + (LARGEST - SMALLEST) * share, SMALLEST)


def _opacity(cloud: Cloud) -> float:
    return 0.55 if cloud.many or cloud.size is not None else 0.85


def _colour(theme: Theme, cloud: Cloud, hue: int) -> str:
    if not cloud.hues:
        return theme.colours[0]
    return theme.quiet if hue < 0 or cloud.slots[hue] < 0 else theme.colour(cloud.slots[hue])


def _lines(
    drawing: Drawing,
    cloud: Cloud,
    part: Indices,
    at: _Place,
    *,
    colour: str,
    name: str,
    visible: bool | str = True,
) -> None:
    """Draw a line through the runs of each case, all of them as one trace with gaps."""
    order = part[np.lexsort((cloud.y[part], cloud.x[part], cloud.case[part]))]
    breaks = np.flatnonzero(np.diff(cloud.case[order])) + 1
    x = np.insert(cloud.x[order], breaks, np.nan)
    y = np.insert(cloud.y[order], breaks, np.nan)
    drawing.line(x, y, **at.axes, line={"color": rgba(colour, 0.6), "width": 1.5},
                 hoverinfo="skip", showlegend=False, legendgroup=name, visible=visible)  # fmt: skip


def _curve(drawing: Drawing, curve: CloudCurve, cloud: Cloud, at: _Place) -> None:
    """Draw a fitted curve with its band; dashed beyond the measured places."""
    colour = _colour(drawing.theme, cloud, curve.hue)
    group = cloud.hues[curve.hue] if cloud.hues and curve.hue >= 0 else ""
    visible = "legendonly" if group and group in cloud.hidden else True
    same = {**at.axes, "legendgroup": group, "showlegend": False, "visible": visible}
    good = np.isfinite(curve.low) & np.isfinite(curve.high)
    if good.sum() > 1:
        drawing.line(
            np.concatenate([curve.x[good], curve.x[good][::-1]]),
            np.concatenate([curve.high[good], curve.low[good][::-1]]), **same,
            line={"width": 0, "color": colour}, hoverinfo="skip", fill="toself",
            fillcolor=rgba(colour, 0.12),
        )  # fmt: skip
    inside = (curve.x > curve.smallest) & (curve.x < curve.largest)
    within = (curve.x >= curve.smallest) & (curve.x <= curve.largest)
    for part, dash in ((within, "solid"), (~inside, "dash")):  # as few traces as may be
        values = np.where(part, curve.value, np.nan)
        drawing.line(curve.x, values, name=escape(curve.label), **same,
                     line={"color": colour, "width": 2, "dash": dash},
                     hovertemplate=f"{escape(curve.label)}<br>fit: %{{y:,.4g}}<extra></extra>",
                     )  # fmt: skip


def _boxes(drawing: Drawing, cloud: Cloud, inside: Indices, at: _Place) -> None:
    """Draw quartiles, and whiskers to the last point within 1.5 of their distance."""
    if cloud.group is None:
        return
    groups, values = cloud.group[inside], cloud.y[inside]
    places = np.unique(groups[groups >= 0])
    boxes = np.array([_box(place, values[groups == place]) for place in places]).reshape(-1, 6)
    names = ("x", "q1", "median", "q3", "lowerfence", "upperfence")
    drawing.trace(
        type="box", width=0.72, line={"color": drawing.theme.text, "width": 1.5},
        fillcolor=rgba(drawing.theme.quiet, 0.12), showlegend=False, hoverinfo="skip", **at.axes,
        **dict(zip(names, boxes.T, strict=True)),
    )  # fmt: skip


def _box(place: float, values: Floats) -> tuple[float, ...]:
    """Return place, quartiles and ends of the whiskers."""
    low, middle, high = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    reach = 1.5 * (high - low)
    within = values[(values >= low - reach) & (values <= high + reach)]
    return place, low, middle, high, float(within.min()), float(within.max())


def symbol_names(names: Sequence[str], without: str = "") -> list[str]:
    """Return the names of symbols with their signs, in the order of the chart: '■ bfloat16'.

    `without` is the name of points without a symbol, "" where there are none.
    """
    named = [f"{SIGNS[place % len(SIGNS)]} {_short(name)}" for place, name in enumerate(names)]
    return [*named, f"{_WITHOUT[1]} {without}"] if without else named


def _symbol_note(drawing: Drawing, cloud: Cloud) -> None:
    """Name the symbols below the chart, unless the colours do.

    A legend of plotly can hide by one group only, that of the colours; so the page has its own
    legend of the symbols, and this line is for the picture that is saved.
    """
    if cloud.symbols and cloud.symbols != cloud.hues:
        without = cloud.without if (cloud.symbol < 0).any() else ""
        drawing.note("   ".join(symbol_names(cloud.symbols, without)), x=0, xref="paper",
                     xanchor="left", y=0, yref="paper", yanchor="top",
                     yshift=-62 if not cloud.groups else -122,
                     font={"color": drawing.theme.quiet, "size": 12})  # fmt: skip
        drawing.layout["margin"]["b"] += 26 if cloud.groups else 38


def _own_symbol(cloud: Cloud, hue: int) -> str:
    """Return the symbol of a colour's entry in the legend."""
    same = cloud.symbols == cloud.hues and hue < len(cloud.hues)
    return MARKERS[hue % len(MARKERS)] if same else MARKERS[0]


def _legend_entry(
    drawing: Drawing, name: str, colour: str, symbol: str, *, group: str, visible: bool | str = True
) -> None:
    """Add an entry without points to the legend: it shows and hides its group."""
    drawing.points(
        np.array([np.nan]), np.array([np.nan]), name=escape(_short(name)), legendgroup=group,
        marker={"color": colour, "size": USUAL, "symbol": symbol}, showlegend=True,
        hoverinfo="skip", visible=visible,
    )  # fmt: skip


def _axes(drawing: Drawing, cloud: Cloud, axes: CloudAxes, rows: int, across: int) -> None:
    grid = drawing.theme.grid
    plain = {"gridcolor": grid, "linecolor": grid, "zeroline": False,
             "tickfont": {"color": drawing.theme.quiet}}  # fmt: skip
    x, y = _x_axis(cloud, axes), _number_axis(cloud.y, axes.y_title, log=axes.log_y)
    drawing.x, drawing.y = x, y
    several = max(len(cloud.panels), 1)
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom",
              "font": {"color": drawing.theme.text}, "itemsizing": "constant"}  # fmt: skip
    suspects = bool(cloud.suspect[cloud.drawn].any())
    if suspects:
        drawing.legend(SUSPECT)
    drawing.layout |= {
        "showlegend": suspects or (bool(cloud.hues) and cloud.shade is None),
        "legend": legend, "dragmode": "zoom", "clickmode": "event+select",
        "uirevision": f"{axes.x_title}/{axes.y_title}/{axes.within}",
        "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": drawing.theme.quiet,
                    "activecolor": drawing.theme.text},  # beside the legend, not on it
        "newselection": {"line": {"color": drawing.theme.colours[0], "width": 1.5}},
        "activeselection": {"fillcolor": drawing.theme.colours[0], "opacity": 0.08},
        "margin": {"l": _left(cloud.y, log=axes.log_y), "r": 44, "t": 40,
                   "b": 120 if cloud.groups else 48},
    }  # fmt: skip
    wide, high = (1.0 - _GAP * (across - 1)) / across, (1.0 - 0.13 * (rows - 1)) / rows
    for panel in range(several):
        row, column = divmod(panel, across)
        at = _Place(panel)
        left, top = column * (wide + _GAP), 1.0 - row * (high + 0.13)
        last = panel + across >= several
        of_x = plain | x | {"domain": [left, left + wide], "anchor": at.y,
                            "title": _title(drawing, x["title"] if last else "")}  # fmt: skip
        name = y["title"] if column == 0 else ""
        of_y = plain | y | {"domain": [max(top - high, 0.0), top], "anchor": at.x,
                            "title": _title(drawing, name)}  # fmt: skip
        if panel:
            of_x["matches"], of_y["matches"] = "x", "y"
        if several > 1:
            drawing.layout |= {at.x_axis: of_x, at.y_axis: of_y}
            drawing.note(_short(cloud.panels[panel]), x=left + wide / 2, xref="paper", y=top,
                         yref="paper", yanchor="bottom", xanchor="center",
                         font={"color": drawing.theme.text, "size": 13})  # fmt: skip
    if several > 1:
        drawing.layout["legend"] = legend | {"y": 1.0 + 36 / drawing.height}
    _symbol_note(drawing, cloud)
    if axes.brush:
        drawing.layout["selections"] = [_selection(axes)]


def _left(values: Floats, *, log: bool) -> int:
    """Return the width of the ticks and the title of y [px]: long numbers need more."""
    largest = float(values.max()) if values.size else 0.0
    return 70 if log else max(70, 40 + round(7.0 * len(f"{largest:,.0f}")))


def _title(drawing: Drawing, text: str) -> dict[str, Any]:
    return {"text": text, "font": {"color": drawing.theme.quiet}}


def _selection(axes: CloudAxes) -> dict[str, Any]:
    """Return the marked area as plotly keeps it."""
    at = _Place(max(axes.brush_panel, 0))
    where = {"xref": at.x, "yref": at.y}
    if len(axes.brush) == 4:
        x0, y0, x1, y1 = axes.brush
        return {"type": "rect", "x0": x0, "y0": y0, "x1": x1, "y1": y1} | where
    ends = [f"{x!r},{y!r}" for x, y in zip(axes.brush[::2], axes.brush[1::2], strict=True)]
    return {"type": "path", "path": f"M{'L'.join(ends)}Z"} | where


def _x_axis(cloud: Cloud, axes: CloudAxes) -> dict[str, Any]:
    if not cloud.groups:
        return _number_axis(cloud.x, axes.x_title, log=axes.log_x)
    return {
        "title": escape(axes.x_title),
        "tickvals": list(range(len(cloud.groups))),
        "ticktext": [escape(_short(name)) for name in cloud.groups],
        "range": [-0.6, len(cloud.groups) - 0.4],
        **_turned(len(cloud.groups) < 6),
    }


def _turned(few: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return the angle of names on an axis; few ones are turned where they have no room."""
    return {"autotickangles": [0, -40, -90]} if few else {"tickangle": -40}


def _number_axis(values: Floats, title: str, *, log: bool) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": escape(title), "exponentformat": "none", "tickformat": ",~r"}
    if not log:
        low = values.min() if values.size else 0.0
        return axis | {"rangemode": "tozero" if low >= 0 else "normal"}
    good = values[values > 0]
    axis |= {"type": "log"}
    if good.size:
        low, high = float(good.min()), float(good.max())
        wide = math.log10(high / low)
        axis |= _decades(low, high) if wide > 4 else log_ticks(low, high)
        pad = max(0.04 * wide, 0.05)
        axis["range"] = [math.log10(low) - pad, math.log10(high) + pad]
    return axis


def _decades(low: float, high: float) -> dict[str, Any]:
    """Return ticks at powers of ten, at most nine."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, math.ceil((last - first) / 9))
    powers = range(first, last + 1, every)
    return {"tickvals": [10.0**p for p in powers], "ticktext": [_power(p) for p in powers]}


def _power(exponent: int) -> str:
    """Return a power of ten in words of six letters at most: 0.001, 1,000, 1M, 1B."""
    if exponent < 0:
        return f"{10.0**exponent:.{-exponent}f}" if exponent > -5 else f"1e{exponent}"
    for size, letter in ((12, "T"), (9, "B"), (6, "M")):
        if exponent >= size:
            return f"{10 ** (exponent - size):,}{letter}"
    return f"{10**exponent:,}"


def _short(name: str) -> str:
    return cut(name, LONGEST_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """Cells of a table, shape (rows, columns), NaN where empty; `texts` are what they show."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Floats
    texts: Sequence[Sequence[str]]
    hover: Sequence[Sequence[str]]
    title: str


def heat_table(heat: Heat, theme: Theme, *, dark: bool) -> ChartSpec:
    """Return the cells with heat colours; a scale over decades shows their logarithm."""
    drawing = Drawing(theme, height=30 * len(heat.rows) + 130)
    good = heat.cells[np.isfinite(heat.cells)]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 1.0)
    wide = low > 0 and high > 50 * low
    with np.errstate(all="ignore"):
        shades = np.log10(heat.cells) if wide else heat.cells
    drawing.trace(
        type="heatmap", z=shades, x=[escape(_short(c)) for c in heat.columns],
        y=[escape(_short(r)) for r in heat.rows], text=[list(row) for row in heat.texts],
        texttemplate="%{text}", textfont={"color": theme.text},
        customdata=[list(row) for row in heat.hover],
        hovertemplate="%{customdata}<extra></extra>", showscale=False, xgap=2, ygap=2,
        colorscale=_scale(theme, dark=dark), hoverongaps=False,
    )  # fmt: skip
    drawing.x = {"title": "", "side": "top", "type": "category", "showgrid": False,
                 "automargin": True} | _turned(len(heat.columns) < 8)  # fmt: skip
    drawing.y = {"title": "", "type": "category", "autorange": "reversed", "showgrid": False,
                 "automargin": True}  # fmt: skip
    top = 40 if len(heat.columns) < 8 else 120
    drawing.layout = {"margin": {"l": 16, "r": 16, "t": top, "b": 16}}
    return drawing.figure()


def _scale(theme: Theme, *, dark: bool) -> list[list[Any]]:
    """Return the colours of cells, light enough for the text on them (dark enough on dark)."""
    strongest = 0.55 if dark else 0.5
    return [[0.0, rgba(theme.colours[0], 0.04)], [1.0, rgba(theme.colours[0], strongest)]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run's values by epoch or step: name, colour, dash, both arrays of shape (n,)."""

    name: str
    slot: int
    at: Floats
    seconds: Floats
    dash: str = "solid"


def epochs_overlaid(lines: Sequence[RunLine], theme: Theme) -> ChartSpec:
    """Return the time of each epoch of several runs."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    for line in lines:
        colour = theme.colour(line.slot)
        drawing.line(
            line.at, line.seconds, mode="lines+markers", name=escape(_short(line.name)),
            line={"color": colour, "width": 2, "dash": line.dash}, marker={"size": 6},
            showlegend=True,
            hovertemplate=f"{escape(line.name)}<br>epoch %{{x}}: %{{y:,.4g}} s<extra></extra>",
        )  # fmt: skip
    _named(drawing)
    last = max((float(np.max(line.at)) for line in lines if line.at.size), default=1.0)
    drawing.x = {"title": "epoch"} | whole_epochs(last)
    drawing.y = {"title": "epoch time (s)", "rangemode": "tozero"}
    return drawing.figure()


def steps_distribution(lines: Sequence[RunLine], theme: Theme) -> ChartSpec:
    """Return the share of steps that take at most a time, for several runs."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    for line in lines:
        seconds = np.sort(line.seconds)
        share = 100.0 * (np.arange(seconds.size) + 1) / seconds.size
        drawing.line(
            1000.0 * seconds, share, name=escape(_short(line.name)), showlegend=True,
            line={"color": theme.colour(line.slot), "width": 2, "shape": "hv",
                  "dash": line.dash},
            hovertemplate=f"{escape(line.name)}<br>%{{y:.0f}} % of {seconds.size:,} steps take "
            "at most %{x:,.4g} ms<extra></extra>",
        )  # fmt: skip
    _named(drawing)
    drawing.x = {"title": "step time (ms)", "type": "log"}
    values = [1000.0 * line.seconds for line in lines]
    drawing.x |= log_ticks(*(float(f(np.concatenate(values))) for f in (np.min, np.max)))
    drawing.y = {"title": "share of steps (%)", "range": [0, 101]}
    return drawing.figure()


def _named(drawing: Drawing) -> None:
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
              "font": {"color": drawing.theme.text}}  # fmt: skip
    drawing.layout = {"showlegend": True, "legend": legend,
                      "margin": {"l": 64, "r": 16, "t": 48, "b": 48}}  # fmt: skip


Form = Literal["points", "lines", "bars"]
MOST_SERIES: Final = 10
MOST_MARKS: Final = 4_000
"""Points of a chart; more make it slow to zoom (docs/decisions/0050)."""
_LONGEST_PLACE: Final = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class ColourSeries:
    """The rows of one colour: numbers or names on x, numbers on y (NaN where unknown)."""

    label: str
    slot: int
    x: Floats | Sequence[str]
    y: Floats


def selected(
    series: Sequence[ColourSeries], form: Form, titles: tuple[str, str], theme: Theme, *, log: bool
) -> ChartSpec:
    """Return a chart of columns of a result, with a legend where there are several series.

    Args:
        series: at most `MOST_SERIES`.
        form: how the rows are drawn.
        titles: names of x and y, with units.
        theme: colours.
        log: logarithmic axes where all values are above 0; never for bars' heights or names.
    """
    drawing = Drawing(theme)
    for each in series:
        _draw(drawing, each, form, titles)
    names = any(not isinstance(s.x, np.ndarray) for s in series)
    drawing.x = {"title": escape(titles[0])}
    if names:
        drawing.x |= {"type": "category", "tickangle": -30, "automargin": True}
    elif log and all(_positive(s.x) for s in series):
        drawing.x |= {"type": "log"}
    drawing.y = {"title": escape(titles[1])}
    if log and form != "bars" and all(_positive(s.y) for s in series):
        drawing.y |= {"type": "log"}
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    drawing.layout = {"showlegend": len(series) > 1, "legend": legend, "barmode": "group"}
    return drawing.figure()


def _draw(drawing: Drawing, series: ColourSeries, form: Form, titles: tuple[str, str]) -> None:
    x = (
        series.x
        if isinstance(series.x, np.ndarray)
        else [escape(cut(name, _LONGEST_PLACE)) for name in series.x]
    )
    colour = drawing.theme.colour(series.slot)
    hover = f"%{{x}}<br>{escape(titles[1])}: %{{y:,.4~g}}<extra>{escape(series.label)}</extra>"
    trace: dict[str, Any] = {
        "x": x,
        "y": series.y,
        "name": escape(series.label),
        "hovertemplate": hover,
        "showlegend": True,
    }
    if form == "bars":
        drawing.bars(trace.pop("x"), trace.pop("y"), slot=series.slot, **trace)
        return
    marker = {"color": colour, "size": 7, "opacity": 0.8}
    mode = "lines+markers" if form == "lines" else "markers"
    drawing.points(
        trace.pop("x"), trace.pop("y"), **trace, mode=mode, marker=marker,
        line={"color": colour, "width": 2},
    )  # fmt: skip


def _positive(values: object) -> bool:
    return isinstance(values, np.ndarray) and bool(np.all(values[np.isfinite(values)] > 0))
