"""The default options of an answer, chosen from all options for a job.

With limits, the options that are likely to meet them, by a quick estimate of the median:

    time = pre-train + start-up + samples/(samples/s of one * count * efficiency)

    samples/s of one    that of the fastest measured accelerator, by peak FLOP/s; else
                        MFU * peak/FLOPs per sample, with the overhead of its steps

The probability of meeting the limits follows from the spread of public runs around it, `MFU_SD`.
The estimate only chooses the options; `planner.job._times` makes every number of the answer. The
cost of a run is that of `planner.cost` at likely values: rent, a bought machine's share of its
month, electricity. A budget is compared with the money to be paid: a purchase counts in full.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from planner.compare._assumptions import Assumptions, years_committed
from planner.compare.comparison import CHEAPEST, USUAL, Limits
from planner.compare.evaluation import LIKELY_IN_TIME, busy_share
from planner.core import HOUR_S
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
    Candidate,
    Goal,
    Hardware,
    Job,
    expected_rate,
    fit_of,
    has_links,
    peak_of,
    per_accelerator,
    usual_batch,
)
from planner.job.efficiency import efficiency

BEGIN_WITH: Final = 6
SERVER: Final = 8
"""Accelerators of a typical server."""
PURCHASES: Final = 2
"""Whole servers to buy: the cheapest peak may have an uncertain price."""
MAKERS: Final = 2
"""Makers of the whole servers that are shown."""
Rate = Callable[[Hardware], float | None]
HOPELESS: Final = 40.0 * MFU_SD
"""Ln of the room to a limit below which no spread of a time helps: the price alone exceeds it."""
Place = tuple[bool, bool, float, float, float]
"""Sort key: unlikely to meet the limits, old price, excess without hope, price or time over the
probability of meeting them, price."""


class _Paid(NamedTuple):
    """Use of a limit: a fixed part, and a part that grows with the time."""

    fixed: float
    by_time: float

    @property
    def all(self) -> float:
        """The sum of both parts."""
        return self.fixed + self.by_time


def usual(
    candidates: Iterable[Candidate],
    job: Job,
    most: int = BEGIN_WITH,
    goal: Goal | None = None,
    *,
    limits: Limits = CHEAPEST,
    assumed: Assumptions = USUAL,
) -> list[str]:
    """Return default option ids: own entries, measured systems, then most peak FLOP/s per price.

    All own entries are included, others up to `most` in all. A rental stands for an owned system;
    the machine of a published run is an owned one only where nothing else is left.
    Each accelerator has its lowest current on-demand price and the smallest count on which the job
    fits. Where it fits on none, the most memory comes first. One purchase on which it fits is
    included. Without measurements or limits, whole servers are added; those beyond half of `most`
    come on top.

    Args:
        candidates: all options.
        job: the workload.
        most: number of options, where own entries are not more.
        goal: amount of training; needed with limits only.
        limits: options that are likely to meet them come first, each accelerator once, at the
            count that this needs.
        assumed: how often the run is repeated; needed with limits only.
    """
    every = list(candidates)
    entered = [c for c in every if c.source == OWN_ENTRY]
    mine = [c for c in every if c.run is not None and c.source != OWN_ENTRY]
    there = {c.run.run.system for c in entered if c.run}
    place = _placer(every, job, goal, limits, assumed)
    measured = [c for c in _one_per_system(mine) if c.run and c.run.run.system not in there]
    ids = {c.id for c in (*entered, *mine)}
    rest = _begin_with([c for c in every if c.id not in ids and not _spot(c)], job, place)
    there_already = [c for c in measured if not (rest and _of_others(c))]
    paid = _in_order([c for c in measured if c.way != "own"] or there_already, place)
    chosen = entered + paid[: max(most // 2 - len(entered), 0)]
    servers = [] if job.measured or place is not None else _servers(rest, job)
    room = max(most - len(chosen) - min(len(servers), most // 2), 0)
    cards = [c for c in rest if c.way == "buy" and c.hardware.count < SERVER and may_fit(c, job)]
    bought = cards[: min(room, 1)]
    rented = _distinct([c for c in rest if c.way == "rent"])
    rented = [c for c in rented if c.hardware not in [s.hardware for s in servers]]
    chosen += rented[: room - len(bought)] + servers + bought
    return [c.id for c in chosen]


def _servers(rest: Sequence[Candidate], job: Job) -> list[Candidate]:
    """Return whole servers: `PURCHASES` to buy, the same to rent, and another maker's of each."""
    whole = [
        c for c in rest if c.hardware.count >= SERVER and c.hardware.nodes == 1 and may_fit(c, job)
    ]
    for_sale = sorted(_distinct([c for c in whole if c.way == "buy"]), key=_is_estimated)
    bought = for_sale[:PURCHASES]
    makers = {_maker(c) for c in bought}
    bought += [c for c in for_sale[PURCHASES:] if _maker(c) not in makers][:1]
    rented = _distinct([c for c in whole if c.way == "rent" and c.hardware.count == SERVER])
    same = [c for c in rented if c.hardware in [b.hardware for b in bought]]
    first = same or rented[:1]
    makers = {_maker(c) for c in first}
    other = [c for c in rented if _maker(c) not in makers][: max(MAKERS - len(makers), 0)]
    return [*first, *other, *bought]


def _is_estimated(candidate: Candidate) -> bool:
    """Return whether the price of a server is an estimate: those with a stated price come first."""
    card = candidate.hardware.accelerator
    return card is not None and bool(card.server_price_range)


def _maker(candidate: Candidate) -> str:
    return candidate.hardware.accelerator.maker if candidate.hardware.accelerator else ""


def may_fit(candidate: Candidate, job: Job) -> bool:
    """Return whether the job fits, or its memory is unknown."""
    return fit_of(job, candidate.hardware, job.batch).fits is not False


def price_of_peak(candidate: Candidate, precision: str) -> float:
    """Return price over peak [USD/h or USD, over FLOP/s]; comparable within one way only."""
    accelerator = candidate.hardware.accelerator
    peak = peak_of(accelerator, precision) if accelerator else None
    paid = (
        candidate.rental.price_per_hour
        if candidate.rental
        else candidate.owned.price_usd
        if candidate.owned
        else 0.0
    )
    return float(likely(paid)) / peak if peak else math.inf


def _begin_with(
    rest: Sequence[Candidate], job: Job, place: Callable[[Candidate], Place] | None
) -> list[Candidate]:
    """Return options that fit, cheapest peak first; where none fits, most memory first.

    Options that need a smaller state of the job are used only where no other fits.
    CPUs are not default options: the catalogue does not list their memory.
    """
    others = [c for c in rest if not _processor(c)]
    price = {c.id: price_of_peak(c, job.precision) for c in others}
    priced = [c for c in others if price[c.id] < math.inf] or others
    fits = {c.id: fit_of(job, c.hardware, job.batch) for c in priced}
    possible = [c for c in priced if fits[c.id].fits is not False]
    fitting = [c for c in possible if fits[c.id].as_described] or possible
    if fitting and place is not None:
        return _varied(_in_order(fitting, place), place)
    if fitting:
        return sorted(fitting, key=lambda c: (c.stale, c.hardware.count, price[c.id]))
    return sorted(priced, key=lambda c: (-_memory(c), price[c.id]))


# -- with limits ---------------------------------------------------------------------------------


def _placer(
    every: Sequence[Candidate], job: Job, goal: Goal | None, limits: Limits, assumed: Assumptions
) -> Callable[[Candidate], Place] | None:
    """Return the sort key function; None without limits, or with an unknown amount of work."""
    samples = _samples(job, goal)
    if samples is None or not limits.limited:
        return None
    rate = _rates(every, job)

    @cache
    def place(of: str) -> Place:
        option, seconds = by_id[of], _seconds(by_id[of], job, samples, rate)
        cost, to_pay = _cost(option, seconds, assumed), _to_pay(option, seconds, assumed)
        return _place(option, seconds, cost, to_pay, limits)

    by_id = {c.id: c for c in every}
    return lambda option: place(option.id)


def _samples(job: Job, goal: Goal | None) -> float | None:
    if goal is None:
        return None
    if goal.epochs is not None:
        return None if job.samples_per_epoch is None else goal.epochs * job.samples_per_epoch
    return None if goal.samples is None else float(goal.samples.value)


def _place(
    candidate: Candidate, seconds: float, cost: float | None, to_pay: _Paid | None, limits: Limits
) -> Place:
    """Return the sort key; an unknown cost skips the budget and comes last by price."""
    bounds = (
        (limits.deadline_s, _Paid(0.0, seconds)),
        (limits.budget_usd, to_pay),
        (limits.cost_limit_usd, None if cost is None else _Paid(0.0, cost)),
    )
    checked = ((most, taken) for most, taken in bounds if most is not None and taken is not None)
    slack = min((_slack(most, taken) for most, taken in checked), default=0.0)
    keeps = 0.5 * math.erfc(-slack / (MFU_SD * math.sqrt(2.0)))
    beyond = -slack if keeps < sys.float_info.epsilon else 0.0
    paid = math.inf if cost is None else cost
    size = paid if limits.order == "cost" else seconds
    weighted = size / max(keeps, sys.float_info.epsilon)
    return keeps < LIKELY_IN_TIME, candidate.stale, beyond, weighted, paid


def _slack(most: float, taken: _Paid) -> float:
    """Return ln of room over use of a limit, for the part that grows with time; < 0 if exceeded."""
    room = most - taken.fixed
    if room <= 0.0 < taken.fixed:
        return -HOPELESS - (math.log(taken.all / most) if most > 0.0 else math.inf)
    if taken.by_time <= 0.0:
        return math.inf
    return math.log(room / taken.by_time) if room > 0.0 and taken.by_time < math.inf else -math.inf


def _to_pay(candidate: Candidate, seconds: float, assumed: Assumptions) -> _Paid | None:
    """Return the money to be paid for the job [USD], at likely values; None where unknown.

    As `planner.compare.evaluation.to_pay_draws`.
    """
    if candidate.rental is not None:
        hour = float(likely(candidate.rental.price_per_hour))
        committed = hour * HOURS_PER_YEAR * years_committed(candidate.offer)
        used = hour * seconds / HOUR_S
        return _Paid(committed, max(used - committed, 0.0))
    if candidate.way == "own" or candidate.owned is None:
        cost = _cost(candidate, seconds, assumed)
        return None if cost is None else _Paid(0.0, cost)
    machines = 1.0
    if seconds < math.inf:
        machines = float(machines_for(busy_share(np.asarray(seconds), assumed)))
    energy = (
        float(energy_only_per_run(candidate.owned, seconds))
        if candidate.hardware.power_watts
        else 0.0
    )
    return _Paid(machines * float(capex(candidate.owned)), energy)


def _cost(candidate: Candidate, seconds: float, assumed: Assumptions) -> float | None:
    """Return the cost of a run [USD], at likely values; None where its power is unknown."""
    if seconds == math.inf:
        return math.inf
    if candidate.rental is not None:
        return _rent(candidate.rental, seconds, assumed)
    if candidate.owned is not None and candidate.way == "buy":
        return _bought(candidate.owned, seconds, assumed)
    if candidate.owned is None or not candidate.hardware.power_watts:
        return None
    return float(energy_only_per_run(candidate.owned, seconds))


def _rent(rental: Rental, seconds: float, assumed: Assumptions) -> float:
    """Return the rent of a run [USD]; committed hours are shared by the runs of a month."""
    runs = max(assumed.runs_per_month, sys.float_info.epsilon)
    hours = max(seconds / HOUR_S, float(likely(rental.committed_hours_per_month)) / runs)
    return float(likely(rental.price_per_hour)) * hours


def _bought(owned: Owned, seconds: float, assumed: Assumptions) -> float:
    """Return the run's share of a month of the machines that the month's runs keep busy [USD]."""
    busy = float(busy_share(np.asarray(seconds), assumed))
    machines = max(math.ceil(busy - 1e-9), 1)
    return float(own_per_run(owned, seconds, min(busy / machines, 1.0)))


def _seconds(candidate: Candidate, job: Job, samples: float, rate: Rate) -> float:
    """Return a quick median of the time [s]; infinite where unknown."""
    rate_of_run = candidate.run.run.samples_per_s if candidate.run else rate(candidate.hardware)
    starts = float(likely(candidate.rental.startup_s)) if candidate.rental else 0.0
    return job.pre_train_s + starts + samples / rate_of_run if rate_of_run else math.inf


def _rates(every: Iterable[Candidate], job: Job) -> Rate:
    """Return a function of hardware: a quick estimate of samples/s from its peak."""
    used = _flops_used(every, job)
    operations, batch = job.train_flops_per_sample, job.batch or usual_batch(job.family)
    overhead = (OVERHEAD_S if job.overhead_s is None else job.overhead_s) / batch

    def rate(hardware: Hardware) -> float | None:
        card = hardware.accelerator
        if used is None and (expected := expected_rate(job, hardware)) is not None:
            return expected
        peak = peak_of(card, job.precision) if card else None
        if peak is None or (used is None and operations is None):
            return None
        single = peak / used if used else 1.0 / ((operations or 0.0) / (MFU * peak) + overhead)
        return (
            single
            * hardware.count
            * _reached(hardware.devices, hardware.nodes, linked=has_links(hardware))
        )

    return rate


def _flops_used(every: Iterable[Candidate], job: Job) -> float | None:
    """Return peak FLOPs per sample on the fastest measured accelerator; None where unknown."""
    measured = [
        (per_accelerator(c.run.run.samples_per_s, c.hardware), peak)
        for c in every
        if c.run and c.run.run.samples_per_s and c.hardware.accelerator
        if (peak := peak_of(c.hardware.accelerator, job.precision))
    ]
    best = max(measured, default=None)
    return None if best is None else best[1] / best[0]


@cache
def _reached(devices: int, nodes: int, *, linked: bool) -> float:
    return float(efficiency(devices, nodes, linked=linked).value)


def _in_order(
    every: Sequence[Candidate], place: Callable[[Candidate], Place] | None
) -> list[Candidate]:
    return list(every) if place is None else sorted(every, key=place)


def _varied(every: Sequence[Candidate], place: Callable[[Candidate], Place]) -> list[Candidate]:
    """Return options with one of each kind first, those likely to meet the limits before others."""
    seen: set[tuple[str, object]] = set()
    again = []
    for option in every:
        kind = (option.way, option.hardware.accelerator.id if option.hardware.accelerator else None)
        again.append(kind in seen)
        seen.add(kind)
    order = sorted(zip(every, again, strict=True), key=lambda x: (place(x[0])[0], x[1]))
    return [option for option, _ in order]


# -- what is the same, and what fits -------------------------------------------------------------


def _processor(candidate: Candidate) -> bool:
    return (
        candidate.hardware.accelerator is not None and candidate.hardware.accelerator.kind == "cpu"
    )


def _memory(candidate: Candidate) -> float:
    """Return the memory of all its accelerators [bytes]; 0 where unknown."""
    card = candidate.hardware.accelerator
    return (card.memory_bytes or 0.0) * candidate.hardware.count if card else 0.0


def _one_per_system(mine: Iterable[Candidate]) -> list[Candidate]:
    """Return one option per measured system: own entry, rented, bought, or already owned."""
    best: dict[str, Candidate] = {}
    order = ("rent", "buy", "own")
    ordered = sorted(mine, key=lambda c: (c.source != OWN_ENTRY, order.index(c.way), c.stale))
    for option in ordered:
        best.setdefault(option.run.run.system if option.run else option.id, option)
    return list(best.values())


def _of_others(candidate: Candidate) -> bool:
    """Return whether its run is published: that machine is not the user's."""
    return candidate.run is not None and candidate.run.run.basis == "published"


def _spot(candidate: Candidate) -> bool:
    return candidate.offer is not None and candidate.offer.terms == "spot"


def _distinct(every: Iterable[Candidate]) -> list[Candidate]:
    """Return the first option of each hardware."""
    best: dict[str, Candidate] = {}
    for option in every:
        best.setdefault(option.hardware.label, option)
    return list(best.values())
