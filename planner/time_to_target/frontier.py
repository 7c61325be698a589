"""Device count and batch size for the least time and the least cost.

    time(n, B) = S(B)*T(B, n)                  time to target [s]
    cost(n, B) = n*price*time(n, B)/3600       [currency of the price]

T is the step time on n devices at the global batch B. The steps to target S depend on the global
batch only. At a fixed device count cost is time times a constant, so both have the same best batch.
At one price per device no choice on the frontier has more devices than the fastest one.

A scaling curve (`planner.scaling._runs`) and the steps-to-target law give the Pareto-optimal device
counts and batches. The best are the fastest to the target and the one with the fewest device-hours.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.convergence import ConvergenceCurve
from planner.core import HOUR_S, Estimate, Floats, Refusal, Text, listed
from planner.fits import TWICE, StepTimeCurve
from planner.scaling import CountCurve, DeviceSpeedUp, Launched, Scaled, ScalingCurve
from planner.throughput import ThroughputCurve
from planner.time_to_target.goodput import time_to_target


class StepTimes(Protocol):
    """Step times on several device counts."""

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """Return the step time [s] at a global `batch` [samples] on `devices`, broadcast.

        NaN where there is no answer.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDeviceCount:
    """A curve at one device count as `StepTimes`."""

    curve: StepTimeCurve
    devices: float

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """Return step times [s]; NaN at another device count or where the curve refuses."""
        estimate = self.curve.law.step_time(np.atleast_1d(batch))
        seconds = np.nan if isinstance(estimate, Refusal) else np.asarray(estimate.value)
        return np.asarray(np.where(devices == self.devices, seconds, np.nan), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class WayToTarget:
    """One way to the target: devices, global batch [samples], time [s], cost [price's currency]."""

    devices: float
    batch: float
    time_s: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """Time and cost to target over a grid, and its Pareto-optimal points.

    `devices` has shape (d,), `batch` [samples] (b,); `time_s` [s], `cost` [currency of the price,
    device-hours at price 1] and `non_dominated` have shape (d, b). Time and cost are NaN where a
    curve refuses or a device would have less than one sample. They have no intervals:
    `planner.fits.product` computes that of a chosen point.
    """

    devices: Floats
    batch: Floats
    time_s: Floats
    cost: Floats
    non_dominated: NDArray[np.bool_]
    reasons: tuple[str, ...]

    @property
    def choices(self) -> tuple[WayToTarget, ...]:
        """The frontier from the fastest to the cheapest."""
        rows, columns = np.nonzero(self.non_dominated)
        order = np.lexsort((self.batch[columns], self.devices[rows], self.time_s[rows, columns]))
        return tuple(
            WayToTarget(*(float(x) for x in point))
            for point in zip(
                self.devices[rows[order]],
                self.batch[columns[order]],
                self.time_s[rows[order], columns[order]],
                self.cost[rows[order], columns[order]],
                strict=True,
            )
        )


def frontier(
    scaling: ThroughputCurve | CountCurve | ScalingCurve | StepTimes | Refusal,
    convergence: ConvergenceCurve | Refusal,
    devices: ArrayLike,
    batches: ArrayLike,
    price_per_device_hour: ArrayLike = 1.0,
    *,
    launch: str | None = None,
) -> Frontier | Refusal:
    """Return time and cost to target at every device count and batch size.

    A point is on the frontier where no other is at least as fast and as cheap, and better in one.

    Args:
        scaling: step times by (global batch, devices): a fitted `ScalingCurve` (devices fill
            nodes of its `devices_per_node`), a `StepTimes`, a `CountCurve` for its own device
            count, a throughput curve measured on `devices`, or a refusal.
        convergence: samples to the target, or a refusal.
        devices: device counts, whole and at least 1, scalar or shape (d,).
        batches: global batch sizes [samples], above 0, scalar or shape (b,).
        price_per_device_hour: at least 0, scalar or shape (d,), any currency; at 1 cost is in
            device-hours.
        launch: the launch mode of a `ScalingCurve`; optional where one was measured.

    Returns:
        The grid with its frontier, or a `Refusal`: the one passed in, or if no point has a value.

    Raises:
        ValueError: a number is outside these bounds, prices do not match the devices, a
            throughput curve comes with several device counts, or the launch mode was not
            measured, is missing where several were, or does not apply.
    """
    if isinstance(scaling, Refusal):
        return scaling
    if isinstance(convergence, Refusal):
        return convergence
    counts, sizes, prices = _axes(devices, batches, price_per_device_hour)
    steps = convergence.steps(sizes)
    if isinstance(steps, Refusal):  # only scalars are refused as a whole, and sizes is flat
        return steps
    rows, columns = counts[:, None], sizes[None, :]
    step_s = _step_times(scaling, counts, launch).step_time_s(columns, rows)
    time_s = np.where(columns < rows, np.nan, step_s * np.asarray(steps.value))
    if not np.isfinite(time_s).any():
        return _refuse_grid(counts, sizes)
    cost = time_s * ((counts * prices) / HOUR_S)[:, None]
    return Frontier(
        devices=counts,
        batch=sizes,
        time_s=time_s,
        cost=cost,
        non_dominated=_non_dominated(time_s, cost),
        reasons=steps.reasons,
    )


def _non_dominated(time_s: Floats, cost: Floats) -> NDArray[np.bool_]:
    """Return which points are Pareto-optimal, shape (d, b).

    At one device count cost is time times a constant, so only the fastest batches of each row can
    be on the frontier. The few rows are compared pair by pair.
    """
    times = np.where(np.isnan(time_s), np.inf, time_s)
    fastest = times.argmin(axis=1)[:, None]
    least_s = np.take_along_axis(times, fastest, axis=1)
    least_cost = np.take_along_axis(cost, fastest, axis=1)
    # Row i is dominated by any row j (axis 1) that is nowhere worse and somewhere better.
    nowhere_worse = (least_s >= least_s.T) & (least_cost >= least_cost.T)
    somewhere_better = (least_s > least_s.T) | (least_cost > least_cost.T)
    beaten = np.any(nowhere_worse & somewhere_better, axis=1, keepdims=True)
    return np.asarray(np.isfinite(time_s) & (times == least_s) & ~beaten)


def _refuse_grid(counts: Floats, sizes: Floats) -> Refusal:
    return Refusal(
        reason=Text(
            "No point of the grid has an answer: {counts} device counts from {least_count:g} to "
            "{most_count:g}, batches from {least_batch:g} to {most_batch:g}.",
            counts=counts.size,
            least_count=counts.min(),
            most_count=counts.max(),
            least_batch=sizes.min(),
            most_batch=sizes.max(),
        ),
        measure_next="Choose measured batches and device counts, or measure these.",
    )


def _step_times(
    scaling: ThroughputCurve | CountCurve | ScalingCurve | StepTimes,
    counts: Floats,
    launch: str | None,
) -> StepTimes:
    if isinstance(scaling, ScalingCurve):
        per_node = scaling.devices_per_node
        return Launched(curve=scaling, launch=launch, devices_per_node=per_node)
    if launch is not None:
        raise ValueError(
            Text(
                "launch is {launch}, but these step times have no launch modes. Leave "
                "it out, or pass a scaling curve (planner.fit_scaling).",
                launch=launch,
            )
        )
    if isinstance(scaling, CountCurve):
        return OneDeviceCount(curve=scaling, devices=float(scaling.devices))
    if not isinstance(scaling, ThroughputCurve):
        return scaling
    if counts.size != 1:
        raise ValueError(
            Text(
                "A throughput curve has one device count; {size} were requested. Pass "
                "the measured count, or step times fitted over several.",
                size=counts.size,
            )
        )
    return OneDeviceCount(curve=scaling, devices=float(counts[0]))


def _axes(
    devices: ArrayLike, batches: ArrayLike, price: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return flat axes of the grid and a price per device count; raise all problems."""
    counts, sizes, prices = (np.asarray(v, dtype=np.float64) for v in (devices, batches, price))
    checks = (
        ("devices", counts, (counts >= 1.0) & (counts == np.floor(counts)) & np.isfinite(counts)),
        ("batches", sizes, (sizes > 0.0) & np.isfinite(sizes)),
        ("price_per_device_hour", prices, (prices >= 0.0) & np.isfinite(prices)),
    )
    problems = [
        f"{name}: {listed(values, good)}" for name, values, good in checks if not good.all()
    ]
    problems += [
        Text("{name} has shape {shape}", name=name, shape=values.shape)
        for name, values, _ in checks
        if values.ndim > 1 or not values.size
    ]
    if prices.ndim and prices.shape != counts.shape:
        problems.append(
            Text(
                "there are {prices} prices for {counts} device counts",
                prices=prices.size,
                counts=counts.size,
            )
        )
    if problems:
        raise ValueError(
            Text(
                "{problems}. Devices are whole numbers from 1, batches above 0, prices "
                "0 or more, one or as many as devices; each a number or a flat list.",
                problems="; ".join(problems),
            )
        )
    counts, sizes = np.atleast_1d(counts), np.atleast_1d(sizes)
    return counts, sizes, np.broadcast_to(prices, counts.shape)


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
    strong: DeviceSpeedUp | Refusal
    weak: DeviceSpeedUp | Refusal


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
) -> tuple[DeviceSpeedUp | Refusal, DeviceSpeedUp | Refusal]:
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


def _way(scaled: Scaled, law: ConvergenceCurve, choice: WayToTarget) -> Way:
    devices, batch = int(choice.devices), choice.batch
    strong, weak = efficiencies(scaled, batch, devices)
    return Way(
        devices=devices,
        batch=batch,
        time_s=time_to_target(scaled.at(devices), law, batch),
        device_hours=devices * choice.time_s / HOUR_S,
        guess=scaled.is_guess(devices),
        strong=strong,
        weak=weak,
    )
