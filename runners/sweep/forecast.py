"""What would a run take? From rows of the same network on the same machine.

A step time comes from the throughput law fitted to those rows; start-up from their mean. Where
there are none, a sweep that has begun says roughly how long its runs take (`as_the_others`). Where
it has not, the answer is None, and a probe of two steps at two batch sizes can make rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import Refusal
from planner.runs import Row
from planner.throughput import fit_throughput
from runners.plan.cases import Case
from runners.plan.expand import steps_in
from runners.sweep.rows import extra_of, planned

_SAME: Final = ("model", "variant", "mode", "dataset", "backend", "engine", "precision",
                "optimizer", "jit")  # fmt: skip
"""What must be equal for one run to tell of another; feed and augmentation come on top."""
EPOCH_EXTRA: Final = "epoch_extra_s"
"""Where `as_probe` puts it: no column, for it is not measured but worked out."""
_DOUBT: Final = 2.0
"""Factor by which a time guessed from one other batch size may be wrong, either way."""
ROUGHLY: Final = 3.0
"""Factor by which a run of another network may take longer, or shorter, than those of its sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What one run would take: seconds with bounds, memory, energy, and from how many rows.

    `alike` says whether these rows are of the same network, else they are of the same sweep only.
    """

    seconds: float
    low_s: float
    high_s: float
    memory_bytes: float | None
    power_watts: float | None
    rows: int
    alike: bool = True


def as_the_others(rows: Iterable[Row]) -> Forecast | None:
    """Return a rough forecast from finished runs of the same sweep; None where there are none.

    As long as these took in the mean, as the time left of a running sweep is computed; their memory
    says nothing of another network's.
    """
    told = [r for r in rows if r.get("status") == "ok" and _wall_s(r) > 0.0]
    if not told:
        return None
    taken = [_wall_s(r) for r in told]
    powers = [r["mean_power_watts"] for r in told if r.get("mean_power_watts")]
    return Forecast(
        seconds=statistics.fmean(taken), low_s=min(taken) / ROUGHLY, high_s=max(taken) * ROUGHLY,
        memory_bytes=None, power_watts=statistics.fmean(powers) if powers else None,
        rows=len(told), alike=False,
    )  # fmt: skip


def forecast(case: Case, known: Sequence[Row], system_name: str) -> Forecast | None:
    """The forecast of one case, or None where no row tells of it."""
    here = [r for r in known if r.get("system_name") == system_name]
    told = alike(case, here)
    if not told:
        return None
    step = _step_s(case, told)
    starts = _start_s(case, here)
    if starts is None:
        return None
    steps = steps_in(case)
    looked_at = _looked_at(case.timing, steps) if any(r.get("step_p50_s") for r in told) else 0
    passes = steps * case.epochs + looked_at
    checks = (_validation_s(case, told, step[1]) + _epoch_extra_s(told)) * case.epochs
    low, mid, high = (a + passes * s + checks for a, s in zip(starts, step, strict=True))
    powers = [r["mean_power_watts"] for r in told if r.get("mean_power_watts")]
    return Forecast(
        seconds=mid, low_s=low, high_s=high, memory_bytes=memory_at(case.batch, told),
        power_watts=statistics.fmean(powers) if powers else None, rows=len(told),
    )  # fmt: skip


def alike(case: Case, rows: Iterable[Row]) -> list[Row]:
    """Timed rows of the same network in the same software; of those, fed alike, where any are."""
    wanted = planned(case)
    told = [
        r
        for r in rows
        if r.get("step_s") and all(r.get(n) == wanted[n] for n in _SAME) and r["status"] == "ok"
    ]
    fed = ("feed", "storage", "augmentation", "workers")
    exact = [r for r in told if all(r.get(n) == wanted[n] for n in fed)]
    return exact or told


def _step_s(case: Case, told: Sequence[Row]) -> tuple[float, float, float]:
    """Low, middle and high step time [s]."""
    sizes = [float(r["global_batch_size"]) for r in told]
    times = [float(r["step_s"]) for r in told]
    if len(set(sizes)) > 1:
        curve = fit_throughput(sizes, times)
        at = None if isinstance(curve, Refusal) else curve.step_time([float(case.batch)])
        if at is not None and not isinstance(at, Refusal):
            low, mid, high = (np.ravel(x)[0] for x in (at.low, at.value, at.high))
            if np.isfinite([low, mid, high]).all():
                return float(low), float(mid), float(high)
    size, time_s = min(zip(sizes, times, strict=True), key=lambda p: abs(p[0] - case.batch))
    guess = time_s * max(case.batch / size, 1.0)
    doubt = 1.0 if size == case.batch else _DOUBT
    return guess / max(doubt, 1.1), guess, guess * max(doubt, 1.1)


def _start_s(case: Case, here: Sequence[Row]) -> tuple[float, float, float] | None:
    """Everything that is no step: start, tracing, what is asked after training; with bounds [s].

    None where no row tells of it: an unknown start is not a start of 0 s.
    """
    same = [r for r in here if r.get("backend") == case.backend and r.get("total_s")]
    model = planned(case)["model"]
    near = [r for r in same if r.get("model") == model] or same
    if not near:
        return None
    taken = [_not_steps_s(r) for r in near]
    mid = statistics.fmean(taken)
    # One start says nothing of how starts differ: a quarter is what they were seen to differ by.
    spread = max(2 * statistics.pstdev(taken), 0.05 * mid) if len(taken) > 2 else 0.25 * mid
    return max(mid - spread, 0.0), mid, mid + spread


def _not_steps_s(row: Row) -> float:
    wall = _wall_s(row)
    later = float(row.get("later_epoch_mean_s") or row.get("first_epoch_s") or 0.0)
    epochs = later * int(row.get("epochs_measured") or 1)
    steps = _looked_at(row.get("timing"), int(row.get("steps_per_epoch") or 0))
    return max(wall - epochs - steps * float(row.get("step_p50_s") or 0.0), 0.0)


def _wall_s(row: Row) -> float:
    """Wall time of a run from its start to its end [s]; 0 where it is not known."""
    return _number(extra_of(row).get("wall_s")) or _number(row.get("total_s"))


def _looked_at(timing: str | None, steps: int) -> int:
    """Steps that are waited for one by one after the epochs (`runners.child.engines.pace`)."""
    return min(steps, 50) if timing == "per epoch" else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def as_probe(row: Row) -> Row:
    """A probe's row with the time of a step alone in `step_s`, and what an epoch adds to steps.

    In an epoch of two steps, what Keras does around an epoch would count as overhead per step and
    be multiplied by all steps of the planned run.
    """
    step_s, steps = row.get("step_p50_s"), row.get("steps_per_epoch")
    later = row.get("later_epoch_mean_s")
    if not (step_s and steps and later):
        return row
    return {**row, "step_s": step_s, EPOCH_EXTRA: max(later - steps * step_s, 0.0)}


def _epoch_extra_s(told: Sequence[Row]) -> float:
    """What an epoch takes besides its steps [s], where probes told it."""
    known = [_number(r[EPOCH_EXTRA]) for r in told if EPOCH_EXTRA in r]
    return statistics.fmean(known) if known else 0.0


def _validation_s(case: Case, told: Sequence[Row], step_s: float) -> float:
    """One validation [s]: as measured, else a third of what training on its samples would take.

    What the first validation of a run takes longer, for it traces, is part of the start, like all
    that the first epoch takes longer than later ones.
    """
    if not case.validation:
        return 0.0
    per_sample = [
        r["validation_s"] / r["validation_samples_per_epoch"]
        for r in told
        if r.get("validation_s") and r.get("validation_samples_per_epoch")
    ]
    each = statistics.fmean(per_sample) if per_sample else step_s / case.batch / 3
    return each * case.validation_samples


def memory_line(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Base [bytes] and slope [bytes/sample] of memory against batch; None for one batch size.

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
    """Peak memory expected at a batch size [bytes]."""
    points = [
        (float(r["global_batch_size"]), float(r["peak_memory_bytes"]))
        for r in rows
        if r.get("peak_memory_bytes")
    ]
    if line := memory_line(points):
        return line[0] + line[1] * batch
    return max((p[1] for p in points), default=None)
