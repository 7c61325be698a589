"""Today's rental offers, through the library gpuhunt (MPL-2.0): an extra that is not installed.

`pip install -r requirements/live-prices.txt` adds it. A request goes over the network to the
providers' collected price lists, so it is made only when the user presses a button.
"""

import importlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from planner.catalog._combine import accelerator_named
from planner.catalog._records import Accelerator, Catalog, Offer
from planner.core import Refusal, Text

SOURCE: Final = "https://github.com/dstackai/gpuhunt"
MAX_PRICE_USD_PER_HOUR: Final = 100_000.0
"""Above it a price is a mark for "not sold" [USD/h]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOffers:
    """Offers of today, and how many were left out, by why."""

    offers: tuple[Offer, ...]
    left_out: tuple[str, ...] = ()


def has_library() -> bool:
    """Return whether live offers are available."""
    return importlib.util.find_spec("gpuhunt") is not None


def live_offers(
    catalog: Catalog, today: date, *, providers: tuple[str, ...] = ()
) -> LiveOffers | Refusal:
    """Return current offers of the catalogue's accelerators, or a refusal.

    Args:
        catalog: offers of other accelerators are left out and counted.
        today: the date of the offers.
        providers: names of gpuhunt; empty uses all that need no account.
    """
    try:
        gpuhunt = importlib.import_module("gpuhunt")
    except ImportError:
        return Refusal(
            reason=Text("Live prices need the library gpuhunt, which is not installed."),
            measure_next=Text("Install requirements/live-prices.txt, or use the shipped prices."),
        )
    try:
        items = gpuhunt.query(provider=list(providers) or None, min_gpu_count=1)
    except Exception as error:  # noqa: BLE001 - its own errors, the network's, and its providers'
        return Refusal(
            reason=Text(
                "No provider could be reached ({name}: {error}).",
                name=type(error).__name__,
                error=error,
            ),
            measure_next="Check the network, or use the shipped prices.",
        )
    return offers_from(items, catalog, today)


def offers_from(items: Iterable[Any], catalog: Catalog, today: date) -> LiveOffers:
    """Return items of gpuhunt's catalogue as offers in USD, of equal ones the cheapest."""
    offers: dict[str, Offer] = {}
    unknown: dict[str, int] = {}
    for item in items:
        accelerator = _accelerator(item, catalog)
        if isinstance(accelerator, Refusal):
            unknown[accelerator.reason] = unknown.get(accelerator.reason, 0) + 1
            continue
        offer = _offer(item, accelerator, today)
        if offer and (offer.id not in offers or _price(offer) < _price(offers[offer.id])):
            offers[offer.id] = offer
    left_out = tuple(
        Text("{number} left out: {why}", number=n, why=why) for why, n in sorted(unknown.items())
    )
    return LiveOffers(offers=tuple(offers[i] for i in sorted(offers)), left_out=left_out)


def _accelerator(item: Any, catalog: Catalog) -> Accelerator | Refusal:  # noqa: ANN401 - untyped
    """Return the accelerator by the instance in the catalogue, else by the item's card name.

    A card's form (SXM, PCIe) is only in the name of the instance, if at all; an ambiguous name is
    refused.
    """
    if str(item.gpu_name).casefold().startswith(("tpu", "v2", "v3", "v4", "v5", "v6", "v7")):
        reason = Text("TPU slices are counted in cores or in chips.")
        return Refusal(reason=reason, measure_next="")
    size = f" {item.gpu_memory:.0f}GB" if item.gpu_memory else ""
    form = next((f" {f}" for f in ("SXM", "PCIe", "NVL") if f in str(item.instance_name)), "")
    instance_accelerator = next(
        (o.accelerator for o in catalog.offers if o.instance == item.instance_name), ""
    )
    texts = (instance_accelerator, str(item.instance_name), f"{item.gpu_name}{form}{size}")
    named = (accelerator_named(catalog, text) for text in texts if text)
    sure = next(
        (accelerator for accelerator in named if isinstance(accelerator, Accelerator)), None
    )
    return sure or accelerator_named(catalog, f"{item.gpu_name}{size}")


def _offer(item: Any, accelerator: Accelerator, today: date) -> Offer | None:  # noqa: ANN401
    """Return an offer; None without a real price or count."""
    sold = 0.0 < item.price < MAX_PRICE_USD_PER_HOUR and item.gpu_count > 0
    if not sold:
        return None
    return Offer(
        provider=str(item.provider),
        region=str(item.location),
        instance=str(item.instance_name),
        accelerator=accelerator.id,
        accelerators=int(item.gpu_count),
        terms="spot" if item.spot else "on demand",
        price_per_hour=float(item.price),
        currency="USD",
        source_url=SOURCE,
        as_of=today,
        note="Collected by gpuhunt.",
        origin="yours",
    )


def _price(offer: Offer) -> float:
    return offer.price_per_hour
