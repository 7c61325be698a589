"""Questions of a buyer on published rows: described workloads, whole jobs, pairs.

A question has the inputs of Compare: parameters, length or image size, precision, batch,
accelerator and count; never a speed or a utilisation of the row. The answer is that of Compare
itself (`planner.job._times`, and its joint draws for pairs). Errors are of the time.

`Answer` is a number with its truth, `Pair` a choice between two accelerators. Errors are
|predicted/measured - 1| and every question counts the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from planner.catalog import PRECISIONS, Catalog
from planner.compare import better, compare
from planner.compare.comparison import Limits, Question
from planner.compare.evaluation import DECIDED
from planner.core import Estimate, Refusal
from planner.job import Candidate, Described, Goal, Hardware, Job, Known, job_described, timed
from planner.published import Configuration, PublishedRow, configurations


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question with its truth and the product's interval; NaN for a refusal.

    `source` is the table, `name` the row or series in words, `why` the reason of a refusal.
    """

    source: str
    name: str
    truth: float
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: str = ""

    @property
    def answered(self) -> bool:
        """Whether the product answers."""
        return math.isfinite(self.value)

    @property
    def error(self) -> float:
        """Relative error, |predicted/measured - 1|."""
        return abs(self.value / self.truth - 1.0)

    @property
    def held(self) -> bool:
        """Whether the truth lies inside the interval."""
        return self.low <= self.truth <= self.high

    @property
    def width(self) -> float:
        """Relative width, (high - low)/value."""
        return (self.high - self.low) / self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Which of two accelerators is faster: `decided` by the product, and `right` if so."""

    source: str
    name: str
    answered: bool
    decided: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Figures of one task in per cent; None if nothing was answered."""

    asked: int
    answered: int
    median: float | None = None
    mean: float | None = None
    held: float | None = None
    width: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """Number of pairs, and how many were answered, decided, and decided correctly."""

    asked: int
    answered: int
    decided: int
    right: int


def answer_of(
    of: tuple[str, str], truth: float, estimate: Estimate | Refusal, *, inverse: bool = False
) -> Answer:
    """Return the answer for a source and name; `inverse` turns a speed into a time."""
    source, name = of
    if isinstance(estimate, Refusal):
        return Answer(source=source, name=name, truth=truth, why=estimate.reason)
    value, low, high = (float(part) for part in (estimate.value, estimate.low, estimate.high))
    if inverse:
        value, low, high = 1.0 / value, 1.0 / high, 1.0 / low
    return Answer(source=source, name=name, truth=truth, value=value, low=low, high=high)


def scored(answers: Sequence[Answer]) -> Score:
    """Return the figures of a task; every question counts the same."""
    answered = [answer for answer in answers if answer.answered]
    if not answered:
        return Score(asked=len(answers), answered=0)
    errors = np.array([answer.error for answer in answered])
    return Score(
        asked=len(answers),
        answered=len(answered),
        median=_per_cent(float(np.median(errors))),
        mean=_per_cent(float(errors.mean())),
        held=_per_cent(sum(answer.held for answer in answered) / len(answered)),
        width=_per_cent(float(np.median([answer.width for answer in answered]))),
    )


def pairs_scored(pairs: Sequence[Pair]) -> PairScore:
    """Return how many pairs were decided, and how many correctly."""
    return PairScore(
        asked=len(pairs),
        answered=sum(pair.answered for pair in pairs),
        decided=sum(pair.decided for pair in pairs),
        right=sum(pair.right for pair in pairs),
    )


def _per_cent(share: float) -> float | None:
    return float(f"{100.0 * share:.4g}") if math.isfinite(share) else None


LANGUAGE: Final = frozenset({"dense", "lora", "moe"})
"""Families whose operations Compare computes from parameters and tokens."""
MANY_NODES: Final = 8
EPOCH: Final = 1e9
"""Samples of the epoch: so many that start-up and rounding are negligible."""
ONE_EPOCH: Final = Goal(words="1 epoch", epochs=1)
FASTEST: Final = Limits(order="time")
Kept = Callable[[Configuration], bool]


def of_family(*families: str) -> Kept:
    """Return a filter for configurations of some families."""
    return lambda run: run.family in families


def over_many_nodes(run: Configuration) -> bool:
    """Return whether a dense language model ran on more than 8 nodes."""
    return run.family == "dense" and run.nodes > MANY_NODES


def questions(rows: Sequence[PublishedRow], catalog: Catalog) -> list[Configuration]:
    """Return the published rows as distinct questions with their truth."""
    return configurations(rows, catalog)[0]


def described(runs: Sequence[Configuration], kept: Kept) -> list[Answer]:
    """Return the seconds per sample on all devices, each predicted by Compare."""
    return [_described(run) for run in runs if kept(run)]


def _described(run: Configuration) -> Answer:
    job = job_of(run)
    if isinstance(job, Refusal):
        return answer_of((run.source, _name(run)), 1.0 / run.samples_per_s, job)
    rate = _rate(job, run)
    return answer_of((run.source, _name(run)), 1.0 / run.samples_per_s, rate, inverse=True)


def _rate(job: Job, run: Configuration) -> Estimate | Refusal:
    """Return samples/s of the whole hardware as estimated by Compare, or its refusal."""
    times = timed(job, ONE_EPOCH, _candidate(run), Known())
    if isinstance(times.total, Refusal):
        return times.total
    return times.rate or Refusal(reason="No speed is estimated.", measure_next="")


def job_of(run: Configuration) -> Job | Refusal:
    """Return the job as a user describes it in Compare."""
    family = "dense" if run.family == "lora" else run.family
    try:
        return job_described(
            Described(
                name=run.model or run.network,
                samples_per_epoch=EPOCH,
                precision=run.precision if run.precision in PRECISIONS else "float8",
                params=run.params,
                active_params=run.active_params,
                tokens_per_sample=run.sequence,
                flops_per_sample=None if _counted(run) else run.train_flops_per_sample,
                network=run.network,
                image_px=run.image_px,
                family=family,
                training="lora" if run.family == "lora" else "full",
                recompute=bool(run.recomputes),
                benchmark=run.benchmark,
                batch=run.global_batch,
            )
        )
    except ValueError as problem:
        return Refusal(reason=str(problem), measure_next="")


def _counted(run: Configuration) -> bool:
    return run.family in LANGUAGE and None not in (run.params, run.sequence)


def _candidate(run: Configuration) -> Candidate:
    hardware = Hardware(
        label=f"{run.devices} x {run.accelerator.name}",
        accelerator=run.accelerator,
        count=run.devices,
        nodes=run.nodes,
    )
    return Candidate(id=f"{run.accelerator.id}-{run.devices}", way="own", hardware=hardware)


def _name(run: Configuration) -> str:
    length = f", {run.sequence:g} tokens" if run.sequence else ""
    return f"{run.model or run.network}{length}, {run.precision}, {run.devices} x " + (
        run.accelerator.name
    )


# -- pairs -------------------------------------------------------------------------------------


def pairs(runs: Sequence[Configuration]) -> list[Pair]:
    """Return every pair of accelerators that one source timed with one workload and count.

    Batch and precision may differ, as they do in practice. Of several runs on an accelerator the
    fastest counts.
    """
    groups: dict[tuple[object, ...], dict[str, Configuration]] = defaultdict(dict)
    for run in runs:
        size = round(math.log(run.active_params or run.train_flops_per_sample), 1)
        key = run.source, run.family, run.network, size, run.sequence, run.image_px, run.devices
        fastest = groups[key].get(run.accelerator.id)
        if fastest is None or run.samples_per_s > fastest.samples_per_s:
            groups[key][run.accelerator.id] = run
    return [pair for alike in groups.values() for pair in _of_group(list(alike.values()))]


def _of_group(alike: Sequence[Configuration]) -> Iterator[Pair]:
    for first, second in combinations(alike, 2):
        if first.samples_per_s != second.samples_per_s:
            yield _pair(first, second)


def _pair(first: Configuration, second: Configuration) -> Pair:
    """Return whether Compare ranks one before the other, and whether that is correct."""
    name = f"{_name(first)} or {second.precision}, {second.accelerator.name}"
    job = job_of(first)
    other = job_of(second)
    if isinstance(job, Refusal) or isinstance(other, Refusal):
        return Pair(source=first.source, name=name, answered=False)
    rows = [
        compare(Question(job=of, goal=ONE_EPOCH, limits=FASTEST), [_candidate(run)]).rows[0]
        for of, run in ((job, first), (other, second))
    ]
    if any(isinstance(row.time, Refusal) for row in rows):
        return Pair(source=first.source, name=name, answered=False)
    probability = better(rows[0], rows[1], FASTEST)
    decided = max(probability, 1.0 - probability) >= DECIDED
    right = (probability > 0.5) is (first.samples_per_s > second.samples_per_s)
    return Pair(
        source=first.source, name=name, answered=True, decided=decided, right=decided and right
    )
