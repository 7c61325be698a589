"""Rank the candidates, with the probability of each order.

Without limits (a deadline, a budget, a cost limit), an option is better than another in the share
of the draws where it costs (takes) less. With one, missing it counts as infinitely costly, and what
is asked is who is the cheapest of those that keep it:

    better(a, b) = P(a costs less | a or b keeps the limits)

Draws where both miss say nothing about that and are left out, so that both have their part of
them: of two offers of one machine the cheaper one is surely the better, whatever the deadline. It
is the ratio of what `Row.cheapest` says where only these two are asked. Where neither is likely
to keep the limits, they are compared as if there were none: what is left is their price.

    rank       those that more likely keep the limits than not (`LIKELY_IN_TIME`), then those of
               which it is not known, then the others; within them by the median, a miss infinite
    tied       none before it in the group is better in `DECIDED` of those draws, which is where the
               90 % interval of their ratio leaves 1 out; one that is begins the next group
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from planner.compare.comparison import Row, Wanted
from planner.core import Estimate, Floats, Refusal
from planner.cost import DRAWS, probability_cheapest
from planner.job import Order

DECIDED: Final = 0.95
LIKELY_IN_TIME: Final = 0.5
Standing = Literal["keeps", "not known", "misses"]
STANDINGS: Final[tuple[Standing, ...]] = ("keeps", "not known", "misses")
"""How an option stands to the limits, the best first; "keeps" where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A row before the limits: `kept` (DRAWS,) is None without limits, or where it is unknown."""

    row: Row
    kept: NDArray[np.bool_] | None
    in_time: float | None
    standing: Standing


def better(a: Row, b: Row, wanted: Wanted) -> float:
    """Probability that `a` is cheaper (faster) than `b` within the limits [0..1], ties shared.

    See the module's text. better(a, b) + better(b, a) = 1; an unknown value is never better.
    """
    return _better(_judged(a, wanted), _judged(b, wanted), wanted)


def standing(row: Row, wanted: Wanted) -> Standing:
    """Whether it more likely meets the limits than not."""
    return _judged(row, wanted).standing


def ranked(rows: Sequence[Row], wanted: Wanted) -> tuple[Row, ...]:
    """Best first with ranks, probabilities and frontier filled in."""
    judged = _with_probabilities([_judged(r, wanted) for r in rows], wanted)
    known = [j for j in judged if _value(j.row, wanted.order) is not None]
    known.sort(key=lambda j: _place(j, wanted))
    rest = [j.row for j in judged if _value(j.row, wanted.order) is None]
    rest.sort(key=lambda r: (isinstance(r.time, Refusal), r.candidate.id))
    found = [replace(j.row, rank=n) for j, n in zip(known, _ranks(known, wanted), strict=True)]
    shared = {r.rank for r in found if sum(o.rank == r.rank for o in found) > 1}
    return tuple(replace(r, tied=r.rank in shared) for r in found) + tuple(rest)


def chance_to_keep(row: Row, wanted: Wanted) -> float | None:
    """Share of the draws that meet all limits [0..1].

    None where there is no limit, or where it cannot be checked: a budget and no cost.
    """
    kept = _kept(row, wanted)
    return None if kept is None else float(np.count_nonzero(kept) / kept.size)


def _ranks(ordered: Sequence[_Judged], wanted: Wanted) -> list[int]:
    """Ranks of those that are in order already; a group ends where one of it surely is better."""
    ranks: list[int] = []
    group: list[_Judged] = []
    for place, one in enumerate(ordered, start=1):
        joins = bool(group) and one.standing == group[0].standing
        if joins and all(_better(before, one, wanted) < DECIDED for before in group):
            group.append(one)
        else:
            group = [one]
        ranks.append(place - len(group) + 1)
    return ranks


def _judged(row: Row, wanted: Wanted) -> _Judged:
    if not wanted.limited:
        return _Judged(row=row, kept=None, in_time=None, standing="keeps")
    kept, share = _kept(row, wanted), chance_to_keep(row, wanted)
    if kept is None or share is None:
        return _Judged(row=row, kept=None, in_time=None, standing="not known")
    place: Standing = "keeps" if share >= LIKELY_IN_TIME else "misses"
    return _Judged(row=row, kept=kept, in_time=share, standing=place)


def _better(a: _Judged, b: _Judged, wanted: Wanted) -> float:
    limited = wanted.limited and "keeps" in (a.standing, b.standing)
    first, second = (_within(j, wanted) if limited else _draws(j.row, wanted.order) for j in (a, b))
    if first is None or second is None:
        return 0.5 if first is second else float(second is None)
    less, more = np.count_nonzero(first < second), np.count_nonzero(first > second)
    equal = first == second
    ties = np.count_nonzero(equal & np.isfinite(first) if limited else equal)
    return float((less + 0.5 * ties) / (less + more + ties))


def _with_probabilities(every: Sequence[_Judged], wanted: Wanted) -> list[_Judged]:
    cheapest = _least(every, "cost", wanted)
    fastest = _least(every, "time", wanted)
    front = _frontier([j.row for j in every])
    return [replace(j, row=replace(
        j.row,
        cheapest=cheapest.get(j.row.candidate.id),
        fastest=fastest.get(j.row.candidate.id),
        in_time=j.in_time,
        on_frontier=j.row.candidate.id in front,
    )) for j in every]  # fmt: skip


def _least(every: Sequence[_Judged], order: Order, wanted: Wanted) -> dict[str, float]:
    """Probability of each to be the cheapest (fastest) of those known to keep the limits."""
    asked, known = replace(wanted, order=order), {}
    for one in every:
        draws = _within(one, asked)
        if draws is not None and one.standing != "not known":
            known[one.row.candidate.id] = draws
    if not known:
        return {}
    table = np.stack(list(known.values()))
    some = np.isfinite(table).any(axis=0)  # where none keeps the limits, none is the cheapest
    if not some.any():
        return dict.fromkeys(known, 0.0)
    shares = probability_cheapest(table if some.all() else table[:, some]) * some.mean()
    return {name: float(p) for name, p in zip(known, shares, strict=True)}


def _frontier(rows: Sequence[Row]) -> frozenset[str]:
    """Those that none beats in both time and cost, by their medians."""
    known = [
        (r.candidate.id, float(r.time.value), float(r.cost.value))
        for r in rows
        if isinstance(r.time, Estimate) and isinstance(r.cost, Estimate)
    ]
    return frozenset(
        name
        for name, time, cost in known
        if not any(t <= time and c <= cost and (t, c) != (time, cost) for _, t, c in known)
    )


def _kept(row: Row, wanted: Wanted) -> NDArray[np.bool_] | None:
    """Draws that meet all limits, shape (DRAWS,); None as in `chance_to_keep`."""
    if not wanted.limited or row.drawn is None:
        return None
    kept: NDArray[np.bool_] = np.ones(DRAWS, dtype=bool)
    if wanted.deadline_s is not None:
        kept &= row.drawn.wall_s <= wanted.deadline_s
    paid = ((row.drawn.to_pay, wanted.budget_usd), (row.drawn.cost, wanted.cost_limit_usd))
    for draws, most in paid:
        if most is None:
            continue
        if draws is None:
            return None
        kept &= draws <= most
    return kept


def _within(one: _Judged, wanted: Wanted) -> Floats | None:
    """Draws of what it is ranked by, infinite where limits are not known to be kept; or None."""
    draws = _draws(one.row, wanted.order)
    if draws is None or not wanted.limited or one.in_time == 1.0:
        return draws
    return np.full(DRAWS, np.inf) if one.kept is None else np.where(one.kept, draws, np.inf)


def _place(one: _Judged, wanted: Wanted) -> tuple[int, float, str]:
    """Standing, then the median; of those that keep the limits a miss counts as infinite."""
    place, name = STANDINGS.index(one.standing), one.row.candidate.id
    middle = _value(one.row, wanted.order) or 0.0
    draws = _within(one, wanted)
    if draws is not None and one.standing == "keeps" and one.in_time not in (None, 1.0):
        lower = (draws.size - 1) // 2
        middle = float(np.partition(draws, lower)[lower])
    return place, middle, name


def _value(row: Row, order: Order) -> float | None:
    told = row.cost if order == "cost" else row.time
    return None if isinstance(told, Refusal) else float(told.value)


def _draws(row: Row, order: Order) -> Floats | None:
    if row.drawn is None:
        return None
    return row.drawn.cost if order == "cost" else row.drawn.wall_s
