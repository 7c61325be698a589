"""Answers at and around batches that did not reach the target.

Such a batch needed more steps than were run, so the law has no number for it. Between its nearest
neighbours that reached the target the law is used, and every answer mentions the missed batch.
Outside the batches that reached the target there is no answer once one missed it
(`planner.convergence.fit`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from planner.core import Estimate, Floats, Refusal
from planner.fits import BatchCurve, Parts, answer, as_given

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEASURE: Final = "Train it for more steps, tune its learning rate, or choose an easier target."


class MissedCurve(BatchCurve, Protocol):
    """A line over the batch with the batches [samples] that missed the target, shape (n,)."""

    @property
    def not_reached(self) -> Floats: ...


def answer_but_missed(
    curve: MissedCurve, sizes: Floats, parts: Parts, far_error: str
) -> Estimate | Refusal:
    """Return `planner.fits._curve.answer` without the batches that missed the target.

    A scalar among them is refused, an element of an array is NaN. `reasons` says why, and names
    missed batches between the neighbours of an answered one.
    """
    if not sizes.ndim and (refused := refusal_missed(curve, float(sizes))):
        return refused
    kept = ~np.isin(sizes, curve.not_reached)
    if kept.all():
        estimate = answer(curve, sizes, parts, far_error)
        return (
            estimate
            if isinstance(estimate, Refusal)
            else _with(missed_around(curve, sizes), estimate)
        )
    mid, low, high = (part[kept] for part in parts)
    estimate = answer(curve, sizes[kept], (mid, low, high), far_error)
    if isinstance(estimate, Refusal):  # never for an array
        return estimate
    left_out = f"{_fell_short(np.unique(sizes[~kept]))} the target: no answer there."
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
        f"{_fell_short(those)} the target: an answer between batch {as_given(start)} and "
        f"{as_given(end)}, which did, applies only if training reaches it at all."
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
        reason=f"Batch {as_given(batch)} did not reach the target: half of its seeds or more "
        "missed it.",
        measure_next=MEASURE,
    )


def _fell_short(sizes: Floats) -> str:
    """Return 'Batch 1,024 did not reach' or 'Batches 512 and 1,024 did not reach'."""
    *others, last = (as_given(size) for size in sizes)
    if not others:
        return f"Batch {last} did not reach"
    return f"Batches {', '.join(others)} and {last} did not reach"
