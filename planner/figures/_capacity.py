"""Charts of a plan of machines: money over time, work by month, waiting times, cost by use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import HOUR_S, Floats, Text, percent, plain
from planner.figures.frame import (
    BAND,
    HEIGHT,
    SECONDS,
    ChartSpec,
    Drawing,
    LegendEntry,
    Theme,
    escape,
    rgba,
)

_DASHES: Final = ("solid", "dot", "dash", "dashdot", "longdash", "longdashdot")
ROW_PX: Final = 74
"""Height of one job's waiting times [px]."""
_AROUND_PX: Final = 96
_LEGEND_PX: Final = 60
"""Height of the legend below them, which has three entries on a telephone [px]."""
_TICKS: Final[Mapping[float, str]] = {
    0.01: "36 s", 0.1: "6 min", 1.0: "1 h", 10.0: "10 h", 100.0: "100 h", 1000.0: "1,000 h",
}  # fmt: skip
"""Ticks of waiting times [h]."""
_SHORT: Final = 14
"""Letters of names that stand at the ends of lines; longer ones are in a legend."""
_RUNS: Final = LegendEntry(words="share of runs", shade=0.3, slot=0)
_MEDIAN: Final = LegendEntry(words="median wait", width=3.0, slot=0)
_ALLOWED: Final = LegendEntry(
    words="longest wait of a median run that ends in time", width=3.0, slot=1
)
_PAYS_OFF: Final = LegendEntry(words="90 % interval of the break-even", shade=0.16)
_TOP: Final = 0.62
"""Height of the highest curve, of the distance of two rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyLine:
    """Money spent until each month, with its interval, in the currency of the chart."""

    label: str
    short: str
    slot: int
    month: Floats
    value: Floats
    low: Floats
    high: Floats


def money_lines(
    lines: Sequence[MoneyLine], currency: str, theme: Theme,
    break_even: tuple[float, float, float] | None = None,
) -> ChartSpec:  # fmt: skip
    """Return cumulative cost lines; `break_even` is a month with the ends of its interval."""
    drawing = Drawing(theme, height=HEIGHT + 30)
    size, unit = _unit([float(np.nanmax(x.value)) for x in lines] or [1.0], currency)
    months = max((float(x.month[-1]) for x in lines), default=1.0)
    for place, line in reversed([*enumerate(lines)]):
        colour, dash = theme.colour(line.slot), _DASHES[place % len(_DASHES)]
        drawing.band(line.month, line.low / size, line.high / size, colour=colour,
                     name=line.label)  # fmt: skip
        if bool((line.high > line.low).any()):
            drawing.legend(BAND)
        drawing.line(
            line.month, line.value / size, name=escape(line.label), showlegend=_long(lines),
            customdata=np.stack([line.low / size, line.high / size], axis=-1),
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>month %{{x:.0f}}: %{{y:,.4~g}} {unit}<br>"
            "90 %: %{customdata[0]:,.4~g} to %{customdata[1]:,.4~g}<extra></extra>",
        )  # fmt: skip
    if break_even is not None:
        value, low, high = break_even
        if 0.0 < value < months:
            ends = "" if high - low < 1.0 else f" ({low:.0f}–{min(high, months):.0f})"
            drawing.mark(
                value,
                Text("cheaper than renting\nfrom month {value:.0f}{ends}", value=value, ends=ends),
                log=False,
            )
    step = 6 if months <= 60 else 12
    drawing.x = {"title": "month", "range": [0.0, months], "dtick": step}
    drawing.y = {
        "title": Text("expected cost so far ({unit})", unit=unit),
        "rangemode": "tozero",
        "tickformat": ",~r",
    }
    return _named(drawing, lines, [float(x.value[-1]) / size for x in lines])


def _named(
    drawing: Drawing, lines: Sequence[MoneyLine | HourLine], ends: Sequence[float]
) -> ChartSpec:
    if not _long(lines):
        drawing.end_labels(lines, ends, log=False)
        return drawing.figure()
    rows = -(-(len(lines) + 1) // 2)
    drawing.height += 22 * rows
    drawing.layout = {
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.16, "yanchor": "top", "x": 0},
        "margin": {"l": 64, "r": 16, "t": 44, "b": 56 + 22 * rows},
    }
    return drawing.figure()


def _long(lines: Sequence[MoneyLine | HourLine]) -> bool:
    """Return whether the names have no room at the ends of the lines."""
    return max((len(x.short) for x in lines), default=0) > _SHORT


def _unit(tops: Sequence[float], currency: str) -> tuple[float, str]:
    """Return the size of the unit of an axis of money, and its name."""
    top = max(tops)
    if top >= 2e6:
        return 1e6, f"million {currency}"
    return (1e3, f"1,000 {currency}") if top >= 2e4 else (1.0, currency)


def work_by_month(
    months: Sequence[int], parts: Sequence[tuple[str, Floats, int]], standing: int, theme: Theme
) -> ChartSpec:
    """Return stacked bars of busy machine-time, a bar for each month.

    Args:
        months: from 1.
        parts: name, busy share of the own capacity [1] and colour slot of each kind of machine.
        standing: own machines; without any the unit is one machine-month.
        theme: colours.
    """
    drawing = Drawing(theme)
    unit = "% of own capacity" if standing else "busy machines"
    factor = 100.0 if standing else 1.0
    form = ".0f" if standing else ".2~f"
    at = np.array(months, dtype=np.float64)
    for name, share, slot in parts:
        drawing.trace(
            type="bar", x=at, y=factor * share, name=escape(name), showlegend=True,
            marker={"color": theme.colour(slot)},
            hovertemplate=f"<b>{escape(name)}</b><br>month %{{x}}: %{{y:{form}}} {unit}"
            "<extra></extra>",
        )  # fmt: skip
    ends = np.array([at.min(initial=1.0) - 0.5, at.max(initial=1.0) + 0.5])
    drawing.x = {"title": "month", "range": ends.tolist(), "tick0": 0, "dtick": 6}
    drawing.y = {"title": unit, "rangemode": "tozero", "tickformat": ",~r"}
    if standing:
        drawing.line(
            ends, np.full(2, 100.0), name="100 % of own capacity", hoverinfo="skip",
            showlegend=True,
            line={"color": theme.text, "width": 1.5, "dash": "dash"},
        )  # fmt: skip
    drawing.layout = {
        "barmode": "stack", "bargap": 0.15, "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    }  # fmt: skip
    return drawing.figure()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRow:
    """Waiting times of a job's runs: shares of logarithmic bins between `edges_s` [s].

    at_once: share that starts without waiting.
    allowed_s: longest wait that still ends in time; None without a deadline.
    late: in words.
    """

    label: str
    edges_s: Floats
    shares: Floats
    at_once: float
    median_s: float
    allowed_s: float | None
    late: str


def waiting_times(rows: Sequence[WaitRow], theme: Theme) -> ChartSpec:
    """Return one curve of waiting times for each job, on a common logarithmic axis."""
    height = max(HEIGHT, _AROUND_PX + ROW_PX * len(rows) + _LEGEND_PX)
    drawing = Drawing(theme, height=height)
    highest = max((float(r.shares.max(initial=0.0)) for r in rows), default=0.0) or 1.0
    drawing.legend(_RUNS)
    for place, row in enumerate(rows):
        _wait(drawing, row, float(len(rows) - 1 - place), highest)
    drawing.x = {
        "title": "waiting time, logarithmic", "type": "log", "range": [-2.05, 3.05],
        "tickvals": list(_TICKS), "ticktext": list(_TICKS.values()),
    }  # fmt: skip
    drawing.y = {"showticklabels": False, "showgrid": False, "fixedrange": True,
                 "range": [-0.1, max(len(rows) - 1, 0) + 1.05]}  # fmt: skip
    drawing.layout = {"margin": {"l": 24, "r": 16, "t": 16, "b": 48},
                      "meta": {SECONDS: {"xaxis": HOUR_S}}}  # fmt: skip
    return drawing.figure()


def _wait(drawing: Drawing, row: WaitRow, base: float, highest: float) -> None:
    """Draw the curve of a job, its median, the longest wait allowed, and two shares."""
    theme = drawing.theme
    middles = np.sqrt(row.edges_s[:-1] * row.edges_s[1:]) / HOUR_S
    heights = base + _TOP * row.shares / highest
    colour = theme.colours[0]
    drawing.line(middles, np.full(len(middles), base), line={"width": 0}, hoverinfo="skip")
    drawing.line(
        middles, heights, name=escape(row.label), customdata=100.0 * row.shares,
        line={"color": colour, "width": 2, "shape": "spline"}, fill="tonexty",
        fillcolor=rgba(colour, 0.3),
        hovertemplate="<b>%{fullData.name}</b><br>about %{x:.3~g} h: %{customdata:.2~f} % of runs"
        "<extra></extra>",
    )  # fmt: skip
    median_h = row.median_s / HOUR_S
    if np.isfinite(median_h) and median_h > 0.0:
        drawing.legend(_MEDIAN)
        _tick(drawing, max(median_h, 0.01), base, colour, f"{row.label}: median")
    if row.allowed_s is not None:
        drawing.legend(_ALLOWED)
        _tick(
            drawing,
            max(row.allowed_s / HOUR_S, 0.01),
            base,
            theme.colour(1),
            Text("{row}: longest wait of a median run that ends in time", row=row.label),
        )
    late = f", {row.late} late" if row.late else ""
    words = Text(
        "{row}: {share} at once{late}", row=row.label, share=_share(row.at_once), late=late
    )
    drawing.note(words, x=0, xref="paper", xanchor="left", y=base + 0.98, yanchor="top",
                 font={"color": theme.text, "size": 12})  # fmt: skip


def _share(share: float) -> str:
    return "> 99 %" if 0.99 < share < 1.0 else percent(share)


def _tick(drawing: Drawing, hours: float, base: float, colour: str, name: str) -> None:
    drawing.line(
        np.array([hours, hours]), np.array([base, base + _TOP]), name=escape(name),
        line={"color": colour, "width": 3},
        hovertemplate=f"<b>%{{fullData.name}}</b><br>{plain(hours, 3)} h<extra></extra>",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HourLine:
    """Cost of an hour of work of one machine at each utilisation, in the chart's currency."""

    label: str
    short: str
    slot: int
    value: Floats


def cost_by_use(
    utilisation: Floats, lines: Sequence[HourLine], currency: str, theme: Theme, *,
    now: float | None = None, break_even: tuple[float, float, float] | None = None,
) -> ChartSpec:  # fmt: skip
    """Return the cost of an hour of work against the utilisation of a machine [1].

    Args:
        utilisation: points of the lines.
        lines: one for each way to have the machine.
        currency: of the values.
        theme: colours.
        now: utilisation of the fleet.
        break_even: utilisation with its interval above which buying costs less.
    """
    drawing = Drawing(theme)
    flat = [float(x.value[-1]) for x in lines] or [1.0]
    top = 3.0 * max(flat)
    for place, line in enumerate(lines):
        drawing.line(
            utilisation, line.value, name=escape(line.label), showlegend=_long(lines),
            line={"color": theme.colour(line.slot), "width": 2.5,
                  "dash": _DASHES[place % len(_DASHES)]},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>%{{x:.0%}}: %{{y:,.3~r}} {currency}/h"
            "<extra></extra>",
        )  # fmt: skip
    drawing.x = {"title": "utilisation", "range": [0.0, 1.0], "tickformat": ".0%"}
    drawing.y = {
        "title": Text("cost of an hour of work ({currency})", currency=currency),
        "range": [0.0, top],
        "tickformat": ",~r",
    }
    if break_even is not None and break_even[0] < 1.0:
        value, low, high = break_even
        drawing.zone(low, min(high, 1.0))
        drawing.legend(_PAYS_OFF)
        drawing.mark(
            value, Text("buying is cheaper from {value:.0f} %", value=100.0 * value), log=False
        )
    if now is not None and now <= 1.0:
        drawing.mark(
            now,
            Text("this fleet {now:.0f} %", now=100.0 * now),
            log=False,
            row=1 if break_even is not None else 0,
        )
    return _named(drawing, lines, flat)
