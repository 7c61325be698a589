"""Time epochs made of calls: the same for training and inference, for real devices and stubs.

A call returns when its work is queued; `arrived` waits until its value is on the host. An epoch
ends when its last value has arrived. The very first call is waited for by itself (it traces and
compiles); later ones only where every step is to be timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runners.child.clock import lap

Tell = Callable[..., None]
PROBED_STEPS: Final = 50
"""Most steps that are waited for one by one after the timed epochs, for the quantiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What an epoch is made of. `steps` are the optimiser steps of each call."""

    calls: Sequence[Callable[[], Any]]
    steps: Sequence[int]
    samples: int
    arrived: Callable[[Any], float]
    validate: Callable[[], tuple[float, float]] | None = None
    """Loss and accuracy on the validation split."""
    learns: bool = True
    """Whether the value of a call is a loss (training) or only proves its end (inference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """Times that no epoch holds: the first step, single steps [s]; whether the loss was lost."""

    first_step_s: float
    step_seconds: tuple[float, ...]
    diverged: bool


def run(
    epoch: Epoch,
    epochs: int,
    tell: Tell,
    *,
    per_step: bool = False,
    now: Callable[[], float] = time.perf_counter,
) -> Paced:
    """Run `epochs` epochs, telling `training` and each `epoch` as it ends."""
    tell("training")
    seconds: list[float] = []
    first_s = 0.0
    for number in range(1, epochs + 1):
        stamps = [now()]
        calls = list(zip(epoch.calls, epoch.steps, strict=True))
        value = math.nan
        if number == 1:
            (call, _), *calls = calls
            first = lap(call, epoch.arrived, now)
            first_s, value = first.seconds, first.value
        value = _rest(calls, epoch, value, seconds if per_step else None, now)
        stamps.append(now())
        told = epoch.validate() if epoch.validate else None
        stamps.append(now())
        tell("epoch", epoch=number, **_told(epoch, value, stamps, told))
        if epoch.learns and not math.isfinite(value):
            return Paced(first_step_s=first_s, step_seconds=tuple(seconds), diverged=True)
    tell("timed")
    if not per_step:
        seconds = _probe(epoch, now)
    return Paced(first_step_s=first_s, step_seconds=tuple(seconds), diverged=False)


def _rest(
    calls: Sequence[tuple[Callable[[], Any], int]],
    epoch: Epoch,
    value: float,
    seconds: list[float] | None,
    now: Callable[[], float],
) -> float:
    """Run the calls; the value of the last one, once it has arrived."""
    if seconds is None:
        handle = None
        for call, _ in calls:
            handle = call()
        return epoch.arrived(handle) if calls else value
    for call, steps in calls:
        took = lap(call, epoch.arrived, now)
        seconds += [took.seconds / steps] * steps
        value = took.value
    return value


def _told(
    epoch: Epoch, value: float, stamps: Sequence[float], told: tuple[float, float] | None
) -> dict[str, Any]:
    """Fields of the event of an epoch; validation is part of its time, and told apart."""
    begin, trained, end = stamps
    return {
        "epoch_s": end - begin,
        "validation_s": end - trained if told else None,
        "samples": epoch.samples,
        "loss": value if epoch.learns else None,
        "metric": told[1] if told else None,
    }


def _probe(epoch: Epoch, now: Callable[[], float]) -> list[float]:
    """Times of up to 50 steps, each waited for, after all epochs were timed [s]."""
    seconds: list[float] = []
    for call, steps in zip(epoch.calls, epoch.steps, strict=True):
        if len(seconds) >= PROBED_STEPS:
            break
        took = lap(call, epoch.arrived, now)
        seconds += [took.seconds / steps] * steps
    return seconds
