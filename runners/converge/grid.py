"""The best learning rate, and whether the grid must be widened. Pure.

The rule of Shallue et al. 2019, "Measuring the Effects of Data Parallelism on Neural Network
Training" (section 4): the rate is tuned for each batch size, and the grid is widened while the
best rate lies at its edge.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runners.converge.curves import NEVER, median_steps
from runners.converge.spec import Rates

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
