"""The charts of a comparison, for its page and its report: one specification for both."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from planner import figures
from planner.compare import (
    Influences,
    RentOrBuy,
    cost_bound,
    misses_limits,
    monthly_cost,
    runs_at,
    utilisation_at,
)
from planner.compare.comparison import Comparison, Row
from planner.core import Estimate, Text
from planner.core.slugs import UNOFFICIAL
from planner.cost import Display, Influence, shown
from planner.figures import ChartSpec
from planner.figures.frame import Theme
from planner.job import WAY_WORDS, Candidate

_LONG: Final = re.compile(r"\b(GeForce|NVIDIA|Instinct) |( SXM\d?| PCIe| NVL)?( \d+GB)$")
_MAKER: Final = re.compile(r"\b(GeForce|NVIDIA|Instinct) | \d+GB$")
_MOST_PROVIDER: Final = 7
_POINTS: Final = 41
_MOST_LINES: Final = 3


def short_names(every: Sequence[Candidate]) -> dict[str, str]:
    """Return chart names by id, as short as uniqueness allows."""
    names = {c.id: _short(c) for c in every}
    for more in (_with_provider, _with_model, _with_terms, lambda c: c.label):
        shared = {name for name, n in Counter(names.values()).items() if n > 1}
        names |= {c.id: more(c) for c in every if names[c.id] in shared}
    return {c.id: _with_badge(names[c.id], c) for c in every}


def _with_badge(name: str, candidate: Candidate) -> str:
    return name if UNOFFICIAL in name else f"{name}{candidate.badge}"


def _short(candidate: Candidate) -> str:
    if candidate.way == "own" and candidate.run is not None:  # a measured system has its own name
        return f"{WAY_WORDS['own'][0]} {_LONG.sub('', candidate.what)}"
    hardware = candidate.hardware
    name = hardware.accelerator.name if hardware.accelerator else hardware.label
    count = f"{hardware.count} x " if hardware.accelerator else ""
    return f"{WAY_WORDS[candidate.way][0]} {count}{_LONG.sub('', name)}"


def _with_provider(candidate: Candidate) -> str:
    """Return count, accelerator and provider: '8 x H100, Lambda'."""
    if candidate.offer is None or candidate.hardware.accelerator is None:
        return _short(candidate)
    name = _LONG.sub("", candidate.hardware.accelerator.name)
    return f"{candidate.hardware.count} x {name}, {_abbreviated(candidate.offer.provider)}"


def _with_model(candidate: Candidate) -> str:
    """Return count, accelerator with its form factor, and provider: '8 x H100 PCIe, Lambda'."""
    if candidate.offer is None or candidate.hardware.accelerator is None:
        return f"{WAY_WORDS[candidate.way][0]} {candidate.hardware.label}"
    name = _MAKER.sub("", candidate.hardware.accelerator.name)
    return f"{candidate.hardware.count} x {name}, {_abbreviated(candidate.offer.provider)}"


def _with_terms(candidate: Candidate) -> str:
    return (
        f"{_with_model(candidate)} {candidate.offer.terms}" if candidate.offer else candidate.label
    )


def _abbreviated(provider: str) -> str:
    """Return the first word of a provider, at most `_MOST_PROVIDER` letters."""
    word = provider.split(maxsplit=1)[0] if provider.strip() else provider
    return word if len(word) <= _MOST_PROVIDER else Text("{word}.", word=word[: _MOST_PROVIDER - 1])


def colours(every: Sequence[Candidate]) -> dict[str, int]:
    """Return the colour slot of each option by id: its accelerator's hue, a shade of its own."""
    return figures.option_slots([(c.id, _system(c)) for c in every])


def _system(candidate: Candidate) -> str:
    accelerator = candidate.hardware.accelerator
    return candidate.hardware.label if accelerator is None else accelerator.name


def time_cost(
    comparison: Comparison,
    display: Display,
    theme: Theme,
    names: Mapping[str, str] | None = None,
) -> ChartSpec | None:
    """Return cost against time of every option; None where no option has both.

    `names` are written at the markers, by id; by default short names.
    """
    drawn = [
        (r, r.time, r.cost)
        for r in comparison.rows
        if isinstance(r.time, Estimate) and isinstance(r.cost, Estimate)
    ]
    if not drawn:
        return None
    names = names or short_names([r.candidate for r, _, _ in drawn])
    slots = colours([r.candidate for r in comparison.rows])
    spots = [
        figures.Spot(
            label=row.candidate.label,
            short=names[row.candidate.id],
            slot=slots[row.candidate.id],
            basis=time.basis,
            time=time.ends,
            cost=(
                shown(float(cost.value), display),
                shown(float(cost.low), display),
                shown(float(cost.high), display),
            ),
            front=row.on_frontier,
            late=row.in_time is not None and row.in_time < 0.5,
            note=row.candidate.price,
        )
        for row, time, cost in drawn
    ]
    most, goal = cost_bound(comparison), comparison.question.goal
    bounds = figures.Bounds(
        deadline_s=comparison.question.limits.deadline_s,
        cost=None if most is None else shown(most, display),
    )
    what = goal.words if goal.epochs is not None else Text("training to {words}", words=goal.words)
    return figures.time_cost(spots, bounds, display.currency, theme, what)


# -- rent or buy -----------------------------------------------------------------------------------


def compared(comparison: Comparison) -> list[Row]:
    """Return the best option of each way, then the next best ones."""
    rows = [
        r
        for r in comparison.rows
        if r.rank is not None and isinstance(r.time, Estimate) and isinstance(r.cost, Estimate)
    ]
    first = {r.candidate.way: r for r in reversed(rows)}
    kept = [r for r in rows if first[r.candidate.way] is r]
    kept += [r for r in rows if r not in kept]
    return kept[: max(len(first), _MOST_LINES)]


def use(
    comparison: Comparison,
    pair: RentOrBuy | None,
    display: Display,
    theme: Theme,
    *,
    by_use: bool,
) -> tuple[ChartSpec, str]:
    """Return the cost of the `compared` options against use, with a text alternative.

    `by_use` draws the cost of a run against the utilisation of the machine, else that of a month
    against runs a month.
    """
    rows = compared(comparison)
    machine = pair.buy if pair else next((r for r in rows if r.candidate.way == "buy"), rows[0])
    full = runs_at(machine, 1.0) or 1.0  # of a machine that other work fills: one run a month
    runs_per_month = comparison.question.assumed.runs_per_month
    end = full if by_use else _end(runs_per_month, pair)
    runs = np.linspace(end / _POINTS, end, _POINTS)
    per = runs if by_use else 1.0
    x = np.array([utilisation_at(machine, n) for n in runs]) if by_use else runs
    every = [r.candidate for r in comparison.rows]
    names, slots, factor = short_names(every), colours(every), shown(1.0, display)
    lines = []
    for row in rows:
        cost, its = monthly_cost(row, runs.tolist()), row.candidate
        if cost is None:
            continue
        value, low, high = (np.asarray(e) * factor / per for e in (cost.value, cost.low, cost.high))
        lines.append(
            figures.UseLine(
                label=its.label,
                short=names[its.id],
                slot=slots[its.id],
                way=its.way,
                x=x,
                value=value,
                low=low,
                high=high,
            )
        )
    money, name = display.currency, machine.candidate.hardware.label
    axes = figures.UseAxes(
        x_title=Text("share of the time {name} works", name=name) if by_use else "runs a month",
        y_title=Text("cost of a run ({money})", money=money)
        if by_use
        else Text("cost of a month ({money})", money=money),
        request=utilisation_at(machine, runs_per_month) if by_use else runs_per_month,
        request_words=f"{runs_per_month:,.4g} {'runs a month' if by_use else 'requested'}",
        pays_off=_pays_off(pair, by_use=by_use),
        per_cent=by_use,
        log=by_use,
    )
    alt = Text("{y_title} against {x_title}.", y_title=axes.y_title, x_title=axes.x_title)
    return figures.rent_or_buy(lines, axes, theme), alt


def _end(requested: float, pair: RentOrBuy | None) -> float:
    """Return the end of the axis: past the break-even, at most 50 times the requested runs."""
    runs = pair.runs_per_month if pair else None
    crossing = float(runs.value) if isinstance(runs, Estimate) else 0.0
    reach = 1.6 * crossing if math.isfinite(crossing) else 0.0
    return max(2.5 * requested, min(reach, 50.0 * requested))


def _pays_off(pair: RentOrBuy | None, *, by_use: bool) -> tuple[float, float, float] | None:
    if pair is None or not isinstance(pair.use, Estimate):
        return None
    break_even = pair.use if by_use else pair.runs_per_month
    if not isinstance(break_even, Estimate) or not math.isfinite(float(break_even.value)):
        return None
    return break_even.ends


def use_caption(pair: RentOrBuy | None, rows: Sequence[Row], *, by_use: bool) -> str:
    """Return why `use` shows no break-even; "" where it does."""
    if not any(r.candidate.way == "buy" for r in rows):
        return "No purchase is chosen. Choose one to see from when it pays off."
    if pair is None:
        return "No rental is chosen. Choose one to see from when buying pays off."
    if misses_limits(pair.buy):
        return "Buying misses the deadline or the budget."
    return "" if _pays_off(pair, by_use=by_use) else "Buying may never pay off."


# -- what matters ----------------------------------------------------------------------------------


def influence_bars(influences: Sequence[Influence], display: Display) -> list[figures.TornadoBar]:
    """Return the answer at both ends of each input, in the currency of `display`."""
    factor = shown(1.0, display)
    return [
        figures.TornadoBar(label=i.name, low=i.low * factor, high=i.high * factor)
        for i in influences
    ]


def matters(influence: Influences, display: Display, theme: Theme) -> ChartSpec:
    """Return how far each uncertain input moves the answer."""
    axis = (
        Text("difference of a run ({currency})", currency=display.currency)
        if influence.compared
        else Text("cost of a run ({currency})", currency=display.currency)
    )
    base = influence.base * shown(1.0, display)
    bars = influence_bars(influence.influences, display)
    return figures.tornado(bars, base, axis, theme, compared=influence.compared)
