"""The epochs of one run."""

from __future__ import annotations

import numpy as np

from planner.core import Floats
from planner.figures.frame import ChartSpec, Drawing
from planner.figures.palette import Theme


def epoch_times(
    epoch: Floats, epoch_s: Floats, mean_s: float | None, sd_s: float | None, theme: Theme
) -> ChartSpec:
    """Return a chart of the epochs of one run [s], with mean and sd of the later ones."""
    drawing, colour = Drawing(theme, height=300), theme.colours[0]
    end = float(epoch[-1]) + 0.6
    if mean_s is not None:
        _later(drawing, mean_s, sd_s, end, colour)
    drawing.line(
        epoch,
        epoch_s,
        mode="markers+lines",
        name="epoch",
        line={"color": colour, "width": 1},
        marker={"color": colour, "size": 8},
        hovertemplate="epoch %{x}<br>%{y:.4g} s<extra></extra>",
    )
    drawing.x = {"title": "epoch", "tickformat": "d", "range": [0.4, end]}
    drawing.y = {"title": "seconds", "rangemode": "tozero"}
    return drawing.figure()


def _later(drawing: Drawing, mean_s: float, sd_s: float | None, end: float, colour: str) -> None:
    later = np.array([1.5, end - 0.1])
    if sd_s is not None:
        drawing.band(later, np.full(2, mean_s - sd_s), np.full(2, mean_s + sd_s),
                     colour=colour, name="sd")  # fmt: skip
    sd = "" if sd_s is None else f" ± {sd_s:,.3g}"
    label = f"epochs 2 and later: {mean_s:,.4g}{sd} s"
    drawing.line(
        later,
        np.full(2, mean_s),
        name="mean",
        hovertemplate=f"{label}<extra></extra>",
        line={"color": drawing.theme.quiet, "dash": "dash", "width": 1},
    )
    drawing.note(label, x=1, xref="paper", xanchor="right", y=mean_s, yanchor="bottom", yshift=3)
