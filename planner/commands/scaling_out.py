"""The command `scaling-out`: whether more devices pay."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from planner.answers import (
    parameters,
    plain,
    scaling_out,
    scaling_out_answered,
    scaling_out_workloads,
    series_by_slug,
)
from planner.answers.records import (
    CrossoverRow,
    ProfiledRow,
    ScalingOut,
    ScalingRow,
    SplitRow,
    UnevenRow,
)
from planner.commands import words
from planner.commands.words import print_answer, print_table
from planner.core import Text, paragraph, percent
from planner.core import plain as plain_number
from planner.scaling_out import batch_text
from planner.store import Store

NONE: Final = "–"


def run_scaling_out(arguments: argparse.Namespace) -> int:
    """Print whether more devices pay; return the exit code."""
    store = words.open_store(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return _list(store)
    question = words.texts_of(arguments, [p.name for p in parameters.SCALING_OUT])
    answer = scaling_out_answered(store, question, words.open_catalog(arguments))
    words.refuse((*arguments.strange, *answer.problems))
    if answer.answer is None:
        return words.REFUSED
    record = scaling_out(answer, store.sets)
    if arguments.json:
        words.print_json(plain(record))
    else:
        _print(record)
    return words.ANSWERED if any(r.refused is None for r in record.rows) else words.REFUSED


def _list(store: Store) -> int:
    """Print the workloads with runs on several device counts, and their series."""
    names = scaling_out_workloads(store)
    lines = [[short, name, ", ".join(series_by_slug(store, name))] for short, name in names.items()]
    print_table(["workload", "name", "series"], lines)
    return words.ANSWERED if lines else words.REFUSED


def _print(record: ScalingOut) -> None:
    print_answer(record.sentences)
    head = ["Devices", "Nodes", "Batch", "Step (s)", "Samples/s", "Speed-up", "Efficiency",
            "Basis"]  # fmt: skip
    print_table(head, [_row(r) for r in record.rows], head[:-1])
    if record.crossovers:
        print_table(["Devices", "Against", "From batch", "Runs"],
                    [_crossover(c) for c in record.crossovers], ["Devices"])  # fmt: skip
    totals = [_total(r) for r in record.rows if r.total_s is not None]
    if totals:
        head = ["Devices", "Batch", "Start-up (s)", "Total (s)", "Device-hours",
                "Idle device-hours", "USD"]  # fmt: skip
        print_table(head, totals, head)
    if record.uneven:
        head = ["Devices", "Even step (s)", "Uneven step (s)", "Synchronous/s", "Asynchronous/s",
                "Staleness", "Time ratio"]  # fmt: skip
        print_table(head, [_uneven(u) for u in record.uneven], head)
    if record.profiled:
        head = ["Devices", "Batch", "Compute", "Communication", "Input", "Host", "Runs"]
        print_table(head, [_profiled(r) for r in record.profiled], head)
    if record.split is not None:
        print_answer(record.split.sentences)
        head = ["Tensor x pipeline x data", "State (GB)", "Activations (GB)", "Of (GB)", "Bubble",
                "Tensor", "Samples/s", "Fits"]  # fmt: skip
        print_table(head, [_split(r) for r in record.split.rows], head[1:-1])


def _row(row: ScalingRow) -> list[str]:
    first = [f"{row.devices:,}", f"{row.nodes:,}", batch_text(float(row.global_batch_size))]
    if row.refused is not None:
        return [*first, *[NONE] * 4, paragraph(row.refused, row.measure_next)]
    efficiency = NONE if row.efficiency is None else percent(float(row.efficiency))
    return [*first, _number(row.step_s, row.step_s_low, row.step_s_high),
            _number(row.samples_per_s), _number(row.speed_up), efficiency,
            str(row.basis)]  # fmt: skip


def _crossover(row: CrossoverRow) -> list[str]:
    against = f"{row.against_devices:,} ({'driver' if row.is_driver else 'same series'})"
    batch = row.refused or _number(row.from_batch, row.from_batch_low, row.from_batch_high)
    lost, won = row.measured_slower_at, row.measured_faster_at
    runs = (
        [Text("slower at {batch_text}", batch_text=batch_text(float(lost)))]
        if lost is not None
        else []
    )
    runs += (
        [Text("faster at {batch_text}", batch_text=batch_text(float(won)))]
        if won is not None
        else []
    )
    return [f"{row.devices:,}", against, batch, ", ".join(runs) or NONE]


def _total(row: ScalingRow) -> list[str]:
    cells = (row.startup_s, row.total_s, row.device_hours, row.idle_device_hours, row.cost_usd)
    return [f"{row.devices:,}", batch_text(float(row.global_batch_size)), *map(_number, cells)]


def _uneven(row: UnevenRow) -> list[str]:
    ratio = NONE
    if row.least_time_ratio is not None and row.most_time_ratio is not None:
        ratio = f"{row.least_time_ratio:.3g} to {row.most_time_ratio:.3g}"
    cells: Sequence[float | int] = (
        row.even_step_s, row.step_s, row.synchronous_samples_per_s,
        row.asynchronous_samples_per_s, row.staleness,
    )  # fmt: skip
    return [f"{row.devices:,}", *map(_number, cells), ratio]


def _profiled(row: ProfiledRow) -> list[str]:
    shares = (row.compute_share, row.communication_share, row.input_share, row.host_share)
    return [f"{row.devices:,}", batch_text(float(row.global_batch_size)),
            *(percent(float(s)) for s in shares), f"{row.runs:,}"]  # fmt: skip


def _split(row: SplitRow) -> list[str]:
    fits = "advised" if row.advised else "yes" if row.fits else "no"
    memory = (row.state_gb, row.activations_gb, row.memory_gb)
    return [f"{row.tensor} x {row.pipeline} x {row.data}", *map(_number, memory),
            percent(float(row.bubble), 1), percent(float(row.tensor_share), 1),
            _number(row.samples_per_s), f"{fits}{', recomputed' * row.recomputes}"]  # fmt: skip


def _number(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a number with its interval; a dash where unknown."""
    if value is None:
        return NONE
    if low is None or high is None:
        return plain_number(value, 4)
    return f"{plain_number(value, 4)} ({plain_number(low, 4)} – {plain_number(high, 4)})"
