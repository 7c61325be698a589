"""Accelerators, offers and tariffs, as frozen records.

One accelerator is what one row of a price list sells: a card, a module or a chip. Numbers are the
maker's, dense (without sparsity), for that whole unit; None is unknown, never 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final, Literal

Kind = Literal["gpu", "tpu", "cpu", "other"]
Terms = Literal["on demand", "spot", "reserved 1 year", "reserved 3 years"]
_YEARS: Final[Mapping[Terms, int]] = {"reserved 1 year": 1, "reserved 3 years": 3}
Customer = Literal["non-household", "industrial", "household"]
Origin = Literal["shipped", "yours"]

PRECISIONS: Final = ("float32", "tensorfloat32", "bfloat16", "float16", "float8", "int8")
"""Number formats with a peak of their own, named as in the measurements."""
_LINKS: Final = re.compile(r"NVLink|NeuronLink|ICI|Infinity Fabric|IPU-Link|Ethernet x")
"""Names of links between the accelerators of one machine, without a processor between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One accelerator, or one processor socket, with the maker's specifications.

    `id` is a short name for links and price rows. `devices` is the number of devices that a
    framework sees on it: 2 for a K80, an MI250X and the two cores of a TPU v2 or v3 chip.
    `peak_flops_per_s` is the dense peak by precision (`PRECISIONS`); int8 counts operations.
    `link_bytes_per_s` is the sum of both directions over all links of one accelerator to others.
    `list_price_usd` is the maker's price on `list_price_as_of`, None where unpublished.
    `server_price_usd` is the price of a whole server with `server_accelerators` of it, host
    included; None if unknown. Where no seller prints one it is an estimate between
    `server_price_low_usd` and `server_price_high_usd`; both are None for a stated price.
    `launched` is the first day of the month in which the maker announced it.
    """

    id: str
    name: str
    maker: str
    kind: Kind
    source_url: str
    as_of: date
    aliases: tuple[str, ...] = ()
    devices: int = 1
    memory_bytes: float | None = None
    memory_bandwidth_bytes_per_s: float | None = None
    peak_flops_per_s: Mapping[str, float] = field(default_factory=dict)
    board_power_watts: float | None = None
    link_name: str = ""
    link_bytes_per_s: float | None = None
    list_price_usd: float | None = None
    list_price_as_of: date | None = None
    list_price_source_url: str = ""
    server_price_usd: float | None = None
    server_price_low_usd: float | None = None
    server_price_high_usd: float | None = None
    server_accelerators: int | None = None
    server_price_as_of: date | None = None
    server_price_source_url: str = ""
    launched: date | None = None
    note: str = ""
    origin: Origin = "shipped"

    @property
    def server_price_range(self) -> str:
        """Range of an estimated server price: "157,000 to 197,000"; "" for a stated price."""
        low, high = self.server_price_low_usd, self.server_price_high_usd
        return "" if low is None or high is None else f"{low:,.0f} to {high:,.0f}"

    @property
    def server_price_uncertainty(self) -> float:
        """Half of that range as a share of the price; 0 for a stated price."""
        low, price, high = (
            self.server_price_low_usd,
            self.server_price_usd,
            self.server_price_high_usd,
        )
        if low is None or high is None or not price:
            return 0.0
        return (high - low) / (2.0 * price)

    @property
    def linked(self) -> bool:
        """Whether accelerators of a machine have links of their own; a bridge joins only two."""
        return bool(_LINKS.search(self.link_name)) and "bridge" not in self.link_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A provider's price for one hour of an instance with `accelerators` of `accelerator`.

    `accelerator` is the id of an `Accelerator`. `price_per_hour` is for the whole instance in
    `currency` (ISO 4217) without tax; started increments of `billing_increment_s` are paid in
    full, None where the provider's page does not state it.
    """

    provider: str
    region: str
    instance: str
    accelerator: str
    accelerators: int
    terms: Terms
    price_per_hour: float
    currency: str
    source_url: str
    as_of: date
    billing_increment_s: float | None = None
    note: str = ""
    origin: Origin = "shipped"

    @property
    def id(self) -> str:
        """Its identity, independent of the price: provider, region, instance, terms."""
        return f"{self.provider} / {self.region} / {self.instance} / {self.terms}"

    @property
    def committed_years(self) -> int:
        """Years that are paid in any case; 0 where only used hours are."""
        return _YEARS.get(self.terms, 0)

    @property
    def price_per_accelerator_hour(self) -> float:
        """Price of one hour of one accelerator, in `currency`."""
        return self.price_per_hour / self.accelerators


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """Price and CO2e of a kWh of electricity in a country, each with a date.

    `customer` is the kind of customer. `note` says whether taxes are included. Either number may
    be None, never both.
    """

    id: str
    """ISO 3166-1 alpha-2 code of the country."""
    country: str
    customer: Customer | None = None
    price_usd_per_kwh: float | None = None
    price_as_of: date | None = None
    price_source_url: str = ""
    carbon_kg_per_kwh: float | None = None
    carbon_as_of: date | None = None
    carbon_source_url: str = ""
    note: str = ""
    origin: Origin = "shipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All accelerators, offers and tariffs, in the order of their files."""

    accelerators: tuple[Accelerator, ...] = ()
    offers: tuple[Offer, ...] = ()
    tariffs: tuple[Tariff, ...] = ()
