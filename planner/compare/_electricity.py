"""Price and carbon of a country's electricity, their age, and who pays.

An entered price counts first, then the country's row of the catalogue, then the default. A price
older than 12 months has the uncertainty of any old price (`stale_price_doubt`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from planner.catalog import Tariff, is_stale
from planner.compare._assumptions import Assumptions
from planner.core import plain
from planner.cost import Range, likely
from planner.job import Candidate

TIED: Final = "electricity"
"""One tariff for all options: its uncertainty cancels between two of them."""
_TYPED: Final = "The price of electricity is your own, {price} USD/kWh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Electricity:
    """A country's electricity as a comparison uses it.

    `priced`: the price is the country's; `stale`: that price is older than 12 months; `typed`: an
    entered price counts instead; `carbon`: the carbon is the country's.
    """

    tariff: Tariff
    priced: bool = False
    typed: bool = False
    stale: bool = False
    carbon: bool = False


def with_electricity(
    assumed: Assumptions, tariff: Tariff, today: date, *, typed: bool = False
) -> tuple[Assumptions, Electricity]:
    """Return the assumptions with the country's price and carbon; an entered number is kept.

    Args:
        assumed: entered numbers, defaults elsewhere.
        tariff: the country's row.
        today: for the age of a price.
        typed: the price was entered, even if equal to the default.
    """
    typed = typed or assumed.tariff_usd_per_kwh != Assumptions().tariff_usd_per_kwh
    price, carbon = tariff.price_usd_per_kwh, tariff.carbon_kg_per_kwh
    priced = price is not None and not typed
    greener = carbon is not None and assumed.kg_co2_per_kwh is None
    used = replace(
        assumed,
        tariff_usd_per_kwh=price if price is not None and priced else assumed.tariff_usd_per_kwh,
        kg_co2_per_kwh=carbon if greener else assumed.kg_co2_per_kwh,
    )
    as_of = tariff.price_as_of
    old = priced and (as_of is None or is_stale(as_of, today))
    return used, Electricity(tariff=tariff, priced=priced, typed=typed, stale=old, carbon=greener)


def with_tariff_uncertainty(
    candidates: Sequence[Candidate], assumed: Assumptions, electricity: Electricity | None
) -> list[Candidate]:
    """Return the candidates; an old tariff gets the uncertainty of an old price."""
    wide = max(assumed.stale_price_doubt, assumed.capital_doubt)
    price = assumed.tariff_usd_per_kwh
    if electricity is None or not electricity.stale or not wide or not price:
        return list(candidates)
    around = Range(price * (1.0 - wide), price, price * (1.0 + wide), TIED)
    return [
        c if c.owned is None or float(likely(c.owned.tariff_usd_per_kwh)) != price
        else replace(c, owned=replace(c.owned, tariff_usd_per_kwh=around))
        for c in candidates
    ]  # fmt: skip


def electricity_lines(assumed: Assumptions, electricity: Electricity | None) -> list[str]:
    """Return sentences on price and carbon: country, date, source and caveats."""
    if electricity is None:
        return []
    row = electricity.tariff
    lines = [_price_line(assumed, electricity)]
    if electricity.priced and row.customer == "household":
        lines.append(
            f"{row.country}'s is a household price with all taxes. A firm pays less, and "
            "any tax that you add comes on top."
        )
    if electricity.stale:
        lines.append(
            "That price is over 12 months old; assumed accurate to ± "
            f"{max(assumed.stale_price_doubt, assumed.capital_doubt):.0%}.".replace("%", " %")
        )
    if electricity.carbon:
        seen = f", {row.carbon_as_of:%b %Y}" if row.carbon_as_of else ""
        lines.append(
            f"Carbon of the electricity: {row.country}{seen}{_from(row.carbon_source_url)}."
        )
    return lines


def electricity_pages(electricity: Electricity | None) -> list[str]:
    """Return the web addresses in `electricity_lines`, to show them as links."""
    if electricity is None:
        return []
    row = electricity.tariff
    pages = (
        (row.price_source_url, electricity.priced),
        (row.carbon_source_url, electricity.carbon),
    )
    return [page for page, used in pages if page and used]


def price_words(electricity: Electricity) -> str:
    """Return the origin of a price for a table: 'Germany, household, Jan 2025'."""
    row = electricity.tariff
    seen = f"{row.price_as_of:%b %Y}" if row.price_as_of else ""
    old = "older than 12 months" if electricity.stale else ""
    return ", ".join(p for p in (row.country, row.customer or "", seen, old) if p)


def _price_line(assumed: Assumptions, electricity: Electricity) -> str:
    row, price = electricity.tariff, assumed.tariff_usd_per_kwh
    if electricity.typed:
        return f"{_TYPED.format(price=plain(price))}, not that of {row.country}."
    if not electricity.priced:
        return (
            f"No price of electricity is known for {row.country}; the default of {plain(price)} "
            "USD/kWh is used. Enter the price that is paid there."
        )
    return f"Price of electricity: {price_words(electricity)}{_from(row.price_source_url)}."


def _from(address: str) -> str:
    return f", from {address}" if address else ""
