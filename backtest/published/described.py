"""Questions on published rows that a buyer asks first: described workloads, whole jobs, pairs.

A question has what a person types into Compare: parameters, length or image size, precision, batch,
accelerator and count; never a speed or a utilisation of the row. The answer is that of Compare
itself (`planner.job._times`, and its joint draws for pairs). Errors are of the time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final

from backtest.published.answers import Answer, Pair, answer_of
from planner.catalog import PRECISIONS, Catalog
from planner.compare import better, compare
from planner.compare.comparison import Limits, Question
from planner.compare.ranking import DECIDED
from planner.core import Estimate, Refusal
from planner.job import Candidate, Described, Goal, Hardware, Job, Known, job_described, timed
from planner.published import Configuration, PublishedRow, configurations

LANGUAGE: Final = frozenset({"dense", "lora", "moe"})
"""Families whose operations Compare counts from parameters and tokens."""
MANY_NODES: Final = 8
EPOCH: Final = 1e9
"""Samples of the epoch that is asked about: start-up and rounding vanish beside it."""
ONE_EPOCH: Final = Goal(words="1 epoch", epochs=1)
FASTEST: Final = Limits(order="time")
Kept = Callable[[Configuration], bool]


def of_family(*families: str) -> Kept:
    """Return what keeps the configurations of some families."""
    return lambda one: one.family in families


def over_many_nodes(one: Configuration) -> bool:
    """Whether a dense language model ran on more than 8 nodes."""
    return one.family == "dense" and one.nodes > MANY_NODES


def questions(rows: Sequence[PublishedRow], catalog: Catalog) -> list[Configuration]:
    """Return the published rows as distinct questions with their truth."""
    return configurations(rows, catalog)[0]


def described(found: Sequence[Configuration], kept: Kept) -> list[Answer]:
    """Return the seconds of one sample on all devices, each asked of Compare."""
    return [_described(one) for one in found if kept(one)]


def _described(one: Configuration) -> Answer:
    job = job_of(one)
    if isinstance(job, Refusal):
        return answer_of((one.source, _name(one)), 1.0 / one.samples_per_s, job)
    rate = _rate(job, one)
    return answer_of((one.source, _name(one)), 1.0 / one.samples_per_s, rate, inverse=True)


def _rate(job: Job, one: Configuration) -> Estimate | Refusal:
    """Samples/s of the whole hardware as Compare estimates them; a refusal is its answer too."""
    found = timed(job, ONE_EPOCH, _candidate(one), Known())
    if isinstance(found.total, Refusal):
        return found.total
    return found.rate or Refusal(reason="No speed is estimated.", measure_next="")


def job_of(one: Configuration) -> Job | Refusal:
    """Return the job as a person describes it in Compare."""
    family = "dense" if one.family == "lora" else one.family
    try:
        return job_described(
            Described(
                name=one.model or one.network,
                samples_per_epoch=EPOCH,
                precision=one.precision if one.precision in PRECISIONS else "float8",
                params=one.params,
                active_params=one.active_params,
                tokens_per_sample=one.sequence,
                flops_per_sample=None if _counted(one) else one.train_flops_per_sample,
                network=one.network,
                image_px=one.image_px,
                family=family,
                training="lora" if one.family == "lora" else "full",
                recompute=bool(one.recomputes),
                batch=one.global_batch,
            )
        )
    except ValueError as problem:
        return Refusal(reason=str(problem), measure_next="")


def _counted(one: Configuration) -> bool:
    return one.family in LANGUAGE and None not in (one.params, one.sequence)


def _candidate(one: Configuration) -> Candidate:
    hardware = Hardware(
        label=f"{one.devices} x {one.accelerator.name}",
        accelerator=one.accelerator,
        count=one.devices,
        nodes=one.nodes,
    )
    return Candidate(
        id=f"{one.accelerator.id}-{one.devices}", label=hardware.label, way="own", hardware=hardware
    )


def _name(one: Configuration) -> str:
    length = f", {one.sequence:g} tokens" if one.sequence else ""
    return f"{one.model or one.network}{length}, {one.precision}, {one.devices} x " + (
        one.accelerator.name
    )


# -- pairs -------------------------------------------------------------------------------------


def pairs(found: Sequence[Configuration]) -> list[Pair]:
    """Return every pair of accelerators that one source timed with one workload on one count.

    Batch and precision may differ, as they do between two accelerators in practice; of several
    runs on an accelerator the fastest counts.
    """
    groups: dict[tuple[object, ...], dict[str, Configuration]] = defaultdict(dict)
    for one in found:
        size = round(math.log(one.active_params or one.train_flops_per_sample), 1)
        key = one.source, one.family, one.network, size, one.sequence, one.image_px, one.devices
        known = groups[key].get(one.accelerator.id)
        if known is None or one.samples_per_s > known.samples_per_s:
            groups[key][one.accelerator.id] = one
    return [pair for alike in groups.values() for pair in _of_group(list(alike.values()))]


def _of_group(alike: Sequence[Configuration]) -> Iterator[Pair]:
    for first, second in combinations(alike, 2):
        if first.samples_per_s != second.samples_per_s:
            yield _pair(first, second)


def _pair(first: Configuration, second: Configuration) -> Pair:
    """Whether Compare ranks one before the other, and whether it was the faster one."""
    name = f"{_name(first)} or {second.precision}, {second.accelerator.name}"
    job = job_of(first)
    other = job_of(second)
    if isinstance(job, Refusal) or isinstance(other, Refusal):
        return Pair(source=first.source, name=name, answered=False)
    rows = [
        compare(Question(job=of, goal=ONE_EPOCH, limits=FASTEST), [_candidate(one)]).rows[0]
        for of, one in ((job, first), (other, second))
    ]
    if any(isinstance(row.time, Refusal) for row in rows):
        return Pair(source=first.source, name=name, answered=False)
    probability = better(rows[0], rows[1], FASTEST)
    decided = max(probability, 1.0 - probability) >= DECIDED
    right = (probability > 0.5) is (first.samples_per_s > second.samples_per_s)
    return Pair(
        source=first.source, name=name, answered=True, decided=decided, right=decided and right
    )
