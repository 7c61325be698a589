"""Runs side by side, or pairs of workload and system: their facts, and what differs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from planner.core import Cell, Floats, Text, plain
from planner.explore._columns import CATEGORIES, NUMBERS, numbers_of
from planner.explore._points import chosen_runs

LEAST: Final = 2
MOST: Final = 6
"""Runs or pairs that are compared."""
SAME: Final = "same"
DIGITS: Final = 4
"""Digits of a number in the table; the download has all."""
TEXTS: Final = (
    "accelerator", "system", "workload", "precision", "optimizer", "software", "engine", "pattern",
    "mode", "strategy", "launch", "host_processor_model_name", "status", "basis", "standing",
    "suspect",
)  # fmt: skip
AMOUNTS: Final = (
    "global_batch_size", "micro_batch_size", "devices", "number_of_nodes",
    "host_processor_core_count", "params", "sequence_length", "image_px", "epochs_measured",
    "samples_per_s", "step_time_s", "later_epoch_mean_s", "later_epoch_sd_s", "first_epoch_s",
    "pre_train_s", "total_s", "peak_memory_bytes", "memory_share", "mfu", "stated_mfu",
    "energy_kwh", "mean_power_watts", "steps_to_target", "time_to_target_s", "usd_per_hour",
    "usd_per_million_samples",
)  # fmt: skip
"""Facts of a run, in the order of the table."""
ORDER: Final = (*TEXTS[:3], *AMOUNTS[:5], *TEXTS[3:], *AMOUNTS[5:])
RUN: Final = "Run"
"""Title of the id of a run among its provenance."""
PROVENANCE: Final = (
    ("Basis", "basis"), ("Result set", "result_set"), ("Folder", "folder"),
    ("Published", "published_on"), ("Source", "source"), ("Address", "source_url"),
    ("Commit", "source_commit"), ("Licence", "licence"), ("Machine", "machine_id"),
    (RUN, "run_id"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of all compared runs, in the shown unit; None is unknown.

    `difference` is `SAME`, the change from the first to the second, or the largest ratio.
    """

    title: str
    unit: str
    cells: tuple[Cell, ...]
    difference: str

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it."""
        return self.difference != SAME

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells as texts."""
        return tuple(text_of_cell(cell) for cell in self.cells)


def text_of_cell(cell: Cell) -> str:
    """Return a cell as text: numbers with `DIGITS` digits, counts whole, a dash where unknown."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return plain(cell, DIGITS)
    is_count = isinstance(cell, int) and not isinstance(cell, bool)
    return f"{cell:,}" if is_count else str(cell)


def facts_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return the facts of some runs; those that no run states are left out.

    Args:
        rows: of the run table with its derived columns, one a run.
    """
    facts = []
    for name in ORDER:
        number = name in AMOUNTS
        column = NUMBERS[name] if number else CATEGORIES[name]
        values = [row.get(name) for row in rows]
        if any(v is not None for v in values):
            cells = tuple(_cell(v, column.factor) if number else v for v in values)
            facts.append(_fact(column.title, column.unit, cells))
    return tuple(facts)


def provenance_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return the provenance of some runs."""
    facts = ((title, tuple(row.get(name) for row in rows)) for title, name in PROVENANCE)
    return tuple(_fact(title, "", cells) for title, cells in facts if any(cells))


_OF_PAIRS: Final = (
    ("Smallest batch size", "global_batch_size", "samples", "min"),
    ("Largest batch size", "global_batch_size", "samples", "max"),
    ("Highest throughput", "samples_per_s", "", "max"),
    ("Shortest step", "step_time_s", "", "min"),
    ("Shortest epoch", "later_epoch_mean_s", "", "min"),
    ("Largest peak memory", "peak_memory_bytes", "", "max"),
    ("Highest MFU", "mfu", "", "max"),
    ("Shortest time to target", "time_to_target_s", "", "min"),
    ("Lowest price per million samples", "usd_per_million_samples", "", "min"),
)
"""Facts of a pair: title, column, unit where it is not the column's, and the end that counts."""


def pair_facts(runs: pa.Table, pairs: Sequence[tuple[str, str]]) -> tuple[Fact, ...]:
    """Return facts over all good runs of each pair of workload and system."""
    masks = [
        chosen_runs(runs, {"workload": [workload], "system": [system], "status": ["ok"]})
        for workload, system in pairs
    ]
    facts = [
        _fact("Workload", "", tuple(workload for workload, _ in pairs)),
        _fact("System", "", tuple(system for _, system in pairs)),
        _fact("Runs", "", tuple(int(mask.sum()) for mask in masks)),
    ]
    for title, name, unit, end in _OF_PAIRS:
        column = NUMBERS[name]
        values = numbers_of(runs, name) * column.factor
        cells = tuple(_end(values[mask], end) for mask in masks)
        if any(cell is not None for cell in cells):
            facts.append(_fact(title, unit or column.unit, cells))
    return tuple(facts)


def fastest_runs(runs: pa.Table, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the good run of each pair with the highest throughput; an empty row without any.

    Where no run of a pair states it, the one with the shortest step counts, else its first.
    """
    speed, step = numbers_of(runs, "samples_per_s"), numbers_of(runs, "step_time_s")
    fastest: list[dict[str, Any]] = []
    for workload, system in pairs:
        mask = chosen_runs(runs, {"workload": [workload], "system": [system], "status": ["ok"]})
        rows = np.flatnonzero(mask)
        if not rows.size:
            fastest.append({})
            continue
        order = np.lexsort((np.nan_to_num(step[rows], nan=np.inf),
                            -np.nan_to_num(speed[rows], nan=-np.inf)))  # fmt: skip
        fastest.append(runs.slice(int(rows[order[0]]), 1).to_pylist()[0])
    return fastest


def _end(values: Floats, end: str) -> float | None:
    stated = values[np.isfinite(values)]
    if not stated.size:
        return None
    return float(stated.min() if end == "min" else stated.max())


def _cell(value: object, factor: float) -> Cell:
    if isinstance(value, int | float) and np.isfinite(value):
        return value if factor == 1.0 else float(value) * factor
    return None


def _fact(title: str, unit: str, cells: tuple[Cell, ...]) -> Fact:
    return Fact(title=title, unit=unit, cells=cells, difference=_difference(cells))


def _difference(cells: Sequence[Cell]) -> str:
    if len(set(cells)) < 2:
        return SAME
    numbers = [float(c) for c in cells if isinstance(c, int | float) and not isinstance(c, bool)]
    if len(numbers) < len(cells):
        return "not stated everywhere" if None in cells else "differs"
    low, high = min(numbers), max(numbers)
    if low <= 0.0:
        return "differs"
    if len(numbers) == LEAST:
        change = 100.0 * (numbers[1] / numbers[0] - 1.0)
        return f"{change:+,.0f} %" if abs(change) < 1000.0 else f"{numbers[1] / numbers[0]:,.0f} x"
    return Text("up to {high} x", high=plain(high / low, 3))
