"""Electricity of a run and its carbon dioxide.

    kilowatts = watts/1000*pue                                   [kW at the meter of the building]
    energy    = (busy + idle*(1 - u)/u)*work/3600                [kWh]
    CO2       = energy*kg per kWh                                [kg]

u is the utilisation: the share of the year in which the machine works. Source: PUE is the power of
the building over that of its machines (ISO/IEC 30134-2). Limits: means of the year; manufacturing
of the machine is not included.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Floats
from planner.cost._quantities import (
    Amount,
    checked,
    likely,
    of_hours,
    product,
)
from planner.cost._records import Owned

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


def co2_kg(owned: Owned, work_s: ArrayLike, utilisation: ArrayLike = 1.0) -> Floats:
    """Return the carbon dioxide of that electricity [kg]; NaN where the grid's is unknown.

    Manufacturing of the machine is not included. Arguments and errors as `energy_kwh`.
    """
    grid = np.nan if owned.kg_co2_per_kwh is None else likely(owned.kg_co2_per_kwh)
    return np.asarray(energy_kwh(owned, work_s, utilisation) * grid)


def waited_hours(utilisation: ArrayLike) -> Floats:
    """Return hours of waiting per hour of work, (1 - u)/u; infinite at u = 0.

    Raises:
        ValueError: a utilisation is not within 0 and 1.
    """
    share = checked("utilisation", utilisation, most=1.0)
    endless = np.full(share.shape, np.inf)
    return np.asarray(np.divide(1.0 - share, share, out=endless, where=share > 0.0))
