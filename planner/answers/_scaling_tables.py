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
from planner.core import HOUR_S, LEAST_DIGITS, Record, paragraph, percent, plain, with_range


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
        "Samples/s": _interval(row.samples_per_s, row.samples_per_s_low, row.samples_per_s_high),
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
    total = (row.total_s, row.total_s_low, row.total_s_high)
    idle = (row.idle_device_hours, row.idle_device_hours_low, row.idle_device_hours_high)
    price = row.cost_usd / row.device_hours if row.cost_usd and row.device_hours else None
    return {
        "Devices": row.devices,
        "Global batch": row.global_batch_size,
        "Start-up (s)": _interval(row.startup_s, row.startup_s_low, row.startup_s_high),
        "Total (s)": _interval(*total),
        time: _interval(*_times(total, row.devices / HOUR_S * factor)),
        idle_time: _interval(*_times(idle, factor)),
        "Cost (USD)": _interval(*_times(total, _product(price, row.devices / HOUR_S))),
        "Idle (USD)": _interval(*_times(idle, price)),
    }


_Ends = tuple[float | None, float | None, float | None]
"""A value and both ends of its interval."""


def _times(ends: _Ends, factor: float | None) -> _Ends:
    """Return a value with its interval in another unit; None without a factor."""
    value, low, high = (_product(end, factor) for end in ends)
    return value, low, high


def _product(number: float | None, factor: float | None) -> float | None:
    return None if number is None or factor is None else number * factor


def _worker(row: UnevenRow) -> Record:
    ratio = None
    if row.least_time_ratio is not None and row.most_time_ratio is not None:
        ratio = f"{_about(row.least_time_ratio)} to {_about(row.most_time_ratio)}"
    return {
        "Devices": row.devices,
        "Even step (s)": _about(row.even_step_s),
        "Uneven step (s)": _about(row.step_s),
        "Synchronous samples/s": _about(row.synchronous_samples_per_s),
        "Asynchronous samples/s": _about(row.asynchronous_samples_per_s),
        "Mean staleness": _about(row.staleness),
        "Of the slow worker": _about(row.slowest_staleness),
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
        "State (GB)": _about(row.state_gb),
        "Activations (GB)": _about(row.activations_gb),
        "Of (GB)": plain(float(row.memory_gb), 3),
        "Recomputed": row.recomputes,
        "Micro-batches": row.micro_batches,
        "Bubble": percent(float(row.bubble), 1),
        "Tensor traffic": f"{_about(100.0 * row.tensor_share)} %",
        "Gradient traffic": f"{_about(100.0 * row.data_share)} %",
        "Samples/s": _about(row.samples_per_s),
    }


def _about(value: float) -> str:
    """Return an estimate without an interval, in as many digits as any has."""
    return plain(float(value), LEAST_DIGITS)


def _interval(value: float | None, low: float | None, high: float | None) -> str | None:
    if value is None:
        return None
    if low is None or high is None or not math.isfinite(low):
        return _about(value)
    return with_range(value, low, high)
