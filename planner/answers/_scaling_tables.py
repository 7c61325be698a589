"""The tables of Scaling out as rows to be read, for page, report and command."""

import math
from typing import Final

from planner.answers.records import (
    CrossoverRow,
    ProfiledRow,
    ScalingOut,
    ScalingRow,
    SplitRow,
    UnevenRow,
)
from planner.core import HOUR_S, Record, cell, paragraph, percent, plain, with_range


def count_rows(record: ScalingOut) -> list[Record]:
    """Return step time, speed-up and efficiency of each device count and batch."""
    return [_count(row) for row in record.rows]


def crossover_rows(record: ScalingOut) -> list[Record]:
    """Return the global batch from which each device count is faster than another."""
    return [_crossover(row) for row in record.crossovers]


_PRICED: Final = ("Cost (USD)", "Idle (USD)")
_HOURS_FROM: Final = 10.0
"""Device-hours from which a table writes them, and not device-seconds."""


def total_rows(record: ScalingOut) -> list[Record]:
    """Return the whole training by device count; empty where the samples are unknown.

    Cost is left out where no price is known.
    """
    given = [row for row in record.rows if row.total_s is not None]
    longest = max((float(row.device_hours or 0.0) for row in given), default=0.0)
    rows = [_total(row, in_hours=longest >= _HOURS_FROM) for row in given]
    unpriced = {n for n in _PRICED if all(row[n] is None for row in rows)}
    return [{n: value for n, value in row.items() if n not in unpriced} for row in rows]


def worker_rows(record: ScalingOut) -> list[Record]:
    """Return synchronous and asynchronous training with one slow worker."""
    return [_worker(row) for row in record.uneven]


def profiled_rows(record: ScalingOut) -> list[Record]:
    """Return the shares of a step that runs measured."""
    return [_profiled(row) for row in record.profiled]


def cut_rows(record: ScalingOut) -> list[Record]:
    """Return every cut of the network, fewest shards first; empty without a network."""
    return [_cut(row) for row in record.split.rows] if record.split else []


def _count(row: ScalingRow) -> Record:
    refused = row.refused is not None
    return {
        "Devices": row.devices,
        "Nodes": row.nodes,
        "Global batch": row.global_batch_size,
        "Step (s)": "refused"
        if refused
        else _interval(row.step_s, row.step_s_low, row.step_s_high),
        "Samples/s": cell(row.samples_per_s, 3),
        "Speed-up": _interval(row.speed_up, row.speed_up_low, row.speed_up_high),
        "Efficiency": None if row.efficiency is None else percent(float(row.efficiency)),
        "Basis": row.basis or paragraph(row.refused, row.measure_next),
    }


def _crossover(row: CrossoverRow) -> Record:
    return {
        "Devices": row.devices,
        "Against": f"{row.against_devices:,} · {'driver' if row.is_driver else 'same series'}",
        "From global batch": _interval(row.from_batch, row.from_batch_low, row.from_batch_high),
        "Measured slower at": row.measured_slower_at,
        "Measured faster at": row.measured_faster_at,
        "Why not": row.refused,
    }


def _total(row: ScalingRow, *, in_hours: bool) -> Record:
    time, idle_time, factor = (
        ("Device-hours", "Idle device-hours", 1.0)
        if in_hours
        else ("Device-seconds", "Idle device-seconds", HOUR_S)
    )
    idle = (row.idle_device_hours, row.idle_device_hours_low, row.idle_device_hours_high)
    return {
        "Devices": row.devices,
        "Global batch": row.global_batch_size,
        "Start-up (s)": cell(row.startup_s, 3),
        "Total (s)": _interval(row.total_s, row.total_s_low, row.total_s_high),
        time: cell(None if row.device_hours is None else row.device_hours * factor, 3),
        idle_time: _interval(*(None if n is None else n * factor for n in idle)),
        "Cost (USD)": cell(row.cost_usd, 3),
        "Idle (USD)": cell(row.idle_usd, 3),
    }


def _worker(row: UnevenRow) -> Record:
    ratio = None
    if row.least_time_ratio is not None and row.most_time_ratio is not None:
        ratio = f"{row.least_time_ratio:.3g} to {row.most_time_ratio:.3g}"
    return {
        "Devices": row.devices,
        "Even step (s)": plain(float(row.even_step_s), 3),
        "Uneven step (s)": plain(float(row.step_s), 3),
        "Synchronous samples/s": plain(float(row.synchronous_samples_per_s), 4),
        "Asynchronous samples/s": plain(float(row.asynchronous_samples_per_s), 4),
        "Mean staleness": row.staleness,
        "Of the slow worker": plain(float(row.slowest_staleness), 3),
        "Server limits": row.server_limits,
        "Asynchronous/synchronous time": ratio,
    }


def _profiled(row: ProfiledRow) -> Record:
    return {
        "Devices": row.devices,
        "Global batch": row.global_batch_size,
        "Compute": percent(float(row.compute_share)),
        "Communication": percent(float(row.communication_share)),
        "Input": percent(float(row.input_share)),
        "Host": percent(float(row.host_share)),
        "Runs": row.runs,
    }


def _cut(row: SplitRow) -> Record:
    return {
        "Tensor x pipeline x data": f"{row.tensor} x {row.pipeline} x {row.data}",
        "Advised": row.advised,
        "Fits": row.fits,
        "State (GB)": plain(float(row.state_gb), 3),
        "Activations (GB)": plain(float(row.activations_gb), 3),
        "Of (GB)": plain(float(row.memory_gb), 3),
        "Recomputed": row.recomputes,
        "Micro-batches": row.micro_batches,
        "Bubble": percent(float(row.bubble), 1),
        "Tensor traffic": percent(float(row.tensor_share), 1),
        "Gradient traffic": percent(float(row.data_share), 1),
        "Samples/s": plain(float(row.samples_per_s), 3),
    }


def _interval(value: float | None, low: float | None, high: float | None) -> str | None:
    if value is None:
        return None
    ends = (math.nan, math.nan) if low is None or high is None else (low, high)
    return with_range(value, *ends)
