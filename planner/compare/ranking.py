"""Rank the candidates, with the probability of each order.

Without limits (a deadline, a budget, a cost limit), an option is better than another in the share
of the draws where it costs (takes) less. With limits, missing one counts as an infinite cost:

    better(a, b) = P(a costs less | a or b meets the limits)

Draws where both miss are left out. So of two offers of one machine the cheaper one is better,
whatever the deadline. For two options this is the ratio of their `Row.cheapest`. Where neither is
likely to meet the limits, they are compared without limits.

    rank       options above `LIKELY_IN_TIME` first, then those that cannot be checked, then the
               others; within each by the median, with a miss counted as infinite
    tied       no earlier option of the group is better in `DECIDED` of those draws, so the 90 %
               interval of their ratio includes 1; the first that is not tied begins a new group
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from planner.compare.comparison import Limits, Row
from planner.core import Estimate, Floats, Refusal
from planner.cost import DRAWS, probability_cheapest
from planner.job import Order

DECIDED: Final = 0.95
LIKELY_IN_TIME: Final = 0.5
Standing = Literal["keeps", "not known", "misses"]
STANDINGS: Final[tuple[Standing, ...]] = ("keeps", "not known", "misses")
"""Classes by the limits, best first; "keeps" without limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A row with `kept` (DRAWS,), draws that meet the limits; None without limits or unknown."""

    row: Row
    kept: NDArray[np.bool_] | None
    in_time: float | None
    standing: Standing


def better(a: Row, b: Row, limits: Limits) -> float:
    """Return the probability that `a` is cheaper (faster) than `b` within the limits [0..1].

    See the module's text. Ties count half, so better(a, b) + better(b, a) = 1. An unknown value is
    never better.
    """
    return _better(_judged(a, limits), _judged(b, limits), limits)


def standing(row: Row, limits: Limits) -> Standing:
    """Return the class of an option by its probability of meeting the limits."""
    return _judged(row, limits).standing


def ranked(rows: Sequence[Row], limits: Limits) -> tuple[Row, ...]:
    """Return the rows, best first, with ranks, probabilities and frontier."""
    judged = _with_probabilities([_judged(r, limits) for r in rows], limits)
    valued = [j for j in judged if _value(j.row, limits.order) is not None]
    valued.sort(key=lambda j: _place(j, limits))
    rest = [j.row for j in judged if _value(j.row, limits.order) is None]
    rest.sort(key=lambda r: (isinstance(r.time, Refusal), r.candidate.id))
    ordered = [replace(j.row, rank=n) for j, n in zip(valued, _ranks(valued, limits), strict=True)]
    shared = {r.rank for r in ordered if sum(o.rank == r.rank for o in ordered) > 1}
    return tuple(replace(r, tied=r.rank in shared) for r in ordered) + tuple(rest)


def chance_to_meet(row: Row, limits: Limits) -> float | None:
    """Return the share of the draws that meet all limits [0..1].

    None without limits, or where they cannot be checked: a budget and an unknown cost.
    """
    kept = _kept(row, limits)
    return None if kept is None else float(np.count_nonzero(kept) / kept.size)


def _ranks(ordered: Sequence[_Judged], limits: Limits) -> list[int]:
    """Return the ranks of sorted options; a group ends where one of it is decidedly better."""
    ranks: list[int] = []
    group: list[_Judged] = []
    for place, option in enumerate(ordered, start=1):
        joins = bool(group) and option.standing == group[0].standing
        if joins and all(_better(before, option, limits) < DECIDED for before in group):
            group.append(option)
        else:
            group = [option]
        ranks.append(place - len(group) + 1)
    return ranks


def _judged(row: Row, limits: Limits) -> _Judged:
    if not limits.limited:
        return _Judged(row=row, kept=None, in_time=None, standing="keeps")
    kept, share = _kept(row, limits), chance_to_meet(row, limits)
    if kept is None or share is None:
        return _Judged(row=row, kept=None, in_time=None, standing="not known")
    place: Standing = "keeps" if share >= LIKELY_IN_TIME else "misses"
    return _Judged(row=row, kept=kept, in_time=share, standing=place)


def _better(a: _Judged, b: _Judged, limits: Limits) -> float:
    limited = limits.limited and "keeps" in (a.standing, b.standing)
    first, second = (_within(j, limits) if limited else _draws(j.row, limits.order) for j in (a, b))
    if first is None or second is None:
        return 0.5 if first is second else float(second is None)
    less, more = np.count_nonzero(first < second), np.count_nonzero(first > second)
    equal = first == second
    ties = np.count_nonzero(equal & np.isfinite(first) if limited else equal)
    return float((less + 0.5 * ties) / (less + more + ties))


def _with_probabilities(every: Sequence[_Judged], limits: Limits) -> list[_Judged]:
    cheapest = _least(every, "cost", limits)
    fastest = _least(every, "time", limits)
    front = _frontier([j.row for j in every])
    return [replace(j, row=replace(
        j.row,
        cheapest=cheapest.get(j.row.candidate.id),
        fastest=fastest.get(j.row.candidate.id),
        in_time=j.in_time,
        on_frontier=j.row.candidate.id in front,
    )) for j in every]  # fmt: skip


def _least(every: Sequence[_Judged], order: Order, limits: Limits) -> dict[str, float]:
    """Return by id the probability of being the cheapest (fastest) that meets the limits."""
    by_order, draws_by_id = replace(limits, order=order), {}
    for option in every:
        draws = _within(option, by_order)
        if draws is not None and option.standing != "not known":
            draws_by_id[option.row.candidate.id] = draws
    if not draws_by_id:
        return {}
    table = np.stack(list(draws_by_id.values()))
    some = np.isfinite(table).any(axis=0)  # where none meets the limits, none is the cheapest
    if not some.any():
        return dict.fromkeys(draws_by_id, 0.0)
    shares = probability_cheapest(table if some.all() else table[:, some]) * some.mean()
    return {name: float(p) for name, p in zip(draws_by_id, shares, strict=True)}


def _frontier(rows: Sequence[Row]) -> frozenset[str]:
    """Return ids of options that no other beats in both time and cost, by medians."""
    points = [
        (r.candidate.id, float(r.time.value), float(r.cost.value))
        for r in rows
        if isinstance(r.time, Estimate) and isinstance(r.cost, Estimate)
    ]
    return frozenset(
        name
        for name, time, cost in points
        if not any(t <= time and c <= cost and (t, c) != (time, cost) for _, t, c in points)
    )


def _kept(row: Row, limits: Limits) -> NDArray[np.bool_] | None:
    """Return which draws meet all limits, shape (DRAWS,); None as in `chance_to_meet`."""
    if not limits.limited or row.drawn is None:
        return None
    kept: NDArray[np.bool_] = np.ones(DRAWS, dtype=bool)
    if limits.deadline_s is not None:
        kept &= row.drawn.wall_s <= limits.deadline_s
    paid = ((row.drawn.to_pay, limits.budget_usd), (row.drawn.cost, limits.cost_limit_usd))
    for draws, most in paid:
        if most is None:
            continue
        if draws is None:
            return None
        kept &= draws <= most
    return kept


def _within(option: _Judged, limits: Limits) -> Floats | None:
    """Return draws of cost or time, infinite where limits are missed; None where unknown."""
    draws = _draws(option.row, limits.order)
    if draws is None or not limits.limited or option.in_time == 1.0:
        return draws
    return np.full(DRAWS, np.inf) if option.kept is None else np.where(option.kept, draws, np.inf)


def _place(option: _Judged, limits: Limits) -> tuple[int, float, str]:
    """Return the sort key: class, median, id; a miss of the limits counts as infinite."""
    place, name = STANDINGS.index(option.standing), option.row.candidate.id
    middle = _value(option.row, limits.order) or 0.0
    draws = _within(option, limits)
    if draws is not None and option.standing == "keeps" and option.in_time not in (None, 1.0):
        lower = (draws.size - 1) // 2
        middle = float(np.partition(draws, lower)[lower])
    return place, middle, name


def _value(row: Row, order: Order) -> float | None:
    estimate = row.cost if order == "cost" else row.time
    return None if isinstance(estimate, Refusal) else float(estimate.value)


def _draws(row: Row, order: Order) -> Floats | None:
    if row.drawn is None:
        return None
    return row.drawn.cost if order == "cost" else row.drawn.wall_s
