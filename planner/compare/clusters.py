"""Why this file exists: a job too large for every machine on offer is trained on several of them.

Whole machines of one offer, as many as weights, gradients and optimiser state need when they are
sharded. What several machines do together is the efficiency over nodes of
`planner.compare.efficiency`; that the provider has so many, and links them fast, is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from planner.compare.begin_with import price_of_peak
from planner.compare.memory import MOST_SHARDS, has_room, least_count
from planner.compare.placing import PER_NODE
from planner.compare.records import Candidate, Job

CLUSTERS: Final = 3
"""Offers that are told in several machines, each of another accelerator."""


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
    """Machines it takes; None where no number does, or more than anybody asks for."""
    card, each = one.hardware.accelerator, one.hardware.count
    count = least_count(job, card, job.batch) if card else None
    machines = math.ceil(count / each) if count else 0
    return machines if 0 < machines * each <= MOST_SHARDS else None
