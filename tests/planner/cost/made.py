"""The machines of docs/decisions/0019-money.md, and hypothesis' machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from planner.core import Estimate, Floats
from planner.cost import Owned, Rental, Uncertainty, draw_time

HOUR: Final = 3600.0
unhurried: Final = settings(deadline=None)
"""A busy machine fails no promise."""
WORKSTATION: Final = Owned(
    price_usd=20_000,
    overhead_share=0.05,
    life_years=2,
    residual_share=0.1,
    rate_of_capital=0.1,
    upkeep_usd_per_year=2_040,
    power_watts=1_000,
    idle_watts=200,
    pue=1.25,
    tariff_usd_per_kwh=0.16,
    kg_co2_per_kwh=0.4,
)
CLOUD: Final = Rental(
    price_per_hour=2.49, billing_increment_s=60, startup_s=300, setup_usd=1, egress_usd=0.45
)
SPOT: Final = Rental(
    price_per_hour=0.99, interruptions_per_hour=0.1, lost_work_s=900, restart_s=300
)


def draw_times(
    times: Mapping[str, Estimate],
    uncertainty: Mapping[str, Uncertainty] | Uncertainty = Uncertainty(),  # noqa: B008 - frozen
) -> Floats:
    """Draws of several options, shape (options, draws), in the order of `times`."""
    by_name = uncertainty if isinstance(uncertainty, Mapping) else dict.fromkeys(times, uncertainty)
    return np.array([draw_time(time, key, by_name[key]) for key, time in times.items()])


def amounts(least: float, most: float) -> st.SearchStrategy[float]:
    return st.floats(least, most, allow_nan=False, allow_infinity=False)


machines: Final = st.builds(
    Owned,
    price_usd=amounts(1, 1e6),
    life_years=amounts(0.5, 10),
    overhead_share=amounts(0, 1),
    residual_share=amounts(0, 1),
    rate_of_capital=amounts(0, 0.5),
    upkeep_usd_per_year=amounts(0, 1e5),
    power_watts=amounts(500, 1e4),
    idle_watts=amounts(0, 500),
    pue=amounts(1, 2),
    tariff_usd_per_kwh=amounts(0, 1),
)
rentals: Final = st.builds(
    Rental,
    price_per_hour=amounts(0.01, 100),
    billing_increment_s=st.sampled_from([0, 1, 60, 3600]),
    minimum_s=amounts(0, 3600),
    setup_usd=amounts(0, 10),
    startup_s=amounts(0, 1000),
    egress_usd=amounts(0, 10),
    interruptions_per_hour=amounts(0, 1),
    lost_work_s=amounts(0, 1000),
    restart_s=amounts(0, 1000),
    committed_hours_per_month=amounts(0, 744),
)
