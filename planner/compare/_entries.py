"""Options entered by hand, as written in a link.

    way|accelerator|count|price        rent|h100-sxm|8|19.90, buy|rtx-4090|2|1800, own|t4|4
    ...|currency|units for one USD     rent|h100-sxm|8|19.90|EUR|0.86

A rental price is per hour for all accelerators together. A purchase price is for each accelerator
with its part of the machine. Both are without tax. A price in another currency keeps the rate it
was written at; where the comparison is shown in that currency, the comparison's rate counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, cast

from planner.catalog import Accelerator, Catalog, accelerator_named
from planner.core import NEXT_TO_NOTHING, Refusal, slug
from planner.cost import reference_rates
from planner.job import Candidate, Way

MOST_COUNT: Final = 65_536
"""The largest published jobs took 16,384 of them."""
MOST_PRICE: Final = 1e12
"""In any currency."""
MOST_PRICE_USD: Final = 1e9
"""For one accelerator, or an hour of all: a hundred times the most expensive rack."""
MOST_RATE: Final = 1e9
SEPARATOR: Final = "|"
DOLLARS: Final = "USD"
FORM: Final = (
    "way|accelerator|count|price, the price an hour for all where they are rented and for each "
    "where they are bought, as in rent|h100-sxm|8|19.90, or a price in another currency with its "
    "units for one USD: rent|h100-sxm|8|19.90|EUR|0.86"
)
_PARTS: Final = (3, 4, 5, 6)
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_WAYS: Final = ("rent", "buy", "own")
_PRICES: Final = f"from 0 to less than {MOST_PRICE:,.0f}"
_NO_RATES: Final[Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A price as entered, without tax, in its own currency.

    `per_usd` is the rate of that day [units per USD]; None where none was given.
    """

    amount: float
    currency: str
    per_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An option entered by hand: an accelerator id of the catalogue, a count and a price.

    `price` is in USD; None is the list price or none. `quote` is the entry in another currency.
    """

    way: Way
    accelerator: str
    count: int
    price: float | None = None
    quote: Quote | None = None


def entry_of(text: str, catalog: Catalog, usd_per: Mapping[str, float] = _NO_RATES) -> Entry | str:
    """Return a line as an `Entry`, or a sentence with everything that is wrong with it.

    Args:
        text: in the form above.
        catalog: where the accelerator is looked up.
        usd_per: US dollars per unit of the currency shown. It counts before the rate in the text;
            without either, the reference rate counts.
    """
    parts = [p.strip() for p in text.split(SEPARATOR)]
    if len(parts) not in _PARTS or parts[0] not in _WAYS:
        return f"{text[:80]!r} is no option. Write {FORM}."
    accelerator = accelerator_named(catalog, parts[1])
    count, price, quote = _whole(parts[2]), None, None
    wrong = [] if isinstance(accelerator, Accelerator) else [_unknown(accelerator)]
    if count is None:
        wrong.append(f"{parts[2][:20]!r} is not a whole number from 1 to {MOST_COUNT:,}.")
    if len(parts) > 3 and parts[3]:
        price, quote, why = _price(parts[3:], usd_per)
        wrong += [why] if why else []
    elif isinstance(accelerator, Accelerator):
        wrong += _no_price(parts[0], accelerator)
    if wrong or not isinstance(accelerator, Accelerator) or count is None:
        return f"{text[:80]!r}: {' '.join(wrong)}"
    way = cast("Way", parts[0])
    return Entry(way=way, accelerator=accelerator.id, count=count, price=price, quote=quote)


def wrong_in_form(entry: Entry, catalog: Catalog) -> str:
    """Return what is wrong with an entry of the form, for a user; "" if nothing is."""
    accelerator = accelerator_named(catalog, entry.accelerator)
    if not isinstance(accelerator, Accelerator):
        return _unknown(accelerator)
    if entry.price is None and _no_price(entry.way, accelerator):
        unlisted = f"The {accelerator.name} has no list price. Give the price for each one."
        return "Give the price per hour." if entry.way == "rent" else unlisted
    text = entry_text(entry)
    parsed = entry_of(text, catalog)
    return "" if isinstance(parsed, Entry) else parsed.removeprefix(f"{text[:80]!r}: ")


def entry_text(entry: Entry) -> str:
    """Return an entry as written in a link."""
    parts = [entry.way, entry.accelerator, str(entry.count)]
    if entry.quote is None:
        return SEPARATOR.join(parts if entry.price is None else [*parts, _number(entry.price)])
    rate = [] if entry.quote.per_usd is None else [_number(entry.quote.per_usd)]
    return SEPARATOR.join([*parts, _number(entry.quote.amount), entry.quote.currency, *rate])


def entry_id(entry: Entry) -> str:
    """Return the option id of an entry: 'mine-rent-h100-sxm-8-19.9'."""
    return f"mine-{slug(entry_text(entry))}"


def entry_words(entry: Entry, catalog: Catalog) -> str:
    """Return an entry in words: 'Rent 8 x H100 SXM5 80GB at 19.90 EUR/h (2.49 EUR/h each) ...'."""
    accelerator = accelerator_named(catalog, entry.accelerator)
    name = accelerator.name if isinstance(accelerator, Accelerator) else entry.accelerator
    what = f"{entry.way.capitalize()} {entry.count} x {name}"
    return what if entry.price is None else f"{what} at {_as_written(entry)}"


def quoted(candidates: Sequence[Candidate], entries: Sequence[Entry]) -> list[Candidate]:
    """Return the candidates with prices as entered: of several, or in another currency."""
    written = {
        entry_id(e): e
        for e in entries
        if e.quote is not None or (e.price is not None and e.count > 1 and e.way != "own")
    }
    return [
        replace(c, price=f"{_as_written(written[c.id])}, {c.source}") if c.id in written else c
        for c in candidates
    ]


def _as_written(entry: Entry) -> str:
    """Return the price of the machine, then of one accelerator.

    '19.90 EUR/h (2.49 EUR/h each) without tax', '3,600.00 USD (1,800.00 USD each) without tax'.
    """
    currency = DOLLARS if entry.quote is None else entry.quote.currency
    amount = (entry.price or 0.0) if entry.quote is None else entry.quote.amount
    rented = entry.way == "rent"
    unit = f"{currency}/h" if rented else currency
    whole, single = (amount, amount / entry.count) if rented else (amount * entry.count, amount)
    each = f" ({single:,.2f} {unit} each)" if entry.count > 1 else ""
    return f"{whole:,.2f} {unit}{each} without tax"


def _price(
    parts: Sequence[str], usd_per: Mapping[str, float]
) -> tuple[float | None, Quote | None, str]:
    """Return price [USD], the quote in another currency or None, and what is wrong or ""."""
    amount, currency = _money(parts[0]), parts[1].upper() if len(parts) > 1 else DOLLARS
    if amount is None:
        return None, None, f"{parts[0][:20]!r} is not a price {_PRICES}."
    if currency == DOLLARS and len(parts) < 3:
        return _in_bounds(amount, None)
    if currency == DOLLARS or not _CURRENCY.fullmatch(currency):
        code = SEPARATOR.join(parts[1:])[:20]
        return None, None, f"{code!r} is not another currency and its rate."
    per_usd = _rate(parts[2]) if len(parts) > 2 else None
    per_unit = usd_per.get(currency) or (1.0 / per_usd if per_usd else None)
    if per_unit is None and len(parts) == 2:
        per_unit = reference_rates().usd_per.get(currency)
    if per_unit is None or (per_usd is None and len(parts) > 2):
        return None, None, f"Write how much {currency} one USD is behind it: {currency}|0.86."
    usd = amount * per_unit
    return _in_bounds(usd, Quote(amount=amount, currency=currency, per_usd=per_usd))


def _in_bounds(usd: float, quote: Quote | None) -> tuple[float | None, Quote | None, str]:
    if usd <= MOST_PRICE_USD:
        return usd, quote, ""
    why = f"{usd:,.4g} USD is more than any price: it is at most {MOST_PRICE_USD:,.0f} USD."
    return None, None, why if quote is None else f"{why} Check the rate too."


def _no_price(way: str, accelerator: Accelerator) -> list[str]:
    if way == "rent":
        return ["Write the price per hour behind the count."]
    if way == "buy" and accelerator.list_price_usd is None:
        return [f"The {accelerator.name} has no list price. Write one behind the count."]
    return []


def _unknown(refusal: Refusal) -> str:
    """Return sentences: the accelerator is unknown, and what to do."""
    parts = (refusal.reason, refusal.measure_next)
    return " ".join(part if part.endswith((".", "?")) else f"{part}." for part in parts if part)


def _number(value: float) -> str:
    return f"{value:.10g}"


def _whole(text: str) -> int | None:
    good = text.isascii() and text.isdigit() and len(text) < 6
    return int(text) if good and 1 <= int(text) <= MOST_COUNT else None


def _money(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    nothing = 0.0 < value < NEXT_TO_NOTHING
    return value if 0.0 <= value < MOST_PRICE and not nothing else None


def _rate(text: str) -> float | None:
    value = _money(text)
    return value if value is not None and 1.0 / MOST_RATE <= value <= MOST_RATE else None
