"""Cost of a run on an owned machine, its electricity and its carbon dioxide.

    CRF     = r / (1 - (1 + r)^-Y), 1/Y at r = 0                      capital recovery [1/year]
    A       = capex*((1 - residual)*CRF + residual*r) + upkeep        [USD/year]
    busy    = power_watts/1000*pue*tariff,  idle likewise             [USD/h]
    energy  = busy + idle*(1 - u)/u                                   [USD per busy hour]
    hourly  = A/(8760 u) + energy                                     [USD per busy hour]
    run     = hourly*work/3600                                        [USD]
    energy  = (busy + idle*(1 - u)/u)*work/3600, without the tariff   [kWh]
    CO2     = energy*kg per kWh                                       [kg]

with capex = price*(1 + overhead), life Y [years], rate r [1/year], utilisation u [share of the
8,760 hours of a year in which it works].

(1 - residual)*CRF + residual*r equals the usual (1 - residual/(1 + r)^Y)*CRF, and is exact where
residual is 1 (only interest is paid) and r is 0. Sources: capital recovery with salvage value, any
text on engineering economics; the split into fixed and busy hours, data centre cost models; PUE,
the power of the building over that of its machines, ISO/IEC 30134-2.

Limits: equal years, no inflation, no tax on profit; power and utilisation are means of the year;
CO2 of manufacturing is not included. A life of 0 years has no hour to work in: infinity here, a
sentence by `refuse_owned`.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import HOUR_S, Floats, Refusal, Text, paragraph
from planner.cost._records import (
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    Amount,
    Owned,
    checked,
    likely,
    of_hours,
    product,
)

WATTS_PER_KILOWATT: Final = 1000.0


def kilowatts(owned: Owned, watts: Amount) -> Floats:
    """Return the power at the meter of the building [kW]: `watts` of the machine times PUE."""
    return np.asarray(likely(watts) / WATTS_PER_KILOWATT * likely(owned.pue))


def energy_kwh(owned: Owned, work_s: ArrayLike, utilisation: ArrayLike = 1.0) -> Floats:
    """Return the electricity of a run at the meter of the building [kWh].

    Args:
        owned: the machine.
        work_s: duration of the run [s], at least 0.
        utilisation: above 0, to include the run's share of idle time; 1 includes none.

    Raises:
        ValueError: a time is negative or not a number, a utilisation not within 0 and 1.
    """
    waiting = product(kilowatts(owned, owned.idle_watts), waited_hours(utilisation))
    return of_hours(work_s, kilowatts(owned, owned.power_watts) + waiting)


def co2_kg(owned: Owned, work_s: ArrayLike) -> Floats:
    """Return the carbon dioxide of that electricity [kg]; NaN where the grid's is unknown.

    Manufacturing of the machine is not included. Arguments and errors as `energy_kwh`.
    """
    grid = np.nan if owned.kg_co2_per_kwh is None else likely(owned.kg_co2_per_kwh)
    return np.asarray(energy_kwh(owned, work_s) * grid)


def waited_hours(utilisation: ArrayLike) -> Floats:
    """Return hours of waiting per hour of work, (1 - u)/u; infinite at u = 0.

    Raises:
        ValueError: a utilisation is not within 0 and 1.
    """
    share = checked("utilisation", utilisation, most=1.0)
    endless = np.full(share.shape, np.inf)
    return np.asarray(np.divide(1.0 - share, share, out=endless, where=share > 0.0))


STRAIGHT: Final = 1e-8
"""Below this Y ln(1 + r), 1 - (1 + r)^-Y is a straight line to 16 digits; the quotient of two
numbers next to 0 (a rate of 5e-324) is not."""
HOURS_LEFT: Final = "Give the working hours per year over 8,760."


def capital_recovery(rate_of_capital: ArrayLike, life_years: ArrayLike) -> Floats:
    """Return the yearly payment that pays 1 back with interest over a life [1/year].

    Args:
        rate_of_capital: r, at least 0 [1/year].
        life_years: Y, at least 0 [years].

    Returns:
        r/(1 - (1 + r)^-Y) in the broadcast shape, at least 1/Y and at least r; 1/Y at r = 0,
        infinite at Y = 0, r as Y grows.

    Raises:
        ValueError: a number is negative or not a number.
    """
    rate, years = np.broadcast_arrays(
        checked("rate_of_capital", rate_of_capital), checked("life_years", life_years)
    )
    continuous = np.log1p(rate)
    grown = product(years, continuous)
    simple = np.divide(rate, continuous, out=np.ones(rate.shape), where=continuous > 0.0)
    with np.errstate(over="ignore"):  # a life of next to nothing is as dear as none
        yearly = np.divide(1.0, years, out=np.full(years.shape, np.inf), where=years > 0.0)
        recovery = np.asarray(yearly * simple * (1.0 + 0.5 * np.minimum(grown, STRAIGHT)))
    return np.asarray(np.divide(rate, -np.expm1(-grown), out=recovery, where=grown > STRAIGHT))


def capex(owned: Owned) -> Floats:
    """Return the initial payment: price and overhead [USD]."""
    return np.asarray(likely(owned.price_usd) * (1.0 + likely(owned.overhead_share)))


def fixed_per_year(owned: Owned) -> Floats:
    """Return a: capital and upkeep of a year, whether it works or not [USD/year].

    Infinite at life 0.
    """
    years, kept = likely(owned.life_years), likely(owned.residual_share)
    rate = likely(owned.rate_of_capital)
    recovery = capital_recovery(rate, np.where(years > 0.0, years, 1.0))
    capital = capex(owned) * ((1.0 - kept) * recovery + kept * rate)
    return np.where(years > 0.0, capital + likely(owned.upkeep_usd_per_year), np.inf)


def busy_energy_per_hour(owned: Owned) -> Floats:
    """Return the electricity of an hour of work [USD/h]."""
    return kilowatts(owned, owned.power_watts) * likely(owned.tariff_usd_per_kwh)


def idle_energy_per_hour(owned: Owned) -> Floats:
    """Return the electricity of an hour of waiting [USD/h]."""
    return kilowatts(owned, owned.idle_watts) * likely(owned.tariff_usd_per_kwh)


def energy_per_busy_hour(owned: Owned, utilisation: ArrayLike) -> Floats:
    """Return the electricity per hour of work, idle hours included [USD/h].

    Args:
        owned: the machine.
        utilisation: share of the year in which it works, 0 to 1, any shape.

    Returns:
        In the broadcast shape; infinite at utilisation 0 with idle costs.

    Raises:
        ValueError: a utilisation is not within 0 and 1.
    """
    waiting = product(idle_energy_per_hour(owned), waited_hours(utilisation))
    return np.asarray(busy_energy_per_hour(owned) + waiting)


def cost_per_busy_hour(owned: Owned, utilisation: ArrayLike) -> Floats:
    """Return all that a year costs, per hour of work in it [USD/h].

    Arguments and errors as `energy_per_busy_hour`; infinite at utilisation 0 and at life 0.
    """
    share = checked("utilisation", utilisation, most=1.0)
    fixed = fixed_per_year(owned)
    hours = np.where(share > 0.0, share, 1.0) * HOURS_PER_YEAR
    hourly = fixed / hours + energy_per_busy_hour(owned, share)
    return np.where(share > 0.0, hourly, np.inf)


def own_per_run(owned: Owned, work_s: ArrayLike, utilisation: ArrayLike) -> Floats:
    """Return the cost of one run on a bought machine [USD].

    If `work_s` is the time to a target, this is the cost of the target.

    Args:
        owned: its quantities scalar, or arrays that broadcast with the rest.
        work_s: duration of a run [s], at least 0.
        utilisation: share of the year in which the machine works, on these runs or others.

    Raises:
        ValueError: a time is negative or not a number, a utilisation not within 0 and 1.
    """
    return of_hours(work_s, cost_per_busy_hour(owned, utilisation))


def energy_only_per_run(owned: Owned, work_s: ArrayLike) -> Floats:
    """Return the cost of one more run on an owned machine: its electricity [USD].

    The machine's price is spent anyway. If it would otherwise idle under power, the idle part is no
    extra cost; this is the most that one more run can cost.

    Raises:
        ValueError: a time is negative or not a number.
    """
    return of_hours(work_s, busy_energy_per_hour(owned))


def utilisation_of(work_s: ArrayLike, runs_per_month: ArrayLike) -> Floats:
    """Return the share of time in which the runs keep one machine busy; above 1 is too much.

    Raises:
        ValueError: a number is negative or not a number.
    """
    hours = checked("work_s", work_s) / HOUR_S
    return product(checked("runs_per_month", runs_per_month), hours) / HOURS_PER_MONTH


def refuse_owned(owned: Owned, utilisation: ArrayLike) -> Refusal | None:
    """Return why a bought machine has no cost per hour at this utilisation, or None."""
    share = np.asarray(utilisation, dtype=np.float64)
    if not (likely(owned.life_years) > 0.0).all():
        return Refusal(
            reason="A machine with a life of 0 years has no hour that could carry its price.",
            measure_next="Give the years until it is replaced; 3 to 5 are usual.",
        )
    if not (share > 0.0).all():
        return Refusal(
            reason=Text(
                "At a utilisation of {min:g} there is no hour of work to pay for the machine.",
                min=share.min(),
            ),
            measure_next=HOURS_LEFT,
        )
    if not (share <= 1.0).all():
        return Refusal(
            reason=Text(
                "A utilisation of {max:.3g} is more than a machine has hours: "
                "{ceil:.0f} of them would be needed.",
                max=share.max(),
                ceil=np.ceil(share.max()),
            ),
            measure_next=paragraph(HOURS_LEFT, "Or divide the runs among several machines."),
        )
    return None
