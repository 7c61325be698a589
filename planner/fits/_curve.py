"""The protocol of both laws: one line over the batch size.

A step time T(b) = t + b/v0 and the samples to a target E(B) = Emin + Smin*B are the same straight
line (`planner.fits.lines`). This module turns its numbers into an `Estimate`, with basis, refusals
and reasons.
"""

from __future__ import annotations

from typing import Final, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Basis, Estimate, Floats, Refusal, Text
from planner.fits.lines import PARAMETERS, Lines, predict_lines, ratio_interval

BASES: Final[tuple[Basis, ...]] = get_args(Basis)
"""From the firmest to the weakest."""
NO_INTERVAL: Final = "Published parameters: their scatter is unknown."
TWICE: Final = 2.0
"""Beyond this multiple of the largest measured batch an answer is a wide guess."""
NARROW: Final = 4.0
"""Two batch sizes less than this factor apart have answers only up to twice away."""
TOO_FAR: Final = 4.0
"""Multiple of the largest measured batch above which there is no answer."""
Parts = tuple[Floats, Floats, Floats]
"""Middle, low and high end of an answer."""


class Limited(Protocol):
    """Protocol: answers at batches within limits [samples], refuses outside."""

    @property
    def answers_from_batch(self) -> float: ...
    @property
    def answers_up_to_batch(self) -> float: ...
    @property
    def limit(self) -> str: ...


class BatchCurve(Limited, Protocol):
    """A line over the batch with its limits, all in samples.

    `batch` has the measured batches in rising order and is empty for a published curve. A search
    for the best batch stops at `trusted_up_to_batch`; batches from `answers_from_batch` to
    `answers_up_to_batch` have answers, and `limit` says why not beyond.
    """

    @property
    def batch(self) -> Floats: ...
    @property
    def lines(self) -> Lines: ...
    @property
    def level(self) -> float: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def trusted_up_to_batch(self) -> float: ...


def parameters(lines: Lines) -> tuple[float, float]:
    """Return the intercept and slope of the first line."""
    return float(lines.intercept[0]), float(lines.slope[0])


def scalar_estimate(
    value: float,
    interval: tuple[float | Floats, float | Floats],
    level: float,
    basis: Basis,
    reasons: tuple[str, ...],
) -> Estimate:
    """Return an estimate of floats: arrays of one element, as one line gives them, are unpacked."""
    low, high = (float(np.ravel(end)[0]) for end in interval)
    return Estimate(value=value, low=low, high=high, level=level, basis=basis, reasons=reasons)


def estimate_of(parts: Parts, level: float, basis: Basis, reasons: tuple[str, ...]) -> Estimate:
    """Return an estimate of floats where the parts have no axes, of arrays otherwise."""
    value, low, high = parts if parts[0].ndim else (float(part) for part in parts)
    return Estimate(value=value, low=low, high=high, level=level, basis=basis, reasons=reasons)


def ratio_estimate(lines: Lines, level: float) -> Estimate:
    """Return the intercept over slope [samples].

    V0*t of a step time, Bcrit of samples to target.
    """
    intercept, slope = parameters(lines)
    batch = intercept / slope if slope else np.inf
    return scalar_estimate(batch, ratio_interval(lines, level), level, *batch_basis(lines, batch))


def batch_basis(lines: Lines, batch: float | Floats) -> tuple[Basis, tuple[str, ...]]:
    """Return the weakest basis of batches derived from the fit, and the reasons."""
    batches = np.asarray(batch, dtype=np.float64)
    basis = basis_of(lines, batches)
    if basis == "published":
        return basis, (NO_INTERVAL,)
    ends = float(lines.x_min[0]), float(lines.x_max[0])
    below, above = (batches < ends[0]).any(), (batches > ends[1]).any()
    return basis, tuple(_outside(ends, below=below, above=above))


def _outside(
    measured: tuple[float, float], *, below: np.bool_ | bool, above: np.bool_ | bool
) -> list[str]:
    """Return the reasons of batches below or above the measured ones."""
    smallest, largest = map(as_given, measured)
    reasons: list[str] = []
    if above:
        reasons.append(Text("Above the measured range: the largest batch was {batch}.",
                            batch=largest))  # fmt: skip
    if below:
        reasons.append(Text("Below the measured range: the smallest batch was {batch}.",
                            batch=smallest))  # fmt: skip
    return reasons


def basis_of(lines: Lines, batch: Floats, measured: Floats | None = None) -> Basis:
    """Return the weakest basis among these batches; "measured" only where all are in `measured`.

    Of no batch at all, as where every one is refused, the weakest that a fitted line has.
    """
    if not lines.n[0]:
        return "published"
    if not batch.size:
        return "extrapolated"
    if measured is not None and np.isin(batch, measured).all():
        return "measured"
    inside = (batch >= lines.x_min[0]) & (batch <= lines.x_max[0])
    return "interpolated" if inside.all() else "extrapolated"


def scatter_of(lines: Lines) -> float:
    """Return the relative scatter of the points about the first line; NaN below three."""
    left = int(lines.n[0]) - PARAMETERS
    return float(np.sqrt(lines.rss[0] / left)) if left > 0 else np.nan


def range_of(distinct: Floats, near_error: str, far_error: str) -> tuple[float, float, str]:
    """Return the range of batches with answers, and why not beyond.

    Args:
        distinct: measured batches in rising order [samples], at least two.
        near_error: error of two neighbours at a far batch, in words.
        far_error: error of answers at four times the largest batch, in words.
    """
    smallest, largest = float(distinct[0]), float(distinct[-1])
    if distinct.size == 2 and largest < NARROW * smallest:
        why = Text(
            "two batch sizes less than a factor 4 apart ({as_given} and "
            "{largest}) carry only to twice away; {near_error}",
            as_given=as_given(smallest),
            largest=as_given(largest),
            near_error=near_error,
        )
        return smallest / TWICE, largest * TWICE, why
    why = Text(
        "errors beyond 4 times the largest measured batch are unknown ({as_given}); "
        "at 4 times they are {far_error} in the median.",
        as_given=as_given(largest),
        far_error=far_error,
    )
    return 0.0, largest * TOO_FAR, why


def predict(curve: BatchCurve, sizes: Floats) -> Parts:
    """Return the line at `sizes` [samples] with its predictive interval, in their shape."""
    parts = predict_lines(curve.lines, sizes.reshape(-1), curve.level, name="batch")
    mid, low, high = (part.reshape(sizes.shape) for part in parts)
    return mid, low, high


def answer(curve: BatchCurve, sizes: Floats, parts: Parts, far_error: str) -> Estimate | Refusal:
    """Return a curve's answer at batches.

    Args:
        curve: of the answer.
        sizes: batches [samples], above 0, scalar or any shape.
        parts: middle, low and high end, in that shape.
        far_error: error of answers beyond twice the largest measured batch, in words.

    Returns:
        For a scalar an `Estimate` of floats, or a `Refusal`. For an array an `Estimate` of arrays,
        NaN where a scalar would have been refused; `reasons` says why.

    Raises:
        ValueError: of `predict`, which makes the parts: a batch is not finite or not above 0.
    """
    if sizes.ndim == 0 and (refused := refusal_outside(curve, float(sizes))):
        return refused
    held = (sizes >= curve.answers_from_batch) & (sizes <= curve.answers_up_to_batch)
    reasons = _reasons(curve, sizes[held], far_error)
    if not held.all():
        reasons += (
            Text(
                "Not answered outside {answered_range}: {limit}",
                answered_range=answered_range(curve),
                limit=curve.limit,
            ),
        )
    mid, low, high = (np.where(held, part, np.nan) for part in parts)
    basis = basis_of(curve.lines, sizes[held], curve.batch)
    return estimate_of((mid, low, high), curve.level, basis, reasons)


def refusal_outside(curve: Limited, batch: float, name: str = "this curve") -> Refusal | None:
    """Return why `name` does not answer about `batch` [samples]; None where it does."""
    if curve.answers_from_batch <= batch <= curve.answers_up_to_batch:
        return None
    return Refusal(
        reason=Text(
            "Batch {as_given} is outside {answered_range}, where {name} answers: {limit}",
            as_given=as_given(batch),
            answered_range=answered_range(curve),
            name=name,
            limit=curve.limit,
        ),
        measure_next=Text(
            "Measure batch {as_given}, or the nearest one that fits into memory.",
            as_given=as_given(batch),
        ),
    )


def as_given(batch: float) -> str:
    """Return a measured or requested batch in words, with thousands separators.

    Below a thousand it keeps its decimals, so that different ones look different.
    """
    return f"{batch:,.12g}" if 1e3 <= batch < 1e12 else f"{batch:g}"


def all_given(batches: Floats) -> str:
    """Return several batches with commas: 8, 512, 2,048."""
    return ", ".join(as_given(batch) for batch in batches)


def answered_range(curve: Limited) -> str:
    """Return the range of batches with answers, in words."""
    return f"{as_given(curve.answers_from_batch)} to {as_given(curve.answers_up_to_batch)}"


def _reasons(curve: BatchCurve, answered: Floats, far_error: str) -> tuple[str, ...]:
    if not curve.batch.size:
        return (NO_INTERVAL,)
    if not answered.size:
        return ()
    requested, measured = (answered.min(), answered.max()), (curve.batch[0], curve.batch[-1])
    reasons = list(curve.warnings) if requested[1] > curve.trusted_up_to_batch else []
    far = requested[1] > TWICE * measured[1]
    if far:
        reasons.append(
            Text(
                "Batch {as_given} is more than twice the largest measured one "
                "({largest}): {far_error}",
                as_given=as_given(requested[1]),
                largest=as_given(measured[1]),
                far_error=far_error,
            )
        )
    above = requested[1] > measured[1] and not far
    return (*reasons, *_outside(measured, below=requested[0] < measured[0], above=above))


def line_without_points(intercept: float, slope: float) -> Lines:
    """Return a line with two parameters and no points."""
    unknown, no = np.array([np.nan]), np.array([False])
    return Lines(
        intercept=np.array([intercept]),
        slope=np.array([slope]),
        n=np.array([0]),
        rss=unknown,
        var_intercept=unknown,
        var_slope=unknown,
        cov=unknown,
        x_min=unknown,
        x_max=unknown,
        intercept_clamped=no,
        slope_clamped=no,
    )


class StepTimeCurve(Limited, Protocol):
    """Step times over the global batch at one device count, measured or fitted.

    `batch` has the measured batches [samples] in rising order, empty for a published curve; `law`
    is the straight line alone, which gives the best batch in closed form.
    """

    @property
    def half_saturation_batch(self) -> Estimate: ...
    @property
    def batch(self) -> Floats: ...
    @property
    def trusted_up_to_batch(self) -> float: ...
    @property
    def law(self) -> StepTimeCurve: ...
    def step_time(self, batch: ArrayLike) -> Estimate | Refusal: ...
    def throughput(self, batch: ArrayLike) -> Estimate | Refusal: ...
    def basis(self, batch: ArrayLike) -> Basis: ...
