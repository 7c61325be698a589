"""The scaling curve of one workload's runs on one system, and its curve at one device count.

Runs on one device and on several, under one input pattern and software, make one curve
(`planner.scaling.fit`). `planner.time_to_target.frontier` uses it for the best devices and batch.

At one device count it is a curve over the global batch:

    T(B, n) = (t + link(n)) + B/(n*v0)          step time [s] at the global batch B [samples]

At fixed n this is the throughput law with an overhead of t + link(n) and n*v0. Half of the
throughput is reached at the batch n*v0*(t + link(n)). Functions of a throughput curve (best batch,
time to target, `planner.time_to_target.frontier`) accept it, or a scaling curve, which they convert
by `at_place`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Basis, Estimate, Floats, Refusal, Text, message_of, or_refusal, t_quantile
from planner.fits import TWICE, StepTimeCurve
from planner.runs import PER_NODE, Placement, Run
from planner.scaling._terms import CROSSED_SD, DOF, MOST, StepPlaces
from planner.scaling.answers import KAPPA, TANGLED, ScalingCurve, octaves, places_of
from planner.scaling.fit import fit_scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCurve:
    """Step times on `devices` over `nodes`, by a curve fitted to several device counts.

    `half_saturation_batch` n*v0*(t + link) [samples] has a confidence interval (delta method in the
    logarithm, widened like step times outside the measured devices); step times have predictive
    ones. `batch` is n times every measured batch per device. `notes` are added to every answer.
    """

    scaling: ScalingCurve
    devices: int
    nodes: int
    launch: str | None
    half_saturation_batch: Estimate
    batch: Floats
    notes: tuple[str, ...] = ()

    @property
    def trusted_up_to_batch(self) -> float:
        """The largest measured batch per device, on all devices [samples]."""
        return float(self.batch[-1])

    @property
    def answers_from_batch(self) -> float:
        """The smallest global batch with an answer [samples]: at least one sample per device."""
        return self.devices * max(self.scaling.answers_from_batch, 1.0)

    @property
    def answers_up_to_batch(self) -> float:
        """The largest global batch with an answer [samples]."""
        return self.devices * self.scaling.answers_up_to_batch

    @property
    def limit(self) -> str:
        """Why there is no answer beyond."""
        return Text(
            "{limit} (Of batches per device, here on {devices} devices.)",
            limit=self.scaling.limit,
            devices=self.devices,
        )

    @property
    def law(self) -> CountCurve:
        """Itself: the fitted form is a straight line at every device count."""
        return self

    def step_time(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return seconds of one step at a global `batch` [samples], as `ScalingCurve.step_time`."""
        shared = np.asarray(batch, dtype=np.float64) / self.devices
        estimate = self.scaling.step_time(shared, self.devices, self.nodes, self.launch)
        return _with(estimate, self.notes)

    def throughput(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return samples per second over all devices, as `ScalingCurve.throughput`."""
        shared = np.asarray(batch, dtype=np.float64) / self.devices
        estimate = self.scaling.throughput(shared, self.devices, self.nodes, self.launch)
        return _with(estimate, self.notes)

    def basis(self, batch: ArrayLike) -> Basis:
        """Return the basis of answers at `batch` [samples], the weakest of them."""
        estimate = self.step_time(batch)
        return "extrapolated" if isinstance(estimate, Refusal) else estimate.basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A scaling curve under one launch mode as `planner.time_to_target.frontier.StepTimes`.

    Devices fill nodes of `devices_per_node`.
    """

    curve: ScalingCurve
    launch: str | None
    devices_per_node: int

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """Return seconds of one step, NaN where there is no answer."""
        return self.curve.step_time_s(batch, devices, self.devices_per_node, self.launch)


def at_place(
    curve: StepTimeCurve | ScalingCurve | Refusal,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> StepTimeCurve | Refusal:
    """Return step times over the global batch: a scaling curve at a place, others unchanged.

    Args:
        curve: fitted to several device counts, or measured at one.
        devices: device count, at least 1; default: the largest measured one on its fewest nodes,
            and a reason of every answer says so.
        nodes: node count; default: as many as `devices` fill with
            `ScalingCurve.devices_per_node` each.
        launch: as in `ScalingCurve.step_time`.

    Returns:
        The curve, or a `Refusal`: the one passed in, or that of `at_count`.

    Raises:
        ValueError: an impossible device or node count, `nodes` without `devices`, or any of the
            three with a curve of one device count.
    """
    if not isinstance(curve, ScalingCurve):
        if isinstance(curve, Refusal) or (devices, nodes, launch) == (None, None, None):
            return curve
        raise ValueError(
            "devices, nodes and launch do not apply to step times of one device count. Leave them "
            "out, or give a scaling curve (planner.fit_scaling)."
        )
    if devices is None:
        if nodes is not None:
            raise ValueError(
                Text("nodes is {nodes}, but devices is missing. Give both.", nodes=nodes)
            )
        return _at_most(curve, launch)
    over = -(-devices // curve.devices_per_node) if nodes is None else nodes
    return at_count(curve, devices, max(over, 1), launch)


def at_count(
    scaling: ScalingCurve, devices: int, nodes: int, launch: str | None = None
) -> CountCurve | Refusal:
    """Return the curve at a device count.

    Args:
        scaling: fitted to several device counts.
        devices: device count, at least 1.
        nodes: node count, from 1 to `devices`.
        launch: as in `ScalingCurve.step_time`.

    Returns:
        The curve, or the `Refusal` of every batch there: an unmeasured single device or launch
        mode, undetermined terms, or runs that the form does not fit.

    Raises:
        ValueError: an impossible device or node count.
    """
    sizes = np.unique(scaling.runs.batch)
    estimate = scaling.step_time(float(sizes[sizes.size // 2]), devices, nodes, launch)
    if isinstance(estimate, Refusal):
        return estimate
    at = places_of(scaling, sizes[:1], devices, nodes, launch)
    if isinstance(at, Refusal):
        return at
    if scaling.has_no_form and isinstance(scaling.overhead_s, Refusal):
        return scaling.overhead_s
    half = _half_saturation(scaling, at, devices, estimate.reasons)
    if isinstance(half, Refusal):
        return half
    return CountCurve(
        scaling=scaling,
        devices=devices,
        nodes=nodes,
        launch=launch,
        half_saturation_batch=half,
        batch=devices * sizes,
    )


def _at_most(curve: ScalingCurve, launch: str | None) -> CountCurve | Refusal:
    """Return the curve at the largest measured device count."""
    runs = curve.runs
    devices = int(runs.devices.max())
    nodes = int(runs.nodes[runs.devices == devices].min())
    at_largest = at_count(curve, devices, nodes, launch)
    note = (
        Text(
            "On {devices} devices over {nodes} nodes, the largest measured count; choose another "
            "one if needed.",
            devices=devices,
            nodes=nodes,
        )
        if nodes > 1
        else Text(
            "On {devices} devices, the largest measured count; choose another one if needed.",
            devices=devices,
        )
    )
    if isinstance(at_largest, Refusal):
        return at_largest
    half = replace(
        at_largest.half_saturation_batch, reasons=(note, *at_largest.half_saturation_batch.reasons)
    )
    return replace(at_largest, half_saturation_batch=half, notes=(note,))


def _with(estimate: Estimate | Refusal, notes: tuple[str, ...]) -> Estimate | Refusal:
    """Return an answer with further notes as reasons."""
    if isinstance(estimate, Refusal) or not notes:
        return estimate
    return replace(estimate, reasons=(*notes, *estimate.reasons))


def _half_saturation(
    scaling: ScalingCurve, at: StepPlaces, devices: int, reasons: tuple[str, ...]
) -> Estimate | Refusal:
    """Return n*v0*(t + link) [samples]; the slope's place is that of 1/v0."""
    terms = scaling.terms
    fixed = terms.questions(at)[0]
    slope = np.zeros(fixed.size)
    slope[terms.modes], fixed[terms.modes] = fixed[terms.modes] / float(at.batch[0]), 0.0
    if not terms.determined(np.stack([fixed, slope])).all():
        return TANGLED
    overhead_s, per_sample_s = float(fixed @ terms.value), float(slope @ terms.value)
    if not overhead_s or not per_sample_s:
        value = 0.0 if per_sample_s else np.inf
        return _estimate(value, (0.0, np.inf), scaling, devices, reasons)
    gradient = fixed / overhead_s - slope / per_sample_s
    link = int(terms.link_of(at)[0])
    far = KAPPA * octaves(
        np.array(float(devices)), scaling.fewest_devices[link], scaling.most_devices[link]
    )
    far = np.hypot(far, CROSSED_SD * (link != int(at.link[0])))
    q = float(t_quantile(scaling.level, DOF) * np.hypot(terms.deviation(gradient), far))
    value = devices * overhead_s / per_sample_s
    with np.errstate(over="ignore"):  # an open upper end is infinite
        ends = value * float(np.exp(-q)), value * float(np.exp(q))
    return _estimate(value, ends, scaling, devices, reasons)


def _estimate(
    value: float,
    ends: tuple[float, float],
    scaling: ScalingCurve,
    devices: int,
    reasons: tuple[str, ...],
) -> Estimate:
    largest = devices * float(scaling.runs.batch.max())
    return Estimate(
        value=value,
        low=ends[0],
        high=ends[1],
        level=scaling.level,
        basis="interpolated" if value <= largest else "extrapolated",
        reasons=reasons,
    )


SPLIT: Final = frozenset({"stage", "branch", "tensor"})
"""Strategies that split the network: no law of replicas describes their steps."""
ALONE: Final = (None, "single process")
"""Launch modes of a single device that match every other mode."""
NO_POINTS: Final = Refusal(
    reason="Only the parameters of a curve were published. Without step times on several device "
    "counts the growth of the link's cost is unknown.",
    measure_next="Measure step times of the same batch per device on one device and on two.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A scaling curve of one workload on one system, with its measured counts.

    `launch` names the launch mode where several were measured; `counts` are the measured device
    counts. A `slice` of TPUs counts as one node.
    """

    curve: ScalingCurve
    launch: str | None
    counts: tuple[int, ...]
    slice: bool = False

    @property
    def most(self) -> int:
        """The largest measured device count."""
        return self.counts[-1]

    @property
    def devices_per_node(self) -> int:
        """The largest measured devices per node, at least `PER_NODE` if only one was measured."""
        if np.isfinite(self.curve.most_devices[2]):
            return self.curve.devices_per_node
        return int(MOST) if self.slice else max(self.curve.devices_per_node, PER_NODE)

    def nodes_for(self, devices: int) -> int:
        """Return how many nodes the devices fill."""
        return -(-devices // self.devices_per_node)

    def at(self, devices: int, nodes: int | None = None) -> CountCurve | Refusal:
        """Return the step times on `devices`, over `nodes` or as many as they fill."""
        over = self.nodes_for(devices) if nodes is None else nodes
        return at_count(self.curve, devices, over, self.launch)

    def is_guess(self, devices: int, nodes: int | None = None) -> bool:
        """Return whether `devices` are more than twice those measured, or their link was not."""
        over = self.nodes_for(devices) if nodes is None else nodes
        most = float(self.curve.most_devices[2 if over > 1 else int(devices > 1)])
        return not devices <= TWICE * most


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
    return scaling_through(
        chosen[0][0].system if chosen else "",
        [float(r.global_batch_size or 0) for r, _ in chosen],
        [r.step_time_s or 0.0 for r, _ in chosen],
        [p for _, p in chosen],
        like,
    )


def scaling_through(
    name: str,
    batch: Sequence[float],
    step_s: Sequence[float],
    places: Sequence[Placement],
    like: Placement,
) -> Scaled | Refusal:
    """Return the scaling curve through steps [s] at global batches, one placement each.

    `name` is that of the system; `like` and refusals are those of `scaling_of`.
    """
    chosen = [
        (b, s, p) for b, s, p in zip(batch, step_s, places, strict=True) if _linked_alike(p, like)
    ]
    if not chosen:
        return NO_POINTS
    at = [p for _, _, p in chosen]
    launches = _launches(at, like)
    several = len(set(launches)) > 1
    curve = or_refusal(name, lambda: _fitted(chosen, launches if several else None))
    if isinstance(curve, Refusal):
        return curve
    return Scaled(
        curve=curve,
        launch=_launch_mode(at, like) if several else None,
        counts=tuple(sorted({p.devices for p in at})),
        slice="TPU" in name,
    )


def _fitted(
    chosen: Sequence[tuple[float, float, Placement]], launches: Sequence[str] | None
) -> ScalingCurve | Refusal:
    """Return the fit of the runs; refused for impossible numbers in a file."""
    try:
        return fit_scaling(
            [batch / p.devices for batch, _, p in chosen],
            [p.devices for _, _, p in chosen],
            [p.nodes for _, _, p in chosen],
            [step_s for _, step_s, _ in chosen],
            launches,
        )
    except ValueError as problem:
        return Refusal(reason=message_of(problem), measure_next="Measure these runs again.")


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
