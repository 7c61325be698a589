"""Common parts of all charts: size, colours, bands, names at the line ends, export.

A chart is a dictionary in plotly's JSON schema. Plotly's figure objects would check, copy and
encode every part for each page; tests check the charts instead.
"""

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from plotly.basedatatypes import BaseFigure

from planner.core import Floats, Text, cut
from planner.core.slugs import BADGE

LIGHT: Final = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#B8860B",
    "#56B4E9",
    "#8C510A",
    "#01665E",
    "#762A83",
    "#A50026",
)
DARK: Final = (
    "#56B4E9",
    "#E69F00",
    "#2FBF96",
    "#E7A0C9",
    "#F0E442",
    "#7FB3FF",
    "#DFC27D",
    "#80CDC1",
    "#C2A5CF",
    "#FF8A80",
)
SYMBOLS: Final = {"gpu": "square", "tpu": "circle", "cpu": "diamond", "other": "cross"}
DASHES: Final = {"gpu": "dot", "tpu": "solid", "cpu": "dash", "other": "dashdot"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """The colours of a page for its figures and tiles; those of text have a contrast of 4.5."""

    colours: tuple[str, ...]
    text: str
    quiet: str
    grid: str
    background: str
    accent: str
    accent_band: str
    accent_soft: str
    warning: str

    def colour(self, slot: int) -> str:
        """Return the colour of a slot: its hue, and for further shades lighter and darker ones."""
        hue, shade = self.colours[slot % HUES], slot // HUES
        return shaded(hue, shade, self.text, self.background) if shade else hue

    def words(self, slot: int) -> str:
        """Return the colour of words in a slot's colour, with a contrast of 4.5."""
        return readable(self.colour(slot), self.text, self.background)


LIGHT_THEME: Final = Theme(
    colours=LIGHT, text="#14212B", quiet="#5A6872", grid="#DDE3E8", background="#FFFFFF",
    accent="#0A6186", accent_band="#7FB2C9", accent_soft="#E6F0F5", warning="#A84300",
)  # fmt: skip
DARK_THEME: Final = Theme(
    colours=DARK, text="#E8EEF2", quiet="#9FB0BC", grid="#2C3944", background="#0F161C",
    accent="#7CC4F0", accent_band="#3B7394", accent_soft="#17303F", warning="#F2A65A",
)  # fmt: skip


def slots(names: Iterable[str], everything: Iterable[str]) -> dict[str, int]:
    """Return the colour slot of each name that is no system, by its place among `everything`.

    So a filter does not change colours. Systems have their own (`planner.figures.frame`).
    """
    order = {name: i % HUES for i, name in enumerate(dict.fromkeys(everything))}
    return {n: order.get(n, len(order) % HUES) for n in names}


def rgba(colour: str, share: float) -> str:
    """Return `#RRGGBB` with opacity `share`; without an explicit colour Plotly picks one."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {share})"


ChartSpec = dict[str, Any]
"""A chart in plotly's JSON schema: "data" and "layout"; values may be numpy arrays."""


SECONDS: Final = "seconds"
"""Key of a layout's `meta`: the seconds of a unit, by each axis whose ticks have several units."""
FEW_EPOCHS: Final = 12
"""Epochs on an axis up to which each has a tick."""


def whole_epochs(last: float) -> dict[str, Any]:
    """Return the ticks of an axis of epochs: whole numbers, one for each where they are few."""
    return {"tickformat": "d"} | ({"dtick": 1} if last <= FEW_EPOCHS else {})


class Named(Protocol):
    """A line with a name and a colour of its own."""

    @property
    def short(self) -> str:
        """The label at the line's end."""
        ...

    @property
    def slot(self) -> int:
        """Place of its colour among the ten."""
        ...


class FittedCurve(Named, Protocol):
    """A fitted curve over batch sizes: measured from `smallest` to `largest`, NaN where refused."""

    @property
    def label(self) -> str:
        """Its name on hover."""
        ...

    @property
    def batch(self) -> Floats:
        """Batch sizes [samples], rising."""
        ...

    @property
    def value(self) -> Floats:
        """The curve there, in the chart's own unit."""
        ...

    @property
    def low(self) -> Floats:
        """Lower end of its interval."""
        ...

    @property
    def high(self) -> Floats:
        """Upper end of its interval."""
        ...

    @property
    def smallest(self) -> float:
        """Smallest measured batch."""
        ...

    @property
    def largest(self) -> float:
        """Largest measured batch."""
        ...


HEIGHT: Final = 500
"""Height of a chart [px]."""
LEAST_HEIGHT: Final = 420
"""Height of a chart with few lines, and least one of any [px]."""

LABEL_GAP: Final = 16.0
"""Height of a line of a name [px]."""
_LETTER: Final = 5.8
"""Width of a letter of a name [px]."""
_WRAPPED: Final = 15
"""Letters of a name at a line's end, from which on it has two lines where there is room."""
_LINE: Final = 28
"""Most letters of a line of a name."""
_SHORT_LINE: Final = 20
"""Letters up to which the parts of a name stay whole."""
_WIDEST: Final = 180
"""Width of the longest line [px]."""
_PAD: Final = 0.05
"""Room above and below what is drawn [share of its height]."""
_UNDER_AXIS: Final = 56
"""Height of the ticks and the title of an axis, below which the legend begins [px]."""
_WRAPPED_LEGEND: Final = 110
"""Height that a legend of few entries in one column takes from a chart on a telephone [px]."""
_FEW_ENTRIES, _ENTRY = 4, 20
"""Entries of such a legend, and the height of each further one [px]."""
TOOLS: Final = 34
"""Height above the chart for the tool bar, which covers nothing [px]."""
_MARGIN: Final = {"l": 62, "r": 16, "t": TOOLS, "b": 48}
_FONT: Final = "Source Sans, Source Sans Pro, sans-serif"

MARKING: Final = ("select2d", "lasso2d", "zoom2d", "pan2d", "resetScale2d")
"""Buttons of a chart in which an area can be marked."""
CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": [*MARKING, "zoomIn2d", "zoomOut2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "png", "filename": "epochwise", "scale": 2},
}
"""How a chart behaves in the page: a button for a picture beside that for the full screen.

Streamlit adds the latter, unless `modeBarButtons` lists all buttons.
"""


LEGEND: Final[dict[str, Any]] = {
    "orientation": "h", "x": 0, "xanchor": "left", "y": -0.2, "yanchor": "top",
    "itemclick": False, "itemdoubleclick": False, "font": {"size": 12}, "traceorder": "normal",
}  # fmt: skip
"""The legend below a chart; it wraps on a narrow page and makes its own room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendEntry:
    """What a marker, a line style or a shade means: its words and look, grey without a slot."""

    words: str
    symbol: str = ""
    dash: str = ""
    shade: float = 0.0
    width: float = 2.0
    slot: int | None = None

    def trace(self, theme: Theme) -> dict[str, Any]:
        """Return the entry as a trace without points."""
        entry: dict[str, Any] = {
            "type": "scatter", "x": [None], "y": [None], "name": escape(self.words),
            "showlegend": True, "hoverinfo": "skip", "mode": "markers" if self.symbol else "lines",
        }  # fmt: skip
        colour = theme.quiet if self.slot is None else theme.colour(self.slot)
        if self.symbol:
            edge = {"width": 2 if self.symbol.endswith("-open") else 0, "color": colour}
            look = {"symbol": self.symbol, "size": 10, "color": colour, "line": edge}
            return entry | {"marker": look}
        if self.shade:
            return entry | {
                "mode": "markers",
                "marker": {"symbol": "square", "size": 14, "color": rgba(colour, self.shade)},
            }
        line = {"color": colour, "dash": self.dash or "solid", "width": self.width}
        return entry | {"line": line}


BAND: Final = LegendEntry(words="90 % interval", shade=0.3)
BEYOND: Final = LegendEntry(words="beyond the measurements", dash="dash")
MEASURED: Final = LegendEntry(words="measured", symbol="circle")
LAST_MEASURED: Final = LegendEntry(words="last measured epoch", symbol="circle")
SUSPECT: Final = LegendEntry(words="suspect run", symbol="circle-open")
LEFT_OUT: Final = LegendEntry(words="left out", symbol="x-thin-open")
PERFECT: Final = LegendEntry(words="perfect scaling", dash="dot", width=1.0)
_KINDS: Final = {"gpu": "GPU", "tpu": "TPU", "cpu": "CPU", "other": "other accelerator"}


def kind_entries(kinds: Collection[str]) -> list[LegendEntry]:
    """Return the dashes of device kinds; [] of a single one, where nothing has to be told apart."""
    names = [kind for kind in DASHES if kind in kinds]
    return [LegendEntry(words=_KINDS[k], dash=DASHES[k]) for k in names] if len(names) > 1 else []


class Drawing:
    """A chart in the making: traces, notes and axes, turned into a specification at the end."""

    def __init__(self, theme: Theme, height: int = HEIGHT) -> None:
        self.theme = theme
        self.height = max(height, LEAST_HEIGHT)
        self.x: dict[str, Any] = {}
        self.y: dict[str, Any] = {}
        self.layout: dict[str, Any] = {}
        self._traces: list[dict[str, Any]] = []
        self._shapes: list[dict[str, Any]] = []
        self._notes: list[dict[str, Any]] = []
        self._legend: dict[str, LegendEntry] = {}
        self._right = _MARGIN["r"]
        self._top: float = _MARGIN["t"]

    def line(self, x: Floats, y: Floats, **more: object) -> None:
        """Draw a line through measured values."""
        self._traces.append({"type": "scatter", "mode": "lines", "x": x, "y": y} | more)

    def points(self, x: Floats, y: Floats, **more: object) -> None:
        """Markers."""
        self._traces.append({"type": "scatter", "mode": "markers", "x": x, "y": y} | more)

    def trace(self, **parts: object) -> None:
        """Draw a trace of another kind."""
        self._traces.append(parts)

    def bars(self, x: Sequence[str], y: Floats, *, slot: int, **more: object) -> None:
        """Draw bars in the colour of a slot."""
        colour = {"marker": {"color": self.theme.colour(slot)}}
        self._traces.append({"type": "bar", "x": x, "y": y, "showlegend": True} | colour | more)

    def band(self, x: Floats, low: Floats, high: Floats, *, colour: str, name: str) -> None:
        """Draw a filled interval in the line's colour; nothing below two finite bounds."""
        good = np.isfinite(low) & np.isfinite(high)
        if good.sum() > 1:
            edge = {"line": {"width": 0, "color": colour}, "hoverinfo": "skip", "name": name}
            self.line(x[good], high[good], **edge)
            self.line(x[good], low[good], **edge, fill="tonexty", fillcolor=rgba(colour, 0.18))

    def legend(self, *entries: LegendEntry) -> None:
        """Add what a marker, a line style or a shade means; the first of equal words counts."""
        for entry in entries:
            self._legend.setdefault(entry.words, entry)

    def fitted(self, line: FittedCurve, *, dash: str, unit: str) -> None:
        """Draw a fitted curve with its band; dashed and grey outside the measured range."""
        colour = self.theme.colour(line.slot)
        self.band(line.batch, line.low, line.high, colour=colour, name=line.label)
        inside = (line.batch <= line.largest) & (line.batch >= line.smallest)
        self._part(line, inside, {"color": colour, "width": 2, "dash": dash}, f"fit: {unit}")
        if bool((line.high > line.low).any()):
            self.legend(BAND)
        grey = {"color": self.theme.quiet, "width": 2, "dash": "dash"}
        for beyond in (line.batch <= line.smallest, line.batch >= line.largest):
            if self._part(
                line, beyond, grey, Text("outside the measured range: {unit}", unit=unit)
            ):
                self.legend(BEYOND)

    def zone(self, low: float, high: float, strength: float = 0.16) -> None:
        """Draw a vertical grey band from `low` to `high`, behind everything else."""
        fill = {
            "fillcolor": rgba(self.theme.quiet, strength),
            "line": {"width": 0},
            "layer": "below",
        }
        self._shapes.append({"type": "rect", "x0": low, "x1": high, "y0": 0, "y1": 1,
                             "yref": "paper"} | fill)  # fmt: skip

    def mark(self, x: float, text: str, *, log: bool, row: int = 0) -> None:
        """A dashed line at `x` with its name above the chart, from the `row`-th row of names up."""
        line = {"color": self.theme.quiet, "dash": "dash", "width": 1}
        self._shapes.append({"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper",
                             "line": line})  # fmt: skip
        self._top = max(self._top, TOOLS + (row + 1 + text.count("\n")) * LABEL_GAP)
        self.note(text, x=float(np.log10(x)) if log else x, y=1, yref="paper", yanchor="bottom",
                  yshift=row * LABEL_GAP)  # fmt: skip

    def level(self, y: float, text: str) -> None:
        """Draw a dashed line across the chart at `y`, with its name at the right end."""
        line = {"color": self.theme.quiet, "dash": "dash", "width": 1}
        self._shapes.append({"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y,
                             "line": line})  # fmt: skip
        self.note(text, x=1, xref="paper", xanchor="right", y=y, yanchor="bottom")

    def note(self, text: str, **where: object) -> None:
        """Draw text without an arrow, in a muted colour unless a font is set."""
        font = {"font": {"color": self.theme.quiet}, "showarrow": False}
        self._notes.append(font | {"text": escape(text).replace("\n", "<br>")} | where)

    def end_labels(
        self,
        lines: Sequence[Named],
        ends: Sequence[float],
        *,
        log: bool,
        quiet: Collection[str] = (),
    ) -> None:
        """Names at the line ends instead of a legend, at least one text height apart.

        Those in `quiet` belong to grey lines and are grey too.
        """
        texts = self._wrapped([line.short for line in lines])
        widest = max((len(part) for text in texts for part in text), default=0)
        self._right = min(round(_LETTER * widest) + 14, _WIDEST)
        gap = LABEL_GAP * max((len(text) for text in texts), default=1)
        at = np.array([np.log10(max(e, 1e-12)) if log else e for e in ends])
        self.y.setdefault("range", self._drawn(log=log))
        shifts = self._apart(at, gap)
        for line, text, y, shift in zip(lines, texts, at, shifts, strict=True):
            colour = self.theme.quiet if line.short in quiet else self.theme.words(line.slot)
            self.note("\n".join(text), x=1, xref="paper", xanchor="left", xshift=4, y=float(y),
                      yshift=float(shift), align="left",
                      font={"color": colour, "size": 12})  # fmt: skip

    def _drawn(self, *, log: bool) -> list[float]:
        """Return the range of what is drawn, so that no name far below it makes it smaller."""
        drawn = [np.asarray(t["y"], dtype=np.float64) for t in self._traces]
        values = np.concatenate([*drawn, np.zeros(0)])
        with np.errstate(all="ignore"):
            values = np.log10(values) if log else values
        values = values[np.isfinite(values)]
        if not values.size:
            return [0.0, 1.0]
        low, high = float(values.min()), float(values.max())
        if self.y.get("rangemode") == "tozero" and not log:
            low, high = min(low, 0.0), max(high, 0.0)
        pad = _PAD * (high - low) or 0.5
        return [low if low == 0.0 and not log else low - pad, high + pad]

    def _wrapped(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return each name in one line, or long ones in two where all have room above another.

        A telephone shows the lines beside names of two lines, but hardly beside those of one.
        """
        inside = self.height - self._top - _MARGIN["b"]
        if 2.0 * LABEL_GAP * len(names) > inside:
            return [(cut(name, _LINE),) for name in names]
        return [tuple(cut(part, _LINE) for part in _two_lines(name)) for name in names]

    def figure(self) -> ChartSpec:
        """Return the chart, unchecked.

        Plotly's check of every part is run by the tests, not by pages.
        """
        entries = [e.trace(self.theme) for e in sorted(self._legend.values(), key=_place)]
        traces = [{"showlegend": False} | trace for trace in self._traces] + entries
        shown = any(trace["showlegend"] for trace in traces)
        axis = {"gridcolor": self.theme.grid, "linecolor": self.theme.grid, "zeroline": False,
                "tickfont": {"color": self.theme.quiet}}  # fmt: skip
        layout = {
            "height": self.height,
            "margin": _MARGIN | {"r": self._right, "t": self._top},
            "showlegend": shown,
            "legend": LEGEND | {"y": self._under_axis(sum(t["showlegend"] for t in traces))},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "closest",
            "font": {"color": self.theme.text, "family": _FONT},
            "hoverlabel": {"bgcolor": self.theme.background, "font": {"color": self.theme.text},
                           "align": "left"},
            "dragmode": "zoom",
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": self.theme.quiet,
                        "activecolor": self.theme.text},
            "xaxis": axis | self.x | {"title": self._title(self.x)},
            "yaxis": axis | self.y | {"title": self._title(self.y)},
            "shapes": self._shapes,
            "annotations": self._notes,
        }  # fmt: skip
        return {"data": traces, "layout": layout | self.layout}

    def _under_axis(self, entries: int) -> float:
        """Return where the legend begins, in heights of what is drawn on a telephone."""
        inside = self.height - self._top - _MARGIN["b"] - _wrapped_legend(entries)
        return min(float(LEGEND["y"]), -_UNDER_AXIS / max(inside, _UNDER_AXIS))

    def _part(
        self, line: FittedCurve, mask: NDArray[np.bool_], style: dict[str, Any], hover: str
    ) -> bool:
        """Draw a part of a line, and return whether it has two points to be drawn."""
        drawn = bool(np.isfinite(line.value[mask]).sum() > 1)
        if drawn:
            self.line(
                line.batch[mask],
                line.value[mask],
                name=escape(line.label),
                line=style,
                hovertemplate=f"<b>%{{fullData.name}}</b><br>batch %{{x:,.0f}}, {hover}"
                "<extra></extra>",
            )
        return drawn

    def _title(self, axis: dict[str, Any]) -> dict[str, Any]:
        font = {"color": self.theme.quiet, "size": 13}
        return {"text": axis.get("title", ""), "font": font, "standoff": 8}

    def _apart(self, at: Floats, gap: float) -> Floats:
        """Return pixel shifts that keep neighbouring labels `gap` apart [px], in order.

        They are those of a telephone, where the legend takes some of the height: labels are further
        apart where the chart is higher. None is above the top of the picture.
        """
        if at.size < 2:
            return np.zeros(at.size)
        low, high = self.y["range"]
        legend = _wrapped_legend(len(self._legend))
        height = self.height - self._top - _MARGIN["b"] - legend
        pixels = (at - low) / max(high - low, 1e-12) * height
        placed = pixels.copy()
        order = np.argsort(pixels)
        for _ in range(40):
            for a, b in itertools.pairwise(order):
                lack = gap - (placed[b] - placed[a])
                if lack > 0:
                    placed[a] -= lack / 2
                    placed[b] += lack / 2
        highest = height + self._top - gap / 2
        for place in order[::-1]:
            placed[place] = min(placed[place], highest)
            highest = placed[place] - gap
        shifts: Floats = placed - pixels
        return shifts


def _place(entry: LegendEntry) -> int:
    """Return the place of an entry in a legend: markers are first, shades last."""
    return 0 if entry.symbol else 2 if entry.shade else 1


def _wrapped_legend(entries: int) -> int:
    """Return the height of a legend in one column [px]."""
    return _WRAPPED_LEGEND + _ENTRY * max(0, entries - _FEW_ENTRIES)


def _two_lines(name: str) -> tuple[str, ...]:
    """Return a long name in two lines of like length, cut at a blank; else in one."""
    if len(name) <= _WRAPPED:
        return (name,)
    cuts = [i for i, letter in enumerate(name) if letter == " "]
    if not cuts:
        return (name,)
    halves = [(name[:i].removesuffix(" ·"), name[i + 1 :].removeprefix("· ")) for i in cuts]
    whole = [h for h, i in zip(halves, cuts, strict=True)
             if name[i - 1] == "·" and _longest(h) <= _SHORT_LINE]  # fmt: skip
    return min(whole or halves, key=_longest)


def _longest(parts: Sequence[str]) -> int:
    return max(map(len, parts))


def batch_axis(low: float, high: float) -> dict[str, Any]:
    """Return a logarithmic axis of batch sizes from `low` to `high` [samples].

    Its ticks are powers of two: plotly's own logarithmic ticks print stray digits.
    """
    powers = np.arange(np.floor(np.log2(low)), np.ceil(np.log2(high)) + 1)
    every = max(1, int(np.ceil(powers.size / 9)))
    ticks = [int(2**p) for p in powers[::every] if p >= 0]
    return {
        "title": "batch size (samples)",
        "type": "log",
        "tickvals": ticks,
        "ticktext": [f"{t:,}" for t in ticks],
        "range": [np.log10(low) - 0.05, np.log10(high) + 0.05],
    }


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """Return ticks at 1, 2 and 5 times powers of ten; at 1 to 9 times within one decade."""
    decades = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)
    ticks = [m * 10.0**k for k in decades for m in ((1, 2, 5) if high > 8 * low else range(1, 10))]
    ticks = [t for t in ticks if low * 0.7 <= t <= high * 1.4]
    return {"tickvals": ticks, "ticktext": [f"{t:,.3g}" if t < 1 else f"{t:,.0f}" for t in ticks]}


class UncheckedFigure(BaseFigure):  # type: ignore[misc]  # plotly has no types
    """A figure that Streamlit sends unchanged, without plotly's checks and copies."""

    def __init__(self, chart: ChartSpec) -> None:
        self._chart = chart

    def to_dict(self) -> ChartSpec:
        """Return the specification itself."""
        return self._chart


def escape(text: str) -> str:
    """Return a text without markup, so that names from data are shown literally."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def last(values: Floats) -> float:
    """Return the last finite value; 1 without any."""
    good = values[np.isfinite(values)]
    return float(good[-1]) if good.size else 1.0


HUES: Final = 10
SHADES: Final = 3
_LIGHTER: Final = (0.45, 0.38, 0.31, 0.25)
"""Shares of the background's colour in the lighter shade; the first that stays visible counts."""
_DARKER: Final = 0.55
"""Share of the text's colour in the darker shade."""
_DARK: Final = 0.3
"""The same for each shade of a hue that has no lighter one: more would hide the hue."""
_VISIBLE: Final = 3.0
"""Least contrast of a line in the lighter shade (WCAG 2.2, 1.4.11)."""
_TABLE: Final = (
    ("H100", 0), ("MI300X", 1), ("B200", 2), ("A100", 3), ("L40S", 4), ("V100", 5), ("H200", 6),
    ("TPU v2", 2), ("RTX 4090", 8), ("MI325X", 9), ("GB200", 7), ("RTX 3090", 7), ("GPU", 0),
    ("2-core Intel Xeon", 0), ("2-core AMD EPYC", 1), ("TPU v3", 7), ("TPU v4", 4), ("TPU v5p", 6),
    ("TPU v5e", 8), ("TPU v6e", 9), ("T4", 9), ("A10", 1), ("A10G", 6), ("L4", 2), ("A40", 5),
    ("A30", 8), ("RTX 5090", 9), ("RTX A6000", 7), ("RTX 6000", 4), ("GH200", 5), ("GB300", 5),
    ("B300", 9), ("MI250X", 4), ("MI250", 8), ("MI355X", 6), ("MI350X", 7), ("Gaudi 2", 7),
    ("Gaudi 3", 4), ("Gaudi", 8), ("L40", 6), ("P100", 7), ("K80", 9), ("GTX 1080 Ti", 1),
    ("RTX 2080 Ti", 2), ("TITAN Xp", 4), ("TITAN V", 6), ("Trainium", 6),
)  # fmt: skip
"""Hues of usual systems: those that are compared most often differ."""
_HUES: Final = dict(_TABLE)
_BEFORE: Final = re.compile(
    r"^(?:(?:Rent|Buy|Own|Renting|Buying|Using|the) )*(?:\d[\d,]* [x×] )?"
    r"(?:(?:NVIDIA|GeForce|AMD|Instinct|Intel|Google|Tesla|Quadro) )*"
)
_AFTER: Final = re.compile(
    r"(?: without P2P| with P2P|, .*| \(.*\)| \d+ ?GB| SXM\d?| PCIe\d?| NVL\d*| HBM\d\w*|-\d+$)+$"
)
_PART: Final = re.compile(r"^(?:replica|stage|branch) on a ")


@lru_cache(maxsize=4096)
def system_key(system: str) -> str:
    """Return the accelerator of a system: 'Rent 8 x H100 SXM5 80GB (Lambda)' -> 'H100'."""
    name = _PART.sub("", _BEFORE.sub("", system.strip().removesuffix(BADGE)))
    return _AFTER.sub("", name) or system


def system_slot(system: str) -> int:
    """Return the hue of a system as a slot from 0 to 9: the same on every page, beside any other.

    Systems of one hue differ by shade (`option_slots`).
    """
    key = system_key(system)
    return _HUES.get(key, zlib.crc32(key.encode()) % HUES)


def option_slots(options: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the slot of each option by its label: the hue of its system, and a shade of its own.

    `options` are label and system of each that is drawn.
    """
    seen: Counter[int] = Counter()
    slots: dict[str, int] = {}
    for label, system in dict(options).items():
        hue = system_slot(system)
        slots[label] = hue + HUES * (seen[hue] % SHADES)
        seen[hue] += 1
    return slots


def mixed(colour: str, other: str, share: float) -> str:
    """Return `#RRGGBB` with a share of another colour in it."""
    pairs = zip(_parts(colour), _parts(other), strict=True)
    return "#" + "".join(f"{round((1.0 - share) * a + share * b):02X}" for a, b in pairs)


@lru_cache(maxsize=1024)
def shaded(hue: str, shade: int, text: str, background: str) -> str:
    """Return a further shade of a hue: lighter where that stays visible, else darker."""
    for share in _LIGHTER:
        lighter = mixed(hue, background, share)
        if contrast(lighter, background) >= _VISIBLE:
            return lighter if shade == 1 else mixed(hue, text, _DARKER)
    return mixed(hue, text, _DARK * shade)


def contrast(first: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2.2, from 1 to 21."""
    dark, light = sorted((_luminance(first), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@lru_cache(maxsize=1024)
def readable(colour: str, text: str, background: str) -> str:
    """Return a colour, mixed with that of `text` until words in it are readable."""
    steps = (mixed(colour, text, share / 10) for share in range(11))
    return next((c for c in steps if contrast(c, background) >= 4.5), text)


def _parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    shares = [part / 255 for part in _parts(colour)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
