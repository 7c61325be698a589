"""The jobs and machines of docs/decisions/0052-capacity.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from planner.capacity import Machine, MonthlyJob, RunTime, Simulation
from planner.cost import DRAWS, Owned, Rental, likely, quantiles

HOUR_S: Final = 3600.0
OWNED: Final = Machine(
    id="own", label="8 x A (owned)", term="owned", accelerators=8,
    owned=Owned(price_usd=0.0, life_years=4.0, power_watts=5000.0, idle_watts=1000.0, pue=1.2,
                tariff_usd_per_kwh=0.2, upkeep_usd_per_year=1200.0),
)  # fmt: skip
BOUGHT: Final = Machine(
    id="buy", label="8 x A (bought)", term="bought", accelerators=8,
    owned=Owned(price_usd=100_000.0, life_years=4.0, residual_share=0.1, power_watts=5000.0,
                idle_watts=1000.0, pue=1.2, tariff_usd_per_kwh=0.2, upkeep_usd_per_year=1200.0),
)  # fmt: skip
RESERVED: Final = Machine(
    id="reserved", label="8 x A (reserved)", term="reserved", accelerators=8, committed_years=1,
    rental=Rental(price_per_hour=10.0),
)  # fmt: skip
RENTED: Final = Machine(
    id="rent", label="8 x A (rented)", term="on demand", accelerators=8,
    rental=Rental(price_per_hour=20.0, startup_s=360.0),
)  # fmt: skip
SPOT: Final = Machine(
    id="spot", label="8 x A (spot)", term="spot", accelerators=8,
    rental=Rental(price_per_hour=8.0, interruptions_per_hour=0.1, lost_work_s=600.0,
                  restart_s=300.0),
)  # fmt: skip
ALL: Final = (OWNED, BOUGHT, RESERVED, RENTED, SPOT)


def case(
    *jobs: MonthlyJob, machines: tuple[Machine, ...] = ALL, hours: float = 10.0, months: int = 12,
    seed: int = 1, variation: float = 0.0, columns: int = 240,
) -> Simulation:  # fmt: skip
    """Jobs of one duration on every machine."""
    work = np.full(DRAWS, hours * HOUR_S)
    time = RunTime(time=quantiles(work), work_s=work,
                   accelerators=8)  # fmt: skip
    return Simulation(
        jobs=jobs, machines=machines, months=months, seed=seed, variation=variation,
        times={(j.name, m.id): time for j in jobs for m in machines}, columns=columns,
    )  # fmt: skip


def dearer(machine: Machine, factor: float) -> Machine:
    """Return the machine at a price `factor` times as high."""
    if machine.rental is not None:
        price = float(likely(machine.rental.price_per_hour)) * factor
        return replace(machine, rental=replace(machine.rental, price_per_hour=price))
    assert machine.owned is not None
    price = float(likely(machine.owned.price_usd)) * factor
    tariff = float(likely(machine.owned.tariff_usd_per_kwh)) * factor
    return replace(machine, owned=replace(machine.owned, price_usd=price,
                                          tariff_usd_per_kwh=tariff))  # fmt: skip
