"""The charts of planner.figures as plotly reads them: ValueError on any wrong part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

import plotly.graph_objects as go

from planner import figures

P = ParamSpec("P")


def _read(chart: Callable[P, figures.ChartSpec]) -> Callable[P, Any]:
    def read(*args: P.args, **kwargs: P.kwargs) -> go.Figure:
        return _without_legend(go.Figure(chart(*args, **kwargs)))

    return read


def _without_legend(figure: go.Figure) -> go.Figure:
    """The figure with its points alone; the words of the legend are `meta`."""
    entries = [t for t in figure.data if t.showlegend and t.x == (None,)]
    kept = [t for t in figure.data if not (t.showlegend and t.x == (None,))]
    looks = {t.name: (t.marker.symbol, t.line.dash) for t in entries}
    return go.Figure(data=kept, layout=figure.layout.update(meta=looks))


dots = _read(figures.dots)
efficiency = _read(figures.efficiency)
epoch_times = _read(figures.epoch_times)
interval_of_epochs = _read(figures.interval_of_epochs)
rent_or_buy = _read(figures.rent_or_buy)
residuals = _read(figures.residuals)
steps_to_target = _read(figures.steps_to_target)
throughput = _read(figures.throughput)
time_cost = _read(figures.time_cost)
time_to_target = _read(figures.time_to_target)
tornado = _read(figures.tornado)
total_time = _read(figures.total_time)
unlike_neighbours = _read(figures.unlike_neighbours)
