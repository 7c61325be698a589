"""From which use on does buying pay off against the best rental, and what does a month cost?

The formulas are those of `planner.cost.break_even`, read off the draws of the comparison: the rent
is for the work of one hour on the bought machine, however fast the rented one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.compare.reckon import Comparison, Row
from planner.cost import (
    HOURS_PER_MONTH,
    BreakEven,
    break_even,
    break_even_runs_per_month,
    busy_energy_per_hour,
    draw_record,
    fixed_per_year,
    per_hour_of_work,
    quantiles,
    rent_per_month,
)
from planner.estimate import Estimate, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class RentOrBuy:
    """A rented and a bought candidate, and from which use on buying is cheaper.

    `use` is the share of the time the machine must work, `runs_per_month` so many of these runs;
    both are refusals where buying never pays off.
    """

    rent: Row
    buy: Row
    use: BreakEven | Refusal
    runs_per_month: Estimate | Refusal


def rent_or_buy(told: Comparison) -> RentOrBuy | None:
    """The best rented against the best bought candidate; None where one of them is missing."""
    rent = _first(told, "rent")
    buy = _first(told, "buy")
    if rent is None or buy is None or rent.drawn is None or buy.drawn is None:
        return None
    owned, cost, work = buy.candidate.owned, rent.drawn.cost, buy.drawn.work_s
    if owned is None or cost is None:
        return None
    per_hour = np.asarray(per_hour_of_work(cost, work))
    use = break_even(owned, per_hour, key=buy.candidate.id, basis="published")
    runs: Estimate | Refusal
    if isinstance(use, Refusal):
        runs = use
    else:
        needed = draw_record(owned, buy.candidate.id)
        runs = quantiles(break_even_runs_per_month(needed, cost, work))
    return RentOrBuy(rent=rent, buy=buy, use=use, runs_per_month=runs)


def monthly_cost(row: Row, runs_per_month: Sequence[float]) -> Estimate | None:
    """Cost of a month [USD] at numbers of runs, shape (numbers,); None where it is not known.

    Of a bought candidate so many machines are counted as the runs keep busy.
    """
    if row.drawn is None or row.drawn.cost is None:
        return None
    runs = np.asarray(runs_per_month, dtype=np.float64)[:, None]
    one = row.candidate
    if one.rental is not None:
        drawn = draw_record(one.rental, one.id)
        return quantiles(rent_per_month(drawn, row.drawn.work_s, runs))
    if one.owned is None:
        return None
    owned, hours = draw_record(one.owned, one.id), row.drawn.work_s / 3600.0
    fixed = np.asarray(fixed_per_year(owned)) / 12.0 if one.way == "buy" else np.zeros(1)
    machines = np.maximum(np.ceil(np.median(runs * hours, axis=1) / HOURS_PER_MONTH), 1.0)
    energy = runs * hours * busy_energy_per_hour(owned)
    return quantiles(fixed * machines[:, None] + energy)


def _first(told: Comparison, way: str) -> Row | None:
    known = (r for r in told.answered if r.candidate.way == way and isinstance(r.cost, Estimate))
    return next(known, None)
