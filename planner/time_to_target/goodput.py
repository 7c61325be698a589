"""The batch size that reaches the target soonest, for each optimiser of a workload on a system.

    time(B) = S(B)*T(B) = Smin*(1 + Bcrit/B)*(t + B/v0)               [s]
    B*      = sqrt(Bcrit*v0*t)                                        [samples]
    time(B*) = Smin*(sqrt(t) + sqrt(Bcrit/v0))^2                      [s]
    goodput(B) = v(B)*e(B) = Emin/time(B)                             [useful samples/s]

Small batches waste the hardware, large ones waste samples. The best batch is the geometric mean
of the batch where the hardware is half efficient (v0*t) and the one where the optimiser is
(Bcrit). ("Goodput" is the term of Qiao et al. 2021, Pollux.) The minimum is flat:
time(x*B*)/time(B*) <= 1 + (sqrt(x) - 1/sqrt(x))^2/4, an eighth at twice or half the best batch. The
search stays within the measured batches of both curves. The two curves are independent, so
half-widths of their logarithms add in quadrature (`planner.fits._arithmetic`).

Step times fitted over several device counts are used at one of them: the law is the same, with
n*v0 and t + link (`planner.scaling._runs`). Every optimiser has its own step times, since Adam
moves more memory than plain SGD; sentences say where those of another optimiser or workload are
used. For each optimiser the best learning rate is chosen at every batch
(`planner.convergence._targets`) and the law is fitted through the medians
(`planner.convergence.fit`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.convergence import (
    BestRates,
    ConvergenceCurve,
    StepsToTarget,
    best_learning_rates,
    fit_convergence,
    group_medians,
    missed_around,
    refusal_missed,
    steps_of,
)
from planner.core import Estimate, Floats, Refusal, Text, message_of
from planner.core.points import numbers
from planner.fits import (
    CURVES,
    NAMES,
    Limited,
    StepTimeCurve,
    named,
    one_level,
    product,
    refusal_outside,
    root_of_product,
    weakest,
)
from planner.runs import Trials
from planner.scaling import ScalingCurve, at_place


def best_batch(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    max_batch: float | None = None,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Return the batch [samples] that reaches the target soonest: sqrt(Bcrit*v0*t), clipped.

    The batch and the ends of its interval are clipped to the trusted range of both curves and to
    `max_batch`. A reason then names the optimum of the two laws and the extra time.

    Args:
        throughput: step times on the system, or a refusal; or a curve over several device
            counts, with `devices`, `nodes` and `launch`.
        convergence: samples to the target, or a refusal.
        max_batch: the largest batch that fits into memory [samples], at least 1.
        devices: device count, whole and at least 1, for a `ScalingCurve` only; default: the
            largest measured one, and a reason says so.
        nodes: number of nodes; default: as many as the devices fill.
        launch: how the processes are started; optional where one mode was measured.

    Returns:
        The batch, not rounded to whole samples, or a `Refusal`: the one passed in; no batch lies
        within both curves; the best one did not reach the target; a curve refuses `max_batch`;
        neither curve turns (then all batches take the same time); or a scaling curve lacks the
        link class or launch mode, or several were measured and none is named.

    Raises:
        ValueError: `max_batch` is not a number or below 1, the curves have different levels, or
            the devices are impossible or passed with a curve of one device count.
    """
    allowed = _allowed(max_batch)
    throughput = at_place(throughput, devices, nodes, launch)
    if isinstance(throughput, Refusal):
        return throughput
    if isinstance(convergence, Refusal):
        return convergence
    bounds = _bounds(throughput, convergence, allowed)
    hardware, optimiser = throughput.half_saturation_batch, convergence.critical_batch_size
    level = one_level(hardware, optimiser)
    optimum, low, high = root_of_product(hardware, optimiser)
    if isinstance(bounds, Refusal):
        return bounds
    if np.isnan(optimum):
        return _refuse_flat(*_measured_by_both(throughput, convergence))
    batch, low, high = (float(np.clip(end, *bounds)) for end in (optimum, low, high))
    if refusal := _unanswered(throughput, convergence, batch):
        return refusal
    reasons = () if batch == optimum else (_clipped(throughput, convergence, optimum, batch),)
    return Estimate(
        value=batch,
        low=low,
        high=high,
        level=level,
        basis=weakest("interpolated", throughput.basis(batch), convergence.basis(batch)),
        reasons=reasons
        + named(hardware, optimiser, NAMES)
        + missed_around(convergence, np.array(batch))
        + convergence.warnings,
    )


def minimum_time(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    max_batch: float | None = None,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Return the least time to target [s], at `best_batch`, with its refusals and errors.

    For an unclipped batch it is Smin*(sqrt(t) + sqrt(Bcrit/v0))^2. The uncertainty of the best
    batch adds nothing to it in first order, because the minimum is flat.
    """
    throughput = at_place(throughput, devices, nodes, launch)
    batch = best_batch(throughput, convergence, max_batch)
    if isinstance(batch, Refusal):
        return batch
    return time_to_target(throughput, convergence, batch.value)


def time_to_target(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    batch: ArrayLike,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Return the time to target [s] at `batch` [samples]: steps times step time.

    Args:
        throughput: step times on the system, or a refusal; or a curve over several device counts.
        convergence: samples to the target, or a refusal.
        devices: with `nodes` and `launch` for a `ScalingCurve`, as in `best_batch`.
        nodes: see there.
        launch: see there.
        batch: above 0, scalar or any shape.

    Returns:
        For a scalar an `Estimate` of floats, or a `Refusal`. For an array an `Estimate` of arrays,
        NaN where a scalar would have been refused; `reasons` says why.

    Raises:
        ValueError: a batch is not finite or not above 0, or as `best_batch`.
    """
    throughput = at_place(throughput, devices, nodes, launch)
    if isinstance(throughput, Refusal):
        return throughput
    if isinstance(convergence, Refusal):
        return convergence
    return product(throughput.law.step_time(batch), convergence.steps(batch))


def goodput(
    throughput: StepTimeCurve | ScalingCurve | Refusal,
    convergence: ConvergenceCurve | Refusal,
    batch: ArrayLike,
    *,
    devices: int | None = None,
    nodes: int | None = None,
    launch: str | None = None,
) -> Estimate | Refusal:
    """Return useful samples per second at `batch` [samples]: throughput times efficiency.

    It is Emin over the time to target: the throughput of an equally fast run with perfect
    efficiency. Otherwise as `time_to_target`.
    """
    throughput = at_place(throughput, devices, nodes, launch)
    if isinstance(throughput, Refusal):
        return throughput
    if isinstance(convergence, Refusal):
        return convergence
    names = "Throughput", "Efficiency"
    return product(throughput.law.throughput(batch), convergence.efficiency(batch), names)


def _allowed(max_batch: float | None) -> float:
    """Return the largest allowed batch [samples]; infinite without a limit."""
    if max_batch is None:
        return np.inf
    allowed = numbers("max_batch", max_batch, "the largest batch that fits, at least 1, or None")
    if allowed.ndim or not allowed >= 1.0:
        raise ValueError(
            Text(
                "max_batch is {max_batch!r:.40}. A batch is whole samples, at least 1. "
                "Give the largest batch that fits, or None.",
                max_batch=max_batch,
            )
        )
    return float(allowed)


def _measured_by_both(
    throughput: StepTimeCurve, convergence: ConvergenceCurve
) -> tuple[float, float]:
    """Return the smallest and largest trusted batch [samples] of both curves."""
    smallest = float(
        max(throughput.batch[0] if throughput.batch.size else 0.0, convergence.batch[0])
    )
    return smallest, min(throughput.trusted_up_to_batch, convergence.trusted_up_to_batch)


def _bounds(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, allowed: float
) -> tuple[float, float] | Refusal:
    """Return the ends of the search [samples]; both are `allowed` where it is smaller."""
    smallest, largest = _measured_by_both(throughput, convergence)
    if smallest > largest:
        return _refuse_apart(throughput, convergence)
    return min(smallest, allowed), min(largest, allowed)


def _unanswered(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, batch: float
) -> Refusal | None:
    curves: tuple[Limited, Limited] = throughput, convergence
    refusals = (
        refusal_outside(curve, batch, name) for curve, name in zip(curves, CURVES, strict=True)
    )
    return next((refusal for refusal in refusals if refusal), refusal_missed(convergence, batch))


def _clipped(
    throughput: StepTimeCurve, convergence: ConvergenceCurve, optimum: float, batch: float
) -> str:
    """Return the optimum of the two laws, why it was clipped, and the extra time."""
    smallest, largest = _measured_by_both(throughput, convergence)
    why = Text("the largest batch allowed is {batch:g}", batch=batch)
    if batch in {smallest, largest}:
        end = (
            Text("from {batch:g} on", batch=batch)
            if batch == smallest
            else Text("up to {batch:g}", batch=batch)
        )
        why = Text("both curves were measured {end} only", end=end)
    if not 0.0 < optimum < np.inf:
        return (
            Text("Time to target falls as the batch grows; {why}.", why=why)
            if optimum
            else Text("Time to target falls as the batch shrinks; {why}.", why=why)
        )
    turns = float(throughput.half_saturation_batch.value) + float(
        convergence.critical_batch_size.value
    )
    longer = (turns + batch + optimum**2 / batch) / (turns + 2.0 * optimum) - 1.0
    return Text(
        "The optimum of the two laws is batch {rounded}, but {why}: by these laws "
        "that takes {per_cent} % longer.",
        rounded=_rounded(optimum),
        why=why,
        per_cent=f"{float(f'{100.0 * longer:.2g}'):,.10g}",
    )


def _rounded(batch: float) -> str:
    """Return three significant digits without powers of ten: 8,400."""
    return f"{float(f'{batch:.3g}'):,g}" if batch < 1e6 else f"{batch:,.0f}"


def _refuse_flat(smallest: float, largest: float) -> Refusal:
    return Refusal(
        reason="Neither curve turns where it was measured, so every batch takes the same time to "
        "the target.",
        measure_next=Text(
            "Measure both at a batch below {smallest:g} and at one above {largest:g}.",
            smallest=smallest,
            largest=largest,
        ),
    )


def _refuse_apart(throughput: StepTimeCurve, convergence: ConvergenceCurve) -> Refusal:
    ours, theirs = (
        f"{first:g} to {last:g}"
        for first, last in (
            (throughput.batch[0], throughput.trusted_up_to_batch),
            (convergence.batch[0], convergence.trusted_up_to_batch),
        )
    )
    return Refusal(
        reason=Text(
            "No batch lies within both curves: step times cover {ours}, steps to target {theirs}.",
            ours=ours,
            theirs=theirs,
        ),
        measure_next=Text(
            "Measure step times at a batch from {theirs}, or steps to target at one from {ours}.",
            theirs=theirs,
            ours=ours,
        ),
    )


GRID: Final = 81
"""Points of a drawn curve."""
_NOT_STATED: Final = float(np.finfo(np.float64).tiny)
"""Placeholder for an unrecorded learning rate: such trials count as one rate."""
_NOTHING: Final[Floats] = np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerCurve:
    """Steps to the target of one optimiser at the best learning rate of every batch.

    `batch` [samples], `learning_rate`, `median_steps` [steps], `reached`, `seeds` and `noise_scale`
    (median gradient noise scale [samples]) have shape (batches,). Steps are infinite where half of
    the seeds or more missed the target; an unknown rate or scale is NaN. `seed_batch` and
    `seed_steps` are single seeds at those rates. `curve` is the law through the medians, or a
    refusal; `warnings` name best rates at the end of those tried.
    """

    optimizer: str
    batch: Floats
    learning_rate: Floats
    median_steps: Floats
    reached: NDArray[np.int64]
    seeds: NDArray[np.int64]
    noise_scale: Floats
    seed_batch: Floats
    seed_steps: Floats
    curve: ConvergenceCurve | Refusal
    warnings: tuple[str, ...] = ()

    @property
    def usual_noise_scale(self) -> float | None:
        """Median of the batches' gradient noise scales [samples]; None without any."""
        finite = self.noise_scale[np.isfinite(self.noise_scale)]
        return float(np.median(finite)) if finite.size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerComparison:
    """Optimisers side by side to one target, and how many trials reached it, as a sentence."""

    target: float
    curves: tuple[OptimizerCurve, ...]
    reached: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTiming:
    """The batch [samples] that reaches the target soonest on a system, and in what time [s]."""

    best: Estimate | Refusal
    least_s: Estimate | Refusal


def compare(trials: Trials, target: float, optimizers: Sequence[str]) -> OptimizerComparison:
    """Return the curve of each of `optimizers` to `target`; refused if unreadable."""
    try:
        steps_to_target = steps_of(trials, target)
    except ValueError as problem:  # a file may hold any number: the page stays
        return OptimizerComparison(
            target=target, curves=tuple(_unreadable(n, problem) for n in optimizers)
        )
    chosen = np.isin(trials.optimizer, list(optimizers)) & trials.counts
    mine = (
        v[chosen]
        for v in (steps_to_target.trial, steps_to_target.steps, steps_to_target.resolution_steps)
    )
    trial, steps, resolution = mine
    return OptimizerComparison(
        target=target,
        curves=tuple(_curve(trials, steps_to_target, name) for name in optimizers),
        reached=StepsToTarget(trial=trial, steps=steps, resolution_steps=resolution).reached_text,
    )


def time_on(optimizer: OptimizerCurve, times: StepTimeCurve | Refusal) -> BatchTiming:
    """Return the best batch of an optimiser with these step times."""
    return BatchTiming(
        best=best_batch(times, optimizer.curve), least_s=minimum_time(times, optimizer.curve)
    )


def steps_grid(optimizer: OptimizerCurve) -> Floats:
    """Return batches [samples] to draw the law at: half the smallest to twice the largest."""
    if isinstance(optimizer.curve, Refusal):
        return _NOTHING
    law = optimizer.curve
    return _grid(law.batch[0] / 2, min(law.answers_up_to_batch, 2 * optimizer.batch[-1]), law.batch)


def time_line(
    optimizer: OptimizerCurve, curve: StepTimeCurve | Refusal
) -> tuple[Floats, Floats, Floats, Floats, tuple[float, float]] | None:
    """Return batch [samples], time [s] with its ends, and the range both curves measured.

    None where a curve is missing or the two have no common batch.
    """
    law = optimizer.curve
    if isinstance(law, Refusal) or isinstance(curve, Refusal):
        return None
    measured = (
        float(max(law.batch[0], curve.batch[0] if curve.batch.size else 0.0)),
        float(min(law.batch[-1], curve.trusted_up_to_batch)),
    )
    if measured[0] > measured[1]:
        return None
    high = min(law.answers_up_to_batch, curve.answers_up_to_batch, 2 * measured[1])
    low = max(law.answers_from_batch, curve.answers_from_batch, measured[0] / 2)
    batch = _grid(low, high, np.array(measured))
    estimate = time_to_target(curve, law, batch)
    if isinstance(estimate, Refusal):
        return None
    value, low_s, high_s = estimate.arrays
    return batch, value, low_s, high_s, measured


ONLY_STATED: Final = Refusal(
    reason="These runs state only the step at which they reached the target, so no law of steps by "
    "batch is fitted.",
    measure_next="Use the stated times, or train at three batch sizes with evaluations before the "
    "target.",
)
"""Why runs with one evaluation each have no law: its step is no grid of evaluations."""


def _single(trials: Trials) -> bool:
    return bool(trials.trial.size) and int(np.bincount(trials.trial).max()) == 1


def _curve(trials: Trials, steps_to_target: StepsToTarget, optimizer: str) -> OptimizerCurve:
    mine = trials.counts & (trials.optimizer == optimizer)
    sizes, needed = trials.batch[mine], steps_to_target.steps[mine]
    resolution = sizes * steps_to_target.resolution_steps[mine]
    rates = np.where(np.isnan(trials.learning_rate), _NOT_STATED, trials.learning_rate)[mine]
    try:
        # Repeats of a seed (another attempt, say) count as repeats.
        best = best_learning_rates(sizes, rates, np.arange(sizes.size), needed)
        curve = fit_convergence(
            best.batch, best.samples_to_target, resolution_samples=resolution[best.used]
        )
    except ValueError as problem:
        return _unreadable(optimizer, problem)
    place = np.searchsorted(best.tuned_batch, sizes)
    used = rates == best.learning_rate[place]
    return OptimizerCurve(
        optimizer=optimizer,
        batch=best.tuned_batch,
        learning_rate=np.where(best.learning_rate > _NOT_STATED, best.learning_rate, np.nan),
        median_steps=best.median_steps,
        reached=_counted(best, np.isfinite(best.samples_to_target)),
        seeds=_counted(best, np.full(best.batch.shape, fill_value=True)),
        noise_scale=_medians(place[used], trials.noise_scale[mine][used], best.tuned_batch.size),
        seed_batch=best.batch,
        seed_steps=best.samples_to_target / best.batch,
        curve=ONLY_STATED if isinstance(curve, Refusal) and _single(trials) else curve,
        warnings=best.warnings,
    )


def _counted(best: BestRates, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the count of seeds of each tuned batch that are `which`."""
    place = np.searchsorted(best.tuned_batch, best.batch[which])
    return np.bincount(place, minlength=best.tuned_batch.size)


def _medians(group: NDArray[np.int64], values: Floats, groups: int) -> Floats:
    """Return the median of each group's finite values, NaN where there is none."""
    finite = np.isfinite(values)
    there, member = np.unique(group[finite], return_inverse=True)
    medians = np.full(groups, np.nan)
    if there.size:
        medians[there] = group_medians(member, values[finite])
    return medians


def _grid(low: float, high: float, edges: Floats) -> Floats:
    return np.unique(np.r_[np.geomspace(low, high, GRID), edges[[0, -1]]])


def _unreadable(optimizer: str, problem: ValueError) -> OptimizerCurve:
    none = np.empty(0, dtype=np.int64)
    return OptimizerCurve(
        optimizer=optimizer, batch=_NOTHING, learning_rate=_NOTHING, median_steps=_NOTHING,
        reached=none, seeds=none, noise_scale=_NOTHING, seed_batch=_NOTHING, seed_steps=_NOTHING,
        curve=Refusal(reason=message_of(problem), measure_next="Measure these trials again."),
    )  # fmt: skip


StandIn = Literal["", "another optimiser", "another workload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSystem:
    """The system of a time to target, and the workload of its step times.

    `stand_in` names the source of step times that are not the trials' own. `guess` is True where
    the device count is more than twice the measured one.
    """

    system: str
    workload: str
    stand_in: StandIn = ""
    guess: bool = False

    @property
    def phrase(self) -> str:
        """The system in words, with the source of the step times if it is another workload."""
        phrase = Text("on {system}", system=self.system)
        if self.stand_in:
            phrase = Text("with the step times of {stand_in} ({workload}) on {system}",
                          stand_in=self.stand_in, workload=self.workload,
                          system=self.system)  # fmt: skip
        return Text("as a guess, {phrase}", phrase=phrase) if self.guess else phrase

    @property
    def again(self) -> str:
        """The same in a sentence that follows one with `phrase`."""
        return "with the same step times" if self.stand_in else self.phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTimes:
    """The step times of one optimiser on a system, or a refusal."""

    place: ReferenceSystem
    curve: StepTimeCurve | Refusal


Placed = Mapping[str, PlacedTimes]
"""Step times by the optimiser's name; optimisers without any are missing."""
Timings = Mapping[str, BatchTiming]
"""The best batch of every optimiser on its system, by the optimiser's name."""


def timings_of(comparison: OptimizerComparison, times: Placed) -> dict[str, BatchTiming]:
    """Return the best batch of every optimiser whose step times have a curve."""
    curves = {name: t.curve for name, t in times.items() if not isinstance(t.curve, Refusal)}
    return {
        c.optimizer: time_on(c, curves[c.optimizer])
        for c in comparison.curves
        if c.optimizer in curves
    }
