"""Assumed values that were not measured: default, unit, limits and reason of each.

Each has a default with a reason, is shown beside every answer, and can be changed. An uncertainty
of 0.1 draws a value from a triangle that reaches 10 % below and above it.

For electricity, an entered price counts first, then the country's row of the catalogue, then the
default. A price older than 12 months has the uncertainty of any old price
(`stale_price_uncertainty`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from planner.catalog import Offer, Tariff, is_stale
from planner.core import Text, percent, plain
from planner.cost import HOURS_PER_MONTH, Owned, Range, Rental, likely
from planner.job import Candidate, Hardware


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What is assumed about use, money and power.

    runs_per_month: how often the run is repeated [1/month].
    other_hours_per_month: for which a bought machine has other work [h/month].
    tariff_usd_per_kwh, kg_co2_per_kwh: of the electricity; CO2 None where unknown.
    pue: power of the building over that of the machine.
    host_watts_share: host, fans and drives, as a share of the accelerators' board power.
    idle_watts_share: power of an idle bought machine, as a share of its full load.
    host_price_share: host, network, tax and installation, as a share of the accelerators' price.
    life_years, residual_share, rate_of_capital: of a bought machine.
    upkeep_share: staff, space and repair a year, as a share of the accelerators' price.
    setup_usd: cost of every run on a rented machine before it starts [USD/run].
    minimum_s: minimum billing time of a run [s].
    startup_s: from the first billed second of a rented machine until work begins.
    egress_usd: data egress [USD/run].
    interruptions_per_hour, lost_work_s, restart_s: of spot instances.
    price_uncertainty, stale_price_uncertainty: of prices below and above 12 months of age [share].
    capital_uncertainty: of life, upkeep and tariff [share].
    """

    runs_per_month: float = 4.0
    other_hours_per_month: float = 0.0
    tariff_usd_per_kwh: float = 0.15
    kg_co2_per_kwh: float | None = None
    pue: float = 1.3
    host_watts_share: float = 0.3
    idle_watts_share: float = 0.15
    host_price_share: float = 0.3
    life_years: float = 4.0
    residual_share: float = 0.1
    rate_of_capital: float = 0.06
    upkeep_share: float = 0.05
    setup_usd: float = 0.0
    minimum_s: float = 60.0
    startup_s: float = 300.0
    egress_usd: float = 0.0
    interruptions_per_hour: float = 0.05
    lost_work_s: float = 900.0
    restart_s: float = 300.0
    price_uncertainty: float = 0.05
    stale_price_uncertainty: float = 0.3
    capital_uncertainty: float = 0.25


@dataclass(frozen=True, slots=True)
class AssumptionText:
    """The label, unit, limits and reason of the default of one assumption."""

    words: str
    unit: str
    least: float
    most: float
    why: str


ASSUMPTION_TEXTS: Final[Mapping[str, AssumptionText]] = MappingProxyType(
    {
        "runs_per_month": AssumptionText("Runs a month", "1/month", 0.01, 1e6, "one a week"),
        "other_hours_per_month": AssumptionText("Other work of a bought machine", "h/month", 0.0,
            730.0, "it is bought for this job alone"),
        "tariff_usd_per_kwh": AssumptionText("Electricity", "USD/kWh", 0.0, 5.0,
            "where no country is chosen; each has its own in the catalogue"),
        "kg_co2_per_kwh": AssumptionText("Carbon of the electricity", "kg CO2e/kWh", 0.0, 5.0,
            "set by the country or by you"),
        "pue": AssumptionText("Power usage effectiveness", "1", 1.0, 5.0,
            "1.1 is a hyperscale hall, 1.6 an old server room"),
        "host_watts_share": AssumptionText("Power of the host", "share of the accelerators'", 0.0,
            5.0, "a DGX H100 draws 10.2 kW at most with 5.6 kW of accelerators, less under load"),
        "idle_watts_share": AssumptionText("Idle power", "share of full load", 0.0, 1.0,
            "cards wait at about a tenth, hosts at a third; 0 is switched off"),
        "host_price_share": AssumptionText("Host, network, tax", "share of the accelerators' price",
            0.0, 10.0, "a server around the cards; a workstation slot costs less"),
        "life_years": AssumptionText("Life of a bought machine", "years", 0.25, 20.0,
            "between a usual three and five"),
        "residual_share": AssumptionText("Value after that", "share of the price", 0.0, 1.0,
            "used cards of the last but one generation"),
        "rate_of_capital": AssumptionText("Rate of capital", "share/year", 0.0, 1.0,
            "a business loan"),
        "upkeep_share": AssumptionText("Staff, space, repair", "share of the price a year", 0.0,
            5.0, "a maintenance contract; staff of your own costs more"),
        "setup_usd": AssumptionText("Set-up of a rented run", "USD/run", 0.0, 1e6,
            "images and data are there"),
        "minimum_s": AssumptionText("Minimum billing time", "s", 0.0, 2678400.0,
            "a minute at many clouds"),
        "startup_s": AssumptionText("Start of a rented machine", "s", 0.0, 86400.0, "image, data"),
        "egress_usd": AssumptionText("Data egress", "USD/run", 0.0, 1e6, "small models"),
        "interruptions_per_hour": AssumptionText("Spot interruptions", "1/h", 0.0, 100.0,
            "one in 20 hours"),
        "lost_work_s": AssumptionText("Work lost by each", "s", 0.0, 86400.0,
            "half of the time between checkpoints, one each half hour"),
        "restart_s": AssumptionText("Restart after each", "s", 0.0, 86400.0, "image, checkpoint"),
        "price_uncertainty": AssumptionText("Uncertainty of a current price", "± share", 0.0, 0.9,
            "regions and taxes"),
        "stale_price_uncertainty": AssumptionText("Uncertainty of a price over 12 months old",
            "± share", 0.0, 0.9, "prices of accelerators move by tens of per cent a year"),
        "capital_uncertainty": AssumptionText("Uncertainty of life, upkeep, tariff", "± share", 0.0,
            0.9, "no better source was found"),
    }
)  # fmt: skip


def problems_of(assumed: Assumptions) -> list[str]:
    """Return every value outside its limits, with the limits."""
    problems: list[str] = []
    for field in fields(assumed):
        value, text = getattr(assumed, field.name), ASSUMPTION_TEXTS[field.name]
        if value is not None and not text.least <= value <= text.most:
            problems.append(
                Text(
                    "{words} ({field}) is {value} {unit}: it must lie between {least} and {most}.",
                    words=text.words,
                    field=field.name,
                    value=plain(value),
                    unit=text.unit,
                    least=plain(text.least),
                    most=plain(text.most),
                )
            )
    return problems


_KEPT: Final = 4096
"""Cached records of each kind: most questions price the same catalogue."""


@lru_cache(_KEPT)
def rental_of(
    price: float, assumed: Assumptions, uncertainty: float, offer: Offer | None
) -> Rental:
    """Return the rental record of a price per hour [USD].

    Spot offers are interrupted. Reserved offers are paid for all hours of every month.
    """
    spot = offer is not None and offer.terms == "spot"
    increment = offer.billing_increment_s if offer else None
    return Rental(
        price_per_hour=around(
            price, uncertainty, Text("rental price, {id}", id=offer.id) if offer else ""
        ),
        billing_increment_s=1.0 if increment is None else increment,
        minimum_s=assumed.minimum_s,
        setup_usd=assumed.setup_usd,
        startup_s=assumed.startup_s,
        egress_usd=assumed.egress_usd,
        interruptions_per_hour=assumed.interruptions_per_hour if spot else 0.0,
        lost_work_s=assumed.lost_work_s if spot else 0.0,
        restart_s=assumed.restart_s if spot else 0.0,
        committed_hours_per_month=HOURS_PER_MONTH if years_committed(offer) else 0.0,
    )


def machine_of(
    hardware: Hardware, price: float, assumed: Assumptions, uncertainty: float = 0.0
) -> Owned:
    """Return a bought or owned machine; unknown power counts as 0 W."""
    return _machine(hardware.power_watts or 0.0, price, assumed, uncertainty)


@lru_cache(_KEPT)
def _machine(
    accelerators_watts: float, price: float, assumed: Assumptions, uncertainty: float
) -> Owned:
    watts = accelerators_watts * (1.0 + assumed.host_watts_share)
    far = assumed.capital_uncertainty
    return Owned(
        price_usd=around(price, uncertainty, ""),
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


def years_committed(offer: Offer | None) -> int:
    """Return the term of a reserved offer [years]; 0 where only used hours are paid."""
    return offer.committed_years if offer else 0


def around(value: float, uncertainty: float, name: str) -> float | Range:
    """Return a value with its uncertainty; ranges of one name are one quantity."""
    if uncertainty == 0.0 or value == 0.0:
        return value
    return Range(value * (1.0 - uncertainty), value, value * (1.0 + uncertainty), name)


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
    wide = max(assumed.stale_price_uncertainty, assumed.capital_uncertainty)
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
            Text(
                "{country}'s is a household price with all taxes. A firm pays less, and "
                "any tax that you add comes on top.",
                country=row.country,
            )
        )
    if electricity.stale:
        lines.append(
            Text(
                "That price is over 12 months old; assumed accurate to ± {accuracy}.",
                accuracy=percent(max(assumed.stale_price_uncertainty, assumed.capital_uncertainty)),
            )
        )
    if electricity.carbon:
        seen = f", {row.carbon_as_of:%b %Y}" if row.carbon_as_of else ""
        lines.append(
            Text(
                "Carbon of the electricity: {country}{seen}{from_}.",
                country=row.country,
                seen=seen,
                from_=_from(row.carbon_source_url),
            )
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
        return Text(
            "{typed}, not that of {country}.",
            typed=_TYPED.format(price=plain(price)),
            country=row.country,
        )
    if not electricity.priced:
        return Text(
            "No price of electricity is known for {country}; the default of {price} "
            "USD/kWh is used. Enter the price that is paid there.",
            country=row.country,
            price=plain(price),
        )
    return Text(
        "Price of electricity: {price_words}{from_}.",
        price_words=price_words(electricity),
        from_=_from(row.price_source_url),
    )


def _from(address: str) -> str:
    return f", from {address}" if address else ""
