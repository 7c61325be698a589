"""Charts of Scaling out: steps and efficiency by device count, shares, driver, uneven workers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.core import LEAST_DIGITS, Floats, Text, percent, plain, rounded
from planner.figures.frame import (
    BAND,
    BEYOND,
    LEAST_HEIGHT,
    MEASURED,
    PERFECT,
    ChartSpec,
    Drawing,
    LegendEntry,
    Theme,
    batch_axis,
    escape,
    last,
    log_ticks,
)

_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")
_OUTSIDE: Final = LegendEntry(words="outside the interval", symbol="circle-open")
"""A measured point that the interval of its fit misses."""
_OPEN: Final = LegendEntry(words="places that the text leaves open", dash="dot")
_NODES: Final = "one node | several nodes"
"""Name of the line between the device counts of one node and those of several."""
_SYMBOLS: Final = ("circle", "square", "diamond", "cross", "triangle-up")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountLine:
    """A quantity against the device count, at one batch: arrays of shape (counts,).

    NaN where refused. `measured` are the counts with runs, of which `points` are the values, and
    `outside` whether the fit's interval misses them. `most` is the largest measured count: the line
    is grey beyond.
    """

    label: str
    short: str
    slot: int
    devices: Floats
    nodes: Floats
    value: Floats
    low: Floats
    high: Floats
    measured: Floats
    points: Floats
    outside: NDArray[np.bool_]
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """Step times [s] of a device count against the global batch, with measured points."""

    label: str
    short: str
    slot: int
    batch: Floats
    value: Floats
    measured: Floats
    points: Floats
    is_driver: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShares:
    """Parts of a step at each device count as shares of 1, by name; arrays of shape (counts,)."""

    counts: tuple[str, ...]
    parts: tuple[tuple[str, Floats], ...]


def step_by_devices(lines: Sequence[CountLine], theme: Theme) -> ChartSpec:
    """Return step times [s] against the device count, one line per batch."""
    drawing = _drawn(lines, theme, "%{y:.3~g} s")
    drawing.y = _seconds([x.value for x in lines]) | {"title": "step time (s)"}
    drawing.end_labels(lines, [last(x.value) for x in lines], log=True)
    return drawing.figure()


def efficiency_by_devices(lines: Sequence[CountLine], theme: Theme) -> ChartSpec:
    """Return efficiencies [1] against the device count, with perfect scaling at 100 %."""
    lines = [
        replace(x, value=100.0 * x.value, low=100.0 * x.low, high=100.0 * x.high,
                points=100.0 * x.points)
        for x in lines
    ]  # fmt: skip
    drawing = _drawn(lines, theme, "%{y:.0f} %")
    ends = [x.devices for x in lines] or [np.ones(1)]
    limits = np.array([min(e.min() for e in ends), max(e.max() for e in ends)])
    drawing.line(limits, np.full(2, 100.0), hoverinfo="skip",
                 line={"color": theme.quiet, "width": 1, "dash": "dot"})  # fmt: skip
    drawing.legend(PERFECT)
    drawing.y = {"title": "efficiency (%)", "rangemode": "tozero", "exponentformat": "none"}
    drawing.end_labels(lines, [last(x.value) for x in lines], log=False)
    return drawing.figure()


def shares(of: StepShares, theme: Theme) -> ChartSpec:
    """Return the parts of a step as stacked bars, a bar per device count."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    for slot, (name, share) in enumerate(of.parts):
        drawing.bars(list(of.counts), 100.0 * share, name=escape(name), slot=slot,
                     hovertemplate=f"<b>{escape(name)}</b><br>%{{x}} devices: %{{y:.0f}} %"
                     "<extra></extra>")  # fmt: skip
    drawing.x = {"title": "devices", "type": "category"}
    drawing.y = {"title": "share of a step (%)", "range": [0, 100]}
    drawing.layout = {"barmode": "stack"}
    return drawing.figure()


def step_by_batch(lines: Sequence[StepLine], theme: Theme, crossover: float | None) -> ChartSpec:
    """Return step times [s] against the global batch: the driver and other device counts."""
    drawing = Drawing(theme)
    for line in lines:
        colour = theme.quiet if line.is_driver else theme.colour(line.slot)
        drawing.line(line.batch, line.value, name=escape(line.label),
                     line={"color": colour, "width": 2,
                           "dash": "solid" if line.is_driver else _DASHES[line.slot % 5]},
                     hovertemplate="<b>%{fullData.name}</b><br>batch %{x:,.0f}: %{y:.3~g} s"
                     "<extra></extra>")  # fmt: skip
        drawing.points(line.measured, line.points, name=escape(line.label),
                       marker={"color": colour, "size": 9, "symbol": _SYMBOLS[line.slot % 5]},
                       hovertemplate="<b>%{fullData.name}</b><br>batch %{x:,}: %{y:.3~g} s"
                       "<extra>measured</extra>")  # fmt: skip
    seen = any(x.measured.size for x in lines)
    drawing.legend(*([MEASURED] if seen else []), LegendEntry(words="fit"))
    sizes = np.concatenate([x.batch for x in lines] or [np.array([1.0, 1024.0])])
    drawing.x = batch_axis(float(sizes.min()), float(sizes.max()))
    drawing.y = _seconds([x.value for x in lines] + [x.points for x in lines])
    drawing.end_labels(lines, [last(x.value) for x in lines], log=True,
                       quiet=[x.short for x in lines if x.is_driver])  # fmt: skip
    if crossover is not None and sizes.min() < crossover < sizes.max():
        drawing.mark(crossover, f"crossover {plain(rounded(crossover, LEAST_DIGITS))}", log=True)
    return drawing.figure()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Memory of a device under cuts of a network [GB], of `memory_gb`; arrays of shape (cuts,)."""

    names: tuple[str, ...]
    state_gb: Floats
    activations_gb: Floats
    memory_gb: float
    bubble: Floats


def memory_of_cuts(of: Cuts, theme: Theme) -> ChartSpec:
    """Return the memory of a device under each cut as stacked bars, with that of the device."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    for slot, (name, size) in enumerate(
        (("state", of.state_gb), ("activations", of.activations_gb))
    ):
        drawing.bars(list(of.names), size, name=name, slot=slot, customdata=100.0 * of.bubble,
                     hovertemplate=f"<b>%{{x}}</b><br>{name} %{{y:,.3~g}} GB, bubble "
                     "%{customdata:.1f} %<extra></extra>")  # fmt: skip
    drawing.x = {"title": "tensor x pipeline x data", "type": "category"}
    whole = of.state_gb + of.activations_gb
    top = max(2.0 * of.memory_gb, float(whole.min()) * 1.2)
    for name, size in zip(of.names, whole, strict=True):
        if size > top:  # the bar ends at the edge of the chart
            drawing.note(f"{size:,.0f}", x=name, y=top, yanchor="bottom")
    drawing.y = {"title": "memory of a device (GB)", "range": [0, top]}
    drawing.level(of.memory_gb, f"{of.memory_gb:,.0f} GB")
    drawing.layout = {"barmode": "stack"}
    return drawing.figure()


_GAP: Final = 0.7
"""Gap between the configurations of one batch and of the next [share of the distance]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a configuration by epoch time at a batch, 1 the fastest, as a source states.

    It is one of the places from `first` to `last`.
    """

    name: str
    slot: int
    batch: int
    first: int
    last: int


def stated_order(places: Sequence[Place], batches: Sequence[int], theme: Theme) -> ChartSpec:
    """Return the stated places by batch: a marker, or a bar over the places that stay open.

    Names are in the legend: bars are too close for them, and a telephone cuts those of markers.
    """
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    for of in places:
        x = f"{of.batch}"
        colour, exact = theme.colour(of.slot), of.first == of.last
        first = Text("place {first}", first=of.first)
        where = first if exact else Text("{first} to {last}", first=first, last=of.last)
        drawing.trace(
            type="scatter", mode="markers" if exact else "lines+markers",
            x=[x] if exact else [x, x], y=[of.first] if exact else [of.first, of.last],
            name=escape(of.name), showlegend=False, offsetgroup=f"{of.slot}",
            line={"color": colour, "width": 2, "dash": "dot"},
            marker={"color": colour, "size": 12 if exact else 7,
                    "symbol": _SYMBOLS[of.slot % 5] + ("" if exact else "-open")},
            hovertemplate=f"<b>{escape(of.name)}</b><br>batch {of.batch}: {where}<extra></extra>",
        )  # fmt: skip
    drawing.legend(*[
        LegendEntry(words=of.name, symbol=_SYMBOLS[of.slot % 5], slot=of.slot)
        for of in sorted(places, key=lambda of: of.slot)
    ])  # fmt: skip
    if any(of.first != of.last for of in places):
        drawing.legend(_OPEN)
    lowest = max((of.last for of in places), default=1)
    drawing.layout = {"scattermode": "group", "scattergap": _GAP}
    drawing.x = {"title": "batch size", "type": "category", "categoryorder": "array",
                 "categoryarray": [f"{b}" for b in batches],
                 "range": [-0.5, len(batches) - 0.5]}  # fmt: skip
    drawing.y = {"title": "place by epoch time (1: fastest)", "range": [lowest + 0.5, 0.5],
                 "tickvals": list(range(1, lowest + 1))}  # fmt: skip
    return drawing.figure()


def uneven(
    slow: Floats, synchronous: Floats, asynchronous: Floats, chosen: float, theme: Theme
) -> ChartSpec:
    """Return samples/s of synchronous and asynchronous training against the slow worker's share.

    Args:
        slow: shares of the time that one worker is stopped [1].
        synchronous: samples/s there.
        asynchronous: the same without waiting.
        chosen: the share in use [1].
        theme: colours.
    """
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    named = (("synchronous", synchronous, 0), ("asynchronous", asynchronous, 1))
    for name, speed, slot in named:
        drawing.line(100.0 * slow, speed, name=name,
                     line={"color": theme.colour(slot), "width": 2, "dash": _DASHES[slot]},
                     hovertemplate="<b>%{fullData.name}</b><br>stopped %{x:.0f} %: %{y:,.4~g} "
                     "samples/s<extra></extra>")  # fmt: skip
    drawing.x = {"title": "one worker is stopped (% of the time)"}
    drawing.y = {"title": "samples per second", "rangemode": "tozero", "tickformat": ",~r"}
    ends = [_End(short=name, slot=slot) for name, _, slot in named]
    drawing.end_labels(ends, [float(speed[-1]) for _, speed, _ in named], log=False)
    drawing.mark(100.0 * chosen, percent(chosen), log=False)
    return drawing.figure()


@dataclass(frozen=True, slots=True)
class _End:
    """The name at the end of a line."""

    short: str
    slot: int


def _drawn(lines: Sequence[CountLine], theme: Theme, unit: str) -> Drawing:
    """Return lines, bands and measured points over the device count."""
    drawing = Drawing(theme)
    for line in lines:
        colour = theme.colour(line.slot)
        drawing.band(line.devices, line.low, line.high, colour=colour, name=line.label)
        inside, beyond = line.devices <= line.most, line.devices >= line.most
        for part, style in (
            (inside, {"color": colour, "width": 2, "dash": _DASHES[line.slot % 5]}),
            (beyond, {"color": theme.quiet, "width": 2, "dash": "dash"}),
        ):
            drawing.line(line.devices[part], line.value[part], name=escape(line.label), line=style,
                         customdata=line.nodes[part],
                         hovertemplate="<b>%{fullData.name}</b><br>%{x:,} devices, "
                         f"%{{customdata:,}} nodes: {unit}<extra></extra>")  # fmt: skip
        symbol = _SYMBOLS[line.slot % 5]
        for which, look, words in (
            (~line.outside, {"size": 9, "symbol": symbol}, "measured"),
            (line.outside, {"size": 11, "symbol": f"{symbol}-open", "line": {"width": 2}},
             f"measured, {_OUTSIDE.words}"),
        ):  # fmt: skip
            if which.any():
                drawing.points(line.measured[which], line.points[which], name=escape(line.label),
                               marker={"color": colour} | look,
                               hovertemplate=f"<b>%{{fullData.name}}</b><br>%{{x:,}} devices: "
                               f"{unit}<extra>{words}</extra>")  # fmt: skip
    far = any(bool((x.devices > x.most).any()) for x in lines)
    wide = any(bool((x.high > x.low).any()) for x in lines)
    missed = any(bool(x.outside.any()) for x in lines)
    seen = any(x.measured.size for x in lines)
    drawing.legend(*([MEASURED] if seen else []), *([_OUTSIDE] if missed else []),
                   LegendEntry(words="fit"), *([BAND] if wide else []),
                   *([BEYOND] if far else []))  # fmt: skip
    counts = np.concatenate([x.devices for x in lines] or [np.array([1.0, 2.0])])
    nodes = np.concatenate([x.nodes for x in lines] or [np.ones(2)])
    single, several = counts[nodes <= 1.0], counts[nodes > 1.0]
    title = "devices" if single.size else "devices, all on several nodes"
    drawing.x = batch_axis(float(counts.min()), float(counts.max())) | {"title": title}
    if single.size and several.size and single.max() < several.min():
        drawing.mark(float(np.sqrt(single.max() * several.min())), _NODES, log=True)
    return drawing


def _seconds(values: Sequence[Floats]) -> dict[str, Any]:
    """Return a logarithmic axis of seconds with ticks of its own."""
    shown = np.concatenate([v[np.isfinite(v) & (v > 0)] for v in values] or [np.ones(1)])
    shown = shown if shown.size else np.ones(1)
    axis = {"title": "step time (s)", "type": "log"}
    return axis | log_ticks(float(shown.min()), float(shown.max()))
