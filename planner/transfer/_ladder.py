"""The best rung available answers, and says which one it is."""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.core import LEVEL, Estimate, Refusal
from planner.transfer import _sentences
from planner.transfer._next_runs import runs_that_narrow
from planner.transfer._prediction import known_about
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
"""So many library workloads are shown beside an answer that rests on them."""


def transfer(
    library: Library, wanted: Cell, *, level: float = LEVEL, rung: Rung | None = None
) -> Transferred | Refusal:
    """How fast would this workload train on a card nobody measured it on, in samples/s?

    A measurement of it answers by itself. Otherwise the first rung that has what it needs and
    whose interval the library can check; else the first with what it needs, and a wide interval.

    Args:
        library: measured throughputs and data sheets, own ones included.
        wanted: names as they are written in the library.
        level: coverage of the interval [share].
        rung: the only one to be asked, for those who want to compare; None for the best.

    Returns:
        The answer, or a `Refusal` where the workload was measured nowhere or nothing is known
        about the card.

    Raises:
        ValueError: level is not strictly between 0 and 1, or there is no such rung.
    """
    if rung is not None and rung not in BASIS_OF:
        raise ValueError(
            f"{rung!r} is no rung. Ask for one of {', '.join(BASIS_OF)}, or for None: the best."
        )
    place = _place(library, wanted)
    if isinstance(place, Refusal):
        return place
    if library.measured[place] and rung in (None, "measured"):
        return _measured(library, wanted, place, level)
    answer = best_answer(library, place, level, rung)
    if answer is None:
        return _sentences.refusal(wanted, known_about(library, *place), rung)
    return _transferred(library, wanted, answer, level)


def _place(library: Library, wanted: Cell) -> tuple[int, int] | Refusal:
    """Row and column of the table, or why there is none."""
    workload = (wanted.workload, wanted.precision)
    name = named(*workload)
    if workload not in library.workloads:
        best = library.cards[int(library.measured.sum(axis=0).argmax())]
        return Refusal(
            reason=f"{name} was measured on no card, so nothing says how heavy it is.",
            measure_next=f"Measure {name} on any card others were measured on, best on {best}.",
        )
    if wanted.card not in library.cards:
        return Refusal(
            reason=f"Nothing is known about {wanted.card}: no measurement and no data sheet.",
            measure_next=f"Measure {wanted}, or add the data sheet of {wanted.card}.",
        )
    return library.workloads.index(workload), library.cards.index(wanted.card)


def _measured(library: Library, wanted: Cell, place: tuple[int, int], level: float) -> Transferred:
    runs = int(library.runs[place])
    half = measured_half_width(runs, float(library.squares[place]), level)
    told = _sentences.of_measurement(wanted, runs, half)
    estimate = _estimate(float(library.log_samples_per_s[place]), half, level, "measured", told)
    return Transferred(wanted=wanted, estimate=estimate, rung="measured")


def _transferred(library: Library, wanted: Cell, answer: Answer, level: float) -> Transferred:
    runs = runs_that_narrow(library, answer, level)
    nearest = _nearest(library, answer)
    told = (
        _sentences.of_rung(library, answer),
        *_sentences.of_neighbours(nearest),
        *_sentences.of_sheet_outside(library, answer),
        _sentences.of_interval(answer, level),
        *_sentences.of_next_runs(runs),
    )
    return Transferred(
        wanted=wanted,
        estimate=_estimate(answer.log_samples_per_s, answer.half_width, level, answer.rung, told),
        rung=answer.rung,
        residuals=answer.calibration.residuals if answer.calibration.checked else 0,
        neighbours=nearest,
        next_runs=runs,
    )


def _nearest(library: Library, answer: Answer) -> tuple[Neighbour, ...]:
    """The library workloads with the largest shares in the answer, where workloads voted."""
    if answer.prediction.shares is None:
        return ()
    row, column = answer.cell
    shares = answer.prediction.shares[row, :, column]
    order = np.argsort(-shares, kind="stable")[:NEAREST]
    return tuple(
        _neighbour(library, answer, int(answer.known.benchmarks[i]), float(shares[i]))
        for i in order
        if shares[i] > 0.0
    )


def _neighbour(library: Library, answer: Answer, voter: int, share: float) -> Neighbour:
    log = library.log_samples_per_s[voter]
    others = answer.known.cards & library.measured[voter]
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
