"""Forecast a run's time, memory and energy from rows of the same network and machine.

The step time comes from the throughput law fitted to those rows, start-up from their mean.
Without such rows, finished runs of the same sweep give a rough time (`as_the_others`). Without
those the forecast is None; a probe of two steps at two batch sizes can make rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.core import Refusal
from planner.runs import Row
from planner.throughput import fit_throughput
from runners.plan.cases import Case
from runners.plan.expand import steps_in
from runners.sweep.rows import case_id_of, extra_of, planned

_SAME: Final = ("model", "variant", "mode", "dataset", "backend", "engine", "precision",
                "optimizer", "jit")  # fmt: skip
"""Columns that must be equal to forecast one run from another; feed comes on top."""
EPOCH_EXTRA: Final = "epoch_extra_s"
"""Key that `as_probe` adds to a row; it is computed, so it is not a column."""
_UNCERTAINTY: Final = 2.0
"""Factor of uncertainty of a time guessed from one other batch size, either way."""
ROUGHLY: Final = 3.0
"""Factor of uncertainty of a run's time from other networks of its sweep, either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Forecast of one run: time with bounds [s], memory, power, number of rows used.

    `alike` is True if these rows are of the same network, False if only of the same sweep.
    `shipped` is the system of a shipped set of the same sweep, where the time is from there.
    """

    seconds: float
    low_s: float
    high_s: float
    memory_bytes: float | None
    power_watts: float | None
    rows: int
    alike: bool = True
    shipped: str | None = None


def as_the_others(rows: Iterable[Row]) -> Forecast | None:
    """Return a rough forecast from finished runs of the same sweep; None without any.

    The time is their mean, like the time left of a running sweep. Memory is None: it depends
    on the network.
    """
    finished = [r for r in rows if r.get("status") == "ok" and _wall_s(r) > 0.0]
    if not finished:
        return None
    taken = [_wall_s(r) for r in finished]
    powers = [r["mean_power_watts"] for r in finished if r.get("mean_power_watts")]
    return Forecast(
        seconds=statistics.fmean(taken), low_s=min(taken) / ROUGHLY, high_s=max(taken) * ROUGHLY,
        memory_bytes=None, power_watts=statistics.fmean(powers) if powers else None,
        rows=len(finished), alike=False,
    )  # fmt: skip


def from_shipped(case: Case, rows: Iterable[Row]) -> Forecast | None:
    """Return a rough forecast from runs of the same sweep on another machine; None without any.

    A run of the same case counts, else the mean of the sweep's runs.
    """
    of_sweep = [r for r in rows if r.get("sweep") == case.sweep]
    same = [r for r in of_sweep if case_id_of(r) == case.case_id and r.get("status") == "ok"]
    rough = as_the_others(same or of_sweep)
    if rough is None:
        return None
    memory = max((r["peak_memory_bytes"] for r in same if r.get("peak_memory_bytes")), default=None)
    systems = sorted({str(r["system_name"]) for r in same or of_sweep})
    return replace(rough, memory_bytes=memory, shipped=systems[0])


def forecast(case: Case, rows: Sequence[Row], system_name: str) -> Forecast | None:
    """Return the forecast of one case; None without rows of the same network."""
    here = [r for r in rows if r.get("system_name") == system_name]
    similar = alike(case, here)
    if not similar:
        return None
    step = _step_s(case, similar)
    starts = _start_s(case, here)
    if starts is None:
        return None
    steps = steps_in(case)
    looked_at = _looked_at(case.timing, steps) if any(r.get("step_p50_s") for r in similar) else 0
    passes = steps * case.epochs + looked_at
    checks = (_validation_s(case, similar, step[1]) + _epoch_extra_s(similar)) * case.epochs
    low, mid, high = (a + passes * s + checks for a, s in zip(starts, step, strict=True))
    powers = [r["mean_power_watts"] for r in similar if r.get("mean_power_watts")]
    return Forecast(
        seconds=mid, low_s=low, high_s=high, memory_bytes=memory_at(case.batch, similar),
        power_watts=statistics.fmean(powers) if powers else None, rows=len(similar),
    )  # fmt: skip


def alike(case: Case, rows: Iterable[Row]) -> list[Row]:
    """Return timed rows of the same network and software, with the same feed if any have it."""
    columns = planned(case)
    similar = [
        r
        for r in rows
        if r.get("step_s") and all(r.get(n) == columns[n] for n in _SAME) and r["status"] == "ok"
    ]
    fed = ("feed", "storage", "augmentation", "workers")
    exact = [r for r in similar if all(r.get(n) == columns[n] for n in fed)]
    return exact or similar


def _step_s(case: Case, rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return the low, middle and high step time [s]."""
    sizes = [float(r["global_batch_size"]) for r in rows]
    times = [float(r["step_s"]) for r in rows]
    if len(set(sizes)) > 1:
        curve = fit_throughput(sizes, times)
        at = None if isinstance(curve, Refusal) else curve.step_time([float(case.batch)])
        if at is not None and not isinstance(at, Refusal):
            low, mid, high = (np.ravel(x)[0] for x in (at.low, at.value, at.high))
            if np.isfinite([low, mid, high]).all():
                return float(low), float(mid), float(high)
    size, time_s = min(zip(sizes, times, strict=True), key=lambda p: abs(p[0] - case.batch))
    guess = time_s * max(case.batch / size, 1.0)
    factor = 1.1 if size == case.batch else _UNCERTAINTY
    return guess / factor, guess, guess * factor


def _start_s(case: Case, here: Sequence[Row]) -> tuple[float, float, float] | None:
    """Return the time outside steps (start, tracing, work after training), with bounds [s].

    None without rows: an unknown start is not a start of 0 s.
    """
    same = [r for r in here if r.get("backend") == case.backend and r.get("total_s")]
    model = planned(case)["model"]
    near = [r for r in same if r.get("model") == model] or same
    if not near:
        return None
    taken = [_not_steps_s(r) for r in near]
    mid = statistics.fmean(taken)
    # Few starts show no spread; measured starts differ by about a quarter.
    spread = max(2 * statistics.pstdev(taken), 0.05 * mid) if len(taken) > 2 else 0.25 * mid
    return max(mid - spread, 0.0), mid, mid + spread


def _not_steps_s(row: Row) -> float:
    wall = _wall_s(row)
    later = float(row.get("later_epoch_mean_s") or row.get("first_epoch_s") or 0.0)
    epochs = later * int(row.get("epochs_measured") or 1)
    steps = _looked_at(row.get("timing"), int(row.get("steps_per_epoch") or 0))
    return max(wall - epochs - steps * float(row.get("step_p50_s") or 0.0), 0.0)


def _wall_s(row: Row) -> float:
    """Return the wall time of a run [s]; 0 if unknown."""
    return _number(extra_of(row).get("wall_s")) or _number(row.get("total_s"))


def _looked_at(timing: str | None, steps: int) -> int:
    """Return the number of steps timed singly after the epochs (`runners.child.engines.pace`)."""
    return min(steps, 50) if timing == "per epoch" else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def as_probe(row: Row) -> Row:
    """Return a probe's row with the single-step time in `step_s` and the extra time per epoch.

    In an epoch of two steps, Keras's work per epoch would count as overhead per step and be
    multiplied by all steps of the planned run.
    """
    step_s, steps = row.get("step_p50_s"), row.get("steps_per_epoch")
    later = row.get("later_epoch_mean_s")
    if not (step_s and steps and later):
        return row
    return {**row, "step_s": step_s, EPOCH_EXTRA: max(later - steps * step_s, 0.0)}


def _epoch_extra_s(rows: Sequence[Row]) -> float:
    """Return the time of an epoch outside its steps [s], from probes; 0 without probes."""
    extras = [_number(r[EPOCH_EXTRA]) for r in rows if EPOCH_EXTRA in r]
    return statistics.fmean(extras) if extras else 0.0


def _validation_s(case: Case, rows: Sequence[Row], step_s: float) -> float:
    """Return the time of one validation [s]: measured, else a third of training on its samples.

    The first validation also traces; that extra time is part of the start, as for the first
    epoch.
    """
    if not case.validation:
        return 0.0
    per_sample = [
        r["validation_s"] / r["validation_samples_per_epoch"]
        for r in rows
        if r.get("validation_s") and r.get("validation_samples_per_epoch")
    ]
    each = statistics.fmean(per_sample) if per_sample else step_s / case.batch / 3
    return each * case.validation_samples


def memory_line(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return base [bytes] and slope [bytes/sample] of memory against batch; None for one size.

    Memory grows by the activations of each sample on top of parameters, gradients and framework.
    A slope below 0 is noise and counts as 0.
    """
    sizes = np.array([p[0] for p in points], dtype=float)
    if len(set(sizes)) < 2:
        return None
    peaks = np.array([p[1] for p in points], dtype=float)
    slope = max(float(np.cov(sizes, peaks, ddof=0)[0, 1] / sizes.var()), 0.0)
    return float(peaks.mean() - slope * sizes.mean()), slope


def memory_at(batch: int, rows: Iterable[Row]) -> float | None:
    """Return the expected peak memory at a batch size [bytes]; None without measured peaks."""
    points = [
        (float(r["global_batch_size"]), float(r["peak_memory_bytes"]))
        for r in rows
        if r.get("peak_memory_bytes")
    ]
    if line := memory_line(points):
        return line[0] + line[1] * batch
    return max((p[1] for p in points), default=None)
