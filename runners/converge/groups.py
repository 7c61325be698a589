"""A group: the trials of one optimiser, batch size and part of the grid.

A group is committed whole, as one file. Its key, stored in `extra` of its rows, shows a later
call what is done.

The best learning rate, and whether the grid must be widened. Pure.

The rule of Shallue et al. 2019, "Measuring the Effects of Data Parallelism on Neural Network
Training" (section 4): the rate is tuned for each batch size, and the grid is widened while the
best rate lies at its edge.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from planner.store.summaries import summaries
from runners.converge.curves import NEVER, median_steps
from runners.converge.spec import Plan, Rates
from runners.sweep.rows import extra_of
from runners.sweep.sweep import INFRASTRUCTURE

Side = Literal["low", "high"]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best learning rate so far: its median over seeds [steps], and the edge it lies at."""

    rate: float
    steps: float
    """Infinite if no rate reached the target in half of its seeds."""
    edge: Side | None


def rates(lowest: float, grid: Rates) -> tuple[float, ...]:
    """Return the grid before any widening, ascending."""
    return tuple(lowest * grid.factor**i for i in range(grid.count))


def wider(tried: Iterable[float], side: Side, grid: Rates) -> tuple[float, ...]:
    """Return only the new rates, ascending: `widen_by` of them beyond that edge."""
    ascending = sorted(tried)
    steps = range(1, grid.widen_by + 1)
    if side == "high":
        return tuple(ascending[-1] * grid.factor**i for i in steps)
    return tuple(ascending[0] / grid.factor**i for i in reversed(steps))


def best(rows: Iterable[Row]) -> Best:
    """Return the best rate of all rows of one optimiser and batch size; ValueError without rows.

    The rate with the smallest median of steps to the target wins. If no rate reached the target,
    the smallest median of the final error wins. Ties give the middle rate, because evaluations
    are some steps apart.
    """
    by_rate: dict[float, list[Row]] = {}
    for row in rows:
        by_rate.setdefault(row["learning_rate"], []).append(row)
    scores = {rate: _score(by_rate[rate]) for rate in sorted(by_rate)}
    least = min(scores.values())
    ties = [rate for rate, score in scores.items() if score == least]
    rate = ties[(len(ties) - 1) // 2]
    return Best(rate=rate, steps=least[0], edge=_edge(rate, list(scores)))


def _score(rows: Sequence[Row]) -> tuple[float, float]:
    """Return median steps, and the median error if the target was not reached."""
    steps = median_steps(row.get("steps_to_target") for row in rows)
    errors = [row.get("final_metric") for row in rows]
    lost = [NEVER if e is None or row["status"] != "ok" else e
            for e, row in zip(errors, rows, strict=True)]  # fmt: skip
    return steps, statistics.median(lost) if steps == NEVER else 0.0


def _edge(rate: float, ascending: Sequence[float]) -> Side | None:
    if rate == ascending[-1]:
        return "high"
    return "low" if rate == ascending[0] else None


ATTEMPTS: Final = 3
"""Number of attempts for a group whose child was killed or crashed."""
Request = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All rates x seeds of one part of the grid; part 0 is the planned grid."""

    optimizer: str
    batch: int
    part: int
    rates: tuple[float, ...]

    @property
    def words(self) -> str:
        """Description of the group in progress reports."""
        widened = f", widened {self.part} times" if self.part > 1 else ", widened"
        return f"{self.optimizer}, batch {self.batch}{widened if self.part else ''}"


def first(plan: Plan) -> list[Group]:
    """Return the group of each optimiser and batch size before any widening."""
    return [
        Group(optimizer=o, batch=b, part=0, rates=rates(settings.lowest_rate, plan.learning_rates))
        for o, settings in plan.optimizers.items()
        for b in plan.batch
    ]


def request_of(plan: Plan, group: Group) -> Request:
    """Return the child's request: exactly the settings that determine the numbers."""
    return {
        "workload": plan.workload,
        "options": dict(plan.options),
        "dataset": plan.dataset,
        "train_samples": plan.train_samples,
        "validation_samples": plan.validation_samples,
        "data_seed": plan.data_seed,
        "optimizer": group.optimizer,
        "batch": group.batch,
        "rates": list(group.rates),
        "seeds": list(range(plan.seeds)),
        "target": plan.target,
        "sampling": plan.sampling,
        "interval": plan.interval(group.batch),
        "steps_limit": plan.steps_limit(group.batch),
        "patience": plan.limits.patience,
        "threads": plan.limits.threads,
        "at_once": plan.at_once,
        **({"staleness": plan.staleness} if plan.staleness else {}),
    }


def key_of(request: Request) -> str:
    """Return the first 16 hex digits of the sha256 of the request."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Trials in a result set: summary rows by group key, and their plans."""

    groups: Mapping[str, Sequence[Row]]
    plans: frozenset[str]

    def settled(self, key: str) -> Sequence[Row]:
        """Return the rows of a group's last attempt; empty if it is still to be measured."""
        rows = self.groups.get(key, ())
        last = [row for row in rows if row.get("attempt", 0) == self.attempt(key) - 1]
        again = any(row["status"] in INFRASTRUCTURE for row in last)
        return () if again and self.attempt(key) < ATTEMPTS else last

    def attempt(self, key: str) -> int:
        """Return the number of the next attempt, from 0."""
        rows = self.groups.get(key, ())
        return 1 + max((row.get("attempt", 0) for row in rows), default=-1)


def kept_in(folder: Path, sweep: str) -> Kept:
    """Return the groups of a sweep in a result set's folder; damaged files are skipped."""
    groups: dict[str, list[Row]] = {}
    plans = set()
    for row, extra in _of_sweep(folder, sweep):
        groups.setdefault(str(extra.get("group")), []).append(row)
        plans.add(str(extra.get("plan")))
    return Kept(groups=groups, plans=frozenset(plans))


def _of_sweep(folder: Path, sweep: str) -> Iterator[tuple[Row, Mapping[str, Any]]]:
    for row in summaries(folder):
        if row.get("sweep") == sweep:
            yield row, extra_of(row)
