"""How far each uncertain input moves the answer by itself: the tornado chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.figures.frame import ChartSpec, Drawing, escape
from planner.figures.palette import Theme

PITCH: Final = 40
"""Height of one row [px]."""
_AROUND: Final = 96
_LEFT: Final = -56


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The answer with one input at its 5th (`low`) and its 95th percentile (`high`)."""

    label: str
    low: float
    high: float


def tornado(
    bars: Sequence[Bar], base: float, title: str, theme: Theme, *, compared: bool
) -> ChartSpec:
    """Return bars from the widest down; `compared` marks 0, where the two options cost the same."""
    drawing = Drawing(theme, height=_AROUND + PITCH * max(len(bars), 1))
    top = len(bars) - 1
    for place, bar in enumerate(bars):
        _bar(drawing, bar, base, top - place)
    drawing.x = _axis([v for b in bars for v in (b.low, b.high)] + [base], title, compared)
    drawing.y = {"showticklabels": False, "showgrid": False, "fixedrange": True,
                 "range": [-0.5, top + 0.75]}  # fmt: skip
    drawing.line(np.array([base, base]), np.array([-0.5, top + 0.6]), hoverinfo="skip",
                 name="middle", line={"color": theme.quiet, "width": 1})  # fmt: skip
    if compared and drawing.x["range"][0] < 0.0 < drawing.x["range"][1]:
        drawing.mark(0.0, "cost the same", log=False)
    return drawing.figure()


def _bar(drawing: Drawing, bar: Bar, base: float, y: float) -> None:
    font = {"color": drawing.theme.text, "size": 12}
    drawing.note(bar.label, x=0, xref="paper", xanchor="left", xshift=_LEFT, y=y, yshift=14,
                 font=font, bgcolor=drawing.theme.background, borderpad=1)  # fmt: skip
    for end, side, slot in ((bar.low, "low", 0), (bar.high, "high", 1)):
        drawing.line(
            np.array([base, end]),
            np.array([y, y]),
            name=escape(bar.label),
            line={"color": drawing.theme.colours[slot], "width": 9},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{side}: %{{x:,.3~r}}<extra></extra>",
        )


def _axis(values: Sequence[float], title: str, compared: bool) -> dict[str, Any]:  # noqa: FBT001
    shown = [*values, *([0.0] if compared and min(values) < 2 * max(values) else [])]
    low, high = min(shown), max(shown)
    room = 0.06 * (high - low) or 1.0
    return {"title": title, "range": [low - room, high + room], "tickformat": ",~r"}
