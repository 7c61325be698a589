"""The epochs of one run."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from planner.estimate import Floats
from planner.figures.frame import band, layout
from planner.palette import Theme


def epoch_times(
    epoch: Floats, epoch_s: Floats, mean_s: float | None, sd_s: float | None, theme: Theme
) -> go.Figure:
    """Seconds of every epoch of one run, with mean and standard deviation of epochs 2 and later."""
    figure = go.Figure()
    colour = theme.colours[0]
    if mean_s is not None:
        later = np.array([1.5, float(epoch[-1]) + 0.5])
        if sd_s is not None:
            band(
                figure,
                later,
                np.full(2, mean_s - sd_s),
                np.full(2, mean_s + sd_s),
                colour=colour,
                name="sd",
            )
        sd = "" if sd_s is None else f" ± {sd_s:,.3g}"
        figure.add_scatter(
            x=later,
            y=[mean_s, mean_s],
            mode="lines",
            name="mean",
            line={"color": theme.quiet, "dash": "dash", "width": 1},
            hovertemplate=f"epochs 2 and later: {mean_s:,.4g}{sd} s<extra></extra>",
        )
        figure.add_annotation(
            x=1,
            xref="paper",
            xanchor="right",
            y=mean_s,
            yanchor="bottom",
            yshift=3,
            text=f"epochs 2 and later: {mean_s:,.4g}{sd} s",
            showarrow=False,
            font={"color": theme.quiet},
        )
    figure.add_scatter(
        x=epoch,
        y=epoch_s,
        mode="markers+lines",
        line={"color": colour, "width": 1},
        marker={"color": colour, "size": 8},
        name="epoch",
        hovertemplate="epoch %{x}<br>%{y:.4g} s<extra></extra>",
    )
    layout(figure, theme, [])
    figure.update_xaxes(title="epoch", tickformat="d", range=[0.4, float(epoch[-1]) + 0.6])
    figure.update_yaxes(title="seconds", rangemode="tozero")
    figure.update_layout(height=300)
    return figure
