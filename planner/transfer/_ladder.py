"""Transfer by the best available rung."""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.core import LEVEL, Estimate, Refusal
from planner.transfer import _sentences
from planner.transfer._next_runs import runs_that_narrow
from planner.transfer._prediction import evidence_for
from planner.transfer._records import (
    BASIS_OF,
    Cell,
    Library,
    Neighbour,
    Rung,
    Transferred,
    named,
)
from planner.transfer._rungs import Answer, best_answer, measured_half_width

NEAREST: Final = 3
"""Library workloads shown beside an answer that is based on them."""


def transfer(
    library: Library, cell: Cell, *, level: float = LEVEL, rung: Rung | None = None
) -> Transferred | Refusal:
    """Return the samples/s of a workload on a card it was not measured on.

    A measured cell is its own answer. Otherwise the first rung with the data it needs and an
    interval that the library can check is used; else the first one, with a wide interval.

    Args:
        library: measured throughputs and data sheets, own ones included.
        cell: the target cell, with names as in the library.
        level: coverage of the interval [share].
        rung: the only one to use, for comparisons; None for the best.

    Returns:
        The answer, or a `Refusal` where the workload was never measured or the card is unknown.

    Raises:
        ValueError: level is not strictly between 0 and 1, or there is no such rung.
    """
    if rung is not None and rung not in BASIS_OF:
        raise ValueError(
            f"{rung!r} is not a rung. Use one of {', '.join(BASIS_OF)}, or None for the best."
        )
    place = _place(library, cell)
    if isinstance(place, Refusal):
        return place
    if library.measured[place] and rung in (None, "measured"):
        return _measured(library, cell, place, level)
    answer = best_answer(library, place, level, rung)
    if answer is None:
        return _sentences.refusal(cell, evidence_for(library, *place), rung)
    return _transferred(library, cell, answer, level)


def _place(library: Library, cell: Cell) -> tuple[int, int] | Refusal:
    """Return row and column of the table, or why there is none."""
    workload = (cell.workload, cell.precision)
    name = named(*workload)
    if workload not in library.workloads:
        best = library.cards[int(library.measured.sum(axis=0).argmax())]
        return Refusal(
            reason=f"{name} was measured on no card, so its speed cannot be estimated.",
            measure_next=f"Measure {name} on any measured card, best on {best}.",
        )
    if cell.card not in library.cards:
        return Refusal(
            reason=f"{cell.card} has no measurements and no data sheet.",
            measure_next=f"Measure {cell}, or add the data sheet of {cell.card}.",
        )
    return library.workloads.index(workload), library.cards.index(cell.card)


def _measured(library: Library, cell: Cell, place: tuple[int, int], level: float) -> Transferred:
    runs = int(library.runs[place])
    half = measured_half_width(runs, float(library.squares[place]), level)
    sentences = _sentences.of_measurement(cell, runs, half)
    estimate = _estimate(
        float(library.log_samples_per_s[place]), half, level, "measured", sentences
    )
    return Transferred(cell=cell, estimate=estimate, rung="measured")


def _transferred(library: Library, cell: Cell, answer: Answer, level: float) -> Transferred:
    runs = runs_that_narrow(library, answer, level)
    nearest = _nearest(library, answer)
    sentences = (
        _sentences.of_rung(library, answer),
        *_sentences.of_neighbours(nearest),
        *_sentences.of_sheet_outside(library, answer),
        _sentences.of_interval(answer, level),
        *_sentences.of_next_runs(runs),
    )
    return Transferred(
        cell=cell,
        estimate=_estimate(
            answer.log_samples_per_s, answer.half_width, level, answer.rung, sentences
        ),
        rung=answer.rung,
        residuals=answer.calibration.residuals if answer.calibration.checked else 0,
        neighbours=nearest,
        next_runs=runs,
    )


def _nearest(library: Library, answer: Answer) -> tuple[Neighbour, ...]:
    """Return the library workloads with the largest weights; empty for other rungs."""
    if answer.prediction.shares is None:
        return ()
    row, column = answer.cell
    shares = answer.prediction.shares[row, :, column]
    order = np.argsort(-shares, kind="stable")[:NEAREST]
    return tuple(
        _neighbour(library, answer, int(answer.evidence.benchmarks[i]), float(shares[i]))
        for i in order
        if shares[i] > 0.0
    )


def _neighbour(library: Library, answer: Answer, voter: int, share: float) -> Neighbour:
    log = library.log_samples_per_s[voter]
    others = answer.evidence.cards & library.measured[voter]
    name, precision = library.workloads[voter]
    ratio = float(np.exp(log[answer.cell[1]] - log[others].mean()))
    return Neighbour(workload=name, precision=precision, ratio=ratio, share=share)


def _estimate(
    log: float, half_width: float, level: float, rung: Rung, reasons: tuple[str, ...]
) -> Estimate:
    low, value, high = (float(np.exp(log + side * half_width)) for side in (-1.0, 0.0, 1.0))
    return Estimate(
        value=value, low=low, high=high, level=level, basis=BASIS_OF[rung], reasons=reasons
    )
