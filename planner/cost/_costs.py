"""Cost of a run with its interval, from joint draws of time and prices.

The interval of a cost is not the interval of the time times that of the price: both are drawn
(`planner.cost._times`, `planner.cost._draws`), the formula of `planner.cost._rent` or `own` is
asked
for every pair, and the median and central share of what it says are told. Basis and reasons are the
time's. With numbers only and an interval of no width the answer is one number.
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
    doubt: Uncertainty = NONE_SHARED,
    drawing: Drawing = ONCE,
) -> Estimate | Refusal:
    """Return what a run costs on a rented instance [USD].

    Where `work` is a time to target, the target.

    Args:
        rental: its ranges are drawn.
        work: what the run takes uninterrupted [s], or why that is not known.
        runs_per_month: above 0; they share a commitment.
        key: of the option, such as its name, see `planner.cost.draw_time`.
        doubt: degrees of freedom of the time, and what it shares with other options.
        drawing: seed and number of draws.

    Returns:
        The cost with the level, basis and reasons of `work`, or a `Refusal`: the one given, or
        where interruptions leave nothing of an hour.

    Raises:
        ValueError: a number is out of its bounds.
    """
    if isinstance(work, Refusal):
        return work
    if refusal := refuse_rental(rental):
        return refusal
    time_s = draw_time(work, key, doubt, drawing)
    drawn = draw_record(rental, key, drawing)
    return _told(rent_per_run(drawn, time_s, runs_per_month), work, _interrupted(rental), drawing)


def cost_of_owning(
    owned: Owned,
    work: Estimate | Refusal,
    utilisation: Amount,
    *,
    key: str = "own",
    doubt: Uncertainty = NONE_SHARED,
    drawing: Drawing = ONCE,
) -> Estimate | Refusal:
    """Return what a run costs on a machine to be bought [USD], its part of the year's costs included.

    Args:
        owned: its ranges are drawn.
        work: what the run takes on it [s], or why that is not known.
        utilisation: share of the year in which it works, with these runs or others, above 0 to 1.
        key: of the option, such as its name, see `planner.cost.draw_time`.
        doubt: degrees of freedom of the time, and what it shares with other options.
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
    time_s = draw_time(work, key, doubt, drawing)
    return _told(own_per_run(draw_record(owned, key, drawing), time_s, share), work, (), drawing)


def cost_of_running(
    owned: Owned,
    work: Estimate | Refusal,
    *,
    key: str = "own",
    doubt: Uncertainty = NONE_SHARED,
    drawing: Drawing = ONCE,
) -> Estimate | Refusal:
    """Return what one more run costs on a machine that is owned already [USD]: its electricity.

    Arguments, answers and errors as `cost_of_owning`.
    """
    if isinstance(work, Refusal):
        return work
    time_s = draw_time(work, key, doubt, drawing)
    return _told(energy_only_per_run(draw_record(owned, key, drawing), time_s), work, (), drawing)


def _told(
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
        "its cost is told too high. Save a checkpoint more often.",
    )
