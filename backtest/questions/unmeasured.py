"""Errors of the throughput on an unmeasured card.

Data: Lambda's table of single cards, and the data sheets of these cards. Whole cells are hidden, in
both precisions, and predicted; the tasks differ in what stays known. Absent without
`planner.transfer`.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from backtest.data.cases import Read
from backtest.questions.figure import (
    FigureRow,
    HiddenPoints,
    Prediction,
    Watch,
    predictions_of,
    scored,
    unwatched,
)
from planner.core import LEVEL, Floats
from planner.transfer import DataSheet, Library

QUESTION: Final = "hardware without a measurement"
TABLE: Final = "lambda_pytorch_benchmark/throughput_v1.csv"
SHEETS: Final = "accelerator_hardware/epoch_ml_hardware.csv"
DATA_SET: Final = "Lambda v1"
SHEET_OF: Final[Mapping[str, str]] = {
    "A100 40GB PCIe": "NVIDIA A100",
    "A100 80GB PCIe": "NVIDIA A100 PCIe",
    "A100 80GB SXM4": "NVIDIA A100 SXM4 80 GB",
    "A10": "NVIDIA A10 PCIe",
    "H100 80GB PCIe Gen5": "NVIDIA H100 PCIe",
    "H100 80GB SXM5": "NVIDIA H100 SXM5 80GB",
    "Quadro RTX 8000": "NVIDIA Quadro RTX 8000",
    "RTX 3090": "NVIDIA GeForce RTX 3090",
    "RTX 4090": "NVIDIA GeForce RTX 4090",
    "RTX 6000 Ada": "NVIDIA RTX 6000 Ada Generation",
    "RTX A6000": "NVIDIA RTX A6000",
    "V100 16GB": "NVIDIA Tesla V100 SXM2",
}
"""Names of a card in the two tables; the first name may contain its memory."""
TF32_SINCE: Final = "2020-05"
"""Cards from then on ran "fp32" in TF32, so only a printed TF32 peak counts."""
RATIOS: Final[Mapping[str, tuple[float, float]]] = {
    "ratio of peak FLOP/s": (1.0, 0.0),
    "ratio of bandwidth": (0.0, 1.0),
    "ratio of sqrt(FLOP/s x bandwidth)": (0.5, 0.5),
}
Workload = tuple[str, str]
"""Name and precision."""


@dataclass(frozen=True, slots=True)
class HiddenCell:
    """A library without a cell, the place of the cell, and the samples/s measured there."""

    library: Library
    row: int
    column: int
    truth: float


@dataclass(frozen=True, slots=True)
class RunsAndSheets:
    """All measured runs, and the data sheets."""

    runs: tuple[tuple[str, str, str, float], ...]
    sheets: tuple[DataSheet, ...]

    def library(self, keep: Callable[[str, str, str], bool] | None = None) -> Library:
        """Return the library of the runs that `keep` (workload, precision, card) accepts."""
        from planner.transfer import fit_library

        kept = [run for run in self.runs if keep is None or keep(*run[:3])]
        workload, precision, card, speed = zip(*kept, strict=True)
        return fit_library(workload, precision, card, speed, self.sheets)


def unmeasured_rows(read: Read, watch: Watch = unwatched) -> list[FigureRow]:
    """Return the rows, from least to most known; none without `planner.transfer`."""
    try:
        import planner.transfer  # noqa: F401 - an optional part
    except ImportError:
        return []
    table = _table(read)
    if not table.runs:
        return []
    full = table.library()
    return [
        row
        for task, cells in _tasks(table, full)
        if (listed := list(cells))  # none without data sheets, for example
        for row in _of_task(task, listed, watch)
    ]


def _of_task(task: str, cells: Sequence[HiddenCell], watch: Watch) -> list[FigureRow]:
    place = QUESTION, task, DATA_SET
    answers: dict[str, Callable[[HiddenCell], tuple[float, float]]] = {"ours: the ladder": _ladder}
    answers |= {n: partial(_by_sheet, powers=np.array(p)) for n, p in RATIOS.items()}
    methods = {name: partial(_all, answer, cells) for name, answer in answers.items()}
    predictions = predictions_of(methods, place, len(cells), watch)
    hidden = HiddenPoints(
        truth=np.array([c.truth for c in cells]),
        curve=np.arange(len(cells)),  # every cell counts the same
        answered=np.isfinite(predictions["ours: the ladder"].value),
    )
    return scored(place, predictions, hidden)


def _all(
    answer: Callable[[HiddenCell], tuple[float, float]], cells: Sequence[HiddenCell]
) -> Prediction:
    log, half = np.array([answer(cell) for cell in cells]).T
    return Prediction(value=np.exp(log), low=np.exp(log - half), high=np.exp(log + half))


def _ladder(cell: HiddenCell) -> tuple[float, float]:
    """Return log samples/s and half-width of the best rung; NaN if every rung refuses."""
    from planner.transfer import best_answer

    answer = best_answer(cell.library, (cell.row, cell.column), LEVEL)
    return (np.nan, np.nan) if answer is None else (answer.log_samples_per_s, answer.half_width)


def _by_sheet(cell: HiddenCell, powers: Floats) -> tuple[float, float]:
    """Return the ratio of FLOP/s^p * bandwidth^q from the mean of the workload's other cards."""
    score = cell.library.sheets[cell.row, :, :2] @ powers
    of_own = cell.library.log_samples_per_s[cell.row] - score
    own = of_own[np.isfinite(of_own)]
    value = own.mean() + score[cell.column] if own.size else np.nan
    return float(value), np.nan


# -- hidden cells ------------------------------------------------------------------------------


def _tasks(table: RunsAndSheets, full: Library) -> Iterator[tuple[str, Iterator[HiddenCell]]]:
    single, both = ("resnet50",), ("bert_base_squad", "resnet50")
    yield "its data sheet alone", _new_cards(table, full, ())
    yield "its data sheet and one public benchmark", _new_cards(table, full, single)
    yield "its data sheet and two public benchmarks", _new_cards(table, full, both)
    yield "own workload on one other card", _new_workloads(table, full, 1, 1)
    yield "own workload on two other cards", _new_workloads(table, full, 2, 7)
    yield "a full table but for this workload on this card", _single_gap(table, full)


def _new_cards(
    table: RunsAndSheets, full: Library, benchmarks: tuple[str, ...]
) -> Iterator[HiddenCell]:
    """Yield cells of cards known only by benchmarks or by the data sheet."""
    for column, card in enumerate(full.cards):
        sheet = np.isfinite(full.sheets[:, column].sum(axis=-1))
        places = [
            (workload, card)
            for row, workload in enumerate(full.workloads)
            if workload[0] not in benchmarks and (benchmarks or sheet[row])
        ]
        names = {w for w, _ in full.workloads}
        library = table.library(_without({(w, card) for w in names if w not in benchmarks}))
        if card in library.cards:
            yield from _cells(full, library, places)


def _new_workloads(
    table: RunsAndSheets, full: Library, count: int, every: int
) -> Iterator[HiddenCell]:
    """Yield cells of workloads known on `count` cards in one precision; each `every`-th set."""
    for workload in full.workloads:
        for own in list(itertools.combinations(full.cards, count))[::every]:

            def keep(w: str, p: str, c: str, workload: Workload = workload,
                     own: tuple[str, ...] = own) -> bool:  # fmt: skip
                return w != workload[0] or (p == workload[1] and c in own)

            library = table.library(keep)
            if workload in library.workloads:
                yield from _cells(
                    full, library, [(workload, card) for card in full.cards if card not in own]
                )


def _single_gap(table: RunsAndSheets, full: Library) -> Iterator[HiddenCell]:
    for name, card in itertools.product(sorted({w for w, _ in full.workloads}), full.cards):
        library = table.library(_without({(name, card)}))
        yield from _cells(full, library, [(w, card) for w in full.workloads if w[0] == name])


def _without(hidden: set[tuple[str, str]]) -> Callable[[str, str, str], bool]:
    """Return a filter that drops these (workload name, card) pairs, in any precision."""
    return lambda workload, _, card: (workload, card) not in hidden


def _cells(
    full: Library, library: Library, places: Iterable[tuple[Workload, str]]
) -> Iterator[HiddenCell]:
    for workload, card in places:
        truth = full.log_samples_per_s[full.workloads.index(workload), full.cards.index(card)]
        if np.isfinite(truth):
            row, column = library.workloads.index(workload), library.cards.index(card)
            yield HiddenCell(library, row, column, float(np.exp(truth)))


# -- measurements ------------------------------------------------------------------------------


def _table(read: Read) -> RunsAndSheets:
    runs = [
        (row["model"], row["precision"], row["gpu"], float(row["throughput"]))
        for row in read(TABLE)
        if float(row["num_gpu"]) == 1 and row.get("suspect", "0") == "0"
    ]
    named = {card for _, _, card, _ in runs}
    return RunsAndSheets(tuple(runs), tuple(s for s in sheets_of(read) if s.card in named))


def sheets_of(read: Read) -> list[DataSheet]:
    """Return the data sheets of the table's cards, in order of their names."""
    published = {row["hardware"]: row for row in read(SHEETS)}
    cards = sorted(card for card, sheet in SHEET_OF.items() if sheet in published)
    sheets = (_sheet(card, published[SHEET_OF[card]]) for card in cards)
    return [s for s in sheets if s is not None]


def _sheet(card: str, row: Mapping[str, str]) -> DataSheet | None:
    """Return the data sheet of a card; None without bandwidth or memory.

    Tensor FLOP/s are half the INT8 ones if only these are printed, as on all sheets of that time
    that print both.
    """
    from planner.transfer import DataSheet

    numbers = {n: float(row[n]) for n in NUMBERS if row.get(n)}
    if named := re.search(r"(\d+)GB", card):
        numbers["memory_bytes"] = 1e9 * float(named[1])
    if "memory_bytes" not in numbers or "memory_bandwidth_Bps" not in numbers:
        return None
    half = numbers.get("tensor_fp16_bf16_flops", 0.5 * numbers.get("int8_ops", 0.0))
    plain = numbers.get("fp32_flops", 0.0) if row["release_date"] < TF32_SINCE else 0.0
    peaks = {"fp16": half, "fp32": numbers.get("tf32_flops", plain)}
    return DataSheet(
        card=card,
        peak_flops_per_s={precision: peak for precision, peak in peaks.items() if peak},
        memory_bandwidth_bytes_per_s=numbers["memory_bandwidth_Bps"],
        memory_bytes=numbers["memory_bytes"],
    )


NUMBERS: Final = (
    "fp32_flops", "tf32_flops", "tensor_fp16_bf16_flops", "int8_ops", "memory_bytes",
    "memory_bandwidth_Bps",
)  # fmt: skip
"""Columns of the data sheets."""
