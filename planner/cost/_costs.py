"""Cost of a run with its interval, from joint draws of time and prices.

Time and price are drawn together (`planner.cost._times`, `planner.cost._draws`). The formula of
`planner.cost._rent` or `own` is applied to every pair; the result is its median and central share.
Basis and reasons are the time's. Exact inputs give one number.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.core import Estimate, Floats, Refusal
from planner.cost._chances import quantiles
from planner.cost._draws import (
    ONCE,
    Drawing,
    draw_amount,
    draw_record,
)
from planner.cost._own import energy_only_per_run, own_per_run, refuse_owned
from planner.cost._quantities import Amount, likely
from planner.cost._records import Owned, Rental
from planner.cost._rent import lost_share, refuse_rental, rent_per_run
from planner.cost._times import NONE_SHARED, Uncertainty, draw_time

MUCH_LOST: Final = 0.2
"""Above this share of interrupted time the formula of the wall time is more than 3 % too long."""


def cost_of_renting(
    rental: Rental,
    work: Estimate | Refusal,
    *,
    runs_per_month: float = 1.0,
    key: str = "rent",
    uncertainty: Uncertainty = NONE_SHARED,
    drawing: Drawing = ONCE,
) -> Estimate | Refusal:
    """Return the cost of a run on a rented instance [USD].

    If `work` is a time to target, this is the cost of the target.

    Args:
        rental: its ranges are drawn.
        work: what the run takes uninterrupted [s], or a refusal.
        runs_per_month: above 0; they share a commitment.
        key: of the option, such as its name, see `planner.cost.draw_time`.
        uncertainty: degrees of freedom of the time, and its part in common with other options.
        drawing: seed and number of draws.

    Returns:
        The cost with the level, basis and reasons of `work`, or a `Refusal`: the one passed in, or
        if interruptions leave no working time.

    Raises:
        ValueError: a number is out of its bounds.
    """
    if isinstance(work, Refusal):
        return work
    if refusal := refuse_rental(rental):
        return refusal
    time_s = draw_time(work, key, uncertainty, drawing)
    drawn = draw_record(rental, key, drawing)
    return _estimate_of(
        rent_per_run(drawn, time_s, runs_per_month), work, _interrupted(rental), drawing
    )


def cost_of_owning(
    owned: Owned,
    work: Estimate | Refusal,
    utilisation: Amount,
    *,
    key: str = "own",
    uncertainty: Uncertainty = NONE_SHARED,
    drawing: Drawing = ONCE,
) -> Estimate | Refusal:
    """Return the cost of a run on a bought machine [USD], with its part of the year's costs.

    Args:
        owned: its ranges are drawn.
        work: what the run takes on it [s], or a refusal.
        utilisation: share of the year in which it works, on these runs or others, above 0 to 1.
        key: of the option, such as its name, see `planner.cost.draw_time`.
        uncertainty: degrees of freedom of the time, and its part in common with other options.
        drawing: seed and number of draws.

    Returns:
        As `cost_of_renting`; a `Refusal` at life 0 and at utilisations of 0 and above 1.

    Raises:
        ValueError: a number is out of its bounds.
    """
    if isinstance(work, Refusal):
        return work
    if refusal := refuse_owned(owned, likely(utilisation)):
        return refusal
    share = draw_amount(utilisation, f"{key}: utilisation", drawing)
    time_s = draw_time(work, key, uncertainty, drawing)
    return _estimate_of(
        own_per_run(draw_record(owned, key, drawing), time_s, share), work, (), drawing
    )


def cost_of_running(
    owned: Owned,
    work: Estimate | Refusal,
    *,
    key: str = "own",
    uncertainty: Uncertainty = NONE_SHARED,
    drawing: Drawing = ONCE,
) -> Estimate | Refusal:
    """Return the cost of one more run on an owned machine [USD]: its electricity.

    Arguments, answers and errors as `cost_of_owning`.
    """
    if isinstance(work, Refusal):
        return work
    time_s = draw_time(work, key, uncertainty, drawing)
    return _estimate_of(
        energy_only_per_run(draw_record(owned, key, drawing), time_s), work, (), drawing
    )


def _estimate_of(
    cost: Floats, work: Estimate, more_reasons: tuple[str, ...], drawing: Drawing
) -> Estimate:
    return quantiles(
        np.broadcast_to(cost, (drawing.draws,)),
        level=work.level,
        basis=work.basis,
        reasons=(*work.reasons, *more_reasons),
    )


def _interrupted(rental: Rental) -> tuple[str, ...]:
    share = float(np.max(lost_share(rental)))
    if share <= MUCH_LOST:
        return ()
    return (
        f"Interruptions take {100 * share:.0f} % of the rented time; above {100 * MUCH_LOST:.0f} % "
        "its cost is overestimated. Save a checkpoint more often.",
    )
