"""From runs of one workload on one system to a scaling curve, and the best (devices, batch).

Runs on one device and on several, under one input pattern and software, make one curve
(`planner.scaling`); with the law of steps to a target it says on how many devices, at which batch,
the target is reached soonest, and with the fewest device-hours (`planner.frontier`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.answers import TWICE
from planner.convergence import ConvergenceCurve
from planner.estimate import Estimate, Floats, Refusal
from planner.frontier import SECONDS_PER_HOUR, Choice, frontier
from planner.goodput import time_to_target
from planner.guarded import or_refusal
from planner.runs import Run
from planner.scaling import ScalingCurve, fit_scaling
from planner.scaling_answers import SpeedUp
from planner.scaling_count import CountCurve, Launched, at_count
from planner.scaling_terms import MOST

BATCHES: Final = 121
"""Batch sizes looked at for the best one: 6 % apart over three decades."""
ALONE: Final = (None, "single process")
"""Launch modes of a single device that are every other mode's too."""
NO_POINTS: Final = Refusal(
    reason="Only the parameters of a curve were published, no step times on several numbers of "
    "devices, so nothing shows how the link's cost grows.",
    measure_next="Measure step times of the same batch per device on one device and on two.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """On what a run was measured: devices over nodes, how they were launched and linked."""

    devices: int
    nodes: int
    launch: str | None
    peer_to_peer: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A scaling curve of one workload on one system, and how it is asked.

    `launch` names the launch mode where several were measured; `counts` are the numbers of
    devices that were measured.
    """

    curve: ScalingCurve
    launch: str | None
    counts: tuple[int, ...]

    @property
    def most(self) -> int:
        """The most devices that were measured."""
        return self.counts[-1]

    @property
    def devices_per_node(self) -> int:
        """The fullest measured node; without limit where several nodes were never measured."""
        known = np.isfinite(self.curve.most_devices[2])
        return self.curve.devices_per_node if known else int(MOST)

    def nodes_for(self, devices: int) -> int:
        """Nodes that so many devices fill up."""
        return -(-devices // self.devices_per_node)

    def at(self, devices: int, nodes: int | None = None) -> CountCurve | Refusal:
        """The step times on so many devices, over `nodes` or as many as they fill up."""
        over = self.nodes_for(devices) if nodes is None else nodes
        return at_count(self.curve, devices, over, self.launch)

    def is_guess(self, devices: int, nodes: int | None = None) -> bool:
        """Whether so many devices are more than twice what was measured on their link."""
        over = self.nodes_for(devices) if nodes is None else nodes
        link = 2 if over > 1 else int(devices > 1)
        return bool(devices > TWICE * self.curve.most_devices[link])


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


def scaling_of(
    runs: Sequence[Run],
    placements: Mapping[str, Placement],
    like: Placement,
    left_out: Collection[str] = (),
) -> Scaled | Refusal:
    """The scaling curve through the runs that are linked and launched like `like`.

    Args:
        runs: of one workload under one pattern and software on one system, on any number of
            devices; those without a batch or a step time, and those in `left_out`, do not count.
        placements: by run_id; a run without one does not count.
        like: links of several devices must be peer to peer, or not, as its is; runs under another
            launch mode help to fit, and questions are asked for its mode.
        left_out: run ids that the fit does without.

    Returns:
        The curve, or a `Refusal` where no points or one number of devices only are known.
    """
    chosen = [
        (run, placements[run.run_id])
        for run in runs
        if run.status == "ok" and run.run_id in placements and run.run_id not in left_out
    ]
    chosen = [(r, p) for r, p in chosen if r.global_batch_size and r.step_time_s]
    chosen = [(r, p) for r, p in chosen if _linked_alike(p, like)]
    if not chosen:
        return NO_POINTS
    launches = _launches([p for _, p in chosen], like)
    several = len(set(launches)) > 1
    curve = or_refusal(chosen[0][0].system, lambda: _fitted(chosen, launches if several else None))
    if isinstance(curve, Refusal):
        return curve
    return Scaled(
        curve=curve,
        launch=_wanted([p for _, p in chosen], like) if several else None,
        counts=tuple(sorted({p.devices for _, p in chosen})),
    )


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


def _fitted(
    chosen: Sequence[tuple[Run, Placement]], launches: Sequence[str] | None
) -> ScalingCurve | Refusal:
    """Fit the runs where each of them was; a file may hold any number, which is refused."""
    try:
        return fit_scaling(
            [(r.global_batch_size or 0) / p.devices for r, p in chosen],
            [p.devices for _, p in chosen],
            [p.nodes for _, p in chosen],
            [r.step_time_s or 0.0 for r, _ in chosen],
            launches,
        )
    except ValueError as problem:
        return Refusal(reason=str(problem), measure_next="Measure these runs again.")


def _linked_alike(one: Placement, like: Placement) -> bool:
    """One device has no link; where it is not stated, peer to peer is taken to be possible."""
    return one.devices == 1 or (one.peer_to_peer is False) == (like.peer_to_peer is False)


def _wanted(places: Sequence[Placement], like: Placement) -> str:
    """The launch mode asked about: that of `like`, else the usual one of several devices."""
    spread = Counter(_mode(p) for p in places if p.devices > 1)
    usual = min(spread, key=lambda m: (-spread[m], m), default=_mode(like))
    return _mode(like) if like.devices > 1 else usual


def _launches(places: Sequence[Placement], like: Placement) -> list[str]:
    """The launch mode of every run.

    A single process on one device is what any mode comes down to there, so such runs count as the
    mode that is asked about: its overhead could not be told from the link's otherwise.
    """
    wanted = _wanted(places, like)
    return [wanted if p.devices == 1 and p.launch in ALONE else _mode(p) for p in places]


def _mode(place: Placement) -> str:
    return place.launch or "not stated"


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
