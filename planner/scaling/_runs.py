"""The scaling curve of one workload's runs on one system.

Runs on one device and on several, under one input pattern and software, make one curve
(`planner.scaling.fit`). `planner.time_to_target._ways` uses it for the best devices and batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import Refusal, or_refusal
from planner.fits import TWICE
from planner.runs import Placement, Run
from planner.scaling._one_count import CountCurve, at_count
from planner.scaling._terms import MOST
from planner.scaling.fit import ScalingCurve, fit_scaling

ALONE: Final = (None, "single process")
"""Launch modes of a single device that match every other mode."""
NO_POINTS: Final = Refusal(
    reason="Only the parameters of a curve were published, without step times on several device "
    "counts, so the growth of the link's cost is unknown.",
    measure_next="Measure step times of the same batch per device on one device and on two.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A scaling curve of one workload on one system, with its measured counts.

    `launch` names the launch mode where several were measured; `counts` are the measured device
    counts.
    """

    curve: ScalingCurve
    launch: str | None
    counts: tuple[int, ...]

    @property
    def most(self) -> int:
        """The largest measured device count."""
        return self.counts[-1]

    @property
    def devices_per_node(self) -> int:
        """The largest measured devices per node; unlimited if only one node was measured."""
        several_measured = np.isfinite(self.curve.most_devices[2])
        return self.curve.devices_per_node if several_measured else int(MOST)

    def nodes_for(self, devices: int) -> int:
        """Return how many nodes the devices fill."""
        return -(-devices // self.devices_per_node)

    def at(self, devices: int, nodes: int | None = None) -> CountCurve | Refusal:
        """Return the step times on `devices`, over `nodes` or as many as they fill."""
        over = self.nodes_for(devices) if nodes is None else nodes
        return at_count(self.curve, devices, over, self.launch)

    def is_guess(self, devices: int, nodes: int | None = None) -> bool:
        """Return whether `devices` are more than twice those measured on their link."""
        over = self.nodes_for(devices) if nodes is None else nodes
        link = 2 if over > 1 else int(devices > 1)
        return bool(devices > TWICE * self.curve.most_devices[link])


def scaling_of(
    runs: Sequence[Run],
    placements: Mapping[str, Placement],
    like: Placement,
    left_out: Collection[str] = (),
) -> Scaled | Refusal:
    """Return the scaling curve through the runs that are linked and launched like `like`.

    Args:
        runs: of one workload under one pattern and software on one system, on any number of
            devices; those without a batch or a step time, and those in `left_out`, are ignored.
        placements: by run_id; a run without one is ignored.
        like: links of several devices must be peer to peer, or not, like its own; runs under
            another launch mode are fitted too, and answers are for its mode.
        left_out: run ids excluded from the fit.

    Returns:
        The curve, or a `Refusal` without points or with one device count only.
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
        launch=_launch_mode([p for _, p in chosen], like) if several else None,
        counts=tuple(sorted({p.devices for _, p in chosen})),
    )


def _fitted(
    chosen: Sequence[tuple[Run, Placement]], launches: Sequence[str] | None
) -> ScalingCurve | Refusal:
    """Return the fit of the runs; refused for impossible numbers in a file."""
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


def _linked_alike(place: Placement, like: Placement) -> bool:
    """Return whether links are of one kind: one device fits all, unstated is peer to peer."""
    return place.devices == 1 or (place.peer_to_peer is False) == (like.peer_to_peer is False)


def _launch_mode(places: Sequence[Placement], like: Placement) -> str:
    """Return the launch mode of answers: that of `like`, else the usual one of several devices."""
    spread = Counter(_mode(p) for p in places if p.devices > 1)
    usual = min(spread, key=lambda m: (-spread[m], m), default=_mode(like))
    return _mode(like) if like.devices > 1 else usual


def _launches(places: Sequence[Placement], like: Placement) -> list[str]:
    """Return the launch mode of every run.

    A single process on one device counts as the mode of the answers: otherwise its overhead could
    not be separated from the link's.
    """
    launch = _launch_mode(places, like)
    return [launch if p.devices == 1 and p.launch in ALONE else _mode(p) for p in places]


def _mode(place: Placement) -> str:
    return place.launch or "not stated"
