"""Timing of steps: a step ends when its value has reached the host.

Devices work asynchronously: a call returns when its work is queued. So every time stamp is taken
after a value of the last step (its loss) was read on the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from runners.plan.cases import KEPT_STEPS

Handle = TypeVar("Handle")


@dataclass(frozen=True, slots=True)
class Lap(Generic[Handle]):
    """Time of some work [s], and its value on the host."""

    seconds: float
    value: float


def lap(
    work: Callable[[], Handle],
    arrived: Callable[[Handle], float],
    now: Callable[[], float] = time.perf_counter,
) -> Lap[Handle]:
    """Return the time of `work` [s] until `arrived` has its value on the host."""
    begin = now()
    value = arrived(work())
    return Lap(now() - begin, value)


@dataclass(slots=True)
class Steps:
    """Times of single steps of the timed epochs [s], in order, including the first call."""

    seconds: list[float] = field(default_factory=list)
    first: int = 0
    """Number of steps of the first call, which traces and compiles."""
    reported: int = 0
    """Number of steps already reported."""

    def add(self, call_s: float, steps: int) -> None:
        """Add a call of `call_s` [s]; its steps share its time."""
        self.first = self.first or steps
        self.seconds += [call_s / steps] * steps

    def unreported(self) -> list[float]:
        """Return the step times since the last call [s]; none beyond `KEPT_STEPS`."""
        new = self.seconds[self.reported : KEPT_STEPS]
        self.reported = len(self.seconds)
        return new

    def later(self) -> list[float]:
        """Return the times of all steps after the first call [s]."""
        return self.seconds[self.first :]


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return 10, 50, 90 % quantiles of step times [s] as columns; empty for under 5 steps."""
    if len(seconds) < 5:
        return {}
    ordered = sorted(seconds)
    at = {share: (len(ordered) - 1) * share / 100 for share in (10, 50, 90)}
    return {f"step_p{share}_s": _between(ordered, place) for share, place in at.items()}


def _between(ordered: Sequence[float], place: float) -> float:
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
