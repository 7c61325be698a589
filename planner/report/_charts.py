"""The charts of a comparison's report: time and cost, rent or buy, largest influences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from planner.compare import RentOrBuy, monthly_cost, tornado
from planner.compare.evaluation import Comparison, Row
from planner.compare.rent_or_buy import rent_or_buy
from planner.core import Estimate, Text, joined, percent, plain
from planner.cost import HOURS_PER_MONTH, Display, money, shown
from planner.figures.frame import LIGHT
from planner.report._page import escaped, section

WIDTH: Final = 720.0
HEIGHT: Final = 340.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 16.0, 14.0, 46.0
TEXT: Final = "#14212b"
QUIET: Final = "#51606b"
GRID: Final = "#e3e8ec"
_STEPS: Final = (1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Map from values to coordinates of an axis; logarithmic where `log`."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value, clipped to the axis."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, 1e-300))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Return tick values: 1, 2 and 5 times powers of ten; powers of ten for a wide axis."""
        if not self.log:
            return _even(self.low, self.high)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = _STEPS if last - first < 4 else (1.0,)
        made = (m * 10.0**k for k in range(first, last + 1) for m in steps)
        return [t for t in made if self.low <= t <= self.high]


@dataclass(slots=True, kw_only=True)
class Chart:
    """A chart under construction: axes, then marks."""

    x: Scale
    y: Scale
    names: tuple[str, str]
    alt: str
    height: float = HEIGHT
    parts: list[str] = field(default_factory=list)

    def line(self, points: Sequence[tuple[float, float]], colour: str, dash: str = "") -> None:
        """Add a line through values."""
        at = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        style = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="2"{style}/>'
        )

    def band(
        self, points: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str
    ) -> None:
        """Add a filled interval along x."""
        there = [(x, h) for x, h in zip(points, high, strict=True)]
        back = [(x, v) for x, v in zip(points, low, strict=True)][::-1]
        at = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in [*there, *back])
        self.parts.append(f'<polygon points="{at}" fill="{colour}" fill-opacity="0.16"/>')

    def cross(self, x: Sequence[float], y: Sequence[float], colour: str) -> None:
        """Add error bars: (value, low, high) of both axes."""
        (vx, lx, hx), (vy, ly, hy) = ([self.x(v) for v in x], [self.y(v) for v in y])
        bars = ((lx, vy, hx, vy), (vx, ly, vx, hy))
        self.parts += [
            f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="{colour}" '
            'stroke-opacity="0.55" stroke-width="2"/>'
            for a, b, c, d in bars
        ]

    def disc(self, x: float, y: float, colour: str, text: str) -> None:
        """Add a marker with a number in it."""
        cx, cy = self.x(x), self.y(y)
        self.parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="10" fill="{colour}"/>')
        self.parts.append(words(cx, cy + 4, text, colour="#fff", anchor="middle", bold=True))

    def upright(self, x: float, text: str, row: int = 0) -> None:
        """Add a dashed vertical line with a label in the `row`-th line of labels."""
        at = self.x(x)
        low, high = self.height - BOTTOM, TOP
        self.parts.append(
            f'<line x1="{at:.1f}" y1="{low}" x2="{at:.1f}" y2="{high}" stroke="{QUIET}" '
            'stroke-dasharray="4 4"/>'
        )
        right = at > WIDTH * 0.7
        anchor = "end" if right else "start"
        self.parts.append(
            words(at + (-5 if right else 5), TOP + 12 + 16 * row, text, anchor=anchor)
        )

    def svg(self) -> str:
        """Return the chart as SVG."""
        return frame(self.alt, self.height, [*self._axes(), *self.parts])

    def _axes(self) -> list[str]:
        bottom, right = self.height - BOTTOM, WIDTH - RIGHT
        parts = []
        for value in self.x.ticks():
            at = self.x(value)
            parts.append(rule(at, TOP, at, bottom))
            parts.append(words(at, bottom + 17, number(value), anchor="middle"))
        for value in self.y.ticks():
            at = self.y(value)
            parts.append(rule(LEFT, at, right, at))
            parts.append(words(LEFT - 7, at + 4, number(value), anchor="end"))
        middle = (TOP + bottom) / 2
        parts.append(words((LEFT + right) / 2, self.height - 8, self.names[0], anchor="middle"))
        parts.append(
            f'<g transform="rotate(-90 14 {middle:.0f})">'
            f"{words(14, middle, self.names[1], anchor='middle')}</g>"
        )
        return parts


def plane(
    x: tuple[float, float], y: tuple[float, float], names: tuple[str, str], alt: str
) -> Chart:
    """Return an empty chart with logarithmic axes over these ranges."""
    return Chart(
        x=Scale(low=x[0], high=x[1], begin=LEFT, end=WIDTH - RIGHT, log=True),
        y=Scale(low=y[0], high=y[1], begin=HEIGHT - BOTTOM, end=TOP, log=True),
        names=names,
        alt=alt,
    )


def around(values: Sequence[float], room: float = 1.25) -> tuple[float, float]:
    """Return ends of a logarithmic axis around all values above 0, with a margin."""
    good = [v for v in values if math.isfinite(v) and v > 0.0]
    low, high = (min(good), max(good)) if good else (1.0, 10.0)
    return low / room, max(high * room, low * room * 1.5)


def frame(alt: str, height: float, parts: Sequence[str]) -> str:
    """Return an SVG with its description."""
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escaped(alt)}" '
        f'font-family="system-ui,sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def words(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = QUIET, bold: bool = False
) -> str:
    """Return a text element."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>'
        f"{escaped(text)}</text>"
    )


def rule(x1: float, y1: float, x2: float, y2: float, colour: str = GRID) -> str:
    """Return a thin line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def number(value: float) -> str:
    """Return the label of a tick: 0.02, 5, 2,000, 50k."""
    if abs(value) >= 1e6:
        return f"{plain(value / 1e6, 4)}M"
    return plain(value, 4) if abs(value) < 1e4 else f"{plain(value / 1e3, 4)}k"


def _even(low: float, high: float) -> list[float]:
    """Return about six round values between two ends."""
    if not high > low:
        return [low]
    rough = (high - low) / 6.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


HOUR_S: Final = 3600.0
WAYS: Final = {"rent": LIGHT[0], "buy": LIGHT[1], "own": LIGHT[2]}
_ROW: Final = 26.0
_NAMES: Final = 330.0
_POINTS: Final = 61


def time_and_cost(comparison: Comparison, display: Display) -> str:
    """Return the chart of cost against time of every option; "" without one."""
    return section("Time and cost", _time_cost(comparison, display))


def further_charts(comparison: Comparison, display: Display, *, by_use: bool) -> str:
    """Return the charts of the appendix: rent or buy, and what matters most.

    `by_use` draws the cost of a run against the utilisation of the machine, else that of a month
    against runs a month.
    """
    rent = _rent_or_buy_by_use if by_use else _rent_or_buy
    return section("Rent or buy", rent(comparison, display)) + section(
        "What matters most", _tornado(comparison, display)
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
    chart = plane(
        around([v for own in hours.values() for v in own]),
        around([v for own in costs.values() for v in own]),
        ("time of a run (h)", Text("cost of a run ({currency})", currency=display.currency)),
        "Cost against time of every option, with 90 % intervals",
    )
    front = sorted((hours[n][0], costs[n][0]) for n, r, _, _ in priced if r.on_frontier)
    if len(front) > 1:
        chart.line(front, QUIET, dash="3 4")
    for n, row, _, _ in priced:
        chart.cross(hours[n], costs[n], WAYS[row.candidate.way])
    for n, row, _, _ in reversed(priced):
        chart.disc(hours[n][0], costs[n][0], WAYS[row.candidate.way], str(n))
    return _figure(
        chart.svg(),
        Text(
            "Cost against time; bars are 90 % intervals, numbers those of the table. "
            "{key} The dashed line joins the options that no other beats in both.",
            key=_key(comparison),
        ),
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
    chart = plane(
        (runs[0], runs[-1]),
        around(values, 1.1),
        ("runs a month", Text("cost of a month ({currency})", currency=display.currency)),
        "Cost of a month against runs a month, rented and bought",
    )
    for row, (value, low, high) in drawn:
        chart.band(runs, low, high, WAYS[row.candidate.way])
        chart.line(list(zip(runs, value, strict=True)), WAYS[row.candidate.way])
    chart.upright(comparison.question.assumed.runs_per_month, "requested")
    names = " and ".join(f"{r.candidate.label} ({_colour(r)})" for r, _ in drawn)
    return _figure(
        chart.svg(), Text("What a month costs: {names}. Bands are 90 % intervals.", names=names)
    )


def _rent_or_buy_by_use(comparison: Comparison, display: Display) -> str:
    """Return the cost of a run against the share of the time that the bought machine works."""
    pair = rent_or_buy(comparison)
    if pair is None or pair.buy.drawn is None:
        return ""
    full = HOURS_PER_MONTH * HOUR_S / max(float(np.median(pair.buy.drawn.work_s)), 1e-6)
    shares = np.geomspace(0.01, 1.0, _POINTS)
    runs = [float(v) for v in shares * full]
    lines = [(r, monthly_cost(r, runs)) for r in (pair.rent, pair.buy)]
    drawn = [(r, [[shown(float(v), display) / n for v, n in zip(np.asarray(end), runs, strict=True)]
                  for end in (cost.value, cost.low, cost.high)])
             for r, cost in lines if cost]  # fmt: skip
    name = pair.buy.candidate.hardware.label
    chart = plane(
        (1.0, 100.0),
        around([v for _, ends in drawn for end in ends for v in end], 1.1),
        (
            Text("share of the time {name} works (%)", name=name),
            Text("cost of a run ({currency})", currency=display.currency),
        ),
        "Cost of a run against the utilisation of the machine, rented and bought",
    )
    for row, (value, low, high) in drawn:
        chart.band(list(100.0 * shares), low, high, WAYS[row.candidate.way])
        chart.line(list(zip(100.0 * shares, value, strict=True)), WAYS[row.candidate.way])
    share = pair.requested_per_month / full
    if 0.01 <= share <= 1.0:
        chart.upright(
            100.0 * share,
            Text(
                "{requested_per_month} runs a month",
                requested_per_month=plain(pair.requested_per_month, 4),
            ),
        )
    even = pair.use if isinstance(pair.use, Estimate) else None
    pays = ""
    if even is not None and 0.01 <= float(even.value) <= 1.0:
        chart.upright(100.0 * float(even.value), "buying pays off", row=1)
        ends = (percent(float(end)) for end in (even.value, even.low, even.high))
        pays = " Buying pays off from {} (90 %: {} to {}).".format(*ends)
    names = " and ".join(f"{r.candidate.label} ({_colour(r)})" for r, _ in drawn)
    return _figure(
        chart.svg(),
        Text("What a run costs: {names}. Bands are 90 % intervals.{pays}", names=names, pays=pays),
    )


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
    scale = Scale(low=min([*ends, base]), high=max([*ends, base]), begin=_NAMES,
                      end=WIDTH - RIGHT)  # fmt: skip
    bottom = height - 30.0
    parts = [p for t in scale.ticks() for p in _tick(scale(t), bottom, t)]
    for k, bar in enumerate(influence.influences):
        low, high = sorted(scale(shown(v, display)) for v in (bar.low, bar.high))
        top = 8.0 + k * _ROW
        parts.append(
            f'<rect x="{low:.1f}" y="{top:.1f}" width="{max(high - low, 1):.1f}" '
            f'height="{_ROW - 8}" fill="{LIGHT[0]}" fill-opacity="0.8"/>'
        )
        parts.append(words(_NAMES - 10, top + 13, _short(bar.name), anchor="end"))
    parts.append(rule(scale(base), 0, scale(base), bottom, TEXT))
    if scale.low < 0.0 < scale.high:
        parts.append(rule(scale(0.0), 0, scale(0.0), bottom, LIGHT[1]))
    return _figure(
        frame(influence.title, height, parts),
        Text(
            "{title}: {base}. Bars: one input from its 5 % to its 95 %. A bar crossing "
            "0 means this input can reverse the ranking.",
            title=influence.title,
            base=money(influence.base, display),
        ),
    )


def _tick(at: float, bottom: float, value: float) -> list[str]:
    return [rule(at, 0, at, bottom), words(at, bottom + 17, number(value),
                                                   anchor="middle")]  # fmt: skip


def _figure(picture: str, caption: str) -> str:
    text = f"<figcaption>{escaped(caption)}</figcaption>"
    return f'<figure><div class="chart">{picture}</div>{text}</figure>'


def _ends(estimate: Estimate) -> list[float]:
    return [float(estimate.value), float(estimate.low), float(estimate.high)]


def _key(comparison: Comparison) -> str:
    """Return the legend of the colours that occur."""
    ways: Sequence[str] = list(dict.fromkeys(r.candidate.way for r in comparison.rows))
    first = {
        "rent": Text("Blue rented"),
        "buy": Text("Orange bought"),
        "own": Text("Green already owned"),
    }
    others = {
        "rent": Text("blue rented"),
        "buy": Text("orange bought"),
        "own": Text("green already owned"),
    }
    names = [*(first[way] for way in ways[:1]), *(others[way] for way in ways[1:])]
    return Text("{names}.", names=joined(", ", names))


def _colour(row: Row) -> str:
    return {"rent": "blue", "buy": "orange", "own": "green"}[row.candidate.way]


def _short(name: str) -> str:
    return name if len(name) <= 46 else f"{name[:45]}…"
