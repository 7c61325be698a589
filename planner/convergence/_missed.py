"""What a curve says of batches that did not reach the target, and of those around them.

Such a batch was tried and needed more steps than anybody counted: the law has no number for it,
wherever it lies. Between it and its nearest neighbours that got there the law is drawn through
the gap, and every answer says what happened in it. Below the smallest and above the largest batch
that got there nothing is answered at all once one failed (`planner.convergence.fit`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from planner.core import Estimate, Floats, Refusal
from planner.fits import BatchCurve, Parts, answer, as_given

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEASURE: Final = "Train it for more steps, tune its learning rate, or ask for an easier target."


class MissedCurve(BatchCurve, Protocol):
    """A line over the batch that knows which batches [samples] fell short, shape (n,)."""

    @property
    def not_reached(self) -> Floats: ...


def answer_but_missed(
    curve: MissedCurve, sizes: Floats, parts: Parts, far_error: str
) -> Estimate | Refusal:
    """As `planner.fits._curve.answer`, but without the batches that did not reach the target.

    A scalar among them is refused, an element of an array among them is NaN; `reasons` says why,
    and names the batches that fell short between the same neighbours as a batch that is answered.
    """
    if not sizes.ndim and (refused := refusal_missed(curve, float(sizes))):
        return refused
    kept = ~np.isin(sizes, curve.not_reached)
    if kept.all():
        told = answer(curve, sizes, parts, far_error)
        return told if isinstance(told, Refusal) else _with(missed_around(curve, sizes), told)
    mid, low, high = (part[kept] for part in parts)
    told = answer(curve, sizes[kept], (mid, low, high), far_error)
    if isinstance(told, Refusal):  # which an array never is
        return told
    left_out = f"{_fell_short(np.unique(sizes[~kept]))} the target: not answered there."
    return _spread(_with((*missed_around(curve, sizes[kept]), left_out), told), kept)


def refusal_missed(curve: MissedCurve, batch: float) -> Refusal | None:
    """Why there is no answer about `batch` [samples], where it did not reach the target."""
    return _refusal(batch) if np.isin(batch, curve.not_reached) else None


def missed_around(curve: MissedCurve, sizes: Floats) -> tuple[str, ...]:
    """A sentence for every gap around batches that fell short in which one of `sizes` lies."""
    low, high = float(curve.batch[0]), float(curve.batch[-1])
    inside = curve.not_reached[(curve.not_reached > low) & (curve.not_reached < high)]
    gaps = np.searchsorted(curve.batch, inside)
    told = [
        (curve.batch[gap - 1], curve.batch[gap], inside[gaps == gap]) for gap in np.unique(gaps)
    ]
    return tuple(
        f"{_fell_short(those)} the target: an answer between batch {as_given(start)} and "
        f"{as_given(end)}, which did, holds only where training gets there at all."
        for start, end, those in told
        if ((sizes > start) & (sizes < end)).any()
    )


def _with(reasons: tuple[str, ...], told: Estimate) -> Estimate:
    return replace(told, reasons=reasons + told.reasons)


def _spread(told: Estimate, kept: NDArray[np.bool_]) -> Estimate:
    """The answers at their places, NaN at the others."""
    value, low, high = (np.full(kept.shape, np.nan) for _ in range(3))
    for part, answers in ((value, told.value), (low, told.low), (high, told.high)):
        part[kept] = answers
    return replace(told, value=value, low=low, high=high)


def _refusal(batch: float) -> Refusal:
    return Refusal(
        reason=f"Batch {as_given(batch)} did not reach the target: half of its seeds or more fell "
        "short, and steps that nobody counted are no number.",
        measure_next=MEASURE,
    )


def _fell_short(sizes: Floats) -> str:
    """Batch 1,024 did not reach; batches 512 and 1,024 did not reach."""
    *others, last = (as_given(size) for size in sizes)
    if not others:
        return f"Batch {last} did not reach"
    return f"Batches {', '.join(others)} and {last} did not reach"
