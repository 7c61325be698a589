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

from runners.child.engines.clock import Steps, lap

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
    """Run `epochs` epochs, telling `training` and each `epoch` as it ends.

    `per_step` waits for every step and tells each step's time with its epoch.
    """
    tell("training")
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
        told = epoch.validate() if epoch.validate else None
        stamps.append(now())
        single = kept.untold() if kept else None
        tell("epoch", epoch=number, step_seconds=single, **_told(epoch, value, stamps, told))
        if epoch.learns and not math.isfinite(value):
            later = tuple(kept.later()) if kept else ()
            return Paced(first_step_s=first_s, step_seconds=later, diverged=True)
    tell("timed")
    seconds = kept.later() if kept else _probe(epoch, now)
    return Paced(first_step_s=first_s, step_seconds=tuple(seconds), diverged=False)


def _first(
    call: tuple[Callable[[], Any], int],
    epoch: Epoch,
    kept: Steps | None,
    now: Callable[[], float],
) -> tuple[float, float]:
    """Time of the very first call [s], and its value."""
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
    """Run the calls; the value of the last one, once it has arrived."""
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
    probed = Steps()
    for call, steps in zip(epoch.calls, epoch.steps, strict=True):
        if len(probed.seconds) >= PROBED_STEPS:
            break
        probed.add(lap(call, epoch.arrived, now).seconds, steps)
    return probed.seconds
