"""When has a step ended? When its value has reached the host, not when it was asked for.

Devices work behind the caller's back: a call that returns has only been queued. Every stamp in
the child is taken after a value of the last step (its loss) was read on the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

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
