"""The best (devices, batch): fastest to the target, and with the fewest device-hours.

A scaling curve (`planner.scaling._runs`) and the steps-to-target law give the Pareto-optimal device
counts and batches (`planner.time_to_target.frontier`).
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
"""Batch sizes of the search: 6 % apart over three decades."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A Pareto-optimal way to the target in time and device-hours.

    `batch` is global [samples]. `time_s` [s] has an interval or is refused. `strong` and `weak` are
    the scaling efficiencies, or refusals.
    """

    devices: int
    batch: float
    time_s: Estimate | Refusal
    device_hours: float
    guess: bool
    strong: SpeedUp | Refusal
    weak: SpeedUp | Refusal


def ways(scaled: Scaled, law: ConvergenceCurve, more: int | None = None) -> list[Way] | Refusal:
    """Return the ways from the fastest to the one with the fewest device-hours.

    Device counts are the measured ones, `more`, and powers of two up to twice the largest. Batches
    are within the measured range of the steps-to-target law.
    """
    spread = np.geomspace(float(law.batch[0]), float(law.batch[-1]), BATCHES)
    batches = np.unique(np.r_[spread, law.batch])
    times = Launched(
        curve=scaled.curve, launch=scaled.launch, devices_per_node=scaled.devices_per_node
    )
    grid = frontier(times, law, _counts(scaled, more), batches)
    if isinstance(grid, Refusal):
        return grid
    return [_way(scaled, law, choice) for choice in grid.choices]


def efficiencies(
    scaled: Scaled, batch: float, devices: int, nodes: int | None = None
) -> tuple[SpeedUp | Refusal, SpeedUp | Refusal]:
    """Return strong (fixed global `batch`) and weak (fixed batch per device) scaling."""
    over = scaled.nodes_for(devices) if nodes is None else nodes
    return (
        scaled.curve.strong_scaling(batch, devices, over, scaled.launch),
        scaled.curve.weak_scaling(batch / devices, devices, over, scaled.launch),
    )


def _counts(scaled: Scaled, more: int | None) -> Floats:
    powers = 2 ** np.arange(np.floor(np.log2(TWICE * scaled.most)) + 1)
    extra = [] if more is None else [more]
    return np.unique(np.r_[scaled.counts, powers, extra].astype(np.float64))


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
