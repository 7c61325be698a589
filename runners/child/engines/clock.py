"""The end of a step: when its value has reached the host.

Devices work behind the caller's back: a call that returns has only been queued. Every stamp in
the child is taken after a value of the last step (its loss) was read on the host.
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
    """Time of some work [s], and the value that proved its end."""

    seconds: float
    value: float


def lap(
    work: Callable[[], Handle],
    arrived: Callable[[Handle], float],
    now: Callable[[], float] = time.perf_counter,
) -> Lap[Handle]:
    """Time `work` [s] until `arrived` has its value on the host."""
    begin = now()
    value = arrived(work())
    return Lap(now() - begin, value)


@dataclass(slots=True)
class Steps:
    """Times of the single steps of the timed epochs [s], in order, the first call's among them."""

    seconds: list[float] = field(default_factory=list)
    first: int = 0
    """Steps of the first call, which traces and compiles."""
    told: int = 0

    def add(self, call_s: float, steps: int) -> None:
        """Note a call of `call_s` [s]; its steps share its time."""
        self.first = self.first or steps
        self.seconds += [call_s / steps] * steps

    def untold(self) -> list[float]:
        """Steps since this was asked last [s]; from the 20,001st step of a run on none."""
        new = self.seconds[self.told : KEPT_STEPS]
        self.told = len(self.seconds)
        return new

    def later(self) -> list[float]:
        """All steps but those of the first call [s]."""
        return self.seconds[self.first :]


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """10, 50 and 90 % quantiles of step times [s] as columns; empty for fewer than 5 steps."""
    if len(seconds) < 5:
        return {}
    ordered = sorted(seconds)
    at = {share: (len(ordered) - 1) * share / 100 for share in (10, 50, 90)}
    return {f"step_p{share}_s": _between(ordered, place) for share, place in at.items()}


def _between(ordered: Sequence[float], place: float) -> float:
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
