"""Of all ways to get a job done, the few that an answer begins with.

With limits, those that are likely to meet them: a quick estimate of the median,

    time = pre-train + start-up + samples/(samples/s of one * count * efficiency)

    samples/s of one    that of the fastest measured accelerator, by peak FLOP/s; else
                        MFU * peak/FLOPs per sample, with the overhead of its steps

and the probability to keep the limits with the spread of public runs around it, `MFU_SD`. It only
chooses the options; every number of the answer is made by `planner.job._times`. A run costs
what `planner.cost` says at likely values: rent, a bought machine's share of its month, electricity.
A budget is for the money to be paid: of a bought machine its whole price.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from planner.compare._assumptions import Assumptions, years_committed
from planner.compare.comparison import CHEAPEST, USUAL, Wanted
from planner.compare.ranking import LIKELY_IN_TIME
from planner.compare.reckon import busy_share
from planner.cost import (
    HOURS_PER_YEAR,
    Owned,
    Rental,
    capex,
    energy_only_per_run,
    likely,
    machines_for,
    own_per_run,
)
from planner.job import (
    MFU,
    MFU_SD,
    OVERHEAD_S,
    OWN_ENTRY,
    USUAL_BATCH,
    Candidate,
    Goal,
    Hardware,
    Job,
    expected_rate,
    fit_of,
    has_links,
    peak_of,
    per_accelerator,
)
from planner.job.efficiency import efficiency

BEGIN_WITH: Final = 6
SERVER: Final = 8
"""Accelerators of a whole server, as most are sold."""
HOUR_S: Final = 3600.0
Rate = Callable[[Hardware], float | None]
HOPELESS: Final = 40.0 * MFU_SD
"""Ln of a room so small that no spread of a time helps: a price alone is above the budget."""
Place = tuple[bool, bool, float, float, float]
"""Unlikely to keep the limits, an old price, how far beyond hope, price or time over the
probability to keep them, and of those alike in all that the price."""


class _Paid(NamedTuple):
    """What is taken of a limit: what is fixed, and what goes with the time."""

    fixed: float
    by_time: float

    @property
    def all(self) -> float:
        """Both."""
        return self.fixed + self.by_time


def usual(
    candidates: Iterable[Candidate],
    job: Job,
    most: int = BEGIN_WITH,
    goal: Goal | None = None,
    *,
    wanted: Wanted = CHEAPEST,
    assumed: Assumptions = USUAL,
) -> list[str]:
    """Ids to begin with: own entries, where it was measured, then most peak FLOP/s for the money.

    All own entries come, further ones up to `most` in all. What can be rented stands for what is
    there already; of several prices for one accelerator the lowest fresh one counts, none that may
    be taken away, and no more of them than it takes for the job to fit; where it fits on none,
    those with the most memory. One it fits on is bought, so that the question arises. A job
    without measurements is offered whole servers too, unless limits set the count.

    Args:
        candidates: all there are.
        job: what is trained.
        most: so many, where own entries are not more.
        goal: how much of it; needed with limits only.
        wanted: with limits those come first that are likely to meet them, an accelerator once, as
            many of it as that takes.
        assumed: how often the run is repeated; needed with limits only.
    """
    every = list(candidates)
    entered = [c for c in every if c.source == OWN_ENTRY]
    mine = [c for c in every if c.run is not None and c.source != OWN_ENTRY]
    there = {c.run.run.system for c in entered if c.run}
    place = _placer(every, job, goal, wanted, assumed)
    measured = [c for c in _one_per_system(mine) if c.run and c.run.run.system not in there]
    paid = _in_order([c for c in measured if c.way != "own"] or measured, place)
    chosen = entered + paid[: max(most // 2 - len(entered), 0)]
    ids = {c.id for c in (*entered, *mine)}
    rest = _begin_with([c for c in every if c.id not in ids and not _spot(c)], job, place)
    servers = [] if job.measured or place is not None else _servers(rest, job)
    room = max(most - len(chosen) - len(servers), 0)
    cards = [c for c in rest if c.way == "buy" and c.hardware.count < SERVER and may_fit(c, job)]
    bought = cards[: min(room, 1)]
    rented = _distinct([c for c in rest if c.way == "rent"])
    rented = [c for c in rented if c.hardware not in [s.hardware for s in servers]]
    chosen += rented[: room - len(bought)] + servers + bought
    return [c.id for c in chosen]


def _servers(rest: Sequence[Candidate], job: Job) -> list[Candidate]:
    """Return whole servers: one to buy, the same to rent, and one of another maker to rent.

    Args:
        rest: what may be chosen, the best first.
        job: what is trained.
    """
    whole = [
        c for c in rest if c.hardware.count >= SERVER and c.hardware.nodes == 1 and may_fit(c, job)
    ]
    bought = [c for c in whole if c.way == "buy"][:1]
    rented = [c for c in whole if c.way == "rent" and c.hardware.count == SERVER]
    same = [c for c in rented if c.hardware in [b.hardware for b in bought]]
    first = (same or rented)[:1]
    other = [c for c in rented if _maker(c) not in [_maker(f) for f in first]][:1]
    return [*first, *other, *bought]


def _maker(one: Candidate) -> str:
    return one.hardware.accelerator.maker if one.hardware.accelerator else ""


def may_fit(one: Candidate, job: Job) -> bool:
    """Whether nothing says that the job is too large for it."""
    return fit_of(job, one.hardware, job.batch).fits is not False


def price_of_peak(one: Candidate, precision: str) -> float:
    """Money for peak FLOP/s [USD per hour or USD, over FLOP/s]: only compared within one way."""
    accelerator = one.hardware.accelerator
    peak = peak_of(accelerator, precision) if accelerator else None
    paid = one.rental.price_per_hour if one.rental else one.owned.price_usd if one.owned else 0.0
    return float(likely(paid)) / peak if peak else math.inf


def _begin_with(
    rest: Sequence[Candidate], job: Job, place: Callable[[Candidate], Place] | None
) -> list[Candidate]:
    """Those it fits on, the cheapest peak first; where it fits on none, the most memory first.

    Processors are there for who asks for them: no catalogue knows the memory beside one.
    """
    others = [c for c in rest if not _processor(c)]
    price = {c.id: price_of_peak(c, job.precision) for c in others}
    priced = [c for c in others if price[c.id] < math.inf] or others
    fitting = [c for c in priced if may_fit(c, job)]
    if fitting and place is not None:
        return _varied(_in_order(fitting, place), place)
    if fitting:
        return sorted(fitting, key=lambda c: (c.stale, c.hardware.count, price[c.id]))
    return sorted(priced, key=lambda c: (-_memory(c), price[c.id]))


# -- with limits ---------------------------------------------------------------------------------


def _placer(
    every: Sequence[Candidate], job: Job, goal: Goal | None, wanted: Wanted, assumed: Assumptions
) -> Callable[[Candidate], Place] | None:
    """What to sort by; None without limits, or where the amount of work is unknown."""
    samples = _samples(job, goal)
    if samples is None or not wanted.limited:
        return None
    rate = _rates(every, job)

    @cache
    def place(of: str) -> Place:
        one, seconds = by_id[of], _seconds(by_id[of], job, samples, rate)
        return _place(
            one, seconds, _cost(one, seconds, assumed), _to_pay(one, seconds, assumed), wanted
        )

    by_id = {c.id: c for c in every}
    return lambda one: place(one.id)


def _samples(job: Job, goal: Goal | None) -> float | None:
    if goal is None:
        return None
    if goal.epochs is not None:
        return None if job.samples_per_epoch is None else goal.epochs * job.samples_per_epoch
    return None if goal.samples is None else float(goal.samples.value)


def _place(
    one: Candidate, seconds: float, cost: float | None, to_pay: _Paid | None, wanted: Wanted
) -> Place:
    """Where it stands; of unknown cost a budget says nothing, and it comes last by price."""
    limits = (
        (wanted.deadline_s, _Paid(0.0, seconds)),
        (wanted.budget_usd, to_pay),
        (wanted.cost_limit_usd, None if cost is None else _Paid(0.0, cost)),
    )
    known = ((most, taken) for most, taken in limits if most is not None and taken is not None)
    slack = min((_slack(most, taken) for most, taken in known), default=0.0)
    keeps = 0.5 * math.erfc(-slack / (MFU_SD * math.sqrt(2.0)))
    beyond = -slack if keeps < sys.float_info.epsilon else 0.0
    paid = math.inf if cost is None else cost
    size = paid if wanted.order == "cost" else seconds
    return (
        keeps < LIKELY_IN_TIME, one.stale, beyond, size / max(keeps, sys.float_info.epsilon), paid,
    )  # fmt: skip


def _slack(most: float, taken: _Paid) -> float:
    """Ln of the room that a limit leaves to what goes with the time; far below 0 without room."""
    room = most - taken.fixed
    if room <= 0.0 < taken.fixed:
        return -HOPELESS - (math.log(taken.all / most) if most > 0.0 else math.inf)
    if taken.by_time <= 0.0:
        return math.inf
    return math.log(room / taken.by_time) if room > 0.0 and taken.by_time < math.inf else -math.inf


def _to_pay(one: Candidate, seconds: float, assumed: Assumptions) -> _Paid | None:
    """Money to be paid so that the job is done [USD], at likely values; None where not known.

    As `planner.compare.rows.to_pay_draws`.
    """
    if one.rental is not None:
        hour = float(likely(one.rental.price_per_hour))
        committed = hour * HOURS_PER_YEAR * years_committed(one.offer)
        used = hour * seconds / HOUR_S
        return _Paid(committed, max(used - committed, 0.0))
    if one.way == "own" or one.owned is None:
        cost = _cost(one, seconds, assumed)
        return None if cost is None else _Paid(0.0, cost)
    machines = 1.0
    if seconds < math.inf:
        machines = float(machines_for(busy_share(np.asarray(seconds), assumed)))
    energy = float(energy_only_per_run(one.owned, seconds)) if one.hardware.power_watts else 0.0
    return _Paid(machines * float(capex(one.owned)), energy)


def _cost(one: Candidate, seconds: float, assumed: Assumptions) -> float | None:
    """What a run costs [USD], at likely values; None where its power is unknown."""
    if seconds == math.inf:
        return math.inf
    if one.rental is not None:
        return _rent(one.rental, seconds, assumed)
    if one.owned is not None and one.way == "buy":
        return _bought(one.owned, seconds, assumed)
    if one.owned is None or not one.hardware.power_watts:
        return None
    return float(energy_only_per_run(one.owned, seconds))


def _rent(rental: Rental, seconds: float, assumed: Assumptions) -> float:
    """Hours at their price; those that are committed are shared by the runs of a month."""
    runs = max(assumed.runs_per_month, sys.float_info.epsilon)
    hours = max(seconds / HOUR_S, float(likely(rental.committed_hours_per_month)) / runs)
    return float(likely(rental.price_per_hour)) * hours


def _bought(owned: Owned, seconds: float, assumed: Assumptions) -> float:
    """Its part of a month of so many machines as the runs of that keep busy."""
    busy = float(busy_share(np.asarray(seconds), assumed))
    machines = max(math.ceil(busy - 1e-9), 1)
    return float(own_per_run(owned, seconds, min(busy / machines, 1.0)))


def _seconds(one: Candidate, job: Job, samples: float, rate: Rate) -> float:
    """Quick median of the time [s]; infinite where not known."""
    known = one.run.run.samples_per_s if one.run else rate(one.hardware)
    starts = float(likely(one.rental.startup_s)) if one.rental else 0.0
    return job.pre_train_s + starts + samples / known if known else math.inf


def _rates(every: Iterable[Candidate], job: Job) -> Rate:
    """Samples/s of so many of an accelerator from its peak, quickly."""
    used = _flops_used(every, job)
    operations, batch = job.train_flops_per_sample, job.batch or USUAL_BATCH
    overhead = (OVERHEAD_S if job.overhead_s is None else job.overhead_s) / batch

    def rate(hardware: Hardware) -> float | None:
        card = hardware.accelerator
        if used is None and (known := expected_rate(job, hardware)) is not None:
            return known
        peak = peak_of(card, job.precision) if card else None
        if peak is None or (used is None and operations is None):
            return None
        one = peak / used if used else 1.0 / ((operations or 0.0) / (MFU * peak) + overhead)
        return (
            one
            * hardware.count
            * _reached(hardware.devices, hardware.nodes, linked=has_links(hardware))
        )

    return rate


def _flops_used(every: Iterable[Candidate], job: Job) -> float | None:
    """Peak FLOPs a sample takes on the fastest measured accelerator; None where none is known."""
    found = [
        (per_accelerator(c.run.run.samples_per_s, c.hardware), peak)
        for c in every
        if c.run and c.run.run.samples_per_s and c.hardware.accelerator
        if (peak := peak_of(c.hardware.accelerator, job.precision))
    ]
    best = max(found, default=None)
    return None if best is None else best[1] / best[0]


@cache
def _reached(devices: int, nodes: int, *, linked: bool) -> float:
    return float(efficiency(devices, nodes, linked=linked).value)


def _in_order(
    every: Sequence[Candidate], place: Callable[[Candidate], Place] | None
) -> list[Candidate]:
    return list(every) if place is None else sorted(every, key=place)


def _varied(every: Sequence[Candidate], place: Callable[[Candidate], Place]) -> list[Candidate]:
    """Of those that are likely to keep the limits, then of the others, one of each kind first."""
    seen: set[tuple[str, object]] = set()
    again = []
    for one in every:
        kind = (one.way, one.hardware.accelerator.id if one.hardware.accelerator else None)
        again.append(kind in seen)
        seen.add(kind)
    order = sorted(zip(every, again, strict=True), key=lambda x: (place(x[0])[0], x[1]))
    return [one for one, _ in order]


# -- what is the same, and what fits -------------------------------------------------------------


def _processor(one: Candidate) -> bool:
    return one.hardware.accelerator is not None and one.hardware.accelerator.kind == "cpu"


def _memory(one: Candidate) -> float:
    """Memory of all its accelerators [bytes], 0 where not known."""
    card = one.hardware.accelerator
    return (card.memory_bytes or 0.0) * one.hardware.count if card else 0.0


def _one_per_system(mine: Iterable[Candidate]) -> list[Candidate]:
    """At most one for each measured system: own entries, then rented, bought, there already."""
    best: dict[str, Candidate] = {}
    order = ("rent", "buy", "own")
    known = sorted(mine, key=lambda c: (c.source != OWN_ENTRY, order.index(c.way), c.stale))
    for one in known:
        best.setdefault(one.run.run.system if one.run else one.id, one)
    return list(best.values())


def _spot(one: Candidate) -> bool:
    return one.offer is not None and one.offer.terms == "spot"


def _distinct(every: Iterable[Candidate]) -> list[Candidate]:
    """The first for each hardware."""
    best: dict[str, Candidate] = {}
    for one in every:
        best.setdefault(one.hardware.label, one)
    return list(best.values())
