"""The best (devices, batch): soonest to the target, and with the fewest device-hours.

A scaling curve (`planner.scaling._runs`) and the law of steps to a target say together on how many
devices, and at which batch, no other choice is both sooner and cheaper
(`planner.time_to_target.frontier`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve
from planner.core import Estimate, Floats, Refusal
from planner.fits import TWICE
from planner.scaling import Launched, Scaled, SpeedUp
from planner.time_to_target.frontier import SECONDS_PER_HOUR, Choice, frontier
from planner.time_to_target.goodput import time_to_target

BATCHES: Final = 121
"""Batch sizes looked at for the best one: 6 % apart over three decades."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to the target that no other beats in time and in device-hours.

    `batch` is global [samples], `time_s` [s] with its interval where it is answered, and `strong`
    and `weak` are the scaling efficiencies there, or why they are not told.
    """

    devices: int
    batch: float
    time_s: Estimate | Refusal
    device_hours: float
    guess: bool
    strong: SpeedUp | Refusal
    weak: SpeedUp | Refusal


def ways(scaled: Scaled, law: ConvergenceCurve, more: int | None = None) -> list[Way] | Refusal:
    """From the fastest to the one with the fewest device-hours; `more` devices are looked at too.

    Numbers of devices are the measured ones and powers of two up to twice the most measured;
    batches lie where the law of steps was measured.
    """
    spread = np.geomspace(float(law.batch[0]), float(law.batch[-1]), BATCHES)
    batches = np.unique(np.r_[spread, law.batch])
    times = Launched(
        curve=scaled.curve, launch=scaled.launch, devices_per_node=scaled.devices_per_node
    )
    found = frontier(times, law, _counts(scaled, more), batches)
    if isinstance(found, Refusal):
        return found
    return [_way(scaled, law, choice) for choice in found.choices]


def efficiencies(
    scaled: Scaled, batch: float, devices: int, nodes: int | None = None
) -> tuple[SpeedUp | Refusal, SpeedUp | Refusal]:
    """Strong (fixed global `batch`) and weak (fixed batch per device) scaling at a place."""
    over = scaled.nodes_for(devices) if nodes is None else nodes
    return (
        scaled.curve.strong_scaling(batch, devices, over, scaled.launch),
        scaled.curve.weak_scaling(batch / devices, devices, over, scaled.launch),
    )


def _counts(scaled: Scaled, more: int | None) -> Floats:
    powers = 2 ** np.arange(np.floor(np.log2(TWICE * scaled.most)) + 1)
    asked = [] if more is None else [more]
    return np.unique(np.r_[scaled.counts, powers, asked].astype(np.float64))


def _way(scaled: Scaled, law: ConvergenceCurve, choice: Choice) -> Way:
    devices, batch = int(choice.devices), choice.batch
    strong, weak = efficiencies(scaled, batch, devices)
    return Way(
        devices=devices,
        batch=batch,
        time_s=time_to_target(scaled.at(devices), law, batch),
        device_hours=devices * choice.time_s / SECONDS_PER_HOUR,
        guess=scaled.is_guess(devices),
        strong=strong,
        weak=weak,
    )
