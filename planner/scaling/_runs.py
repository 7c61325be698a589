"""From runs of one workload on one system to a scaling curve.

Runs on one device and on several, under one input pattern and software, make one curve
(`planner.scaling.fit`). `planner.time_to_target._ways` asks it for the best devices and batch.
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
"""Launch modes of a single device that are every other mode's too."""
NO_POINTS: Final = Refusal(
    reason="Only the parameters of a curve were published, no step times on several numbers of "
    "devices, so nothing shows how the link's cost grows.",
    measure_next="Measure step times of the same batch per device on one device and on two.",
)


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
