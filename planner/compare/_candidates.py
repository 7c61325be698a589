"""Every way to get a job done, of measurements, catalogue and own entries.

A candidate's `id` stands in links: the way, then what is rented or bought, in short letters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from planner.catalog import Accelerator, Catalog, Offer, is_stale
from planner.compare._assumptions import (
    Assumptions,
    committed_for,
    machine_of,
    rental_of,
)
from planner.compare._entries import Entry, entry_id, quoted
from planner.compare._shortlist import price_of_peak, usual
from planner.compare._words import told_by_price
from planner.core import Refusal, slug
from planner.core.slugs import slugs
from planner.epochs import Option as MeasuredRun
from planner.epochs import total_time
from planner.job import (
    MOST_SHARDS,
    OWN_ENTRY,
    PER_NODE,
    Candidate,
    Goal,
    Hardware,
    Job,
    has_room,
    least_count,
    machines_for,
)


def left_out(catalog: Catalog, usd_per: Mapping[str, float]) -> tuple[str, ...]:
    """How many offers are left out in each currency, and what to do; none where all count."""
    lacking = Counter(
        o.currency for o in catalog.offers if o.currency != "USD" and o.currency not in usd_per
    )
    return tuple(
        f"{f'{n} offers' if n > 1 else 'One offer'} priced in {currency} "
        f"{'are' if n > 1 else 'is'} hidden. Set an exchange rate."
        for currency, n in sorted(lacking.items())
    )


__all__ = ["OWN_ENTRY", "THERE", "Shop", "best_runs", "candidates_of", "usual"]
Best = Mapping[str, tuple[Hardware, MeasuredRun]]
THERE: Final = "there already"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """What prices are made of: the catalogue, what is assumed, the day, and rates of exchange.

    `usd_per` is what one unit of another currency is in US dollars; offers in currencies that are
    not in it are left out.
    """

    catalog: Catalog
    assumed: Assumptions
    today: date
    usd_per: Mapping[str, float] = field(default_factory=dict)


def candidates_of(
    job: Job, shop: Shop, entries: Sequence[Entry] = (), goal: Goal | None = None
) -> list[Candidate]:
    """All ways there are: own entries, measured systems, offers, purchases; ids are unique.

    Where the job fits on no offer, several machines of some (`planner.compare.clusters`) too. The
    measured run of a system is the fastest for the `goal`.
    """
    best = best_runs(job, goal)
    known = {a.id: a for a in shop.catalog.accelerators}
    kept: dict[str, Candidate] = {}
    for one in _all(best, known, shop, entries):
        kept.setdefault(one.named or one.id, one)
    every = [*kept.values(), *_clusters(job, list(kept.values()), known, shop, best)]
    return told_by_price(_told_apart(quoted(_with_ids(every), entries)))


def _with_ids(every: Sequence[Candidate]) -> list[Candidate]:
    """Give each a slug of its own: two machines or offers may share one (planner.core.slugs)."""
    names = [(c.named, c.way == "rent") for c in every if c.named]
    ids = {
        name: short
        for rented in (False, True)  # an offer's name is put together with slashes by us
        for short, name in slugs((n for n, r in names if r == rented), any_ascii=rented).items()
    }
    return [replace(c, id=ids[c.named]) if c.named else c for c in every]


def _clusters(
    job: Job, every: Sequence[Candidate], known: Mapping[str, Accelerator], shop: Shop, best: Best
) -> Iterator[Candidate]:
    for one, machines in too_large(job, every):
        if one.offer is not None:
            rate = _usd(one.offer, shop) or 1.0
            yield _rented(
                one.offer, known[one.offer.accelerator], rate, shop, best, machines=machines
            )


def _told_apart(every: Sequence[Candidate]) -> list[Candidate]:
    """Offers of one provider at several places or sizes say which one they are."""
    shared = {label for label, n in Counter(c.label for c in every).items() if n > 1}
    return [_told(c, every) if c.offer and c.label in shared else c for c in every]


def _told(one: Candidate, every: Sequence[Candidate]) -> Candidate:
    offers = [c.offer for c in every if c.offer and c.label == one.label]
    regions = {o.region for o in offers}
    if one.offer is None:
        return one
    where = one.offer.region if len(regions) == len(offers) else _short(one.offer.instance)
    return replace(one, label=f"{one.label.removesuffix(')')}, {where})")


def _short(instance: str) -> str:
    """Return what differs between instances: 'Secure Cloud' of '1x L40S (Secure Cloud)'."""
    return instance.rstrip(")").rsplit("(", 1)[-1].strip() or instance


def best_runs(job: Job, goal: Goal | None = None) -> dict[str, tuple[Hardware, MeasuredRun]]:
    """Return the fastest run on every system it was measured on, by the system's label.

    Of so many epochs that is the run of least total, as How long? ranks them; runs at the batch
    in question come before all others. Of a target it is the run of most samples/s.
    """
    by_system: dict[str, list[MeasuredRun]] = {}
    for option in job.measured:
        by_system.setdefault(job.hardware[option.run.run_id].label, []).append(option)
    best = {label: min(runs, key=lambda o: _place(o, goal)) for label, runs in by_system.items()}
    return {label: (job.hardware[run.run.run_id], run) for label, run in best.items()}


def _place(option: MeasuredRun, goal: Goal | None) -> tuple[bool, bool, float, float]:
    """Where it stands among the runs of its system: the first is the fastest for the goal."""
    speed = option.run.samples_per_s or 0.0
    if goal is None or goal.epochs is None:
        return False, False, 0.0, -speed
    other = goal.at_batch is not None and option.run.global_batch_size != goal.at_batch
    total = total_time(option, goal.epochs)
    if isinstance(total, Refusal):
        return other, True, 0.0, -speed
    return other, False, float(total.value), -speed


def _all(
    best: Best, known: Mapping[str, Accelerator], shop: Shop, entries: Sequence[Entry]
) -> Iterator[Candidate]:
    """Own entries first: of two with one id the first counts."""
    for entry in entries:
        if entry.accelerator in known:
            yield _of_entry(entry, known[entry.accelerator], shop, best)
    for hardware, run in best.values():
        yield _there(hardware, run, shop.assumed)
    for offer in shop.catalog.offers:
        rate = _usd(offer, shop)
        if offer.accelerator in known and rate is not None:
            yield _rented(offer, known[offer.accelerator], rate, shop, best)
    for accelerator in shop.catalog.accelerators:
        if accelerator.list_price_usd is not None:
            yield _bought(accelerator, shop, best)
        if accelerator.server_price_usd is not None:
            yield _server(accelerator, shop, best)


def _usd(offer: Offer, shop: Shop) -> float | None:
    """Return US dollars for one unit of its currency; None where no rate is given."""
    return 1.0 if offer.currency == "USD" else shop.usd_per.get(offer.currency)


def _there(hardware: Hardware, run: MeasuredRun, assumed: Assumptions) -> Candidate:
    return Candidate(
        id=f"own-{slug(hardware.label)}",
        named=f"own {hardware.label}",
        label=f"Own {hardware.label}",
        way="own",
        hardware=hardware,
        run=run,
        owned=machine_of(hardware, 0.0, assumed),
        price="electricity only" if hardware.power_watts else "power not known",
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
    doubt = shop.assumed.stale_price_doubt if stale else shop.assumed.price_doubt
    price = offer.price_per_hour * rate * machines
    several = f", {machines} machines" if machines > 1 else ""
    terms = "" if offer.terms == "on demand" else f", {offer.terms}"
    years = committed_for(offer)
    paid = f", paid all month for {years}" if years else ""
    quoted_in = ""
    if offer.currency != "USD":
        quoted_in = f" ({offer.price_per_hour * machines:,.2f} {offer.currency})"
    each = _each(price, hardware.count, "USD/h")
    return Candidate(
        id=f"rent-{slug(offer.id)}{f'-x{machines}' if machines > 1 else ''}",
        named=f"rent {offer.id}{f' x{machines}' if machines > 1 else ''}",
        label=f"Rent {hardware.label} ({offer.provider}{terms}{several})",
        way="rent",
        hardware=hardware,
        run=_measured_there(hardware, best),
        offer=offer,
        rental=rental_of(price, shop.assumed, doubt, offer),
        price=f"{price:,.2f} USD/h{each}{quoted_in}{paid}, {offer.as_of:%b %Y}",
        stale=stale,
        source=offer.source_url,
    )


def _bought(accelerator: Accelerator, shop: Shop, best: Best) -> Candidate:
    """One accelerator at its list price."""
    hardware = _hardware(accelerator, 1, machines_for(accelerator, 1))
    as_of, price = accelerator.list_price_as_of, accelerator.list_price_usd or 0.0
    stale, uncertainty = _age(as_of, shop)
    return Candidate(
        id=f"buy-1x-{accelerator.id}",
        label=f"Buy {hardware.label}",
        way="buy",
        hardware=hardware,
        run=_measured_there(hardware, best),
        owned=machine_of(hardware, price, shop.assumed, uncertainty),
        price=f"{price:,.0f} USD list{f', {as_of:%b %Y}' if as_of else ''}",
        stale=stale,
        source=accelerator.list_price_source_url,
    )


def _server(accelerator: Accelerator, shop: Shop, best: Best) -> Candidate:
    """A whole server of several accelerators; its price includes the host."""
    count = accelerator.server_accelerators or 1
    hardware = _hardware(accelerator, count, machines_for(accelerator, count))
    as_of, price = accelerator.server_price_as_of, accelerator.server_price_usd or 0.0
    stale, uncertainty = _age(as_of, shop)
    return Candidate(
        id=f"buy-{count}x-{accelerator.id}",
        label=f"Buy {hardware.label} (server)",
        way="buy",
        hardware=hardware,
        run=_measured_there(hardware, best),
        owned=replace(machine_of(hardware, price, shop.assumed, uncertainty), overhead_share=0.0),
        price=f"{price:,.0f} USD{_each(price, count, 'USD')}{f', {as_of:%b %Y}' if as_of else ''}",
        stale=stale,
        source=accelerator.server_price_source_url,
    )


def _age(as_of: date | None, shop: Shop) -> tuple[bool, float]:
    """Whether a price is old, and its uncertainty [share]."""
    stale = as_of is None or is_stale(as_of, shop.today)
    return stale, shop.assumed.stale_price_doubt if stale else shop.assumed.price_doubt


def _each(price: float, count: int, unit: str) -> str:
    """The price of one accelerator beside that of several: ' (3.99 USD/h each)'."""
    digits = 0 if price >= 1_000.0 * count else 2
    return f" ({price / count:,.{digits}f} {unit} each)" if count > 1 else ""


def _of_entry(entry: Entry, accelerator: Accelerator, shop: Shop, best: Best) -> Candidate:
    hardware = _hardware(accelerator, entry.count, machines_for(accelerator, entry.count))
    each = accelerator.list_price_usd if entry.price is None else entry.price
    rental = owned = None
    price = "electricity only"
    if entry.way == "rent":
        rental = rental_of(entry.price or 0.0, shop.assumed, 0.0, None)
        each_hour = _each(entry.price or 0.0, entry.count, "USD/h")
        price = f"{entry.price or 0.0:,.2f} USD/h{each_hour}, {OWN_ENTRY}"
    else:
        total = (each or 0.0) * entry.count if entry.way == "buy" else 0.0
        owned = machine_of(hardware, total, shop.assumed)
        if entry.price is not None:  # a quoted price is for the machine, its host included
            owned = replace(owned, overhead_share=0.0)
        each_one = _each(total, entry.count, "USD")
        price = f"{total:,.0f} USD{each_one}, {OWN_ENTRY}" if entry.way == "buy" else price
    return Candidate(
        id=entry_id(entry),
        label=f"{entry.way.capitalize()} {hardware.label} ({OWN_ENTRY})",
        way=entry.way,
        hardware=hardware,
        run=_measured_there(hardware, best),
        rental=rental,
        owned=owned,
        price=price,
        source=OWN_ENTRY,
    )


def _hardware(accelerator: Accelerator, count: int, nodes: int = 1) -> Hardware:
    return Hardware(
        label=f"{count} x {accelerator.name}", accelerator=accelerator, count=count, nodes=nodes
    )


def _measured_there(hardware: Hardware, best: Best) -> MeasuredRun | None:
    """The best run on the same number of the same accelerators, if there is one."""
    for there, run in best.values():
        same = there.accelerator is not None and there.accelerator == hardware.accelerator
        if same and there.count == hardware.count and there.nodes == hardware.nodes:
            return run
    return None


CLUSTERS: Final = 3
"""Most offers that are shown as clusters, each of another accelerator."""


def too_large(job: Job, rented: Iterable[Candidate]) -> Iterator[tuple[Candidate, int]]:
    """Offers and how many of their machines the job needs, where it fits on none with room left.

    Those with the cheapest peak, old prices last, of each accelerator one; machines of `PER_NODE`
    accelerators or more where there are any.

    Args:
        job: what is trained.
        rented: every offer as one machine.
    """
    suitable = [c for c in rented if _suits(c, job)]
    if not suitable or any(has_room(job, c.hardware, job.batch) for c in suitable):
        return
    large = [c for c in suitable if c.hardware.count >= PER_NODE] or suitable
    found: dict[str, tuple[Candidate, int]] = {}
    for one in sorted(large, key=lambda c: (c.stale, _price(c, job))):
        machines = _machines(one, job)
        if machines and one.hardware.accelerator:
            found.setdefault(one.hardware.accelerator.id, (one, machines))
    yield from list(found.values())[:CLUSTERS]


def _suits(one: Candidate, job: Job) -> bool:
    """An accelerator of known peak, paid for the hours it is used and not taken away."""
    card, offer = one.hardware.accelerator, one.offer
    if card is None or card.kind == "cpu" or offer is None or offer.terms != "on demand":
        return False
    return _price(one, job) < math.inf


def _price(one: Candidate, job: Job) -> float:
    """Of the machine's peak [USD per hour over FLOP/s]."""
    return price_of_peak(one, job.precision) / one.hardware.count


def _machines(one: Candidate, job: Job) -> int | None:
    """Return the machines it needs; None where no count is enough, or more than `MOST_COUNT`."""
    card, each = one.hardware.accelerator, one.hardware.count
    count = least_count(job, card, job.batch) if card else None
    machines = math.ceil(count / each) if count else 0
    return machines if 0 < machines * each <= MOST_SHARDS else None
