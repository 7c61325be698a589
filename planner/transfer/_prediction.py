"""Common parts of the three rungs below a measurement.

Each predicts *every* cell of the table without its measurement, with the `Evidence` of the target
cell: the same other cards of the workload, the same benchmarks of the card. One call gives the
answer and the leave-out errors of its interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.transfer._records import Library, Mask

CELL_SCATTER: Final = 0.1
"""Scatter of a ratio between cards about its neighbours' [relative sd]."""
ANOTHER: Final = 0.2
"""Weight of a workload in another precision, against 1 in the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The data that may be used for a cell.

    `cards` (cards,): where its workload counts as measured; its own card never counts.
    `benchmarks` (benchmarks,): rows of the workloads that count as measured on its card.
    `may_speak` (workloads, workloads): column may be used for row. Rows of the same name are not
    used, so that errors are those of an entirely unmeasured workload; only the target row may use
    its other precisions.
    """

    cards: Mask
    benchmarks: NDArray[np.intp]
    may_speak: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Log samples/s of every cell and its relative difficulty, (workloads, cards).

    NaN where there is no answer. `shares` (workloads, benchmarks, cards) are the weights of the
    benchmarks, where workloads vote.
    """

    log_samples_per_s: Floats
    difficulty: Floats
    shares: Floats | None = None


def evidence_for(library: Library, row: int, column: int) -> Evidence:
    """Return the evidence for one cell of the table, without the cell itself."""
    cards, there = library.measured[row].copy(), library.measured[:, column].copy()
    cards[column] = there[row] = False
    may_speak = ~library.same_name
    may_speak[row] |= library.same_name[row]
    may_speak[row, row] = False
    return Evidence(cards=cards, benchmarks=np.flatnonzero(there), may_speak=may_speak)


def voices(library: Library, evidence: Evidence) -> Floats:
    """Return benchmark weights by precision, 0 where not allowed, (workloads, benchmarks)."""
    precision = np.where(library.same_precision, 1.0, ANOTHER)
    return np.where(evidence.may_speak, precision, 0.0)[:, evidence.benchmarks]


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, NaN where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    nothing = np.full(shape, np.nan)
    np.divide(numerator, denominator, out=nothing, where=np.asarray(denominator) != 0.0)
    return nothing
