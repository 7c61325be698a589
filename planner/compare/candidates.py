"""Why this file exists: every way to get a job done, of measurements, catalogue and own entries.

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
from planner.compare.assumptions import Assumptions
from planner.compare.entries import Entry, entry_text
from planner.compare.memory import fit_of
from planner.compare.placing import machines_for
from planner.compare.priced import committed_for, machine_of, rental_of
from planner.compare.records import Candidate, Hardware, Job
from planner.compare.sheets import peak_of
from planner.cost import likely
from planner.how_long import Option as MeasuredRun
from planner.slugs import slug

Best = Mapping[str, tuple[Hardware, MeasuredRun]]
OWN_ENTRY: Final = "own entry"
THERE: Final = "there already"
BEGIN_WITH: Final = 6


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


def candidates_of(job: Job, shop: Shop, entries: Sequence[Entry] = ()) -> list[Candidate]:
    """All ways there are: own entries, measured systems, offers, purchases; ids are unique."""
    best = best_runs(job)
    known = {a.id: a for a in shop.catalog.accelerators}
    kept: dict[str, Candidate] = {}
    for one in _all(best, known, shop, entries):
        kept.setdefault(one.id, one)
    return _told_apart(list(kept.values()))


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
    """What tells instances apart: '1x L40S (Secure Cloud)' is the 'Secure Cloud' one."""
    return instance.rstrip(")").rsplit("(", 1)[-1].strip() or instance


def best_runs(job: Job) -> dict[str, tuple[Hardware, MeasuredRun]]:
    """The run of most samples/s on every system it was measured on, by the system's label."""
    found: dict[str, tuple[Hardware, MeasuredRun]] = {}
    for option in job.measured:
        there = job.hardware[option.run.run_id]
        known = found.get(there.label)
        if known is None or _speed(option) > _speed(known[1]):
            found[there.label] = (there, option)
    return found


def usual(candidates: Iterable[Candidate], job: Job, most: int = BEGIN_WITH) -> list[str]:
    """Ids to begin with: own entries, where it was measured, then most peak FLOP/s for the money.

    All own entries come, further ones up to `most` in all. What can be rented stands for what is
    there already; of several prices for one accelerator the lowest fresh one counts, none that may
    be taken away, and no more of them than it takes for the job to fit; where it fits on none,
    those with the most memory. One it fits on is bought, so that the question arises.
    """
    every = list(candidates)
    entered = [c for c in every if c.source == OWN_ENTRY]
    mine = [c for c in every if c.run is not None and c.source != OWN_ENTRY]
    there = {c.run.run.system for c in entered if c.run}
    measured = [c for c in _one_per_system(mine) if c.run and c.run.run.system not in there]
    paid = [c for c in measured if c.way != "own"]
    chosen = entered + (paid or measured)[: max(most // 2 - len(entered), 0)]
    ids = {c.id for c in (*entered, *mine)}
    rest = _begin_with([c for c in every if c.id not in ids and not _spot(c)], job)
    room = max(most - len(chosen), 0)
    bought = [c for c in rest if c.way == "buy" and _fits(c, job)][: min(room, 1)]
    rented = _distinct([c for c in rest if c.way == "rent"])
    chosen += rented[: room - len(bought)] + bought
    return [c.id for c in chosen]


def _begin_with(rest: Sequence[Candidate], job: Job) -> list[Candidate]:
    """Those it fits on, the cheapest peak first; where it fits on none, the most memory first.

    Processors are there for who asks for them: no catalogue knows the memory beside one.
    """
    others = [c for c in rest if not _processor(c)]
    reckoned = [c for c in others if _price_of_peak(c, job.precision) < math.inf] or others
    fitting = [c for c in reckoned if _fits(c, job)]
    price = {c.id: _price_of_peak(c, job.precision) for c in reckoned}
    if fitting:
        return sorted(fitting, key=lambda c: (c.stale, c.hardware.count, price[c.id]))
    return sorted(reckoned, key=lambda c: (-_memory(c), price[c.id]))


def _processor(one: Candidate) -> bool:
    return one.hardware.accelerator is not None and one.hardware.accelerator.kind == "cpu"


def _memory(one: Candidate) -> float:
    """Memory of all its accelerators [bytes], 0 where not known."""
    card = one.hardware.accelerator
    return (card.memory_bytes or 0.0) * one.hardware.count if card else 0.0


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
        rate = 1.0 if offer.currency == "USD" else shop.usd_per.get(offer.currency)
        if offer.accelerator in known and rate is not None:
            yield _rented(offer, known[offer.accelerator], rate, shop, best)
    for accelerator in shop.catalog.accelerators:
        if accelerator.list_price_usd is not None:
            yield _bought(accelerator, 1, shop, best)


def _there(hardware: Hardware, run: MeasuredRun, assumed: Assumptions) -> Candidate:
    return Candidate(
        id=f"own-{slug(hardware.label)}",
        label=f"Own {hardware.label}",
        way="own",
        hardware=hardware,
        run=run,
        owned=machine_of(hardware, 0.0, assumed),
        price="electricity only" if hardware.power_watts else "power not known",
        source=THERE,
    )


def _rented(
    offer: Offer, accelerator: Accelerator, rate: float, shop: Shop, best: Best
) -> Candidate:
    hardware = _hardware(accelerator, offer.accelerators)
    stale = is_stale(offer.as_of, shop.today)
    doubt = shop.assumed.stale_price_doubt if stale else shop.assumed.price_doubt
    price = offer.price_per_hour * rate
    terms = "" if offer.terms == "on demand" else f", {offer.terms}"
    years = committed_for(offer)
    paid = f", paid all month for {years}" if years else ""
    return Candidate(
        id=f"rent-{slug(offer.id)}",
        label=f"Rent {hardware.label} ({offer.provider}{terms})",
        way="rent",
        hardware=hardware,
        run=_measured_there(hardware, best),
        offer=offer,
        rental=rental_of(price, shop.assumed, doubt, offer),
        price=f"{price:,.2f} USD/h{paid}, {offer.as_of:%b %Y}",
        stale=stale,
        source=offer.source_url,
    )


def _bought(accelerator: Accelerator, count: int, shop: Shop, best: Best) -> Candidate:
    hardware = _hardware(accelerator, count, machines_for(accelerator, count))
    as_of, price = accelerator.list_price_as_of, (accelerator.list_price_usd or 0.0) * count
    stale = as_of is None or is_stale(as_of, shop.today)
    doubt = shop.assumed.stale_price_doubt if stale else shop.assumed.price_doubt
    return Candidate(
        id=f"buy-{count}x-{accelerator.id}",
        label=f"Buy {hardware.label}",
        way="buy",
        hardware=hardware,
        run=_measured_there(hardware, best),
        owned=machine_of(hardware, price, shop.assumed, doubt),
        price=f"{price:,.0f} USD list{f', {as_of:%b %Y}' if as_of else ''}",
        stale=stale,
        source=accelerator.list_price_source_url,
    )


def _of_entry(entry: Entry, accelerator: Accelerator, shop: Shop, best: Best) -> Candidate:
    hardware = _hardware(accelerator, entry.count, machines_for(accelerator, entry.count))
    each = accelerator.list_price_usd if entry.price is None else entry.price
    rental = owned = None
    price = "electricity only"
    if entry.way == "rent":
        rental = rental_of(entry.price or 0.0, shop.assumed, 0.0, None)
        price = f"{entry.price or 0.0:,.2f} USD/h, {OWN_ENTRY}"
    else:
        total = (each or 0.0) * entry.count if entry.way == "buy" else 0.0
        owned = machine_of(hardware, total, shop.assumed)
        price = f"{total:,.0f} USD, {OWN_ENTRY}" if entry.way == "buy" else price
    return Candidate(
        id=f"mine-{slug(entry_text(entry))}",
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


def _one_per_system(mine: Iterable[Candidate]) -> list[Candidate]:
    """At most one for each measured system: own entries, then rented, bought, there already."""
    best: dict[str, Candidate] = {}
    order = ("rent", "buy", "own")
    known = sorted(mine, key=lambda c: (c.source != OWN_ENTRY, order.index(c.way), c.stale))
    for one in known:
        best.setdefault(one.run.run.system if one.run else one.id, one)
    return list(best.values())


def _fits(one: Candidate, job: Job) -> bool:
    return fit_of(job, one.hardware, job.batch).fits is not False


def _spot(one: Candidate) -> bool:
    return one.offer is not None and one.offer.terms == "spot"


def _distinct(every: Iterable[Candidate]) -> list[Candidate]:
    """The first for each hardware."""
    best: dict[str, Candidate] = {}
    for one in every:
        best.setdefault(one.hardware.label, one)
    return list(best.values())


def _price_of_peak(one: Candidate, precision: str) -> float:
    """Money for peak FLOP/s [USD per hour or USD, over FLOP/s]: only compared within one way."""
    accelerator = one.hardware.accelerator
    peak = peak_of(accelerator, precision) if accelerator else None
    paid = one.rental.price_per_hour if one.rental else one.owned.price_usd if one.owned else 0.0
    return float(likely(paid)) / peak if peak else math.inf


def _speed(option: MeasuredRun) -> float:
    return option.run.samples_per_s or 0.0
