"""What electricity does a run take, and what does that leave in the air?

    kilowatts = watts/1000*pue                                   [kW at the meter of the building]
    energy    = (busy + idle*(1 - u)/u)*work/3600                [kWh]
    CO2       = energy*kg per kWh                                [kg]

u is the utilisation: the share of the year in which the machine works. Source: PUE is the power of
the building over that of its machines (ISO/IEC 30134-2). Limits: means of the year; the making of
the machine is not in it.
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
    """Power at the meter of the building [kW]: `watts` of the machine times PUE."""
    return np.asarray(likely(watts) / WATTS_PER_KILOWATT * likely(owned.pue))


def energy_kwh(owned: Owned, work_s: ArrayLike, utilisation: ArrayLike = 1.0) -> Floats:
    """Electricity of a run at the meter of the building [kWh].

    Args:
        owned: the machine.
        work_s: what the run takes [s], at least 0.
        utilisation: above 0, to count the waiting that belongs to the run; 1 counts none.

    Raises:
        ValueError: a time is negative or not a number, a utilisation not within 0 and 1.
    """
    waiting = product(kilowatts(owned, owned.idle_watts), waited_hours(utilisation))
    return of_hours(work_s, kilowatts(owned, owned.power_watts) + waiting)


def co2_kg(owned: Owned, work_s: ArrayLike, utilisation: ArrayLike = 1.0) -> Floats:
    """Carbon dioxide of that electricity [kg]; NaN where the grid's is not known.

    The making of the machine is not in it. Arguments and errors as `energy_kwh`.
    """
    grid = np.nan if owned.kg_co2_per_kwh is None else likely(owned.kg_co2_per_kwh)
    return np.asarray(energy_kwh(owned, work_s, utilisation) * grid)


def waited_hours(utilisation: ArrayLike) -> Floats:
    """Hours of waiting per hour of work, (1 - u)/u; infinite at u = 0.

    Raises:
        ValueError: a utilisation is not within 0 and 1.
    """
    share = checked("utilisation", utilisation, most=1.0)
    endless = np.full(share.shape, np.inf)
    return np.asarray(np.divide(1.0 - share, share, out=endless, where=share > 0.0))
