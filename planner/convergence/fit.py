"""Steps to a target at batch B: the law, its fit to trials, and its answers.

    E(B) = Emin + Smin*B          samples to target [samples]
    S(B) = Smin*(1 + Bcrit/B)     steps to target [steps], S = E/B
    e(B) = 1/(1 + B/Bcrit)        statistical efficiency Emin/E(B) [share]

Smin is the least number of steps, however large the batch [steps], Emin the least number of
samples, however small it is [samples], and Bcrit = Emin/Smin the critical batch size, which needs
twice the samples [samples]. The form is that of McCandlish et al. 2018 ("An empirical model of
large-batch training", (S/Smin - 1)(E/Emin - 1) = 1), fitted as the line of `planner.fits.lines`
with its own prior of the scatter, `PRIOR`.

Three regimes: perfect scaling up to Bcrit/9 (e at least 90 %), diminishing returns, and beyond
9*Bcrit maximal data parallelism (S within 11 % of Smin). Bcrit belongs to data, network, optimiser
and target together. With points on one side only, Smin or Emin may be 0, and sentences say so.

A batch that missed the target needed more steps than were run, so the law has no number for it.
Between its nearest neighbours that reached the target the law is used, with a warning. Outside the
batches that reached the target there is no answer once one missed it. docs/refusals.md lists the
other refusals and warnings.

Evidence: docs/evidence.md#steps-to-a-target.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.convergence._targets import (
    UNSEEN,
    coarse_warnings,
    group_medians,
    is_the_grid,
    prior_with,
    refuse_grid,
    resolution_shares,
)
from planner.core import (
    LEVEL,
    Basis,
    Estimate,
    Floats,
    Refusal,
    Text,
    check_flat,
    check_pairs,
    listed,
)
from planner.core.points import numbers
from planner.fits import (
    NARROW,
    BatchCurve,
    Lines,
    Parts,
    Prior,
    all_given,
    answer,
    as_given,
    basis_of,
    batch_basis,
    fit_lines,
    intercept_interval,
    parameters,
    predict,
    range_of,
    ratio_interval,
    scalar_estimate,
    scatter_of,
    slope_interval,
)


def critical_batch_size(lines: Lines, level: float, factor: float = 1.0) -> Estimate:
    """Return `factor` times Bcrit: itself, or the border of a regime."""
    intercept, slope = parameters(lines)
    batch = factor * (intercept / slope if slope else np.inf)
    low, high = critical_interval(lines, level)
    basis, remarks = batch_basis(lines, batch)
    reasons = _no_limit(lines, level) + _no_perfect_scaling(lines, level) + remarks
    return scalar_estimate(batch, (factor * low, factor * high), level, basis, reasons)


def critical_interval(lines: Lines, level: float) -> tuple[float, float]:
    """Return the interval of Bcrit, open on a side where the points do not exclude 0 or infinity.

    Without a limit the low end is that of Emin over the high end of Smin, since the logarithm of a
    slope that may be 0 has no useful width.
    """
    low, high = (float(end[0]) for end in ratio_interval(lines, level))
    if _no_limit(lines, level):
        with np.errstate(divide="ignore", invalid="ignore"):  # a slope too small to square
            least = intercept_interval(lines, level)[0] / slope_interval(lines, level)[1]
        low, high = float(least[0]), np.inf
    return 0.0 if _no_perfect_scaling(lines, level) else low, high


def min_steps(lines: Lines, level: float) -> Estimate:
    """Return Smin, interpolated if the largest batch is near it."""
    intercept, slope = parameters(lines)
    largest = float(lines.x_max[0])
    share = largest * slope / (intercept + largest * slope)
    reasons = _no_limit(lines, level)
    if 0.0 < share < 1.0 / 1.1:
        reasons += (
            Text(
                "The largest measured batch ({as_given}) takes {share:.3g} times as many.",
                as_given=as_given(largest),
                share=1.0 / share,
            ),
        )
    basis: Basis = "interpolated" if share >= 0.5 else "extrapolated"
    return scalar_estimate(slope, slope_interval(lines, level), level, basis, reasons)


def min_samples(lines: Lines, level: float) -> Estimate:
    """Return Emin, interpolated if the smallest batch is near it."""
    intercept, slope = parameters(lines)
    smallest = float(lines.x_min[0])
    share = intercept / (intercept + slope * smallest)
    reasons = _no_perfect_scaling(lines, level)
    if 0.0 < share < 1.0 / 1.1:
        reasons += (
            Text(
                "The smallest measured batch ({as_given}) takes {share:.3g} times as many.",
                as_given=as_given(smallest),
                share=1.0 / share,
            ),
        )
    basis: Basis = "interpolated" if share >= 0.5 else "extrapolated"
    return scalar_estimate(intercept, intercept_interval(lines, level), level, basis, reasons)


def _no_limit(lines: Lines, level: float) -> tuple[str, ...]:
    """Return a reason if the points do not show that the steps stop falling."""
    largest = as_given(lines.x_max[0])
    if lines.slope_clamped[0]:
        return (Text("No limit seen up to B={largest}: the steps to target still fall in "
                     "proportion to the batch.", largest=largest),)  # fmt: skip
    if slope_interval(lines, level)[0][0] == 0.0:
        return (Text("No limit seen up to B={largest}: the intervals allow steps that keep "
                     "falling in proportion.", largest=largest),)  # fmt: skip
    return ()


def _no_perfect_scaling(lines: Lines, level: float) -> tuple[str, ...]:
    """Return a reason if the points do not show that the steps fall at all."""
    smallest = as_given(lines.x_min[0])
    if lines.intercept_clamped[0]:
        return (Text("No perfect scaling seen from B={smallest} on: a larger batch takes as many "
                     "steps as a smaller one.", smallest=smallest),)  # fmt: skip
    if intercept_interval(lines, level)[0][0] == 0.0:
        return (Text("No perfect scaling seen from B={smallest} on: the intervals allow a "
                     "constant number of steps.", smallest=smallest),)  # fmt: skip
    return ()


MEASURE: Final = "Train it for more steps, tune its learning rate, or choose an easier target."


class MissedCurve(BatchCurve, Protocol):
    """A line over the batch with the batches [samples] that missed the target, shape (n,)."""

    @property
    def not_reached(self) -> Floats:
        """The batches that missed the target."""


def answer_but_missed(curve: MissedCurve, sizes: Floats, parts: Parts) -> Estimate | Refusal:
    """Return `planner.fits._curve.answer` without the batches that missed the target.

    A scalar among them is refused, an element of an array is NaN. `reasons` says why, and names
    missed batches between the neighbours of an answered one.
    """
    if not sizes.ndim and (refused := refusal_missed(curve, float(sizes))):
        return refused
    kept = ~np.isin(sizes, curve.not_reached)
    if kept.all():
        estimate = answer(curve, sizes, parts, FAR_ERROR)
        return (
            estimate
            if isinstance(estimate, Refusal)
            else _with(missed_around(curve, sizes), estimate)
        )
    mid, low, high = (part[kept] for part in parts)
    estimate = answer(curve, sizes[kept], (mid, low, high), FAR_ERROR)
    if isinstance(estimate, Refusal):  # never for an array
        return estimate
    left_out = Text(
        "{fell_short} the target: no answer there.", fell_short=_fell_short(np.unique(sizes[~kept]))
    )
    return _spread(_with((*missed_around(curve, sizes[kept]), left_out), estimate), kept)


def refusal_missed(curve: MissedCurve, batch: float) -> Refusal | None:
    """Return why `batch` [samples] has no answer, if it missed the target."""
    return _refusal(batch) if np.isin(batch, curve.not_reached) else None


def missed_around(curve: MissedCurve, sizes: Floats) -> tuple[str, ...]:
    """Return a sentence for every gap of missed batches with one of `sizes` in it."""
    low, high = float(curve.batch[0]), float(curve.batch[-1])
    inside = curve.not_reached[(curve.not_reached > low) & (curve.not_reached < high)]
    gaps = np.searchsorted(curve.batch, inside)
    spans = [
        (curve.batch[gap - 1], curve.batch[gap], inside[gaps == gap]) for gap in np.unique(gaps)
    ]
    return tuple(
        Text(
            "{fell_short} the target: an answer between batch {low} and "
            "{high}, which did, applies only if training reaches it at all.",
            fell_short=_fell_short(those),
            low=as_given(start),
            high=as_given(end),
        )
        for start, end, those in spans
        if ((sizes > start) & (sizes < end)).any()
    )


def _with(reasons: tuple[str, ...], estimate: Estimate) -> Estimate:
    return replace(estimate, reasons=reasons + estimate.reasons)


def _spread(estimate: Estimate, kept: NDArray[np.bool_]) -> Estimate:
    """Return the answers in the full shape, NaN elsewhere."""
    value, low, high = (np.full(kept.shape, np.nan) for _ in range(3))
    for part, answers in ((value, estimate.value), (low, estimate.low), (high, estimate.high)):
        part[kept] = answers
    return replace(estimate, value=value, low=low, high=high)


def _refusal(batch: float) -> Refusal:
    return Refusal(
        reason=Text(
            "Batch {as_given} did not reach the target: half of its seeds or more missed it.",
            as_given=as_given(batch),
        ),
        measure_next=MEASURE,
    )


def _fell_short(sizes: Floats) -> str:
    """Return 'Batch 1,024 did not reach' or 'Batches 512 and 1,024 did not reach'."""
    *others, last = (as_given(size) for size in sizes)
    if not others:
        return Text("Batch {last} did not reach", last=last)
    return Text("Batches {others} and {last} did not reach", others=", ".join(others), last=last)


FAR_ERROR: Final = "such answers were 15 to 34 % off in the median."
Regime = Literal["perfect scaling", "diminishing returns", "maximal data parallelism"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regimes:
    """The borders of diminishing returns [samples], with the interval of Bcrit."""

    perfect_up_to: Estimate
    maximal_from: Estimate

    def of(self, batch: float) -> Regime:
        """Return the regime of `batch` [samples] by the borders' values."""
        if batch <= self.perfect_up_to.value:
            return "perfect scaling"
        inside = batch < self.maximal_from.value
        return "diminishing returns" if inside else "maximal data parallelism"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceCurve:
    """A fitted law of steps to target and its range.

    `min_steps` Smin [steps], `min_samples` Emin [samples], `critical_batch_size` Bcrit [samples]
    and the borders in `regimes` have confidence intervals; `steps` and `samples` have predictive
    intervals of one more measured median. `batch` [samples], `samples_to_target`
    (medians over seeds [samples]), `seeds` (entries behind each) and `residuals` (fit/median - 1)
    have shape (n,), in rising batch. `not_reached` are the refused batches [samples] whose median
    seed missed the target; `warnings` name those without an evaluation before it. `scatter` is the
    relative standard deviation of the residuals, NaN below 3 batches. Limits are those of every
    `planner.fits._curve.BatchCurve`.
    """

    min_steps: Estimate
    critical_batch_size: Estimate
    min_samples: Estimate
    regimes: Regimes
    batch: Floats
    samples_to_target: Floats
    seeds: NDArray[np.int64]
    not_reached: Floats
    residuals: Floats
    scatter: float
    warnings: tuple[str, ...]
    trusted_up_to_batch: float
    answers_from_batch: float
    answers_up_to_batch: float
    limit: str
    level: float
    lines: Lines

    @property
    def n(self) -> int:
        """Number of fitted batch sizes."""
        return int(self.batch.size)

    @property
    def largest_measured(self) -> float:
        """Largest batch that reached the target [samples]."""
        return float(self.batch[-1])

    @property
    def perfect_scaling_seen(self) -> bool:
        """Whether the points exclude Emin = 0, so that the steps fall at all."""
        return bool(self.min_samples.low > 0.0)

    def steps(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return steps to target at `batch` [samples]: Smin*(1 + Bcrit/B); else as `samples`."""
        sizes = np.asarray(batch, dtype=np.float64)
        mid, low, high = predict(self, sizes)
        return answer_but_missed(self, sizes, (mid / sizes, low / sizes, high / sizes))

    def samples(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return samples to target at `batch` [samples]: Emin + Smin*B, with a predictive interval.

        Batches, replies and errors as `answer_but_missed`.
        """
        sizes = np.asarray(batch, dtype=np.float64)
        return answer_but_missed(self, sizes, predict(self, sizes))

    def efficiency(self, batch: ArrayLike) -> Estimate | Refusal:
        """Return the statistical efficiency at `batch` [samples]: Emin/E(B) = 1/(1 + B/Bcrit).

        Its interval is that of Bcrit (delta method in the logarithm), carried through the
        formula; otherwise as `samples`.
        """
        sizes = np.asarray(batch, dtype=np.float64)
        mid, _, _ = predict(self, sizes)
        low, high = critical_interval(self.lines, self.level)
        parts = self.lines.intercept[0] / mid, _share(low, sizes), _share(high, sizes)
        return answer_but_missed(self, sizes, parts)

    def basis(self, batch: ArrayLike) -> Basis:
        """Return the basis of answers at `batch` [samples], the weakest of them."""
        return basis_of(self.lines, np.asarray(batch, dtype=np.float64), self.batch)


def _share(critical: float, sizes: Floats) -> Floats:
    """Return 1/(1 + B/Bcrit), which is 0 without perfect scaling and 1 without a limit."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 + np.divide(sizes, critical)))


NINE: Final = 9.0
"""Borders of the regimes: Bcrit/9 and 9*Bcrit, with 90 % and 10 % efficiency."""
MAX_SCATTER: Final = 0.3
"""Relative scatter above which the law is rejected: the worst of 17 workloads has 19 %."""
OFF: Final = 1.5
"""Factor off the law that shows bad tuning: no batch of 17 workloads was 1.45 times off."""
NEAR_ERROR: Final = "two neighbours were 54 to 663 % off at the largest batch in the median."
PRIOR: Final = Prior(sd=0.08)
"""Scatter of medians over seeds about the law: larger than that of step times."""
UNCHECKED: Final = (
    "Two batch sizes determine the curve but cannot check it: such 90 % bands had a coverage of "
    "77 %. Measure a third."
)


def fit_convergence(
    batch: ArrayLike,
    samples_to_target: ArrayLike,
    level: float = LEVEL,
    *,
    resolution_samples: ArrayLike | None = None,
) -> ConvergenceCurve | Refusal:
    """Return the fit of S(B) = Smin*(1 + Bcrit/B) to measured samples to target.

    Each batch counts once, with the median over its seeds; a seed that missed the target is
    infinite. A batch with an infinite median is left out and refused, and a warning says so. The
    fit minimises sum(((Emin + Smin*B - E)/E)^2) with both at least 0, see `planner.fits.lines`.

    Args:
        batch: samples per step over all devices, 1e-100 to 1e100, shape (n,); one entry per seed.
        samples_to_target: samples seen until the target, batch times steps, 1e-100 to 1e100,
            shape (n,); so is batch/samples. NaN or infinity where it was not reached.
        level: coverage of every interval [share].
        resolution_samples: samples between the evaluation that reached the target and the one
            before, at least 0, shape (n,); NaN where there is none; None for samples that were
            counted exactly. Half of the seeds or more without an evaluation before the target
            leave a batch out; otherwise it widens every interval
            (`planner.convergence._targets`).

    Returns:
        The curve, or a `Refusal` where fewer than two batch sizes reached the target, evaluations
        lie more than half of the steps to it apart (median over the batches), or the medians
        scatter by more than 30 % about the law.

    Raises:
        ValueError: shapes differ, there are no values, or a value is not a number or outside these
            bounds; it names every such value.
    """
    sizes = numbers("batch", batch, "the samples per step over all devices, one number per seed")
    samples = numbers(
        "samples_to_target",
        samples_to_target,
        "the samples seen until the target, one number per seed, infinity where it was missed",
    )
    missed = np.isnan(samples) | np.isposinf(samples)
    check_pairs(sizes, np.where(missed, 1.0, samples), ("batch", "samples_to_target"))
    distinct, group, seeds = np.unique(sizes, return_inverse=True, return_counts=True)
    medians = group_medians(group, np.where(missed, np.inf, samples))
    reached = np.isfinite(medians)
    if reached.sum() < 2:
        return _refuse_few(distinct[reached], distinct[~reached])
    shares = np.zeros(distinct.shape)
    if resolution_samples is not None:
        between = _resolution(resolution_samples, samples)
        shares = resolution_shares(group, np.where(missed, np.inf, samples), between)
    seen = reached & (shares < UNSEEN)
    if is_the_grid(shares[reached]):
        return refuse_grid(distinct[reached], shares[reached])
    points = _Medians(
        sizes=distinct[seen],
        samples=medians[seen],
        seeds=seeds[seen],
        shares=shares[seen],
        missed=distinct[~reached],
        unseen=distinct[reached & ~seen],
    )
    return _curve(points, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Medians:
    """Medians over seeds to be fitted, shape (n,), and batches [samples] that are left out."""

    sizes: Floats
    samples: Floats
    seeds: NDArray[np.int64]
    shares: Floats
    missed: Floats
    unseen: Floats


def _resolution(resolution_samples: ArrayLike, samples: Floats) -> Floats:
    what = "the samples between the two evaluations around the target, one number per seed"
    between = numbers("resolution_samples", resolution_samples, what)
    check_flat({"samples_to_target": samples, "resolution_samples": between})
    good = ~(between < 0.0)
    if not good.all():
        raise ValueError(
            Text(
                "resolution_samples: {listed}. Give {what}, at least 0.",
                listed=listed(between, good),
                what=what,
            )
        )
    return between


def _curve(medians: _Medians, level: float) -> ConvergenceCurve | Refusal:
    sizes, samples, missed = medians.sizes, medians.samples, medians.missed
    prior = prior_with(PRIOR, medians.shares)
    lines = fit_lines(np.zeros(sizes.shape, dtype=np.int64), sizes, samples, prior=prior)
    fitted = lines.intercept + lines.slope * sizes
    worst = int(np.abs(np.log(samples / fitted)).argmax())
    scatter = scatter_of(lines)
    if scatter > MAX_SCATTER:
        return _refuse_scatter(scatter, float(sizes[worst]))
    start, end, limit = _limits(sizes, missed)
    return ConvergenceCurve(
        min_steps=min_steps(lines, level),
        critical_batch_size=critical_batch_size(lines, level),
        min_samples=min_samples(lines, level),
        regimes=Regimes(
            perfect_up_to=critical_batch_size(lines, level, 1.0 / NINE),
            maximal_from=critical_batch_size(lines, level, NINE),
        ),
        batch=sizes,
        samples_to_target=samples,
        seeds=medians.seeds,
        not_reached=missed,
        residuals=fitted / samples - 1.0,
        scatter=scatter,
        warnings=_warnings(sizes, samples / fitted, worst, missed)
        + coarse_warnings(sizes, medians.shares, medians.unseen),
        trusted_up_to_batch=float(sizes[-1]),
        answers_from_batch=start,
        answers_up_to_batch=end,
        limit=limit,
        level=level,
        lines=lines,
    )


def _limits(sizes: Floats, missed: Floats) -> tuple[float, float, str]:
    """Return the range of batches with answers, and why not beyond."""
    smallest, largest = float(sizes[0]), float(sizes[-1])
    start, end, why = range_of(sizes, NEAR_ERROR, "15 to 34 %")
    below, above = missed[missed < smallest], missed[missed > largest]
    if below.size:
        start, why = smallest, _not_reached(below[-1], why)
    if above.size:
        end, why = largest, _not_reached(above[0], why)
    return start, end, why


def _not_reached(batch: float, why: str) -> str:
    return Text(
        "the target was not reached at batch {as_given}. Beyond, {why}",
        as_given=as_given(batch),
        why=why,
    )


def _warnings(sizes: Floats, times: Floats, worst: int, missed: Floats) -> tuple[str, ...]:
    """Return warnings about the points; each takes `times` the samples of the law."""
    warnings: tuple[str, ...] = ()
    if missed.size:
        warnings += (
            Text(
                "Left out, because half of the seeds or more did not reach the target: "
                "batch {all_given}.",
                all_given=all_given(missed),
            ),
        )
    if abs(np.log(times[worst])) > np.log(OFF):
        warnings += (
            Text(
                "Batch {as_given} takes {time:.2g} times the samples of the law through "
                "all batches; tuned ones stayed within 1.44. Tune its learning rate "
                "again.",
                as_given=as_given(sizes[worst]),
                time=times[worst],
            ),
        )
    return warnings + ((UNCHECKED,) if sizes.size == 2 else ())


def _refuse_few(reached: Floats, missed: Floats) -> Refusal:
    if not reached.size:
        return Refusal(
            reason=Text(
                "The target was reached at none of the batch sizes tried ({all_given}): "
                "half of the seeds or more missed it.",
                all_given=all_given(missed),
            ),
            measure_next="Train for more steps, tune the learning rate, or choose an easier "
            "target.",
        )
    only = Text(
        "Only batch {batch} reached the target, and one size shows no curve. Using its samples "
        "for other batches was 34 to 76 % off in the median.",
        batch=as_given(reached[0]),
    )
    if missed.size:
        only = Text(
            "Only batch {batch} reached the target (not reached at {missed}), and one size shows "
            "no curve. Using its samples for other batches was 34 to 76 % off in the median.",
            batch=as_given(reached[0]),
            missed=all_given(missed),
        )
    return Refusal(
        reason=only,
        measure_next=Text(
            "Measure a batch at most {low} or at least {high}, best the "
            "smallest, the largest and one between.",
            low=as_given(reached[0] / NARROW),
            high=as_given(reached[0] * NARROW),
        ),
    )


def _refuse_scatter(scatter: float, worst: float) -> Refusal:
    return Refusal(
        reason=Text(
            "The points scatter {scatter:.0f} % around the law; tuned workloads scatter "
            "3 to 19 %, so the critical batch size would be meaningless.",
            scatter=100 * scatter,
        ),
        measure_next=Text(
            "Tune the learning rate of batch {as_given} again and add seeds; it fits worst.",
            as_given=as_given(worst),
        ),
    )
