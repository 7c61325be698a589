"""Costs of renting and buying over runs per month, or over utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import Floats
from planner.figures.frame import ChartSpec, Drawing, escape, log_ticks
from planner.figures.palette import Theme

_DASHES: Final = {"rent": "solid", "buy": "dash", "own": "dot"}


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
    for line in lines:
        _draw(drawing, line, axes)
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
    colour = drawing.theme.colours[line.slot]
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
