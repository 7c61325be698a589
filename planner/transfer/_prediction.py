"""What the three ways of filling a gap in the table have in common.

Each predicts *every* cell of the table as if it had never been measured, knowing about it what is
`Known` about the wanted one: the same other cards of the workload, the same benchmarks of the
card. One call so gives the answer and the leave-out errors its interval is made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.transfer._records import Library, Mask

CELL_SCATTER: Final = 0.1
"""Scatter of a ratio between cards about its neighbours' [relative sd]: what counts as the same."""
ANOTHER: Final = 0.2
"""Weight of a workload in another precision beside one in the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What may be used about a cell.

    `cards` (cards,): where its workload counts as measured; its own card never counts.
    `benchmarks` (benchmarks,): rows of the workloads that count as measured on its card.
    `may_speak` (workloads, workloads): column may be used for row. Not about another of its own
    name, so that errors are those of a workload nobody ran in any precision; only the wanted row
    may use what its sibling shows.
    """

    cards: Mask
    benchmarks: NDArray[np.intp]
    may_speak: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Log samples/s of every cell and how far it may err beside the others, (workloads, cards).

    NaN where there is no answer. `shares` (workloads, benchmarks, cards) are what the second had
    to say about the first, where workloads vote.
    """

    log_samples_per_s: Floats
    difficulty: Floats
    shares: Floats | None = None


def known_about(library: Library, row: int, column: int) -> Known:
    """What is known about one cell of the table, the cell itself left out."""
    cards, there = library.measured[row].copy(), library.measured[:, column].copy()
    cards[column] = there[row] = False
    may_speak = ~library.same_name
    may_speak[row] |= library.same_name[row]
    may_speak[row, row] = False
    return Known(cards=cards, benchmarks=np.flatnonzero(there), may_speak=may_speak)


def voices(library: Library, known: Known) -> Floats:
    """Weight of the benchmarks by precision, 0 where one may not speak, (workloads, benchmarks)."""
    precision = np.where(library.same_precision, 1.0, ANOTHER)
    return np.where(known.may_speak, precision, 0.0)[:, known.benchmarks]


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient, NaN where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    nothing = np.full(shape, np.nan)
    np.divide(numerator, denominator, out=nothing, where=np.asarray(denominator) != 0.0)
    return nothing
