"""Why this file exists: an option somebody wrote by hand, as it stands in a link.

    way|accelerator|count|price        rent|h100-sxm|8|19.90, buy|rtx-4090|2|1800, own|t4|4

The price is per hour for all of them where they are rented, for each where they are bought.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from planner.catalog import Accelerator, Catalog, accelerator_named
from planner.compare.records import Way

MOST_COUNT: Final = 1024
MOST_PRICE: Final = 1e12
SEPARATOR: Final = "|"
FORM: Final = "way|accelerator|count|price, as in rent|h100-sxm|8|19.90"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`accelerator` is an id of the catalogue; `price` None is its list price, or none at all."""

    way: Way
    accelerator: str
    count: int
    price: float | None = None


def entry_of(text: str, catalog: Catalog) -> Entry | str:
    """A hand-made line as an `Entry`, or all that is wrong with it in one sentence."""
    parts = [p.strip() for p in text.split(SEPARATOR)]
    if len(parts) not in (3, 4) or parts[0] not in ("rent", "buy", "own"):
        return f"{text[:80]!r} is no option. Write {FORM}."
    found = accelerator_named(catalog, parts[1])
    count, price = _whole(parts[2]), _money(parts[3]) if len(parts) == 4 and parts[3] else None
    wrong = [] if isinstance(found, Accelerator) else [f"{found.reason} {found.measure_next}"]
    if count is None:
        wrong.append(f"{parts[2][:20]!r} is no whole number from 1 to {MOST_COUNT:,}.")
    if len(parts) == 4 and parts[3] and price is None:
        wrong.append(f"{parts[3][:20]!r} is no price in US dollars.")
    elif price is None and isinstance(found, Accelerator):
        wrong += _no_price(parts[0], found)
    if wrong or not isinstance(found, Accelerator) or count is None:
        return f"{text[:80]!r}: {' '.join(wrong)}"
    return Entry(way=cast("Way", parts[0]), accelerator=found.id, count=count, price=price)


def entry_text(entry: Entry) -> str:
    """An entry as it stands in a link."""
    parts = [entry.way, entry.accelerator, str(entry.count)]
    return SEPARATOR.join(parts if entry.price is None else [*parts, f"{entry.price:.10g}"])


def _no_price(way: str, accelerator: Accelerator) -> list[str]:
    if way == "rent":
        return ["Write the price per hour behind the count."]
    if way == "buy" and accelerator.list_price_usd is None:
        return [f"No list price of the {accelerator.name} is known: write one behind the count."]
    return []


def _whole(text: str) -> int | None:
    good = text.isascii() and text.isdigit() and len(text) < 6
    return int(text) if good and 1 <= int(text) <= MOST_COUNT else None


def _money(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value < MOST_PRICE else None
