"""How many devices, at which batch size, for the least time and for the least money?

    time(n, B) = S(B)*T(B, n)                  time to target [s]
    cost(n, B) = n*price*time(n, B)/3600       [currency of the price]

T is the step time on n devices at the global batch B; the steps to target S belong to the global
batch alone, however many devices share it. At a fixed number of devices cost is time times a
constant, so both have the same best batch; and at one price a device no choice on the frontier has
more devices than the fastest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from planner.convergence import ConvergenceCurve
from planner.core import Floats, Refusal, listed
from planner.fits import StepTimeCurve
from planner.scaling import CountCurve, Launched, ScalingCurve
from planner.throughput import ThroughputCurve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SECONDS_PER_HOUR: Final = 3600.0


class StepTimes(Protocol):
    """Whatever knows how long a step takes on several numbers of devices."""

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """Seconds of one step at a global `batch` [samples] on `devices`, in their broadcast shape.

        NaN where there is no answer.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDeviceCount:
    """A curve on one number of `devices` as `StepTimes`: it answers for no other."""

    curve: StepTimeCurve
    devices: float

    def step_time_s(self, batch: Floats, devices: Floats) -> Floats:
        """As `StepTimes`; NaN for another number of devices or where the curve refuses."""
        told = self.curve.law.step_time(np.atleast_1d(batch))
        seconds = np.nan if isinstance(told, Refusal) else np.asarray(told.value)
        return np.asarray(np.where(devices == self.devices, seconds, np.nan), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to the target: devices, global batch [samples], time [s], cost [price's currency]."""

    devices: float
    batch: float
    time_s: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """Time and cost to target over a grid, and which points no other one beats in both.

    `devices` has shape (d,), `batch` [samples] (b,); `time_s` [s], `cost` [currency of the price,
    device-hours at price 1] and `non_dominated` have shape (d, b). Time and cost are NaN, and
    never on the frontier, where a curve does not answer or a device would have less than one
    sample. They are middle values: `planner.time_to_target.goodput.product` gives a chosen point
    its interval.
    """

    devices: Floats
    batch: Floats
    time_s: Floats
    cost: Floats
    non_dominated: NDArray[np.bool_]
    reasons: tuple[str, ...]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The frontier from the fastest to the cheapest."""
        rows, columns = np.nonzero(self.non_dominated)
        order = np.lexsort((self.batch[columns], self.devices[rows], self.time_s[rows, columns]))
        return tuple(
            Choice(*(float(x) for x in point))
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
    """Time and cost to target on every number of devices at every batch size.

    A point is on the frontier where no other is at least as fast and as cheap, and better in one.

    Args:
        scaling: step times over (global batch, devices): a fitted `ScalingCurve` (devices fill up
            nodes of its `devices_per_node`) or anything else with `step_time_s`; or a throughput
            curve, and then `devices` is the number it was measured on; or a `CountCurve`, which
            answers for its own number of devices; or why there is none.
        convergence: samples to the target in question, or why there is no curve.
        devices: numbers of devices, whole and at least 1, scalar or shape (d,).
        batches: global batch sizes [samples], above 0, scalar or shape (b,).
        price_per_device_hour: at least 0, scalar or shape (d,), any currency; at 1 cost is in
            device-hours.
        launch: the launch mode of a `ScalingCurve`; may be left out where one was measured.

    Returns:
        The grid with its frontier, or a `Refusal`: the one given, or where no point is answered.

    Raises:
        ValueError: a number is outside these bounds, prices do not belong to the devices, a
            throughput curve is asked about several numbers of devices, a launch mode was not
            measured, is missing where several were, or is given where none are known.
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
    cost = time_s * ((counts * prices) / SECONDS_PER_HOUR)[:, None]
    return Frontier(
        devices=counts,
        batch=sizes,
        time_s=time_s,
        cost=cost,
        non_dominated=_non_dominated(time_s, cost),
        reasons=steps.reasons,
    )


def _non_dominated(time_s: Floats, cost: Floats) -> NDArray[np.bool_]:
    """Points that no other equals in both and beats in one; shape (d, b).

    On a given number of devices cost is time times a constant, so only the fastest batches of
    each row can be on the frontier, and the rows are few enough to be compared pair by pair.
    """
    times = np.where(np.isnan(time_s), np.inf, time_s)
    fastest = times.argmin(axis=1)[:, None]
    least_s = np.take_along_axis(times, fastest, axis=1)
    least_cost = np.take_along_axis(cost, fastest, axis=1)
    # Row i is beaten by any row j (axis 1) that is nowhere worse and somewhere better.
    nowhere_worse = (least_s >= least_s.T) & (least_cost >= least_cost.T)
    somewhere_better = (least_s > least_s.T) | (least_cost > least_cost.T)
    beaten = np.any(nowhere_worse & somewhere_better, axis=1, keepdims=True)
    return np.asarray(np.isfinite(time_s) & (times == least_s) & ~beaten)


def _refuse_grid(counts: Floats, sizes: Floats) -> Refusal:
    return Refusal(
        reason=f"No point of the grid is answered: {counts.size} device counts from "
        f"{counts.min():g} to {counts.max():g}, batches from {sizes.min():g} to "
        f"{sizes.max():g}.",
        measure_next="Ask for batches and devices that were measured, or measure these.",
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
            f"launch is {launch}, but these step times know no launch modes. Leave it out, or give "
            "a scaling curve (planner.fit_scaling)."
        )
    if isinstance(scaling, CountCurve):
        return OneDeviceCount(curve=scaling, devices=float(scaling.devices))
    if not isinstance(scaling, ThroughputCurve):
        return scaling
    if counts.size != 1:
        raise ValueError(
            f"A throughput curve knows one number of devices; {counts.size} were asked for. Give "
            "the number it was measured on, or step times fitted over several."
        )
    return OneDeviceCount(curve=scaling, devices=float(counts[0]))


def _axes(
    devices: ArrayLike, batches: ArrayLike, price: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Flat axes of the grid and a price for every number of devices, or all that is wrong."""
    counts, sizes, prices = (np.asarray(v, dtype=np.float64) for v in (devices, batches, price))
    checks = (
        ("devices", counts, (counts >= 1.0) & (counts == np.floor(counts)) & np.isfinite(counts)),
        ("batches", sizes, (sizes > 0.0) & np.isfinite(sizes)),
        ("price_per_device_hour", prices, (prices >= 0.0) & np.isfinite(prices)),
    )
    told = [f"{name}: {listed(values, good)}" for name, values, good in checks if not good.all()]
    told += [
        f"{name} has shape {values.shape}" for name, values, _ in checks
        if values.ndim > 1 or not values.size
    ]  # fmt: skip
    if prices.ndim and prices.shape != counts.shape:
        told.append(f"there are {prices.size} prices for {counts.size} device counts")
    if told:
        raise ValueError(
            f"{'; '.join(told)}. Devices are whole numbers from 1, batches above 0, prices 0 or "
            "more, one or as many as devices; each a number or a flat list."
        )
    counts, sizes = np.atleast_1d(counts), np.atleast_1d(sizes)
    return counts, sizes, np.broadcast_to(prices, counts.shape)
