"""Input and answers of transfer, as frozen records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
"""Every rung of the ladder, the most certain first, with the basis of its answers."""
SPECS: Final = ("peak FLOP/s", "memory bandwidth", "memory")
"""Numbers of a data sheet that are used, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSheet:
    """The maker's specifications of a card; every number above 0.

    `peak_flops_per_s` is the dense peak (without sparsity) by precision, named as in the
    measurements; a missing precision is unknown. Leave out a card whose sheet lacks one of the
    other two numbers.
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
"""Number formats that may end the name of a workload."""


def named(workload: str, precision: str) -> str:
    """Return a workload with its precision, unless its name ends with a number format.

    The name's own word has priority: bfloat16 counts as float16 in the library.
    """
    last = workload.rsplit(" ", 1)[-1]
    return workload if last in FORMATS or last == precision else f"{workload} {precision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One workload in one precision on one card."""

    workload: str
    precision: str
    card: str

    def __str__(self) -> str:
        return f"{named(self.workload, self.precision)} on {self.card}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Measured throughputs as a table, made by `fit_library`.

    Rows are `workloads` (name, precision), columns `cards`, each in alphabetical order; cards with
    only a data sheet are columns too. `log_samples_per_s` (workloads, cards) is
    the mean logarithm of repeated runs, NaN where there is none, and `filled` the same with the
    additive model (row effect + column effect) in the gaps. `runs` counts the runs of a cell and
    `squares` sums their squared deviations from that mean. `name` and `precision` number the
    names and precisions of the workloads (workloads,); `sheets_by_precision` (precisions, cards, 3)
    holds the logarithms of `SPECS`, the first for that precision, NaN where missing.
    `card_names` are names for sentences, by card; without one a card is its own name.
    """

    workloads: tuple[tuple[str, str], ...]
    cards: tuple[str, ...]
    log_samples_per_s: Floats
    filled: Floats
    runs: NDArray[np.int64]
    squares: Floats
    name: NDArray[np.intp]
    precision: NDArray[np.intp]
    sheets_by_precision: Floats
    card_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured(self) -> Mask:
        """Which cells were measured, shape (workloads, cards)."""
        return self.runs > 0

    @property
    def sheets(self) -> Floats:
        """Data sheets in each workload's precision, (workloads, cards, 3)."""
        return self.sheets_by_precision[self.precision]

    @property
    def same_name(self) -> Mask:
        """Which workloads have one name, (workloads, workloads)."""
        return np.equal.outer(self.name, self.name)

    @property
    def same_precision(self) -> Mask:
        """Which workloads have one precision, (workloads, workloads)."""
        return np.equal.outer(self.precision, self.precision)

    def name_of(self, card: str) -> str:
        """Return the name of a card in a sentence."""
        return self.card_names.get(card, card)

    def cell(self, row: int, column: int) -> Cell:
        """Return the workload of a row on the card of a column."""
        name, precision = self.workloads[row]
        return Cell(workload=name, precision=precision, card=self.cards[column])


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A library workload that was used to compare the target card.

    `ratio` is its samples/s on the target card over the geometric mean on the cards where both
    workloads were measured; `share` is its weight in the answer [0..1].
    """

    workload: str
    precision: str
    ratio: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """A run that would narrow the interval, the rung it would allow, and the expected interval.

    `factor` is high/value of that interval: 1.06 for one that ends 6 % above.
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
    """The speed of a workload on a card [samples/s], and its basis.

    `residuals` counts the leave-out errors behind the interval: 0 for a measurement and for the
    stated fallback of a small library. `neighbours` are at most three, the nearest first;
    `next_runs` are the runs that would narrow the interval, the most useful first.
    """

    cell: Cell
    estimate: Estimate
    rung: Rung
    residuals: int = 0
    neighbours: tuple[Neighbour, ...] = ()
    next_runs: tuple[NextRun, ...] = ()

    @property
    def proposed(self) -> tuple[NextRun, ...]:
        """The runs that the reasons name."""
        return proposed(self.next_runs)


def proposed(runs: Sequence[NextRun]) -> tuple[NextRun, ...]:
    """Return the run that would narrow the interval most, and the best one of another kind."""
    other = next((run for run in runs if run.rung != runs[0].rung), None)
    return (*runs[:1], *([] if other is None else [other]))
