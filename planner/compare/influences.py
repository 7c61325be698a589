"""Which inputs move the answer most? The gap between the first two, one input at a time.

Bars of `planner.cost.sensitivity`: from the 5th to the 95th percentile of one input with the others
at their medians. Where a bar crosses 0 that input alone could turn the order round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from planner.compare.reckon import Comparison, Row, cost_draws
from planner.compare.records import Candidate
from planner.cost import Influence, Owned, Rental, draw_amount, ranges_of, sensitivity
from planner.estimate import Floats, Refusal

MOST_BARS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Tornado:
    """What moves the answer: `unit` says which answer, `influences` are largest first."""

    title: str
    unit: str
    base: float
    influences: tuple[Influence, ...]


def tornado(told: Comparison) -> Tornado | None:
    """Which inputs move the gap between the first two, or the cost of the only one."""
    known = [r for r in told.answered if r.drawn is not None and r.drawn.cost is not None]
    if not known:
        return None
    first = known[0]
    second = next((r for r in known[1:] if r.candidate.hardware != first.candidate.hardware
                   or r.candidate.way != first.candidate.way), None)  # fmt: skip
    pair = [first] if second is None else [first, second]
    inputs = _inputs(pair)
    if not inputs:
        return None

    def answer(drawn: Mapping[str, Floats]) -> Floats:
        costs = [_cost_with(r, drawn, told) for r in pair]
        return costs[0] if second is None else costs[1] - costs[0]

    found = sensitivity(answer, inputs)
    middle = {name: np.array([np.median(draws)]) for name, draws in inputs.items()}
    names = [r.candidate.label for r in pair]
    return Tornado(
        title=f"Cost of a run: {names[0]}" if second is None
        else f"How much a run costs more: {names[1]} than {names[0]}",
        unit="USD",
        base=float(answer(middle)[0]),
        influences=tuple(i for i in found if i.swing > 0.0)[:MOST_BARS],
    )  # fmt: skip


def _inputs(pair: Sequence[Row]) -> dict[str, Floats]:
    """Draws of all that is uncertain about the candidates, by the names people know them by."""
    found: dict[str, Floats] = {}
    for row in pair:
        parts = {} if row.drawn is None else row.drawn.parts
        found |= {name: draws for name, draws in parts.items() if np.ptp(draws) > 0.0}
        record = _record(row.candidate)
        for name, amount in ({} if record is None else ranges_of(record)).items():
            key = f"{row.candidate.id}.{name}"
            found[_input_name(row.candidate, name, amount.name)] = np.asarray(
                draw_amount(amount, key)
            )
    return found


def _cost_with(row: Row, drawn: Mapping[str, Floats], told: Comparison) -> Floats:
    """Cost of a run with what is uncertain taken from `drawn`, other draws at their middle."""
    record, one = _record(row.candidate), row.candidate
    work = _work_with(row, drawn)
    ranges = {} if record is None else ranges_of(record)
    known: dict[str, Any] = {
        name: drawn[key]
        for name, amount in ranges.items()
        if (key := _input_name(one, name, amount.name)) in drawn
    }
    rental = owned = None
    if isinstance(record, Rental):
        rental = replace(record, **known)
    elif isinstance(record, Owned):
        owned = replace(record, **known)
    there = replace(one, rental=rental, owned=owned)
    cost = cost_draws(there, work, told.question.assumed, row.machines)
    return np.zeros(1) if cost is None else np.asarray(cost)


def _record(one: Candidate) -> Rental | Owned | None:
    return one.rental if one.rental is not None else one.owned


def _work_with(row: Row, drawn: Mapping[str, Floats]) -> Floats:
    """The work [s] with its doubts taken from `drawn`, each a factor around 1."""
    total = row.timed.total
    if row.drawn is None or isinstance(total, Refusal):
        return np.full(1, np.nan)
    work = np.full(1, float(total.value))
    for name in row.drawn.parts:
        work = work * drawn.get(name, np.ones(1))
    return work


_NAMES: Final[Mapping[str, str]] = {
    "price_per_hour": "Rental price",
    "price_usd": "Purchase price",
    "life_years": "Years until it is replaced",
    "tariff_usd_per_kwh": "Price of electricity",
    "upkeep_usd_per_year": "Staff, space, repair",
}
_SHARED: Final = frozenset({"life_years", "tariff_usd_per_kwh"})


def _input_name(one: Candidate, field: str, tied: str) -> str:
    """What the bar is called; what is one quantity for both candidates has one bar."""
    name = _NAMES.get(field, field)
    return name if tied and field in _SHARED else f"{name}, {one.label}"
