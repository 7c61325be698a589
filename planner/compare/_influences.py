"""Tornado chart: the gap between the first two options, one input at a time.

Bars of `planner.cost.sensitivity`: from the 5th to the 95th percentile of one input with the others
at their medians. A bar that crosses 0 means that this input alone can reverse the ranking.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from planner.compare.comparison import Comparison, Row
from planner.compare.evaluation import cost_draws
from planner.core import Floats, Refusal, Text
from planner.cost import Influence, Owned, Rental, draw_amount, ranges_of, sensitivity
from planner.job import Candidate

MOST_BARS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Influences:
    """The inputs that move an answer, largest first; `unit` is that of the answer.

    With `compared` the answer is the difference of two options, else the cost of one.
    """

    title: str
    compared: bool
    unit: str
    base: float
    influences: tuple[Influence, ...]


def tornado(comparison: Comparison) -> Influences | None:
    """Return the inputs that move the gap between the first two, or the cost of a single one."""
    priced = [r for r in comparison.answered if r.drawn is not None and r.drawn.cost is not None]
    if not priced:
        return None
    first = priced[0]
    second = next((r for r in priced[1:] if r.candidate.hardware != first.candidate.hardware
                   or r.candidate.way != first.candidate.way), None)  # fmt: skip
    pair = [first] if second is None else [first, second]
    inputs = _inputs(pair)
    if not inputs:
        return None

    ends = {r.candidate.id: _parts(r, inputs) for r in pair}

    def answer(drawn: Mapping[str, Floats]) -> Floats:
        costs = [_cost_with(r, drawn, comparison, ends[r.candidate.id]) for r in pair]
        return costs[0] if second is None else costs[1] - costs[0]

    influences = sensitivity(answer, inputs)
    middle = {name: np.array([np.median(draws)]) for name, draws in inputs.items()}
    names = [r.candidate.label for r in pair]
    return Influences(
        title=Text("Cost of a run: {option}", option=names[0]) if second is None
        else Text("Extra cost of a run: {option} instead of {other}", option=names[1],
                  other=names[0]),
        compared=second is not None,
        unit="USD",
        base=float(answer(middle)[0]),
        influences=tuple(i for i in influences if i.swing > 0.0)[:MOST_BARS],
    )  # fmt: skip


def _inputs(pair: Sequence[Row]) -> dict[str, Floats]:
    """Return draws of every uncertain input of the candidates, by display name."""
    inputs: dict[str, Floats] = {}
    for row in pair:
        parts = {} if row.drawn is None else row.drawn.parts
        for name, draws in parts.items():
            if np.ptp(draws) > np.ptp(inputs.get(name, np.ones(1))):
                inputs[name] = draws
        record = _record(row.candidate)
        for name, amount in ({} if record is None else ranges_of(record)).items():
            key = f"{row.candidate.id}.{name}"
            inputs[_input_name(row.candidate, name, amount.name)] = np.asarray(
                draw_amount(amount, key)
            )
    return inputs


Ends = Mapping[str, tuple[Floats, Floats]]
"""By uncertainty: sorted draws of the input, and the matching factors of one option."""


def _parts(row: Row, inputs: Mapping[str, Floats]) -> Ends:
    """Return how the uncertainties of an option's time follow from the inputs.

    One uncertainty may move two options by different factors: scaling moves eight devices more than
    two, and moves counts below the measured one in the other direction. Equal quantiles match.
    """
    parts = {} if row.drawn is None else row.drawn.parts
    return {
        name: (np.sort(inputs[name]), _alike(draws, inputs[name]))
        for name, draws in parts.items()
        if name in inputs
    }


def _alike(draws: Floats, drawn: Floats) -> Floats:
    """Return draws sorted along the input's: ascending, or descending if opposed."""
    rising = np.sort(draws)
    least, most = int(drawn.argmin()), int(drawn.argmax())
    return rising if draws[least] <= draws[most] else rising[::-1]


def _cost_with(row: Row, drawn: Mapping[str, Floats], comparison: Comparison, ends: Ends) -> Floats:
    """Return the cost of a run with inputs from `drawn` and the rest at their medians [USD]."""
    record, candidate = _record(row.candidate), row.candidate
    work = _work_with(row, drawn, ends)
    ranges = {} if record is None else ranges_of(record)
    amounts: dict[str, Any] = {
        name: drawn[key]
        for name, amount in ranges.items()
        if (key := _input_name(candidate, name, amount.name)) in drawn
    }
    rental = owned = None
    if isinstance(record, Rental):
        rental = replace(record, **amounts)
    elif isinstance(record, Owned):
        owned = replace(record, **amounts)
    there = replace(candidate, rental=rental, owned=owned)
    cost = cost_draws(there, work, comparison.question.assumed, row.machines)
    return np.zeros(1) if cost is None else np.asarray(cost)


def _record(candidate: Candidate) -> Rental | Owned | None:
    return candidate.rental if candidate.rental is not None else candidate.owned


def _work_with(row: Row, drawn: Mapping[str, Floats], ends: Ends) -> Floats:
    """Return the work [s] with its uncertainties taken from `drawn`, each a factor around 1."""
    total = row.timed.total
    if row.drawn is None or isinstance(total, Refusal):
        return np.full(1, np.nan)
    work = np.full(1, float(total.value))
    for name, (there, here) in ends.items():
        work = work * np.interp(drawn[name], there, here)
    return work


_NAMES: Final[Mapping[str, str]] = {
    "price_per_hour": "Rental price",
    "price_usd": "Purchase price",
    "life_years": "Life of a bought machine",
    "tariff_usd_per_kwh": "Price of electricity",
    "upkeep_usd_per_year": "Staff, space, repair",
}
_SHARED: Final = frozenset({"life_years", "tariff_usd_per_kwh"})


def _input_name(candidate: Candidate, field: str, tied: str) -> str:
    """Return the name of a bar; a quantity shared by both candidates has one bar."""
    name = _NAMES.get(field, field)
    return name if tied and field in _SHARED else f"{name}, {candidate.label}"
