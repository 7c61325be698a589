"""Price and carbon of a country's electricity, their age, and who pays.

An entered price counts; then the country's row of the catalogue; then the usual assumption. A
price older than 12 months is doubted as any old price is (`stale_price_doubt`).
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
_TYPED: Final = "The price of electricity is the one that was typed, {price} USD/kWh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Electricity:
    """A country's electricity as a comparison uses it.

    `priced` says that the price is the country's, `stale` that this price is older than 12 months;
    `typed` that an entered price counts instead. `carbon` says that its carbon counts.
    """

    tariff: Tariff
    priced: bool = False
    typed: bool = False
    stale: bool = False
    carbon: bool = False


def with_electricity(
    assumed: Assumptions, tariff: Tariff, today: date, *, typed: bool = False
) -> tuple[Assumptions, Electricity]:
    """The assumptions with what of the country's row counts; a typed number is kept.

    Args:
        assumed: with what was typed, the usual numbers elsewhere.
        tariff: the country's row.
        today: the day from which the age of a price is counted.
        typed: the price was typed, be it the usual one; one that is not the usual always was.
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


def doubted(
    candidates: Sequence[Candidate], assumed: Assumptions, electricity: Electricity | None
) -> list[Candidate]:
    """Return the candidates, with the uncertainty of an old price where the tariff is old."""
    wide = max(assumed.stale_price_doubt, assumed.capital_doubt)
    price = assumed.tariff_usd_per_kwh
    if electricity is None or not electricity.stale or not wide or not price:
        return list(candidates)
    around = Range(price * (1.0 - wide), price, price * (1.0 + wide), TIED)
    return [
        one if one.owned is None or float(likely(one.owned.tariff_usd_per_kwh)) != price
        else replace(one, owned=replace(one.owned, tariff_usd_per_kwh=around))
        for one in candidates
    ]  # fmt: skip


def electricity_lines(assumed: Assumptions, electricity: Electricity | None) -> list[str]:
    """Whose price and carbon they are, from when and where, and what a reader must mind."""
    if electricity is None:
        return []
    row = electricity.tariff
    lines = [_price_line(assumed, electricity)]
    if electricity.priced and row.customer == "household":
        lines.append(
            f"{row.country}'s is a household's price with all taxes: a firm pays less, and "
            "tax that is added to what is shown comes on top of these."
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
    """The web addresses in `electricity_lines`, to show them as links."""
    if electricity is None:
        return []
    row = electricity.tariff
    pages = (
        (row.price_source_url, electricity.priced),
        (row.carbon_source_url, electricity.carbon),
    )
    return [page for page, told in pages if page and told]


def price_words(electricity: Electricity) -> str:
    """'Germany, household, Jan 2025': whose price it is, for a table."""
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
            f"No price of electricity is known for {row.country}: the usual {plain(price)} USD/kWh "
            "is taken. Type the one that is paid there."
        )
    return f"Price of electricity: {price_words(electricity)}{_from(row.price_source_url)}."


def _from(address: str) -> str:
    return f", from {address}" if address else ""
