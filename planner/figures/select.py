"""The result of a SELECT statement: points, lines or bars of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from planner.core import Floats
from planner.figures.frame import ChartSpec, Drawing, Theme, escape

Form = Literal["points", "lines", "bars"]
MOST_SERIES: Final = 10
MOST_MARKS: Final = 4_000
"""Points of a chart; more make it slow to zoom (docs/decisions/0050)."""
_LONGEST: Final = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The rows of one colour: numbers or names on x, numbers on y (NaN where unknown)."""

    label: str
    slot: int
    x: Floats | Sequence[str]
    y: Floats


def selected(
    series: Sequence[Series], form: Form, titles: tuple[str, str], theme: Theme, *, log: bool
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
    for one in series:
        _draw(drawing, one, form, titles)
    names = any(not isinstance(s.x, np.ndarray) for s in series)
    drawing.x = {"title": escape(titles[0])}
    if names:
        drawing.x |= {"type": "category", "tickangle": -30, "automargin": True}
    elif log and all(_positive(s.x) for s in series):
        drawing.x |= {"type": "log"}
    drawing.y = {"title": escape(titles[1])}
    if log and form != "bars" and all(_positive(s.y) for s in series):
        drawing.y |= {"type": "log"}
    if len(series) > 1:
        legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
        drawing.layout = {"showlegend": True, "legend": legend, "barmode": "group"}
    return drawing.figure()


def _draw(drawing: Drawing, one: Series, form: Form, titles: tuple[str, str]) -> None:
    x = one.x if isinstance(one.x, np.ndarray) else [escape(_short(name)) for name in one.x]
    colour = drawing.theme.colour(one.slot)
    hover = f"%{{x}}<br>{escape(titles[1])}: %{{y:,.4~g}}<extra>{escape(one.label)}</extra>"
    trace: dict[str, Any] = {"x": x, "y": one.y, "name": escape(one.label), "hovertemplate": hover}
    if form == "bars":
        drawing.bars(trace.pop("x"), trace.pop("y"), slot=one.slot, **trace)
        return
    marker = {"color": colour, "size": 7, "opacity": 0.8}
    mode = "lines+markers" if form == "lines" else "markers"
    drawing.points(
        trace.pop("x"), trace.pop("y"), **trace, mode=mode, marker=marker,
        line={"color": colour, "width": 2},
    )  # fmt: skip


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _positive(values: object) -> bool:
    return isinstance(values, np.ndarray) and bool(np.all(values[np.isfinite(values)] > 0))
