"""The protocol of both laws: one line over the batch size.

A step time T(b) = t + b/v0 and the samples to a target E(B) = Emin + Smin*B are the same straight
line (`planner.fits.lines`). So a fitted line says here, once, how its numbers become an
`Estimate`, how a batch is known, where it refuses, and what a person should read beside an answer.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from planner.core import Basis, Estimate, Floats, Refusal
from planner.fits.lines import (
    PARAMETERS,
    Lines,
    predict_lines,
    ratio_interval,
)

BASES: Final[tuple[Basis, ...]] = (
    "measured",
    "interpolated",
    "extrapolated",
    "similar workload",
    "transferred from another GPU",
    "estimated from FLOPs",
    "published",
)
"""From the firmest to the weakest."""
NO_INTERVAL: Final = "Published parameters: nothing is known about their scatter."
TWICE: Final = 2.0
"""Beyond this multiple of the largest measured batch an answer is a wide guess."""
NARROW: Final = 4.0
"""Two batch sizes less than this factor apart carry only to twice away."""
TOO_FAR: Final = 4.0
"""Beyond this multiple of the largest measured batch there is no answer."""
Parts = tuple[Floats, Floats, Floats]
"""Middle, low and high end of an answer."""


class Limited(Protocol):
    """Whoever answers about batches within limits [samples] and says why not beyond."""

    @property
    def answers_from_batch(self) -> float: ...
    @property
    def answers_up_to_batch(self) -> float: ...
    @property
    def limit(self) -> str: ...


class BatchCurve(Limited, Protocol):
    """A line over the batch and the limits within which it answers, all in samples.

    `batch` has the measured batches in rising order and is empty for a published curve. A search
    for the best batch stops at `trusted_up_to_batch`; questions are answered from
    `answers_from_batch` to `answers_up_to_batch`, and `limit` says why not beyond.
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
    """Intercept and slope of the first line."""
    return float(lines.intercept[0]), float(lines.slope[0])


def scalar_estimate(
    value: float,
    interval: tuple[float | Floats, float | Floats],
    level: float,
    basis: Basis,
    reasons: tuple[str, ...],
) -> Estimate:
    """An estimate of floats: arrays of one element, as one line gives them, are unpacked."""
    low, high = (float(np.ravel(end)[0]) for end in interval)
    return Estimate(value=value, low=low, high=high, level=level, basis=basis, reasons=reasons)


def estimate_of(parts: Parts, level: float, basis: Basis, reasons: tuple[str, ...]) -> Estimate:
    """An estimate of floats where the parts have no axes, of arrays otherwise."""
    value, low, high = parts if parts[0].ndim else (float(part) for part in parts)
    return Estimate(value=value, low=low, high=high, level=level, basis=basis, reasons=reasons)


def ratio_estimate(lines: Lines, level: float) -> Estimate:
    """Intercept over slope [samples]: v0*t of a step time, Bcrit of samples to target."""
    intercept, slope = parameters(lines)
    batch = intercept / slope if slope else np.inf
    return scalar_estimate(batch, ratio_interval(lines, level), level, *batch_basis(lines, batch))


def batch_basis(lines: Lines, batch: float | Floats) -> tuple[Basis, tuple[str, ...]]:
    """How batches that the fit itself names are known (the weakest of them), and why."""
    batches = np.asarray(batch, dtype=np.float64)
    basis = basis_of(lines, batches)
    if basis == "published":
        return basis, (NO_INTERVAL,)
    largest, smallest = float(lines.x_max[0]), float(lines.x_min[0])
    told: tuple[str, ...] = ()
    if (batches > largest).any():
        told += (f"Beyond what was measured: the largest batch was {as_given(largest)}.",)
    if (batches < smallest).any():
        told += (f"Below what was measured: the smallest batch was {as_given(smallest)}.",)
    return basis, told


def basis_of(lines: Lines, batch: Floats, measured: Floats | None = None) -> Basis:
    """The weakest basis among these batches; "measured" only where all are in `measured`.

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
    """Relative scatter of the points about the first line; NaN below three."""
    left = int(lines.n[0]) - PARAMETERS
    return float(np.sqrt(lines.rss[0] / left)) if left > 0 else np.nan


def range_of(distinct: Floats, near_error: str, far_error: str) -> tuple[float, float, str]:
    """From which to which batch a line through these answers, and why not beyond.

    Args:
        distinct: measured batches in rising order [samples], at least two.
        near_error: how wrong two neighbours were about a far batch.
        far_error: how wrong answers about four times the largest batch were.
    """
    smallest, largest = float(distinct[0]), float(distinct[-1])
    if distinct.size == 2 and largest < NARROW * smallest:
        why = (
            f"two batch sizes less than a factor 4 apart ({as_given(smallest)} and "
            f"{as_given(largest)}) carry only to twice away; {near_error}"
        )
        return smallest / TWICE, largest * TWICE, why
    why = (
        "nothing is known about errors beyond 4 times the largest measured batch "
        f"({as_given(largest)}); there they are {far_error} in the median already."
    )
    return 0.0, largest * TOO_FAR, why


def predict(curve: BatchCurve, sizes: Floats) -> Parts:
    """The line at `sizes` [samples] with its predictive interval, in their shape."""
    parts = predict_lines(curve.lines, sizes.reshape(-1), curve.level, name="batch")
    mid, low, high = (part.reshape(sizes.shape) for part in parts)
    return mid, low, high


def answer(curve: BatchCurve, sizes: Floats, parts: Parts, far_error: str) -> Estimate | Refusal:
    """What a curve replies when it is asked about batches.

    Args:
        curve: who answers.
        sizes: what was asked [samples], above 0, scalar or any shape.
        parts: middle, low and high end, in that shape.
        far_error: how wrong answers beyond twice the largest measured batch were.

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
        reasons += (f"Not answered outside {answered_range(curve)}: {curve.limit}",)
    mid, low, high = (np.where(held, part, np.nan) for part in parts)
    basis = basis_of(curve.lines, sizes[held], curve.batch)
    return estimate_of((mid, low, high), curve.level, basis, reasons)


def refusal_outside(curve: Limited, batch: float, name: str = "this curve") -> Refusal | None:
    """Why `name` does not answer about `batch` [samples]; None where it does."""
    if curve.answers_from_batch <= batch <= curve.answers_up_to_batch:
        return None
    return Refusal(
        reason=f"Batch {as_given(batch)} is outside {answered_range(curve)}, where {name} answers: "
        f"{curve.limit}",
        measure_next=f"Measure batch {as_given(batch)}, or the nearest one that fits into memory.",
    )


def as_given(batch: float) -> str:
    """A batch that somebody measured or asked for, in words: whole samples apart by thousands.

    Below a thousand it keeps its digits behind the point: two that differ must not read the same.
    """
    return f"{batch:,.12g}" if 1e3 <= batch < 1e12 else f"{batch:g}"


def all_given(batches: Floats) -> str:
    """Several such batches with commas between them: 8, 512, 2,048."""
    return ", ".join(as_given(batch) for batch in batches)


def answered_range(curve: Limited) -> str:
    """From which to which batch it answers, in words."""
    return f"{as_given(curve.answers_from_batch)} to {as_given(curve.answers_up_to_batch)}"


def _reasons(curve: BatchCurve, answered: Floats, far_error: str) -> tuple[str, ...]:
    """What to read beside an answer for these batches; the farthest one speaks for all."""
    if not curve.batch.size:
        return (NO_INTERVAL,)
    if not answered.size:
        return ()
    asked, measured = (answered.min(), answered.max()), (curve.batch[0], curve.batch[-1])
    told = list(curve.warnings) if asked[1] > curve.trusted_up_to_batch else []
    if asked[1] > TWICE * measured[1]:
        told.append(
            f"Batch {as_given(asked[1])} is more than twice the largest measured one "
            f"({as_given(measured[1])}): {far_error}"
        )
    elif asked[1] > measured[1]:
        told.append(f"Beyond what was measured: the largest batch was {as_given(measured[1])}.")
    if asked[0] < measured[0]:
        told.append(f"Below what was measured: the smallest batch was {as_given(measured[0])}.")
    return tuple(told)


def line_without_points(intercept: float, slope: float) -> Lines:
    """A line of which only the two parameters are known."""
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
