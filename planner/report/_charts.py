"""The charts of a comparison's report: time and cost, rent or buy, largest influences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.compare import RentOrBuy, monthly_cost, tornado
from planner.compare.evaluation import Comparison, Row
from planner.compare.rent_or_buy import rent_or_buy
from planner.core import Estimate
from planner.cost import Display, money, shown
from planner.figures.palette import LIGHT
from planner.report import _svg
from planner.report._page import escaped

HOUR_S: Final = 3600.0
WAYS: Final = {"rent": LIGHT[0], "buy": LIGHT[1], "own": LIGHT[2]}
_ROW: Final = 26.0
_NAMES: Final = 330.0
_POINTS: Final = 61


def charts(comparison: Comparison, display: Display) -> str:
    """Return all charts that have data."""
    return "".join(
        [
            _time_cost(comparison, display),
            _rent_or_buy(comparison, display),
            _tornado(comparison, display),
        ]
    )


def _time_cost(comparison: Comparison, display: Display) -> str:
    priced = [
        (n, r, r.time, r.cost)
        for n, r in enumerate(comparison.rows, 1)
        if isinstance(r.time, Estimate) and isinstance(r.cost, Estimate) and float(r.cost.value) > 0
    ]
    if not priced:
        return ""
    hours = {n: [v / HOUR_S for v in _ends(time)] for n, _, time, _ in priced}
    costs = {n: [shown(v, display) for v in _ends(cost)] for n, _, _, cost in priced}
    chart = _svg.plane(
        _svg.around([v for own in hours.values() for v in own]),
        _svg.around([v for own in costs.values() for v in own]),
        ("time of a run (h)", f"cost of a run ({display.currency})"),
        "Cost against time of every option, with 90 % intervals",
    )
    front = sorted((hours[n][0], costs[n][0]) for n, r, _, _ in priced if r.on_frontier)
    if len(front) > 1:
        chart.line(front, _svg.QUIET, dash="3 4")
    for n, row, _, _ in priced:
        chart.cross(hours[n], costs[n], WAYS[row.candidate.way])
    for n, row, _, _ in reversed(priced):
        chart.disc(hours[n][0], costs[n][0], WAYS[row.candidate.way], str(n))
    return _figure(
        chart.svg(),
        "Cost against time; bars are 90 % intervals, numbers those of the table. "
        f"{_key(comparison)} The dashed line joins the options that no other beats in both.",
    )


def _rent_or_buy(comparison: Comparison, display: Display) -> str:
    pair = rent_or_buy(comparison)
    if pair is None:
        return ""
    runs = _runs(comparison, pair)
    lines = [(r, monthly_cost(r, runs)) for r in (pair.rent, pair.buy)]
    drawn = [(r, [[shown(float(v), display) for v in np.asarray(end)] for end in
                  (cost.value, cost.low, cost.high)]) for r, cost in lines if cost]  # fmt: skip
    values = [v for _, ends in drawn for end in ends for v in end]
    chart = _svg.plane(
        (runs[0], runs[-1]),
        _svg.around(values, 1.1),
        ("runs a month", f"cost of a month ({display.currency})"),
        "Cost of a month against runs a month, rented and bought",
    )
    for row, (value, low, high) in drawn:
        chart.band(runs, low, high, WAYS[row.candidate.way])
        chart.line(list(zip(runs, value, strict=True)), WAYS[row.candidate.way])
    chart.upright(comparison.question.assumed.runs_per_month, "requested")
    names = " and ".join(f"{r.candidate.label} ({_colour(r)})" for r, _ in drawn)
    return _figure(chart.svg(), f"What a month costs: {names}. Bands are 90 % intervals.")


def _runs(comparison: Comparison, pair: RentOrBuy) -> list[float]:
    """Return run counts a month around the requested one and the break-even."""
    requested = comparison.question.assumed.runs_per_month
    at = [requested]
    if isinstance(pair.runs_per_month, Estimate) and np.isfinite(float(pair.runs_per_month.value)):
        at.append(max(float(pair.runs_per_month.value), requested / 100))
    low, high = min(at) / 5, max(at) * 5
    return [float(v) for v in np.geomspace(low, high, _POINTS)]


def _tornado(comparison: Comparison, display: Display) -> str:
    influence = tornado(comparison)
    if influence is None or not influence.influences:
        return ""
    ends = [shown(v, display) for i in influence.influences for v in (i.low, i.high)]
    base = shown(influence.base, display)
    height = 40.0 + _ROW * len(influence.influences)
    scale = _svg.Scale(low=min([*ends, base]), high=max([*ends, base]), begin=_NAMES,
                      end=_svg.WIDTH - _svg.RIGHT)  # fmt: skip
    bottom = height - 30.0
    parts = [p for t in scale.ticks() for p in _tick(scale(t), bottom, t)]
    for k, bar in enumerate(influence.influences):
        low, high = sorted(scale(shown(v, display)) for v in (bar.low, bar.high))
        top = 8.0 + k * _ROW
        parts.append(
            f'<rect x="{low:.1f}" y="{top:.1f}" width="{max(high - low, 1):.1f}" '
            f'height="{_ROW - 8}" fill="{LIGHT[0]}" fill-opacity="0.8"/>'
        )
        parts.append(_svg.words(_NAMES - 10, top + 13, _short(bar.name), anchor="end"))
    parts.append(_svg.rule(scale(base), 0, scale(base), bottom, _svg.TEXT))
    if scale.low < 0.0 < scale.high:
        parts.append(_svg.rule(scale(0.0), 0, scale(0.0), bottom, LIGHT[1]))
    return _figure(
        _svg.frame(influence.title, height, parts),
        f"{influence.title}: {money(influence.base, display)}. Bars: one input from its 5 % to its "
        "95 %. A bar crossing 0 means this input can reverse the ranking.",
    )


def _tick(at: float, bottom: float, value: float) -> list[str]:
    return [_svg.rule(at, 0, at, bottom), _svg.words(at, bottom + 17, _svg.number(value),
                                                   anchor="middle")]  # fmt: skip


def _figure(picture: str, caption: str) -> str:
    text = f"<figcaption>{escaped(caption)}</figcaption>"
    return f'<figure><div class="chart">{picture}</div>{text}</figure>'


def _ends(estimate: Estimate) -> list[float]:
    return [float(estimate.value), float(estimate.low), float(estimate.high)]


def _key(comparison: Comparison) -> str:
    """Return the legend of the colours that occur."""
    ways: Sequence[str] = list(dict.fromkeys(r.candidate.way for r in comparison.rows))
    names = {"rent": "blue rented", "buy": "orange bought", "own": "green already owned"}
    text = ", ".join(names[w] for w in ways)
    return f"{text[:1].upper()}{text[1:]}."


def _colour(row: Row) -> str:
    return {"rent": "blue", "buy": "orange", "own": "green"}[row.candidate.way]


def _short(name: str) -> str:
    return name if len(name) <= 46 else f"{name[:45]}…"
