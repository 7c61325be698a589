"""Utilisation above which an owned machine is cheaper than renting.

    hourly(u) = A/(8760 u) + busy + idle*(1 - u)/u       own, `planner.cost._own`  [USD/busy hour]
    c         = cost of renting for the work of one busy hour                     [USD/busy hour]
    u*        = (A + 8760 idle)/(8760*(c - busy + idle))     where hourly(u*) = c

With idle = 0 that is u* = A/(8760 (c - energy)), the usual form. c is per unit of work, not per
clock hour: a rented machine at half the speed costs two of its hours. Interruptions, start-up and
set-up are in `planner.cost.per_hour_of_work`.

Limits: a commitment makes c depend on the use; then compare costs of a month instead. Needed use is
a share of one machine: above 1 buying never pays off, and is refused.

Costs are also given per unit of work: an epoch, an hour. The work of a run to a target is the time
to the target, so its cost is the cost of the target.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import HOUR_S, Estimate, Floats, Refusal, Text, paragraph
from planner.cost._display import DOLLARS, Display, price
from planner.cost._draws import DRAWS, draw_amount, draw_record, quantiles
from planner.cost._own import (
    busy_energy_per_hour,
    cost_per_busy_hour,
    fixed_per_year,
    idle_energy_per_hour,
    refuse_owned,
)
from planner.cost._records import HOURS_PER_YEAR, Amount, Owned, checked


def per_hour_of_work(cost_of_run: ArrayLike, work_s: ArrayLike) -> Floats:
    """Return the cost of an hour of undisturbed work [USD/h].

    Start-up, lost work and set-up are in it.

    Args:
        cost_of_run: at least 0 [USD], any shape.
        work_s: uninterrupted duration of the run [s], above 0.

    Raises:
        ValueError: a cost is negative or not a number, or there is no work.
    """
    cost, work = checked("cost_of_run", cost_of_run), checked("work_s", work_s)
    if not ((work > 0.0) & np.isfinite(work)).all():
        raise ValueError("work_s must be finite and above 0 to share a cost. Leave these out.")
    return np.asarray(cost / work) * HOUR_S


EVEN_PERCENT: Final = 45
NEGOTIATE: Final = "Negotiate a lower price of the machine, or compare it with another rental."


def break_even_utilisation(owned: Owned, rent_per_busy_hour: ArrayLike) -> Floats:
    """Return u*, the share of the year above which owning is cheaper [share].

    Args:
        owned: its quantities scalar, or arrays that broadcast.
        rent_per_busy_hour: c, at least 0 [USD].

    Returns:
        In the broadcast shape: above 1 where the year has too few hours, infinite where renting
        costs no more than the electricity or the machine lasts 0 years.

    Raises:
        ValueError: a price is negative or not a number.
    """
    rent = checked("rent_per_busy_hour", rent_per_busy_hour)
    idle, fixed = idle_energy_per_hour(owned), fixed_per_year(owned)
    spared, a_year = np.broadcast_arrays(
        rent - busy_energy_per_hour(owned) + idle, fixed + HOURS_PER_YEAR * idle
    )
    never = np.full(spared.shape, np.inf)
    pays = (spared > 0.0) & np.isfinite(a_year)
    with np.errstate(over="ignore"):  # next to nothing spared is as good as nothing
        return np.asarray(np.divide(a_year, HOURS_PER_YEAR * spared, out=never, where=pays))


def break_even(
    owned: Owned, rent_per_busy_hour: Amount, *, key: str = "own", display: Display = DOLLARS
) -> Estimate | Refusal:
    """Return the share of the year that the machine must work for owning to be cheaper [share].

    Args:
        owned: its ranges are drawn.
        rent_per_busy_hour: cost of renting for the work of one busy hour [USD]: a number, a
            range, or draws of shape (draws,).
        key: of the machine, see `planner.cost._draws`.
        display: currency of the sentences.

    Returns:
        An `Estimate`, or a `Refusal` if owning never pays off in the middle draw: the rent is at
        most the electricity, the year has too few hours, or the life is 0.

    Raises:
        ValueError: a price is negative or not a number.
    """
    if refusal := refuse_owned(owned, 1.0):
        return refusal
    drawn = draw_record(owned, key)
    rent = draw_amount(rent_per_busy_hour, f"{key}: rent")
    needed = np.broadcast_to(break_even_utilisation(drawn, rent), (DRAWS,))
    utilisation = quantiles(needed)
    can_pay = float((needed <= 1.0).mean())
    if float(utilisation.value) > 1.0:
        return _never(drawn, rent, can_pay, display)
    return replace(utilisation, reasons=_some_never(can_pay))


def _some_never(can_pay: float) -> tuple[str, ...]:
    if can_pay == 1.0:
        return ()
    share = "less than 1" if can_pay > 0.99 else f"{100 * (1.0 - can_pay):.0f}"
    return (
        Text(
            "In {share} % of the draws buying never pays off, however busy the machine is.",
            share=share,
        ),
    )


def _never(drawn: Owned, rent: Floats, can_pay: float, display: Display) -> Refusal:
    """Return why the middle draw has no break-even.

    Electricity alone, or too few hours in a year.
    """
    energy, full, hired = (
        float(np.median(amount))
        for amount in (busy_energy_per_hour(drawn), cost_per_busy_hour(drawn, 1.0), rent)
    )
    rented, owned = price(hired, display), price(full, display)
    if hired <= energy:
        why = Text(
            "An hour of the bought machine's work costs {rented} rented, no more than its own "
            "electricity ({energy}).",
            rented=rented,
            energy=price(energy, display),
        )
    elif hired <= full:
        why = Text(
            "An hour of the bought machine's work costs {rented} rented and {owned} owned, even "
            "if it is busy all year.",
            rented=rented,
            owned=owned,
        )
    else:  # medians of many draws are not one case: their order may differ
        why = Text(
            "An hour of the bought machine's work costs {rented} rented and a median of {owned} "
            "owned if it is busy all year.",
            rented=rented,
            owned=owned,
        )
    return Refusal(reason=paragraph(why, _unlikely(can_pay)), measure_next=NEGOTIATE)


def _unlikely(can_pay: float) -> str:
    """Return a probability below 50 %, in words."""
    percent = round(100.0 * can_pay)
    if percent >= EVEN_PERCENT:
        return Text("Buying has an even chance of paying off ({percent} %).", percent=percent)
    if percent:
        return Text("Buying is unlikely to pay off ({percent} % chance).", percent=percent)
    return "Buying does not pay off."
