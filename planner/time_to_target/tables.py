"""Steps to a target in rows: the tables of the page, the CSV files and the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve
from planner.core import Estimate, Record, Refusal
from planner.throughput import SystemCurve, cell
from planner.time_to_target._optimizer_curves import Comparison, OptimizerCurve, time_on
from planner.time_to_target._placed_times import Placed, Timings
from planner.time_to_target.frontier import SECONDS_PER_HOUR
from planner.time_to_target.sentences import Goal, notes_of

NO_NOISE_SCALE: Final = "Gradient noise scale: not measured."


def fit_rows(
    comparison: Comparison, goal: Goal, timings: Timings | None = None, times: Placed | None = None
) -> list[Record]:
    """Smin, Emin, Bcrit, the borders and the best batch of every optimiser, or the refusal."""
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
    comparison: Comparison, systems: Iterable[tuple[str, int, Mapping[str, SystemCurve]]]
) -> list[Record]:
    """Best batch, time and device-hours of every optimiser on every (system, devices, curves).

    `curves` are step times by the optimiser's name; an optimiser without any has no row.
    """
    return [
        _device_row(c, name, devices, curves[c.optimizer])
        for name, devices, curves in systems
        for c in comparison.curves
        if c.optimizer in curves
    ]


def batch_rows(comparison: Comparison) -> list[Record]:
    """Every batch of every optimiser: best rate, median steps, seeds, noise scale, fit."""
    return [r for c in comparison.curves for r in _batches(c)]


def seed_rows(comparison: Comparison) -> list[Record]:
    """Single seeds at the best rates; the steps are empty where the target was not reached."""
    return [
        {"optimizer": c.optimizer, "global_batch_size": int(b), "steps_to_target": cell(s)}
        for c in comparison.curves
        for b, s in zip(c.seed_batch, c.seed_steps, strict=True)
    ]


def estimate_cells(name: str, told: Estimate | Refusal) -> dict[str, float | None]:
    """`name`, `name_low` and `name_high` of a row; empty where it is refused."""
    if isinstance(told, Refusal):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {
        name: cell(told.value), f"{name}_low": cell(told.low), f"{name}_high": cell(told.high)
    }  # fmt: skip


def _fit_row(
    one: OptimizerCurve, notes: Iterable[str]
) -> dict[str, str | float | int | bool | None]:
    row: dict[str, str | float | int | bool | None] = {
        "optimizer": one.optimizer,
        "batches": int(np.isfinite(one.median_steps).sum()),
    }
    if isinstance(one.curve, Refusal):
        return row | {"refused": one.curve.reason, "measure_next": one.curve.measure_next}
    c, noise = one.curve, one.usual_noise_scale
    told = (*notes, *(() if noise is not None else (NO_NOISE_SCALE,)))
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
            "notes": " ".join(told) or None,
        }
    )


def _best_cells(one: OptimizerCurve, timings: Timings, times: Placed) -> Record:
    """The best batch and its time in the optimiser's place; nothing without step times."""
    if isinstance(one.curve, Refusal) or one.optimizer not in timings:
        return {}
    place, timing = times[one.optimizer].place, timings[one.optimizer]
    return (
        {"system": place.system, "step_times_of": place.workload}
        | estimate_cells("best_batch", timing.best)
        | estimate_cells("least_s", timing.least_s)
    )


def _device_row(one: OptimizerCurve, system: str, devices: int, curve: SystemCurve) -> Record:
    told = time_on(one, curve.curve)
    refused = next((t.reason for t in (told.best, told.least_s) if isinstance(t, Refusal)), None)
    hours = None
    if isinstance(told.least_s, Estimate):
        hours = cell(devices * float(told.least_s.value) / SECONDS_PER_HOUR)
    row: dict[str, str | float | int | bool | None] = {
        "system": system,
        "devices": devices,
        "optimizer": one.optimizer,
    }
    row |= estimate_cells("best_batch", told.best) | estimate_cells("least_s", told.least_s)
    return row | {"device_hours": hours, "refused": refused}


def _batches(one: OptimizerCurve) -> list[Record]:
    fitted = np.full(one.batch.shape, np.nan)
    if isinstance(one.curve, ConvergenceCurve):
        told = one.curve.steps(one.batch)
        fitted = fitted if isinstance(told, Refusal) else np.asarray(told.value)
    return [
        {
            "optimizer": one.optimizer,
            "global_batch_size": int(one.batch[i]),
            "learning_rate": cell(one.learning_rate[i]),
            "median_steps": cell(one.median_steps[i]),
            "samples_to_target": cell(one.median_steps[i] * one.batch[i]),
            "fitted_steps": cell(fitted[i]),
            "seeds_reached": int(one.reached[i]),
            "seeds": int(one.seeds[i]),
            "noise_scale": cell(one.noise_scale[i]),
        }
        for i in range(one.batch.size)
    ]
