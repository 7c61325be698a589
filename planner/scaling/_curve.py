"""A step time fitted over device counts, and its predictions.

The records made by `planner.scaling.fit.fit_scaling`; `planner.scaling.answers` computes their
predictions. `planner.scaling.fit` describes the form, its limits and its evidence.
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
    grid,
    places_of,
    shares,
    speed_up,
    step_time,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCost:
    """The cost of a link class in a step: `constant_s` + `growth_s`*g(devices) [s].

    It was measured with `fewest_devices` to `most_devices`. If these are equal, half of the cost is
    assumed to grow, and a reason says so.
    """

    constant_s: Estimate | Refusal
    growth_s: Estimate | Refusal
    fewest_devices: int
    most_devices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingCurve:
    """A fitted form and its range.

    `overhead_s` t [s] is that of the fastest launch mode; `launch_extra_s` is the extra of each
    mode [s], empty without named modes. `asymptotic_throughput` v0 [samples/s] is that of one
    device. A term that the runs do not determine is a `Refusal`; a link class without runs is None.
    The runs are in rising order, shape (n,): `runs`, `step_s` and `residuals` (fit/measured - 1),
    with launch modes as numbers in `modes`. Batches per device from `answers_from_batch` to
    `answers_up_to_batch` have answers; `limit` says why not beyond. `fewest_devices` and
    `most_devices` are those measured on the three link classes, shape (3,), NaN without runs.
    `published` predicts step times and speed-ups that the runs do not determine; None with several
    launch modes.
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
        """Number of fitted runs."""
        return int(self.step_s.size)

    @property
    def scatter(self) -> float:
        """Relative standard deviation of the residuals; NaN without a spare run."""
        return self.terms.scatter

    @property
    def devices_per_node(self) -> int:
        """The largest number of devices per node of any run, spread evenly."""
        return int(np.ceil(self.runs.devices / self.runs.nodes).max())

    def step_time(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Estimate | Refusal:
        """Return seconds of one step, with the interval of one new measurement.

        The interval is T*exp(-q) to T*exp(+q), q = t*sqrt(s^2 + (KAPPA*octaves of devices)^2 +
        (KAPPA_BATCH*octaves of batch)^2); s is the scatter, at least SD0, and octaves count
        doublings outside the measured range (devices: on that link). Where `published` is used,
        q = t*sd of `planner.scaling._law` and the basis is "similar workload".

        Args:
            per_device_batch_size: samples per step on one device, above 0.
            devices: device counts, whole numbers from 1.
            nodes: node counts, whole numbers from 1 to `devices`.
            launch: how the processes are started; optional where one mode was measured.

        Returns:
            For scalars an `Estimate` of floats, or a `Refusal`: an unmeasured link class or launch
            mode, a batch too far from the measured ones, undetermined terms. For arrays (broadcast)
            an `Estimate` of arrays, NaN where a scalar would be refused; `reasons` says why, and
            marks low confidence beyond twice the measured devices.

        Raises:
            ValueError: names every impossible value.
        """
        at = places_of(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else step_time(self, at, None)

    def throughput(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Estimate | Refusal:
        """Return samples per second over all devices: n*b/T(b, n); otherwise as `step_time`."""
        at = places_of(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else step_time(self, at, at.batch * at.devices)

    def shares(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Shares | Refusal:
        """Return the shares of a step's time; arguments, refusals and errors as `step_time`.

        Also refused where the runs cannot separate link and overhead (no single device).
        """
        at = places_of(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else shares(self, at)

    def strong_scaling(
        self,
        global_batch: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> SpeedUp | Refusal:
        """Return speed-up and efficiency at a fixed global batch [samples]: T(B, 1)/T(B/n, n).

        Other arguments, refusals and errors as `step_time`. The global batch must be within the
        range of one device.
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
        """Return speed-up and efficiency at a fixed batch per device: n T(b, 1)/T(b, n).

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
        """Return step times [s] for a grid of global batches and device counts.

        Args:
            batch: samples per step over all devices, above 0.
            devices: whole numbers from 1; broadcast against `batch`.
            devices_per_node: devices fill nodes of this size; default: that of the runs.
            launch: as in `step_time`.

        Returns:
            Step times [s] in the broadcast shape, NaN where the fitted form has no answer;
            `published` is not used.

        Raises:
            ValueError: names every impossible value, or an unmeasured launch mode.
        """
        count = np.asarray(devices, dtype=np.float64)
        per_node = self.devices_per_node if devices_per_node is None else devices_per_node
        if per_node < 1:
            raise ValueError(f"devices_per_node is {per_node}. A node has at least one device.")
        nodes = np.ceil(count / per_node)
        return grid(self, np.asarray(batch, dtype=np.float64), count, nodes, launch)
