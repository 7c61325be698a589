"""What the charts of a plan draw, from the answer: for the page and for the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from planner import figures
from planner.capacity import (
    STANDING,
    CapacityAnswer,
    CostLine,
    CostLines,
    FirstAnswer,
    Machine,
    Term,
)
from planner.core import Estimate, Text, percent
from planner.cost import Display, shown
from planner.figures import ChartSpec, Tile
from planner.figures.frame import LIGHT, Theme

_SLOTS: Final = {"fleet": 0, "rent only": 1, "buy only": 2}
_TERMS: Final[dict[Term, str]] = {
    "owned": "Owned", "bought": "Bought", "reserved": "Reserved", "on demand": "Rented",
    "spot": "Spot",
}  # fmt: skip
_LONGEST: Final = 34
MOST_LINES: Final = 8
"""Lines of machines side by side."""


def tiles(answer: CapacityAnswer | FirstAnswer) -> list[Tile]:
    """Return the answer's tiles as they are drawn."""
    drawn = []
    for tile in answer.tiles:
        bar = None
        ends = [tile.value, tile.low if tile.low is not None else tile.value, tile.high]
        if tile.value is not None and tile.high is not None:
            low = tile.value if tile.low is None else tile.low
            bar = figures.Range(
                value=tile.value, low=low, high=tile.high, limit=tile.limit,
                low_text=_number(low) if tile.low is not None else "",
                high_text=_number(tile.high) if tile.low is not None else "",
            )  # fmt: skip
        words = "" if tile.low is None or bar is None else f"{bar.low_text} to {bar.high_text}"
        limit = "" if tile.limit is None else f"limit {tile.limit:g} %"
        share = tile.value / 100.0 if tile.value is not None and ends[2] is None else None
        drawn.append(Tile(label=tile.title, value=tile.text, unit=tile.unit, range=bar,
                          share=share, limit_text=limit, words=words, note=tile.note))  # fmt: skip
    return drawn


def _number(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.10g}"


def costs(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return money spent over the plan: this fleet, renting only, buying only."""
    lines = () if answer.costs is None else answer.costs.lines
    return figures.money_lines(
        [_line(x, _SLOTS.get(x.kind, 3), display) for x in lines], display.currency, theme,
        _month(answer.costs),
    )  # fmt: skip


def side_by_side(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return money spent over the years on one machine of each kind."""
    lines = _few(answer.side_by_side)
    return figures.money_lines(
        [_line(x, n % len(LIGHT), display) for n, x in enumerate(lines)], display.currency, theme,
        _month(answer.side_by_side),
    )  # fmt: skip


def _few(lines: CostLines | None) -> Sequence[CostLine]:
    """Return the lines with the smallest cost at the end; those of the break-even are there."""
    if lines is None:
        return ()
    named = [x for x in lines.lines if x.name in lines.named]
    others = sorted((x for x in lines.lines if x not in named), key=lambda x: x.net)
    return [*named, *others][:MOST_LINES]


def _line(line: CostLine, slot: int, display: Display) -> figures.MoneyLine:
    factor = shown(1.0, display)
    return figures.MoneyLine(
        label=line.name, short=short(line.name), slot=slot, month=np.array(line.months),
        value=np.array(line.usd) * factor, low=np.array(line.low) * factor,
        high=np.array(line.high) * factor,
    )  # fmt: skip


def _month(lines: CostLines | None) -> tuple[float, float, float] | None:
    if lines is None or not isinstance(lines.break_even, Estimate):
        return None
    even = lines.break_even
    return float(even.value), float(even.low), float(even.high)


def short(name: str) -> str:
    """Return a name for the end of a line."""
    for long, brief in ((" (bought)", ", bought"), (" (owned)", ", owned"), ("GeForce ", "")):
        name = name.replace(long, brief)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def months(answer: CapacityAnswer, theme: Theme) -> ChartSpec:
    """Return the work of each month, by machine."""
    labels = list(dict.fromkeys(label for m in answer.months for label in m.busy))
    known = {s.machine.label: s.machine for s in answer.stocks}
    labels.sort(key=lambda label: _place(known.get(label)))
    parts = [
        (_named(label, known.get(label)),
         np.array([m.busy.get(label, 0.0) for m in answer.months]), n % len(LIGHT))
        for n, label in enumerate(labels)
        if any(m.busy.get(label, 0.0) > 0.0 for m in answer.months)
    ]  # fmt: skip
    standing = sum(s.count for s in answer.stocks if s.machine.term in STANDING)
    return figures.work_by_month([m.month for m in answer.months], parts, standing, theme)


def _place(machine: Machine | None) -> int:
    """Return the place of a machine in the bars: standing ones below."""
    return len(_TERMS) if machine is None else list(_TERMS).index(machine.term)


def _named(label: str, machine: Machine | None) -> str:
    if machine is None:
        return label
    return f"{_TERMS[machine.term]} {machine.hardware or machine.label}"


def waiting(answer: CapacityAnswer, theme: Theme) -> ChartSpec:
    """Return the waiting times of each job."""
    rows = [
        figures.WaitRow(
            label=w.job, edges_s=np.array(w.edges_s), shares=np.array(w.shares),
            at_once=w.at_once, median_s=w.median_s, allowed_s=w.allowed_s,
            late="" if w.late is None else percent(w.late, 1),
        )
        for w in answer.waiting
    ]  # fmt: skip
    return figures.waiting_times(rows, theme)


def by_use(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return rent or buy against the utilisation of a machine."""
    of = answer.rent_or_buy
    if of is None:
        return figures.cost_by_use(np.array([0.0, 1.0]), [], display.currency, theme)
    even = of.break_even
    where = None
    if isinstance(even, Estimate):
        where = (float(even.value), float(even.low), float(even.high))
    lines = [
        figures.HourLine(label=c.machine, short=short(c.machine), slot=n % len(LIGHT),
                         value=np.array(c.usd_per_hour) * shown(1.0, display))
        for n, c in enumerate(of.curves[:MOST_LINES])
    ]  # fmt: skip
    return figures.cost_by_use(np.array(of.utilisation), lines, display.currency, theme, now=of.now,
                               break_even=where)  # fmt: skip


def matters(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return how far each input moves the cost of a month."""
    factor = shown(1.0, display)
    bars = [figures.Bar(label=i.name, low=i.low * factor, high=i.high * factor)
            for i in answer.sensitivity]  # fmt: skip
    least = answer.sensitivity[-1] if answer.sensitivity else None
    base = 0.0 if least is None else 0.5 * (least.low + least.high) * factor
    return figures.tornado(
        bars,
        base,
        Text("cost of a month ({currency})", currency=display.currency),
        theme,
        compared=False,
    )
