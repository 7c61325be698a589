"""A step time fitted over device counts, and its predictions.

The records that `planner.scaling.fit.fit_scaling` makes of runs; `planner.scaling.answers`
reckons what
they are asked. The form, its limits and its evidence are told in `planner.scaling.fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.core import Estimate, Floats, Refusal
from planner.scaling._law import LargestCount
from planner.scaling._terms import Places, Terms
from planner.scaling.answers import (
    Shares,
    SpeedUp,
    asked,
    grid,
    shares,
    speed_up,
    step_time,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCost:
    """What a link class adds to a step: `constant_s` + `growth_s`*g(devices) [s].

    It was measured with `fewest_devices` to `most_devices`. One count shows no growth: where these
    are the same, half of the cost is taken to grow, and a reason says so.
    """

    constant_s: Estimate | Refusal
    growth_s: Estimate | Refusal
    fewest_devices: int
    most_devices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingCurve:
    """A fitted form and what it may be asked.

    `overhead_s` t [s] is that of the fastest launch mode known; `launch_extra_s` names what each
    mode adds to it [s] and is empty where no mode was named. `asymptotic_throughput` v0
    [samples/s] is that of one device. A term that the runs cannot tell from others is a `Refusal`;
    a link class without runs is None. The runs stand in rising order, shape (n,): `runs`, `step_s`
    and `residuals` (fit/measured - 1), and their launch modes are numbers in `modes`. Questions
    are answered for batches per device from `answers_from_batch` to `answers_up_to_batch`, and
    `limit` says why not beyond. `fewest_devices` and `most_devices` were measured on the three
    link classes, shape (3,), NaN where there is no run. `published` answers step times and
    speed-ups that the runs do not determine; None where several launch modes were measured.
    """

    overhead_s: Estimate | Refusal
    asymptotic_throughput: Estimate | Refusal
    one_node: LinkCost | None
    several_nodes: LinkCost | None
    launch_extra_s: tuple[tuple[str, Estimate | Refusal], ...]
    runs: Places
    modes: tuple[str, ...]
    step_s: Floats
    residuals: Floats
    warnings: tuple[str, ...]
    answers_from_batch: float
    answers_up_to_batch: float
    limit: str
    fewest_devices: Floats
    most_devices: Floats
    terms: Terms
    level: float
    published: LargestCount | None = None

    @property
    def n(self) -> int:
        """Runs behind the curve."""
        return int(self.step_s.size)

    @property
    def scatter(self) -> float:
        """Relative standard deviation of the residuals; NaN where no run is left over."""
        return self.terms.scatter

    @property
    def devices_per_node(self) -> int:
        """The most devices that a measured run had on one node, spread evenly."""
        return int(np.ceil(self.runs.devices / self.runs.nodes).max())

    def step_time(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Estimate | Refusal:
        """Seconds of one step, with the interval of one new measurement.

        The interval is T*exp(-q) to T*exp(+q), q = t*sqrt(s^2 + (KAPPA*octaves of devices)^2 +
        (KAPPA_BATCH*octaves of batch)^2); s is the scatter, at least SD0, and octaves count
        doublings outside what was measured (devices: on that link). Where `published` answers,
        q = t*sd of `planner.scaling._law` and the basis is "similar workload".

        Args:
            per_device_batch_size: samples per step on one device, above 0.
            devices: how many together, whole numbers from 1.
            nodes: over how many nodes they are spread, whole numbers from 1 to `devices`.
            launch: how the processes are started; may be left out where one mode was measured.

        Returns:
            For scalars an `Estimate` of floats, or a `Refusal`: a link class or launch mode that
            was never measured, a batch too far from the measured ones, terms that the runs cannot
            tell apart. For arrays (broadcast) an `Estimate` of arrays, NaN where a scalar would
            have been refused; `reasons` says why, and "guess" beyond twice the measured devices.

        Raises:
            ValueError: names every impossible value.
        """
        at = asked(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else step_time(self, at, None)

    def throughput(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Estimate | Refusal:
        """Samples per second over all devices: n*b/T(b, n); otherwise as `step_time`."""
        at = asked(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else step_time(self, at, at.batch * at.devices)

    def shares(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Shares | Refusal:
        """What a step is made of; arguments, refusals and errors as `step_time`.

        Refused too where the runs cannot tell the link from the overhead (no single device).
        """
        at = asked(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else shares(self, at)

    def strong_scaling(
        self,
        global_batch: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> SpeedUp | Refusal:
        """Speed-up and efficiency at a fixed global batch [samples]: T(B, 1)/T(B/n, n).

        Arguments otherwise, refusals and errors as `step_time`; one device is asked about the
        whole global batch, and refused where that is too far from what was measured.
        """
        batch, count = np.asarray(global_batch, np.float64), np.asarray(devices, np.float64)
        shared = batch / np.where(count >= 1.0, count, 1.0)
        return speed_up(self, "strong", batch, (shared, count, nodes), launch)

    def weak_scaling(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> SpeedUp | Refusal:
        """Speed-up and efficiency at a fixed batch per device: n T(b, 1)/T(b, n).

        Arguments, refusals and errors as `step_time`.
        """
        batch = np.asarray(per_device_batch_size, np.float64)
        return speed_up(self, "weak", batch, (batch, devices, nodes), launch)

    def step_time_s(
        self,
        batch: ArrayLike,
        devices: ArrayLike,
        devices_per_node: int | None = None,
        launch: str | None = None,
    ) -> Floats:
        """Plain seconds for a search over a grid of global batches and device counts.

        Args:
            batch: samples per step over all devices, above 0.
            devices: whole numbers from 1; broadcast against `batch`.
            devices_per_node: devices fill up nodes of so many; left out, `devices_per_node` of
                the runs.
            launch: as in `step_time`.

        Returns:
            Step times [s] in the broadcast shape, NaN where the fitted form does not answer:
            a search does not rest on `published`.

        Raises:
            ValueError: names every impossible value, or a launch mode that was never measured.
        """
        count = np.asarray(devices, dtype=np.float64)
        per_node = self.devices_per_node if devices_per_node is None else devices_per_node
        if per_node < 1:
            raise ValueError(f"devices_per_node is {per_node}. A node has at least one device.")
        nodes = np.ceil(count / per_node)
        return grid(self, np.asarray(batch, dtype=np.float64), count, nodes, launch)
