"""Time epochs made of calls: shared by training and inference, real devices and stubs.

A call returns when its work is queued; `arrived` waits until its value is on the host. An epoch
ends when its last value has arrived. The first call is timed singly (it traces and compiles),
later ones only if every step is timed.

Timing of steps: a step ends when its value has reached the host.

Devices work asynchronously: a call returns when its work is queued. So every time stamp is taken
after a value of the last step (its loss) was read on the host.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

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


Send = Callable[..., None]
PROBED_STEPS: Final = 50
"""Number of steps timed singly after the timed epochs, for the quantiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Calls of one epoch; `steps` are the optimiser steps of each call."""

    calls: Sequence[Callable[[], Any]]
    steps: Sequence[int]
    samples: int
    arrived: Callable[[Any], float]
    validate: Callable[[], tuple[float, float]] | None = None
    """Loss and accuracy on the validation split."""
    learns: bool = True
    """Whether a call returns a loss (training) or any value (inference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """First step and single steps [s], and whether the loss diverged."""

    first_step_s: float
    step_seconds: tuple[float, ...]
    diverged: bool


def run(
    epoch: Epoch,
    epochs: int,
    send: Send,
    *,
    per_step: bool = False,
    now: Callable[[], float] = time.perf_counter,
) -> Paced:
    """Run `epochs` epochs, sending `training` and each `epoch` at its end.

    `per_step` waits for every step and sends the step times with their epoch.
    """
    send("training")
    kept = Steps() if per_step else None
    first_s = 0.0
    for number in range(1, epochs + 1):
        stamps = [now()]
        calls = list(zip(epoch.calls, epoch.steps, strict=True))
        value = math.nan
        if number == 1:
            first_s, value = _first(calls.pop(0), epoch, kept, now)
        value = _rest(calls, epoch, value, kept, now)
        stamps.append(now())
        validation = epoch.validate() if epoch.validate else None
        stamps.append(now())
        single = kept.unreported() if kept else None
        send(
            "epoch",
            epoch=number,
            step_seconds=single,
            **_epoch_fields(epoch, value, stamps, validation),
        )
        if epoch.learns and not math.isfinite(value):
            later = tuple(kept.later()) if kept else ()
            return Paced(first_step_s=first_s, step_seconds=later, diverged=True)
    send("timed")
    seconds = kept.later() if kept else _probe(epoch, now)
    return Paced(first_step_s=first_s, step_seconds=tuple(seconds), diverged=False)


def _first(
    call: tuple[Callable[[], Any], int], epoch: Epoch, kept: Steps | None, now: Callable[[], float]
) -> tuple[float, float]:
    """Return the time of the first call [s] and its value."""
    took = lap(call[0], epoch.arrived, now)
    if kept:
        kept.add(took.seconds, call[1])
    return took.seconds, took.value


def _rest(
    calls: Sequence[tuple[Callable[[], Any], int]],
    epoch: Epoch,
    value: float,
    kept: Steps | None,
    now: Callable[[], float],
) -> float:
    """Run the calls; return the value of the last one once it has arrived."""
    if kept is None:
        handle = None
        for call, _ in calls:
            handle = call()
        return epoch.arrived(handle) if calls else value
    for call, steps in calls:
        took = lap(call, epoch.arrived, now)
        kept.add(took.seconds, steps)
        value = took.value
    return value


def _epoch_fields(
    epoch: Epoch, value: float, stamps: Sequence[float], validation: tuple[float, float] | None
) -> dict[str, Any]:
    """Return the fields of an epoch's event; its time includes validation."""
    begin, trained, end = stamps
    return {
        "epoch_s": end - begin,
        "validation_s": end - trained if validation else None,
        "samples": epoch.samples,
        "loss": value if epoch.learns else None,
        "metric": validation[1] if validation else None,
    }


def _probe(epoch: Epoch, now: Callable[[], float]) -> list[float]:
    """Return the times of up to 50 single steps after the timed epochs [s]."""
    probed = Steps()
    for call, steps in zip(epoch.calls, epoch.steps, strict=True):
        if len(probed.seconds) >= PROBED_STEPS:
            break
        probed.add(lap(call, epoch.arrived, now).seconds, steps)
    return probed.seconds
