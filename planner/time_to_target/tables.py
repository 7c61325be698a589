"""Steps to a target in rows: the tables of the page, the CSV files and the report."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve
from planner.core import HOUR_S, Estimate, Record, Refusal, Text, cell, estimate_cells, percent
from planner.scaling import DeviceSpeedUp, Scaled
from planner.throughput import SystemCurve, with_interval
from planner.time_to_target.frontier import Way, efficiencies, ways
from planner.time_to_target.goodput import (
    BatchTiming,
    OptimizerComparison,
    OptimizerCurve,
    Placed,
    Timings,
    time_on,
)
from planner.time_to_target.sentences import TargetWords, notes_of

NO_NOISE_SCALE: Final = "Gradient noise scale: not measured."


def fit_rows(
    comparison: OptimizerComparison,
    goal: TargetWords,
    timings: Timings | None = None,
    times: Placed | None = None,
) -> list[Record]:
    """Return Smin, Emin, Bcrit, borders and best batch of every optimiser, or the refusal."""
    notes = notes_of(comparison, timings)
    return [
        {
            **_fit_row(c, notes[c.optimizer]),
            **_best_cells(c, timings or {}, times or {}),
            "target": goal.target,
        }
        for c in comparison.curves
    ]


def device_rows(
    comparison: OptimizerComparison, systems: Iterable[tuple[str, int, Mapping[str, SystemCurve]]]
) -> list[Record]:
    """Return best batch, time and device-hours of every optimiser on every system.

    `systems` are (name, devices, step times by optimiser); an optimiser without any has no row.
    """
    return [
        _device_row(c, name, devices, curves[c.optimizer])
        for name, devices, curves in systems
        for c in comparison.curves
        if c.optimizer in curves
    ]


def batch_rows(comparison: OptimizerComparison) -> list[Record]:
    """Return every batch of every optimiser: best rate, median steps, seeds, noise scale, fit."""
    return [r for c in comparison.curves for r in _batches(c)]


def seed_rows(comparison: OptimizerComparison) -> list[Record]:
    """Return single seeds at the best rates; steps are empty if the target was missed."""
    return [
        {"optimizer": c.optimizer, "global_batch_size": int(b), "steps_to_target": cell(s)}
        for c in comparison.curves
        for b, s in zip(c.seed_batch, c.seed_steps, strict=True)
    ]


def _fit_row(
    optimizer: OptimizerCurve, notes: Iterable[str]
) -> dict[str, str | float | int | bool | None]:
    row: dict[str, str | float | int | bool | None] = {
        "optimizer": optimizer.optimizer,
        "batches": int(np.isfinite(optimizer.median_steps).sum()),
    }
    if isinstance(optimizer.curve, Refusal):
        return row | {
            "refused": optimizer.curve.reason,
            "measure_next": optimizer.curve.measure_next,
        }
    c, noise = optimizer.curve, optimizer.usual_noise_scale
    texts = (*notes, *(() if noise is not None else (NO_NOISE_SCALE,)))
    return (
        row
        | estimate_cells("critical_batch_size", c.critical_batch_size)
        | {"noise_scale_median": None if noise is None else cell(noise)}
        | estimate_cells("min_steps", c.min_steps)
        | estimate_cells("min_samples", c.min_samples)
        | estimate_cells("perfect_up_to_batch", c.regimes.perfect_up_to)
        | estimate_cells("maximal_from_batch", c.regimes.maximal_from)
        | {
            "scatter_percent": None if np.isnan(c.scatter) else round(100 * c.scatter, 3),
            "basis": c.critical_batch_size.basis,
            "notes": " ".join(texts) or None,
        }
    )


def _best_cells(optimizer: OptimizerCurve, timings: Timings, times: Placed) -> Record:
    """Return the best batch and its time on the optimiser's system; {} without step times."""
    if isinstance(optimizer.curve, Refusal) or optimizer.optimizer not in timings:
        return {}
    place, timing = times[optimizer.optimizer].place, timings[optimizer.optimizer]
    return (
        {"system": place.system, "step_times_of": place.workload}
        | estimate_cells("best_batch", timing.best)
        | estimate_cells("least_s", timing.least_s)
    )


def _device_row(optimizer: OptimizerCurve, system: str, devices: int, curve: SystemCurve) -> Record:
    timing = time_on(optimizer, curve.curve)
    refused = next(
        (t.reason for t in (timing.best, timing.least_s) if isinstance(t, Refusal)), None
    )
    hours = None
    if isinstance(timing.least_s, Estimate):
        hours = cell(devices * float(timing.least_s.value) / HOUR_S)
    row: dict[str, str | float | int | bool | None] = {
        "system": system,
        "devices": devices,
        "optimizer": optimizer.optimizer,
    }
    row |= estimate_cells("best_batch", timing.best) | estimate_cells("least_s", timing.least_s)
    return row | {"device_hours": hours, "refused": refused}


def _batches(optimizer: OptimizerCurve) -> list[Record]:
    fitted = np.full(optimizer.batch.shape, np.nan)
    if isinstance(optimizer.curve, ConvergenceCurve):
        estimate = optimizer.curve.steps(optimizer.batch)
        fitted = fitted if isinstance(estimate, Refusal) else np.asarray(estimate.value)
    return [
        {
            "optimizer": optimizer.optimizer,
            "global_batch_size": int(optimizer.batch[i]),
            "learning_rate": cell(optimizer.learning_rate[i]),
            "median_steps": cell(optimizer.median_steps[i]),
            "samples_to_target": cell(optimizer.median_steps[i] * optimizer.batch[i]),
            "fitted_steps": cell(fitted[i]),
            "seeds_reached": int(optimizer.reached[i]),
            "seeds": int(optimizer.seeds[i]),
            "noise_scale": cell(optimizer.noise_scale[i]),
        }
        for i in range(optimizer.batch.size)
    ]


def way_rows(
    comparison: OptimizerComparison, scaled: Mapping[str, Scaled | Refusal], more: int | None = None
) -> list[Record]:
    """Return each optimiser's fastest way to the target and that of fewest device-hours.

    `scaled` are step times by device count, by the optimiser's name; an optimiser without any has
    no row. `more` is a further device count to try.
    """
    rows: list[Record] = []
    for optimizer in comparison.curves:
        times = scaled.get(optimizer.optimizer)
        if isinstance(times, Scaled) and isinstance(optimizer.curve, ConvergenceCurve):
            best = ways(times, optimizer.curve, more)
            rows += [] if isinstance(best, Refusal) else _rows(optimizer.optimizer, best)
    return rows


def efficiency_sentence(
    scaled: Scaled | Refusal | None,
    timing: BatchTiming | None,
    devices: int,
    nodes: int | None = None,
) -> str:
    """Return strong and weak scaling efficiency at the best batch; empty for one device."""
    if not isinstance(scaled, Scaled) or timing is None or devices < 2:
        return ""
    if isinstance(timing.best, Refusal):
        return ""
    batch = float(timing.best.value)
    strong, weak = efficiencies(scaled, batch, devices, nodes)
    parts = [
        Text(
            "{kind} scaling efficiency ({what}) {share}",
            kind=kind,
            what=what,
            share=_share(speed_up),
        )
        for kind, what, speed_up in (
            ("strong", "the same global batch on one device", strong),
            ("weak", "the same batch per device", weak),
        )
    ]
    guess = ", a guess" if scaled.is_guess(devices, nodes) else ""
    return Text(
        "On {devices:,} devices at batch {batch:,.0f}{guess}: {parts}.",
        devices=devices,
        batch=batch,
        guess=guess,
        parts="; ".join(parts),
    )


def _rows(optimizer: str, best: Sequence[Way]) -> list[Record]:
    ends = best if len(best) < 2 else (best[0], best[-1])
    labels = ("time and device-hours",) if len(ends) == 1 else ("time", "device-hours")
    return [
        {
            "optimizer": optimizer,
            "devices": way.devices,
            "batch": cell(way.batch),
            **estimate_cells("least_s", way.time_s),
            "device_hours": cell(way.device_hours),
            "best_by": best_by,
            "guess": way.guess,
            "strong_efficiency": _efficiency(way.strong),
            "weak_efficiency": _efficiency(way.weak),
        }
        for best_by, way in zip(labels, ends, strict=True)
    ]


def _efficiency(speed_up: DeviceSpeedUp | Refusal) -> float | None:
    return None if isinstance(speed_up, Refusal) else cell(speed_up.efficiency.value)


def _share(speed_up: DeviceSpeedUp | Refusal) -> str:
    if isinstance(speed_up, Refusal):
        return Text("not available: {reason}", reason=speed_up.reason)
    share: Estimate = speed_up.efficiency
    return with_interval(percent(share.value), share, percent)
