"""A fitted scaling curve at one number of devices, as a curve over the global batch.

    T(B, n) = (t + link(n)) + B/(n*v0)          step time [s] at the global batch B [samples]

At a given n this is the throughput law with an overhead of t + link(n) and n*v0, so half of the
throughput is reached at the batch n*v0*(t + link(n)), and whatever takes a throughput curve (the
best batch, time to target, `planner.time_to_target.frontier`) takes this too. It takes the
scaling curve itself as well, and makes this of it by `at_place`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.core import Basis, Estimate, Floats, Refusal, t_quantile
from planner.fits import StepTimeCurve
from planner.scaling._terms import DOF, Places
from planner.scaling.answers import (
    KAPPA,
    TANGLED,
    asked,
    octaves,
)
from planner.scaling.fit import ScalingCurve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCurve:
    """Step times on `devices` over `nodes`, by the curve fitted to several numbers of devices.

    `half_saturation_batch` n*v0*(t + link) [samples] carries a confidence interval (delta method
    in the logarithm, widened as step times are for devices outside the measured ones); step times
    carry predictive ones. `batch` has n times every batch per device that was measured. `told` is
    to be read beside every answer.
    """

    scaling: ScalingCurve
    devices: int
    nodes: int
    launch: str | None
    half_saturation_batch: Estimate
    batch: Floats
    told: tuple[str, ...] = ()

    @property
    def trusted_up_to_batch(self) -> float:
        """The largest measured batch per device, on all devices [samples]."""
        return float(self.batch[-1])

    @property
    def answers_from_batch(self) -> float:
        """The smallest global batch that is answered [samples]: one sample a device or more."""
        return self.devices * max(self.scaling.answers_from_batch, 1.0)

    @property
    def answers_up_to_batch(self) -> float:
        """The largest global batch that is answered [samples]."""
        return self.devices * self.scaling.answers_up_to_batch

    @property
    def limit(self) -> str:
        """Why there is no answer beyond."""
        return f"{self.scaling.limit} (Of batches per device, here on {self.devices} devices.)"

    @property
    def law(self) -> CountCurve:
        """Itself: the fitted form is a straight line at every number of devices."""
        return self

    def step_time(self, batch: ArrayLike) -> Estimate | Refusal:
        """Seconds of one step at a global `batch` [samples], as `ScalingCurve.step_time`."""
        shared = np.asarray(batch, dtype=np.float64) / self.devices
        found = self.scaling.step_time(shared, self.devices, self.nodes, self.launch)
        return _with(found, self.told)

    def throughput(self, batch: ArrayLike) -> Estimate | Refusal:
        """Samples per second over all devices, as `ScalingCurve.throughput`."""
        shared = np.asarray(batch, dtype=np.float64) / self.devices
        found = self.scaling.throughput(shared, self.devices, self.nodes, self.launch)
        return _with(found, self.told)

    def basis(self, batch: ArrayLike) -> Basis:
        """How the curve knows about `batch` [samples]; the weakest answer speaks for all."""
        told = self.step_time(batch)
        return "extrapolated" if isinstance(told, Refusal) else told.basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A scaling curve under one launch mode as `planner.time_to_target.frontier.StepTimes`.

    Devices fill up nodes of `devices_per_node`.
    """

    curve: ScalingCurve
    launch: str | None
    devices_per_node: int

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """Seconds of one step, NaN where there is no answer."""
        return self.curve.step_time_s(batch, devices, self.devices_per_node, self.launch)


def at_place(
    curve: StepTimeCurve | ScalingCurve | Refusal,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> StepTimeCurve | Refusal:
    """Step times over the global batch: a scaling curve at a place, any other curve as it is.

    Args:
        curve: fitted to several numbers of devices, or known on one.
        devices: how many, at least 1. Left out they are the most that were measured, over as few
            nodes as those were, and a reason of every answer says so.
        nodes: over how many nodes; left out, as many as `devices` fill up where
            `ScalingCurve.devices_per_node` fit into one.
        launch: as in `ScalingCurve.step_time`: it may be left out where one mode was measured.

    Returns:
        The curve, or a `Refusal`: the one given, or that of `at_count`.

    Raises:
        ValueError: an impossible number of devices or nodes, `nodes` without `devices`, or any of
            the three with a curve that knows one place only.
    """
    if not isinstance(curve, ScalingCurve):
        if isinstance(curve, Refusal) or (devices, nodes, launch) == (None, None, None):
            return curve
        raise ValueError(
            "devices, nodes and launch were given with step times that are known at one place "
            "only. Leave them out, or give a scaling curve (planner.fit_scaling)."
        )
    if devices is None:
        if nodes is not None:
            raise ValueError(f"nodes is {nodes}, but devices is not given. Give both.")
        return _at_most(curve, launch)
    over = -(-devices // curve.devices_per_node) if nodes is None else nodes
    return at_count(curve, devices, max(over, 1), launch)


def at_count(
    scaling: ScalingCurve, devices: int, nodes: int, launch: str | None = None
) -> CountCurve | Refusal:
    """The curve at so many devices.

    Args:
        scaling: fitted to several numbers of devices.
        devices: how many, at least 1.
        nodes: over how many nodes, from 1 to `devices`.
        launch: as in `ScalingCurve.step_time`.

    Returns:
        The curve, or the `Refusal` that every batch there would meet: a link class or launch mode
        that was never measured, or terms that the runs do not tell apart.

    Raises:
        ValueError: an impossible number of devices or nodes.
    """
    sizes = np.unique(scaling.runs.batch)
    told = scaling.step_time(float(sizes[sizes.size // 2]), devices, nodes, launch)
    if isinstance(told, Refusal):
        return told
    at = asked(scaling, sizes[:1], devices, nodes, launch)
    if isinstance(at, Refusal):
        return at
    half = _half_saturation(scaling, at, devices, told.reasons)
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
    """The curve at the most devices that were measured."""
    runs = curve.runs
    devices = int(runs.devices.max())
    nodes = int(runs.nodes[runs.devices == devices].min())
    found = at_count(curve, devices, nodes, launch)
    over = f" over {nodes} nodes" if nodes > 1 else ""
    told = f"On {devices} devices{over}, the most that were measured: ask for another number."
    if isinstance(found, Refusal):
        return found
    half = replace(
        found.half_saturation_batch, reasons=(told, *found.half_saturation_batch.reasons)
    )
    return replace(found, half_saturation_batch=half, told=(told,))


def _with(found: Estimate | Refusal, told: tuple[str, ...]) -> Estimate | Refusal:
    """An answer with something more to read beside it."""
    if isinstance(found, Refusal) or not told:
        return found
    return replace(found, reasons=(*told, *found.reasons))


def _half_saturation(
    scaling: ScalingCurve, at: Places, devices: int, reasons: tuple[str, ...]
) -> Estimate | Refusal:
    """n*v0*(t + link) [samples]; the slope's place is that of 1/v0."""
    terms = scaling.terms
    fixed = terms.questions(at)[0]
    slope = np.zeros(fixed.size)
    fixed[terms.modes], slope[terms.modes] = 0.0, 1.0
    if not terms.determined(np.stack([fixed, slope])).all():
        return TANGLED
    overhead_s, per_sample_s = float(fixed @ terms.value), float(slope @ terms.value)
    if not overhead_s or not per_sample_s:
        value = 0.0 if per_sample_s else np.inf
        return _estimate(value, (0.0, np.inf), scaling, devices, reasons)
    gradient = fixed / overhead_s - slope / per_sample_s
    link = int(at.link[0])
    far = KAPPA * octaves(
        np.array(float(devices)), scaling.fewest_devices[link], scaling.most_devices[link]
    )
    q = float(t_quantile(scaling.level, DOF) * np.hypot(terms.deviation(gradient), far))
    value = devices * overhead_s / per_sample_s
    with np.errstate(over="ignore"):  # nothing known above is infinite
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
