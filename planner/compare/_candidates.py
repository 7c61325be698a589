"""Every option for a job: from measurements, the catalogue and own entries.

A candidate's `id` is used in links: the way, then the hardware or the offer as a slug.

Options entered by hand are written in a link as

    way|accelerator|count|price        rent|h100-sxm|8|19.90, buy|rtx-4090|2|3600 total, own|t4|4
    ...|currency|units for one USD     rent|h100-sxm|8|19.90|EUR|0.86

Every price is that of the whole machine without tax, of a rented one per hour. "total" marks it for
several bought accelerators: links written before it state the price of each there, and still mean
that. A price in another currency keeps the rate it was written at; where the comparison is shown in
that currency, the comparison's rate counts.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType
from typing import Final, cast

from planner.catalog import Accelerator, Catalog, Offer, accelerator_named, is_stale
from planner.compare._assumptions import Assumptions, machine_of, rental_of
from planner.compare._shortlist import price_of_peak
from planner.compare.comparison import labels_with_price, price_of_one
from planner.core import NEXT_TO_NOTHING, Refusal, Text, joined, paragraph, plural, slug
from planner.core.slugs import slugs
from planner.cost import reference_rates
from planner.epochs import Option as MeasuredRun
from planner.epochs import total_time
from planner.job import (
    MOST_SHARDS,
    OWN_ENTRY,
    PER_NODE,
    WAY_WORDS,
    Candidate,
    Goal,
    Hardware,
    Job,
    Way,
    has_room,
    least_count,
    machines_for,
)

MOST_COUNT: Final = 65_536
"""The largest published jobs took 16,384 of them."""
MOST_PRICE: Final = 1e12
"""In any currency."""
MOST_PRICE_USD: Final = 1e9
"""For a bought accelerator, or an hour of all: a hundred times the most expensive rack."""
MOST_RATE: Final = 1e9
SEPARATOR: Final = "|"
DOLLARS: Final = "USD"
TOTAL: Final = "total"
"""After a purchase price: it is that of the whole machine."""
FORM: Final = (
    "way|accelerator|count|price, the price of the whole machine, of a rented one per hour, as in "
    "rent|h100-sxm|8|19.90 or buy|h100-sxm|8|250000 total, or a price in another currency with "
    "its units for one USD: rent|h100-sxm|8|19.90|EUR|0.86"
)
_PARTS: Final = (3, 4, 5, 6)
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_WAYS: Final = ("rent", "buy", "own")
_PRICES: Final = Text("from 0 to less than {most_price:,.0f}", most_price=MOST_PRICE)
_NO_RATES: Final[Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A price of the machine as entered, without tax, in its own currency.

    `per_usd` is the rate of that day [units per USD]; None where none was given.
    """

    amount: float
    currency: str
    per_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An option entered by hand: an accelerator id of the catalogue, a count and a price.

    `price` is that of the machine in USD; None is the list price or none. `quote` is the entry in
    another currency. With `each` the text states the price of each bought accelerator.
    """

    way: Way
    accelerator: str
    count: int
    price: float | None = None
    quote: Quote | None = None
    each: bool = False


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
        return Text("{text!r} is no option. Write {form}.", text=text[:80], form=FORM)
    entry = _entry(parts, catalog, usd_per)
    return entry if isinstance(entry, Entry) else f"{text[:80]!r}: {' '.join(entry)}"


def _entry(
    parts: Sequence[str], catalog: Catalog, usd_per: Mapping[str, float] = _NO_RATES
) -> Entry | list[str]:
    """Return the parts of a line as an `Entry`, or everything that is wrong with them."""
    accelerator = accelerator_named(catalog, parts[1])
    count, price, quote, each = _whole(parts[2]), None, None, False
    wrong = [] if isinstance(accelerator, Accelerator) else [_unknown(accelerator)]
    if count is None:
        wrong.append(
            Text(
                "{part!r} is not a whole number from 1 to {most_count:,}.",
                part=parts[2][:20],
                most_count=MOST_COUNT,
            )
        )
    if len(parts) > 3 and parts[3]:
        amount = parts[3].removesuffix(TOTAL)
        each = parts[0] == "buy" and (count or 1) > 1 and amount == parts[3]
        price, quote, why = _entry_price([amount, *parts[4:]], usd_per)
        if price is not None:
            many = count or 1
            price, quote = _for_all(price, quote, many if each else 1)
            why = _beyond(price, quote, many if parts[0] == "buy" else 1)
        wrong += [why] if why else []
    elif isinstance(accelerator, Accelerator):
        wrong += _no_price(parts[0], accelerator)
    if wrong or not isinstance(accelerator, Accelerator) or count is None:
        return wrong
    way = cast("Way", parts[0])
    return Entry(
        way=way, accelerator=accelerator.id, count=count, price=price, quote=quote, each=each
    )


def _for_all(price: float, quote: Quote | None, count: int) -> tuple[float, Quote | None]:
    return price * count, None if quote is None else replace(quote, amount=quote.amount * count)


def wrong_in_form(entry: Entry, catalog: Catalog) -> str:
    """Return what is wrong with an entry of the form, for a user; "" if nothing is."""
    accelerator = accelerator_named(catalog, entry.accelerator)
    if not isinstance(accelerator, Accelerator):
        return _unknown(accelerator)
    if entry.price is None and _no_price(entry.way, accelerator):
        unlisted = Text(
            "The {accelerator} has no list price. Give the price of the machine.",
            accelerator=accelerator.name,
        )
        return "Give the price per hour." if entry.way == "rent" else unlisted
    parsed = _entry(entry_text(entry).split(SEPARATOR), catalog)
    return "" if isinstance(parsed, Entry) else " ".join(parsed)


def entry_text(entry: Entry) -> str:
    """Return an entry as written in a link."""
    parts, quote = [entry.way, entry.accelerator, str(entry.count)], entry.quote
    if entry.price is None:
        return SEPARATOR.join(parts)
    amount = entry.price if quote is None else quote.amount
    several = entry.way == "buy" and entry.count > 1
    mark = f" {TOTAL}" if several and not entry.each else ""
    parts.append(f"{_number(amount / entry.count if entry.each else amount)}{mark}")
    if quote is not None:
        parts += [quote.currency, *([] if quote.per_usd is None else [_number(quote.per_usd)])]
    return SEPARATOR.join(parts)


def each_notes(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return a sentence per entry whose text states the price of each accelerator."""
    return tuple(
        Text(
            "Without “{total}”, the price of {entry_text} is for each of {count}: "
            "{as_written}. Append “{total}” to the price of a machine.",
            total=TOTAL,
            entry_text=entry_text(e),
            count=e.count,
            as_written=_as_written(e),
        )
        for e in entries
        if e.each
    )


def entry_id(entry: Entry) -> str:
    """Return the option id of an entry: 'mine-rent-h100-sxm-8-19.9'."""
    return f"mine-{slug(entry_text(entry))}"


def entry_words(entry: Entry, catalog: Catalog) -> str:
    """Return an entry in words: 'Rent 8 x H100 SXM5 80GB at 19.90 EUR/h (2.49 EUR/h each) ...'."""
    accelerator = accelerator_named(catalog, entry.accelerator)
    name = accelerator.name if isinstance(accelerator, Accelerator) else entry.accelerator
    what = f"{WAY_WORDS[entry.way][0]} {entry.count} x {name}"
    return what if entry.price is None else f"{what} at {_as_written(entry)}"


def quoted(candidates: Sequence[Candidate], entries: Sequence[Entry]) -> list[Candidate]:
    """Return the candidates with prices as entered: of several, or in another currency."""
    written = {
        entry_id(e): e
        for e in entries
        if e.quote is not None or (e.price is not None and e.count > 1 and e.way != "own")
    }
    return [
        replace(c, amount=_as_written(written[c.id]), entered=True) if c.id in written else c
        for c in candidates
    ]


def _as_written(entry: Entry) -> str:
    """Return the price of the machine, then of one accelerator.

    '19.90 EUR/h (2.49 EUR/h each) without tax', '3,600.00 USD (1,800.00 USD each) without tax'.
    """
    currency = DOLLARS if entry.quote is None else entry.quote.currency
    amount = (entry.price or 0.0) if entry.quote is None else entry.quote.amount
    unit = f"{currency}/h" if entry.way == "rent" else currency
    each = f" ({amount / entry.count:,.2f} {unit} each)" if entry.count > 1 else ""
    return Text("{amount:,.2f} {unit}{each} without tax", amount=amount, unit=unit, each=each)


def _entry_price(
    parts: Sequence[str], usd_per: Mapping[str, float]
) -> tuple[float | None, Quote | None, str]:
    """Return price [USD] as written, the quote or None, and what is wrong or ""."""
    amount, currency = _money(parts[0]), parts[1].upper() if len(parts) > 1 else DOLLARS
    if amount is None:
        return (
            None,
            None,
            Text("{part!r} is not a price {prices}.", part=parts[0][:20], prices=_PRICES),
        )
    if currency == DOLLARS and len(parts) < 3:
        return amount, None, ""
    if currency == DOLLARS or not _CURRENCY.fullmatch(currency):
        code = SEPARATOR.join(parts[1:])[:20]
        return None, None, Text("{code!r} is not another currency and its rate.", code=code)
    per_usd = _rate(parts[2]) if len(parts) > 2 else None
    per_unit = usd_per.get(currency) or (1.0 / per_usd if per_usd else None)
    if per_unit is None and len(parts) == 2:
        per_unit = reference_rates().usd_per.get(currency)
    if per_unit is None or (per_usd is None and len(parts) > 2):
        return (
            None,
            None,
            Text(
                "Write how much {currency} one USD is behind it: {currency}|0.86.",
                currency=currency,
            ),
        )
    return amount * per_unit, Quote(amount=amount, currency=currency, per_usd=per_usd), ""


def _beyond(usd: float, quote: Quote | None, count: int) -> str:
    """Return that a price is beyond the bound for so many accelerators; "" if it is not."""
    most = MOST_PRICE_USD * count
    if usd <= most:
        return ""
    why = Text(
        "{usd:,.4g} USD is more than any price: it is at most {most:,.0f} USD.", usd=usd, most=most
    )
    return why if quote is None else Text("{why} Check the rate too.", why=why)


def _no_price(way: str, accelerator: Accelerator) -> list[str]:
    if way == "rent":
        return ["Write the price per hour behind the count."]
    if way == "buy" and accelerator.list_price_usd is None:
        return [
            Text(
                "The {accelerator} has no list price. Write one behind the count.",
                accelerator=accelerator.name,
            )
        ]
    return []


def _unknown(refusal: Refusal) -> str:
    """Return sentences: the accelerator is unknown, and what to do."""
    return paragraph(refusal.reason, refusal.measure_next)


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


def left_out(catalog: Catalog, usd_per: Mapping[str, float]) -> tuple[str, ...]:
    """Return a sentence per currency whose offers are hidden for lack of a rate."""
    lacking = Counter(
        o.currency for o in catalog.offers if o.currency != "USD" and o.currency not in usd_per
    )
    return tuple(
        plural(
            n,
            "One offer priced in {currency} is hidden. Set an exchange rate.",
            "{count} offers priced in {currency} are hidden. Set an exchange rate.",
            currency=currency,
        )
        for currency, n in sorted(lacking.items())
    )


Best = Mapping[str, tuple[Hardware, MeasuredRun]]
THERE: Final = "there already"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """The inputs of prices: catalogue, assumptions, date and exchange rates.

    `usd_per` is US dollars per unit of another currency. Offers in other currencies are left out.
    """

    catalog: Catalog
    assumed: Assumptions
    today: date
    usd_per: Mapping[str, float] = field(default_factory=dict)


def candidates_of(
    job: Job, shop: Shop, entries: Sequence[Entry] = (), goal: Goal | None = None
) -> list[Candidate]:
    """Return all options: own entries, measured systems, offers, purchases; ids are unique.

    Where the job fits on no offer, clusters of several machines are added. The measured run of a
    system is the fastest for the `goal`.
    """
    best = best_runs(job, goal)
    accelerators = {a.id: a for a in shop.catalog.accelerators}
    kept: dict[str, Candidate] = {}
    for candidate in _all(best, accelerators, shop, entries):
        kept.setdefault(candidate.named or candidate.id, candidate)
    every = [*kept.values(), *_clusters(job, list(kept.values()), accelerators, shop, best)]
    return labels_with_price(_distinct_labels(quoted(_with_ids(every), entries)))


def _with_ids(every: Sequence[Candidate]) -> list[Candidate]:
    """Return the options with unique ids: two offers may share a slug (planner.core.slugs)."""
    names = [(c.named, c.way == "rent") for c in every if c.named]
    ids = {
        name: short
        for rented in (False, True)  # an offer's name has slashes of ours
        for short, name in slugs((n for n, r in names if r == rented), any_ascii=rented).items()
    }
    return [replace(c, id=ids[c.named]) if c.named else c for c in every]


def _clusters(
    job: Job,
    every: Sequence[Candidate],
    accelerators: Mapping[str, Accelerator],
    shop: Shop,
    best: Best,
) -> Iterator[Candidate]:
    for candidate, machines in too_large(job, every):
        if (offer := candidate.offer) is not None:
            rate = _usd(offer, shop) or 1.0
            accelerator = accelerators[offer.accelerator]
            yield _rented(offer, accelerator, rate, shop, best, machines=machines)


def _distinct_labels(every: Sequence[Candidate]) -> list[Candidate]:
    """Add region or instance to labels that several offers of one provider share."""
    alike: dict[str, list[Candidate]] = {}
    for candidate in every:
        alike.setdefault(candidate.label, []).append(candidate)
    return [_with_place(c, alike[c.label]) for c in every]


def _with_place(candidate: Candidate, alike: Sequence[Candidate]) -> Candidate:
    if len(alike) == 1 or (offer := candidate.offer) is None:
        return candidate
    offers = [c.offer for c in alike if c.offer]
    regions = {o.region for o in offers}
    where = offer.region if len(regions) == len(offers) else _short(offer.instance)
    return replace(candidate, qualifiers=(*candidate.qualifiers, where))


def _short(instance: str) -> str:
    """Return what differs between instances: 'Secure Cloud' of '1x L40S (Secure Cloud)'."""
    return instance.rstrip(")").rsplit("(", 1)[-1].strip() or instance


def best_runs(job: Job, goal: Goal | None = None) -> dict[str, tuple[Hardware, MeasuredRun]]:
    """Return the fastest run on every system it was measured on, by the system's label.

    For epochs this is the run with the smallest total, as on How long?; runs at the requested batch
    come first. For a target it is the run with the highest throughput.
    """
    by_system: dict[str, list[MeasuredRun]] = {}
    for option in job.measured:
        by_system.setdefault(job.hardware[option.run.run_id].label, []).append(option)
    best = {label: min(runs, key=lambda o: _place(o, goal)) for label, runs in by_system.items()}
    return {label: (job.hardware[run.run.run_id], run) for label, run in best.items()}


def _place(option: MeasuredRun, goal: Goal | None) -> tuple[bool, bool, float, float]:
    """Return the sort key of a run among those of its system: the fastest for the goal first."""
    speed = option.run.samples_per_s or 0.0
    if goal is None or goal.epochs is None:
        return False, False, 0.0, -speed
    other = goal.at_batch is not None and option.run.global_batch_size != goal.at_batch
    total = total_time(option, goal.epochs)
    if isinstance(total, Refusal):
        return other, True, 0.0, -speed
    return other, False, float(total.value), -speed


def _all(
    best: Best, accelerators: Mapping[str, Accelerator], shop: Shop, entries: Sequence[Entry]
) -> Iterator[Candidate]:
    """Yield all options, own entries first: the first of two with one id counts."""
    for entry in entries:
        if entry.accelerator in accelerators:
            yield _of_entry(entry, accelerators[entry.accelerator], shop, best)
    for hardware, run in best.values():
        yield _there(hardware, run, shop.assumed)
    for offer in shop.catalog.offers:
        rate = _usd(offer, shop)
        if offer.accelerator in accelerators and rate is not None:
            yield _rented(offer, accelerators[offer.accelerator], rate, shop, best)
    for accelerator in shop.catalog.accelerators:
        if accelerator.list_price_usd is not None:
            yield _bought(accelerator, shop, best)
        if accelerator.server_price_usd is not None:
            yield _server(accelerator, shop, best)


def _usd(offer: Offer, shop: Shop) -> float | None:
    """Return US dollars per unit of the offer's currency; None without a rate."""
    return 1.0 if offer.currency == "USD" else shop.usd_per.get(offer.currency)


def _there(hardware: Hardware, run: MeasuredRun, assumed: Assumptions) -> Candidate:
    return Candidate(
        id=f"own-{slug(hardware.label)}",
        named=f"own {hardware.label}",
        way="own",
        hardware=hardware,
        run=run,
        owned=machine_of(hardware, 0.0, assumed),
        amount="electricity only" if hardware.power_watts else "power not known",
        source=THERE,
    )


def _rented(
    offer: Offer,
    accelerator: Accelerator,
    rate: float,
    shop: Shop,
    best: Best,
    *,
    machines: int = 1,
) -> Candidate:
    hardware = _hardware(accelerator, offer.accelerators * machines, machines)
    stale = is_stale(offer.as_of, shop.today)
    uncertainty = shop.assumed.stale_price_uncertainty if stale else shop.assumed.price_uncertainty
    price = offer.price_per_hour * rate * machines
    several = f"{machines} machines" if machines > 1 else ""
    terms = "" if offer.terms == "on demand" else offer.terms
    years = offer.committed_years
    paid = (
        plural(years, "paid all month for {count} year", "paid all month for {count} years")
        if years
        else ""
    )
    quoted_in = ""
    if offer.currency != "USD":
        quoted_in = f" ({offer.price_per_hour * machines:,.2f} {offer.currency})"
    each = price_of_one(price, hardware.count, "USD/h each")
    return Candidate(
        id=f"rent-{slug(offer.id)}{f'-x{machines}' if machines > 1 else ''}",
        named=f"rent {offer.id}{f' x{machines}' if machines > 1 else ''}",
        way="rent",
        hardware=hardware,
        qualifiers=tuple(q for q in (offer.provider, terms, several) if q),
        run=_measured_there(hardware, best),
        offer=offer,
        rental=rental_of(price, shop.assumed, uncertainty, offer),
        amount=joined(", ", (f"{price:,.2f} USD/h{each}{quoted_in}", paid, f"{offer.as_of:%b %Y}")),
        stale=stale,
        source=offer.source_url,
    )


def _bought(accelerator: Accelerator, shop: Shop, best: Best) -> Candidate:
    hardware = _hardware(accelerator, 1, machines_for(accelerator, 1))
    as_of, price = accelerator.list_price_as_of, accelerator.list_price_usd or 0.0
    stale, uncertainty = _age(as_of, shop)
    return Candidate(
        id=f"buy-1x-{accelerator.id}",
        way="buy",
        hardware=hardware,
        run=_measured_there(hardware, best),
        owned=machine_of(hardware, price, shop.assumed, uncertainty),
        amount=(
            Text("{price:,.0f} USD list, {as_of:%b %Y}", price=price, as_of=as_of)
            if as_of
            else Text("{price:,.0f} USD list", price=price)
        ),
        stale=stale,
        source=accelerator.list_price_source_url,
    )


def _server(accelerator: Accelerator, shop: Shop, best: Best) -> Candidate:
    """Return the purchase of a whole server; its price includes the host."""
    count = accelerator.server_accelerators or 1
    hardware = _hardware(accelerator, count, machines_for(accelerator, count))
    as_of, price = accelerator.server_price_as_of, accelerator.server_price_usd or 0.0
    stale, uncertainty = _age(as_of, shop)
    uncertainty = math.hypot(uncertainty, accelerator.server_price_uncertainty)
    each = price_of_one(price, count, "USD each")
    return Candidate(
        id=f"buy-{count}x-{accelerator.id}",
        way="buy",
        hardware=hardware,
        qualifiers=("server",),
        run=_measured_there(hardware, best),
        owned=replace(machine_of(hardware, price, shop.assumed, uncertainty), overhead_share=0.0),
        amount=_server_amount(accelerator, price, each),
        stale=stale,
        source=accelerator.server_price_source_url,
    )


def _server_amount(accelerator: Accelerator, price: float, each: str) -> str:
    as_of = accelerator.server_price_as_of
    dated = f", {as_of:%b %Y}" if as_of else ""
    between = accelerator.server_price_range
    if not between:
        return f"{price:,.0f} USD{each}{dated}"
    return Text(
        "{price:,.0f} USD{each}, an estimate of {between} USD{dated}",
        price=price, each=each, between=between, dated=dated,
    )  # fmt: skip


def _age(as_of: date | None, shop: Shop) -> tuple[bool, float]:
    """Return whether a price is over 12 months old, and its uncertainty [share]."""
    stale = as_of is None or is_stale(as_of, shop.today)
    return stale, shop.assumed.stale_price_uncertainty if stale else shop.assumed.price_uncertainty


def _of_entry(entry: Entry, accelerator: Accelerator, shop: Shop, best: Best) -> Candidate:
    hardware = _hardware(accelerator, entry.count, machines_for(accelerator, entry.count))
    rental = owned = None
    amount = "electricity only"
    if entry.way == "rent":
        rental = rental_of(entry.price or 0.0, shop.assumed, 0.0, None)
        each_hour = price_of_one(entry.price or 0.0, entry.count, "USD/h each")
        amount = f"{entry.price or 0.0:,.2f} USD/h{each_hour}"
    else:
        listed = (accelerator.list_price_usd or 0.0) * entry.count
        price = listed if entry.price is None else entry.price
        total = price if entry.way == "buy" else 0.0
        owned = machine_of(hardware, total, shop.assumed)
        if entry.price is not None:  # a quoted price is for the machine, its host included
            owned = replace(owned, overhead_share=0.0)
        each_one = price_of_one(total, entry.count, "USD each")
        amount = f"{total:,.0f} USD{each_one}" if entry.way == "buy" else amount
    return Candidate(
        id=entry_id(entry),
        way=entry.way,
        hardware=hardware,
        qualifiers=(OWN_ENTRY,),
        run=_measured_there(hardware, best),
        rental=rental,
        owned=owned,
        amount=amount,
        entered=entry.way != "own",
        source=OWN_ENTRY,
    )


def part_of(candidate: Candidate, job: Job, count: int, goal: Goal | None = None) -> Candidate:
    """Return an option with a part of its accelerators, for a run that shares the machine.

    Its price stays that of the whole machine. Without a row in the catalogue nothing is changed.
    """
    card = candidate.hardware.accelerator
    if card is None:
        return candidate
    hardware = _hardware(card, count, machines_for(card, count))
    run = _measured_there(hardware, best_runs(job, goal))
    return replace(candidate, hardware=hardware, run=run)


def _hardware(accelerator: Accelerator, count: int, nodes: int = 1) -> Hardware:
    return Hardware(
        label=f"{count} x {accelerator.name}", accelerator=accelerator, count=count, nodes=nodes
    )


def _measured_there(hardware: Hardware, best: Best) -> MeasuredRun | None:
    """Return the best run on the same accelerators and count, a checked one first; None without."""
    runs = [
        run
        for there, run in best.values()
        if there.accelerator is not None and there.accelerator == hardware.accelerator
        and there.count == hardware.count and there.nodes == hardware.nodes
    ]  # fmt: skip
    return min(runs, key=lambda option: option.run.standing or "", default=None)


CLUSTERS: Final = 3
"""Largest number of offers that are shown as clusters, each of another accelerator."""


def too_large(job: Job, rented: Iterable[Candidate]) -> Iterator[tuple[Candidate, int]]:
    """Yield offers and their machine counts for a job that fits on no machine of the accelerator.

    One offer per accelerator, the cheapest peak first and old prices last, of machines with
    `PER_NODE` accelerators or more. Smaller ones count where no offer at all has room.
    """
    suitable = [c for c in rented if _suits(c, job)]
    roomy: set[str] = set()
    for c in suitable:
        if _card(c) not in roomy and has_room(job, c.hardware, job.batch):
            roomy.add(_card(c))
    large = [c for c in suitable if c.hardware.count >= PER_NODE and _card(c) not in roomy]
    if not roomy:
        large = large or suitable
    clusters: dict[str, tuple[Candidate, int]] = {}
    for candidate in sorted(large, key=lambda c: (c.stale, _price(c, job))):
        machines = _machines(candidate, job)
        if machines:
            clusters.setdefault(_card(candidate), (candidate, machines))
    yield from list(clusters.values())[:CLUSTERS]


def _card(candidate: Candidate) -> str:
    """Return the id of the accelerator; "" without one."""
    return candidate.hardware.accelerator.id if candidate.hardware.accelerator else ""


def _suits(candidate: Candidate, job: Job) -> bool:
    """Return whether an option is an on-demand accelerator with a known peak."""
    card, offer = candidate.hardware.accelerator, candidate.offer
    if card is None or card.kind == "cpu" or offer is None or offer.terms != "on demand":
        return False
    return _price(candidate, job) < math.inf


def _price(candidate: Candidate, job: Job) -> float:
    """Return the price of the machine's peak [USD per hour over FLOP/s]."""
    return price_of_peak(candidate, job.precision) / candidate.hardware.count


def _machines(candidate: Candidate, job: Job) -> int | None:
    """Return the machine count the job needs; None where no count up to the limit is enough."""
    card, each = candidate.hardware.accelerator, candidate.hardware.count
    count = least_count(job, card, job.batch) if card else None
    machines = math.ceil(count / each) if count else 0
    return machines if 0 < machines * each <= MOST_SHARDS else None
