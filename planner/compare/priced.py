"""Why this file exists: a price and what is assumed, as records of `planner.cost`."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from planner.catalog import Offer
from planner.compare.assumptions import Assumptions
from planner.compare.records import Hardware
from planner.cost import HOURS_PER_MONTH, Owned, Range, Rental

_KEPT: Final = 4096
"""Records of each kind: every question prices the whole catalogue, mostly as the last one did."""


@lru_cache(_KEPT)
def rental_of(price: float, assumed: Assumptions, doubt: float, offer: Offer | None) -> Rental:
    """A price per hour [USD] with what is assumed about renting.

    Spot ones are interrupted; what is reserved is paid for all hours of every month.
    """
    spot = offer is not None and offer.terms == "spot"
    increment = offer.billing_increment_s if offer else None
    return Rental(
        price_per_hour=around(price, doubt, f"rental price, {offer.id}" if offer else ""),
        billing_increment_s=1.0 if increment is None else increment,
        minimum_s=assumed.minimum_s,
        setup_usd=assumed.setup_usd,
        startup_s=assumed.startup_s,
        egress_usd=assumed.egress_usd,
        interruptions_per_hour=assumed.interruptions_per_hour if spot else 0.0,
        lost_work_s=assumed.lost_work_s if spot else 0.0,
        restart_s=assumed.restart_s if spot else 0.0,
        committed_hours_per_month=HOURS_PER_MONTH if committed_for(offer) else 0.0,
    )


def machine_of(hardware: Hardware, price: float, assumed: Assumptions, doubt: float = 0.0) -> Owned:
    """A machine of one's own around the accelerators; power that is not known counts as none."""
    return _machine(hardware.power_watts or 0.0, price, assumed, doubt)


@lru_cache(_KEPT)
def _machine(accelerators_watts: float, price: float, assumed: Assumptions, doubt: float) -> Owned:
    watts = accelerators_watts * (1.0 + assumed.host_watts_share)
    far = assumed.capital_doubt
    return Owned(
        price_usd=around(price, doubt, ""),
        life_years=around(assumed.life_years, far, "life of a machine"),
        power_watts=watts,
        idle_watts=watts * assumed.idle_watts_share,
        tariff_usd_per_kwh=around(assumed.tariff_usd_per_kwh, far, "electricity"),
        overhead_share=assumed.host_price_share,
        residual_share=assumed.residual_share,
        rate_of_capital=assumed.rate_of_capital,
        pue=assumed.pue,
        upkeep_usd_per_year=around(price * assumed.upkeep_share, far, ""),
        kg_co2_per_kwh=assumed.kg_co2_per_kwh,
    )


def committed_for(offer: Offer | None) -> str:
    """How long a reserved offer is paid for: '3 years'; "" where only used hours are paid."""
    terms = offer.terms if offer else ""
    return terms.removeprefix("reserved ") if terms.startswith("reserved ") else ""


def years_committed(offer: Offer | None) -> float:
    """Years that a reserved offer is paid for; 0 where only used hours are paid."""
    words = committed_for(offer).split()
    return float(words[0]) if words else 0.0


def around(value: float, doubt: float, name: str) -> float | Range:
    """A value with its doubt; the name ties ranges that are one quantity."""
    if doubt == 0.0 or value == 0.0:
        return value
    return Range(value * (1.0 - doubt), value, value * (1.0 + doubt), name)
