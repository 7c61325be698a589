"""The charts of a comparison's hand-out: time and cost, rent or buy, what matters most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.compare import RentOrBuy, monthly_cost, tornado
from planner.compare.reckon import Comparison, Row
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


def charts(told: Comparison, display: Display) -> str:
    """All of them that there is anything to draw for."""
    return "".join(
        [_time_cost(told, display), _rent_or_buy(told, display), _tornado(told, display)]
    )


def _time_cost(told: Comparison, display: Display) -> str:
    known = [
        (n, r, r.time, r.cost)
        for n, r in enumerate(told.rows, 1)
        if isinstance(r.time, Estimate) and isinstance(r.cost, Estimate) and float(r.cost.value) > 0
    ]
    if not known:
        return ""
    hours = {n: [v / HOUR_S for v in _ends(time)] for n, _, time, _ in known}
    costs = {n: [shown(v, display) for v in _ends(cost)] for n, _, _, cost in known}
    chart = _svg.plane(
        _svg.around([v for own in hours.values() for v in own]),
        _svg.around([v for own in costs.values() for v in own]),
        ("time of a run (h)", f"cost of a run ({display.currency})"),
        "Cost against time of every option, with 90 % intervals",
    )
    front = sorted((hours[n][0], costs[n][0]) for n, r, _, _ in known if r.on_frontier)
    if len(front) > 1:
        chart.line(front, _svg.QUIET, dash="3 4")
    for n, row, _, _ in known:
        chart.cross(hours[n], costs[n], WAYS[row.candidate.way])
    for n, row, _, _ in reversed(known):
        chart.disc(hours[n][0], costs[n][0], WAYS[row.candidate.way], str(n))
    return _figure(
        chart.svg(),
        f"Cost against time; bars are 90 % intervals, numbers those of the table. {_key(told)} "
        "The dashed line joins the options that no other beats in both.",
    )


def _rent_or_buy(told: Comparison, display: Display) -> str:
    found = rent_or_buy(told)
    if found is None:
        return ""
    runs = _runs(told, found)
    lines = [(r, monthly_cost(r, runs)) for r in (found.rent, found.buy)]
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
    chart.upright(told.question.assumed.runs_per_month, "asked")
    names = " and ".join(f"{r.candidate.label} ({_colour(r)})" for r, _ in drawn)
    return _figure(chart.svg(), f"What a month costs: {names}. Bands are 90 % intervals.")


def _runs(told: Comparison, found: RentOrBuy) -> list[float]:
    """Numbers of runs a month around those asked for and those from which buying pays."""
    asked = told.question.assumed.runs_per_month
    at = [asked]
    if isinstance(found.runs_per_month, Estimate) and np.isfinite(
        float(found.runs_per_month.value)
    ):
        at.append(max(float(found.runs_per_month.value), asked / 100))
    low, high = min(at) / 5, max(at) * 5
    return [float(v) for v in np.geomspace(low, high, _POINTS)]


def _tornado(told: Comparison, display: Display) -> str:
    found = tornado(told)
    if found is None or not found.influences:
        return ""
    ends = [shown(v, display) for i in found.influences for v in (i.low, i.high)]
    base = shown(found.base, display)
    height = 40.0 + _ROW * len(found.influences)
    scale = _svg.Scale(low=min([*ends, base]), high=max([*ends, base]), begin=_NAMES,
                      end=_svg.WIDTH - _svg.RIGHT)  # fmt: skip
    bottom = height - 30.0
    parts = [p for t in scale.ticks() for p in _tick(scale(t), bottom, t)]
    for k, one in enumerate(found.influences):
        low, high = sorted(scale(shown(v, display)) for v in (one.low, one.high))
        top = 8.0 + k * _ROW
        parts.append(
            f'<rect x="{low:.1f}" y="{top:.1f}" width="{max(high - low, 1):.1f}" '
            f'height="{_ROW - 8}" fill="{LIGHT[0]}" fill-opacity="0.8"/>'
        )
        parts.append(_svg.words(_NAMES - 10, top + 13, _short(one.name), anchor="end"))
    parts.append(_svg.rule(scale(base), 0, scale(base), bottom, _svg.TEXT))
    if scale.low < 0.0 < scale.high:
        parts.append(_svg.rule(scale(0.0), 0, scale(0.0), bottom, LIGHT[1]))
    return _figure(
        _svg.frame(found.title, height, parts),
        f"{found.title}: {money(found.base, display)}, and what one input alone makes of it "
        "between its 5 % and 95 %. A bar crossing 0 means this input can reverse the ranking.",
    )


def _tick(at: float, bottom: float, value: float) -> list[str]:
    return [_svg.rule(at, 0, at, bottom), _svg.words(at, bottom + 17, _svg.number(value),
                                                   anchor="middle")]  # fmt: skip


def _figure(picture: str, caption: str) -> str:
    told = f"<figcaption>{escaped(caption)}</figcaption>"
    return f'<figure><div class="chart">{picture}</div>{told}</figure>'


def _ends(told: Estimate) -> list[float]:
    return [float(told.value), float(told.low), float(told.high)]


def _key(told: Comparison) -> str:
    """Which colour is which way, of those that occur."""
    ways: Sequence[str] = list(dict.fromkeys(r.candidate.way for r in told.rows))
    names = {"rent": "blue rented", "buy": "orange bought", "own": "green there already"}
    text = ", ".join(names[w] for w in ways)
    return f"{text[:1].upper()}{text[1:]}."


def _colour(row: Row) -> str:
    return {"rent": "blue", "buy": "orange", "own": "green"}[row.candidate.way]


def _short(name: str) -> str:
    return name if len(name) <= 46 else f"{name[:45]}…"
