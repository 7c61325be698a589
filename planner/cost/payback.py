"""When has a machine of one's own paid for itself?

    running = runs*energy of a run + idle energy of the other hours + upkeep/12   [USD/month]
    payback = capex/(runs*rent of a run - running)                                [months]

The plain payback: without interest, and without what the machine is worth in the end; `life_years`
says whether it lasts that long. A month has 730 hours. Limits: every month is like every other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.cost.chances import quantiles
from planner.cost.display import DOLLARS, Display, money
from planner.cost.draws import ONCE, Drawing, draw_record
from planner.cost.own import (
    busy_energy_per_hour,
    capex,
    idle_energy_per_hour,
    refuse_owned,
    utilisation_of,
)
from planner.cost.quantities import HOURS_PER_MONTH, checked, likely, product
from planner.cost.records import Owned
from planner.estimate import LEVEL, Basis, Estimate, Floats, Refusal

MONTHS_PER_YEAR: Final = 12.0


def running_per_month(owned: Owned, work_s: ArrayLike, runs_per_month: ArrayLike) -> Floats:
    """Electricity and upkeep of a month in which one machine does so many runs [USD/month].

    Args:
        owned: the machine.
        work_s: what a run takes on it, at least 0 [s].
        runs_per_month: at least 0. All broadcast; more than one machine can do is infinite.

    Raises:
        ValueError: a number is negative or not a number.
    """
    share = utilisation_of(work_s, runs_per_month)
    busy = HOURS_PER_MONTH * np.minimum(share, 1.0)
    energy = product(busy, busy_energy_per_hour(owned))
    waiting = product(HOURS_PER_MONTH - busy, idle_energy_per_hour(owned))
    upkeep = likely(owned.upkeep_usd_per_year) / MONTHS_PER_YEAR
    return np.where(share <= 1.0, energy + waiting + upkeep, np.inf)


def payback_months(
    owned: Owned, rent_per_run: ArrayLike, work_s: ArrayLike, runs_per_month: ArrayLike
) -> Floats:
    """Months until what is not spent on rent has paid for the machine [months].

    Args:
        owned: the machine that would be bought.
        rent_per_run: what a run costs where it is rented now, at least 0 [USD].
        work_s: what a run takes on the machine to be bought, at least 0 [s].
        runs_per_month: at least 0. All broadcast.

    Returns:
        capex/(rent - running) in the broadcast shape; infinite where running costs no less than
        renting, or one machine cannot do so many runs.

    Raises:
        ValueError: a number is negative or not a number.
    """
    rent = product(checked("runs_per_month", runs_per_month), checked("rent_per_run", rent_per_run))
    running = running_per_month(owned, work_s, runs_per_month)
    paid, rent, running = np.broadcast_arrays(capex(owned), rent, running)
    never = np.full(paid.shape, np.inf)
    saved = np.subtract(rent, running, out=np.zeros(paid.shape), where=np.isfinite(running))
    with np.errstate(over="ignore"):  # next to nothing saved is as good as nothing
        return np.asarray(np.divide(paid, saved, out=never, where=saved > 0.0))


def payback(
    owned: Owned,
    rent_per_run: ArrayLike,
    work_s: ArrayLike,
    runs_per_month: float,
    *,
    key: str = "own",
    level: float = LEVEL,
    basis: Basis = "published",
    display: Display = DOLLARS,
    drawing: Drawing = ONCE,
) -> Estimate | Refusal:
    """Months until the machine has paid for itself, with their interval [months].

    Arguments as `payback_months`, where `rent_per_run` and `work_s` are numbers or draws of shape
    (draws,), and as `break_even`.

    Returns:
        An `Estimate`, with a reason where the machine is worn out sooner; a `Refusal` where the
        runs keep more than one machine busy, or the middle draw saves nothing.

    Raises:
        ValueError: a number is negative or not a number.
    """
    busy = float(np.median(utilisation_of(work_s, runs_per_month)))
    if refusal := refuse_owned(owned, max(1.0, busy)):
        return refusal
    drawn = draw_record(owned, key, drawing)
    months = np.broadcast_to(
        payback_months(drawn, rent_per_run, work_s, runs_per_month), (drawing.draws,)
    )
    told = quantiles(months, level=level, basis=basis)
    if np.isinf(told.value):
        rent, run = (
            float(np.median(cost))
            for cost in (
                runs_per_month * checked("rent_per_run", rent_per_run),
                running_per_month(drawn, work_s, runs_per_month),
            )
        )
        return _saves_nothing(rent, run, display)
    life = MONTHS_PER_YEAR * float(likely(owned.life_years))
    worn = (f"It is worn out sooner: after {life:g} months.",) if told.value > life else ()
    return replace(told, reasons=worn)


def _saves_nothing(rent_per_month: float, run_per_month: float, display: Display) -> Refusal:
    return Refusal(
        reason=f"A month of these runs costs {money(rent_per_month, display)} rented, and "
        f"{money(run_per_month, display)} for electricity and upkeep of an own machine: nothing is "
        "saved that could pay for it.",
        measure_next="Ask for more runs a month, or compare it with another rental.",
    )
