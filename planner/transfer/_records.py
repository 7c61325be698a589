"""Input and answers of transfer, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from planner.core import Basis, Estimate, Floats

Mask = NDArray[np.bool_]
Rung = Literal[
    "measured", "workload on other cards", "benchmarks of the card", "data sheet of the card"
]
BASIS_OF: Final[Mapping[Rung, Basis]] = {
    "measured": "measured",
    "workload on other cards": "similar workload",
    "benchmarks of the card": "similar workload",
    "data sheet of the card": "transferred from another GPU",
}
"""Every rung of the ladder, the firmest first, with the basis of its answers."""
SPECS: Final = ("peak FLOP/s", "memory bandwidth", "memory")
"""What is taken from a data sheet, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSheet:
    """What the maker of a card prints about it; every number above 0.

    `peak_flops_per_s` is the dense peak (without sparsity) by precision, named as in the
    measurements; a precision that is missing is not known. A card whose sheet lacks one of the
    other two numbers gets no `DataSheet`: leave it out.
    """

    card: str
    peak_flops_per_s: Mapping[str, float]
    memory_bandwidth_bytes_per_s: float
    memory_bytes: float


FORMATS: Final = frozenset(
    {
        "float64", "float32", "fp32", "tensorfloat32", "tf32", "float16", "fp16", "mixed_float16",
        "bfloat16", "bf16", "mixed_bfloat16", "float8", "fp8", "int8",
    }
)  # fmt: skip
"""Number formats as the name of a workload may end with one."""


def named(workload: str, precision: str) -> str:
    """A workload with its precision, told once where its name ends with a number format.

    The name's own word for it counts: what runs in bfloat16 is looked up beside what runs in
    float16, which nobody needs to read.
    """
    last = workload.rsplit(" ", 1)[-1]
    return workload if last in FORMATS or last == precision else f"{workload} {precision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One workload in one precision on one card: what is asked, or what a run would measure."""

    workload: str
    precision: str
    card: str

    def __str__(self) -> str:
        return f"{named(self.workload, self.precision)} on {self.card}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Measured throughputs as a table, fitted once by `fit_library` and asked many times.

    Rows are `workloads` (name, precision), columns `cards`, each in alphabetical order; cards of
    which only a data sheet is known are columns too. `log_samples_per_s` (workloads, cards) is
    the mean logarithm of repeated runs, NaN where there is none, and `filled` the same with the
    additive model (row effect + column effect) in the gaps. `runs` counts the runs of a cell and
    `squares` sums their squared deviations from that mean. `sheets` (workloads, cards, 3) holds
    the logarithms of `SPECS`, the first for the row's precision, NaN where the sheet is silent.
    `same_name` and `same_precision` compare workloads with each other (workloads, workloads).
    """

    workloads: tuple[tuple[str, str], ...]
    cards: tuple[str, ...]
    log_samples_per_s: Floats
    filled: Floats
    runs: NDArray[np.int64]
    squares: Floats
    sheets: Floats
    same_name: Mask
    same_precision: Mask

    @property
    def measured(self) -> Mask:
        """Where something was measured, shape (workloads, cards)."""
        return self.runs > 0

    def cell(self, row: int, column: int) -> Cell:
        """The workload of a row on the card of a column."""
        name, precision = self.workloads[row]
        return Cell(workload=name, precision=precision, card=self.cards[column])


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A library workload that had a say about how the wanted card compares.

    `ratio` is its samples/s on the wanted card over the geometric mean of those on the cards
    where both it and the wanted workload were measured; `share` is its part in the answer [0..1].
    """

    workload: str
    precision: str
    ratio: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """A run that would narrow the interval, the rung it would allow, and what is expected of it.

    `factor` is high/value of the interval expected then: 1.06 for one that ends 6 % above.
    """

    run: Cell
    rung: Rung
    factor: float

    @property
    def width(self) -> float:
        """Expected (high - low)/value."""
        return self.factor - 1.0 / self.factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """How fast a workload trains on a card [samples/s], and how that is known.

    `residuals` counts the leave-out errors behind the interval: 0 for a measurement and for the
    stated fallback of a small library. `neighbours` are at most three, the nearest first;
    `next_runs` are the runs that would narrow the interval, the most useful first.
    """

    wanted: Cell
    estimate: Estimate
    rung: Rung
    residuals: int = 0
    neighbours: tuple[Neighbour, ...] = ()
    next_runs: tuple[NextRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Which of two options is faster, if that can be said.

    `faster` names it, None where it is not decided. `ratio` is the first's samples/s over the
    second's, None where one of them was refused or both are the same. `measure_next` is empty
    where it is decided, and where there is nothing to decide.
    """

    faster: str | None
    ratio: Estimate | None
    sentence: str
    measure_next: str = ""
