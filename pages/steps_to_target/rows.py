"""Rows of the tables of the page Steps to target."""

import numpy as np

from pages.steps_to_target.lines import TargetView
from planner.answers import source_cells
from planner.core import Record, Refusal, between, in_one_unit, paragraph, percent, with_ends
from planner.runs import TrialSet
from planner.store import Store
from planner.throughput import count, rounded_cell, size
from planner.time_to_target import OptimizerCurve, PlacedTimes, time_to_target


def fit(row: Record) -> dict[str, object]:
    """Return the fitted parameters of one optimiser, or the refusal."""
    if row.get("refused"):
        return {
            "Optimiser": row["optimizer"],
            "Batches": row["batches"],
            "Bcrit (samples)": "refused",
            "Notes": paragraph(str(row["refused"]), str(row["measure_next"])),
        }
    shown: dict[str, object] = {
        "Optimiser": row["optimizer"],
        "Batches": row["batches"],
        "Bcrit (samples)": rounded_cell(row, "critical_batch_size"),
        "Noise scale (samples)": _noise(row["noise_scale_median"]),
        "Smin (steps)": rounded_cell(row, "min_steps"),
        "Emin (samples)": rounded_cell(row, "min_samples"),
        "Perfect up to": rounded_cell(row, "perfect_up_to_batch"),
        "Maximal from": rounded_cell(row, "maximal_from_batch"),
        "Scatter": "–" if row["scatter_percent"] is None else f"{row['scatter_percent']:.1f} %",
    }
    if "best_batch" in row:
        shown |= {"Best batch": _best(row), "Time there": _time(row)}
    return shown | {"Basis": row["basis"], "Notes": row["notes"] or ""}


def times(view: TargetView) -> list[Record]:
    """Return the time to the target of each optimiser at the batch sizes of its law."""
    return [
        row
        for c in view.comparison.curves
        if c.optimizer in view.times.placed
        for row in _times(c, view.times.placed[c.optimizer])
    ]


def _times(optimizer: OptimizerCurve, placed: PlacedTimes) -> list[Record]:
    law = optimizer.curve
    time = law if isinstance(law, Refusal) else time_to_target(placed.curve, law, law.batch)
    if isinstance(law, Refusal) or isinstance(time, Refusal):
        return []
    ends = (np.asarray(e).tolist() for e in (law.batch, time.value, time.low, time.high))
    return [
        {"Optimiser": optimizer.optimizer, "Batch": int(batch), "Time to target": shown,
         "90 % interval": between(first, last)}
        for batch, value, low, high in zip(*ends, strict=True)
        if np.isfinite(value)
        for shown, first, last in [with_ends(value, low, high)]
    ]  # fmt: skip


def family(row: Record) -> dict[str, object]:
    """Return the fitted parameters of one network, or the refusal."""
    shown = {name: text for name, text in fit(row).items() if name != "Optimiser"}
    return {"Network": row["network"], **shown}


def batch(row: Record) -> dict[str, object]:
    """Return one batch of an optimiser at its best learning rate."""
    return {
        "Optimiser": row["optimizer"],
        "Batch": row["global_batch_size"],
        "Best learning rate": _short(row["learning_rate"]),
        "Steps (median)": _short(row["median_steps"]) or "not reached",
        "Samples": _short(row["samples_to_target"]),
        "Steps fitted": _short(row["fitted_steps"]),
        "Seeds there": f"{row['seeds_reached']} of {row['seeds']}",
        "Noise scale (samples)": _noise(row["noise_scale"]),
    }


def stated(row: Record) -> Record:
    """Return the stated times of one accelerator and count."""
    runs = "" if row["runs"] == 1 else f"{_time_of(row, 'fastest_s')} to "
    return {
        "System": row["system"],
        "Accelerators": row["devices"],
        "Runs": row["runs"],
        "Batch": row["global_batch_size"],
        "Time to target (median)": _time_of(row, "time_to_target_s"),
        "Fastest to slowest": f"{runs}{_time_of(row, 'slowest_s')}",
        "90 % of one more run": f"{_time_of(row, 'time_to_target_s_low')} to "
        f"{_time_of(row, 'time_to_target_s_high')}",
        "Device-hours": _short(row["device_hours"]),
    }


def _time_of(row: Record, name: str) -> str:
    return in_one_unit(float(row[name] or 0.0), 3)


def reached(row: Record) -> Record:
    """Return one stated time to the target, with its system."""
    return {
        "System": row["system"],
        "Devices": row["devices"],
        "Batch": row["global_batch_size"],
        "Time to target": in_one_unit(float(row["time_to_target_s"] or 0.0), 3),
        "Steps": row["steps_to_target"],
        "Software": row["software"],
        "Submission": row["source_path"],
    }


def devices(row: Record) -> dict[str, object]:
    """Return the best batch of an optimiser at one device count."""
    return {
        "System": row["system"],
        "Optimiser": row["optimizer"],
        "Best batch": _best(row),
        "Time there": _time(row),
        "Device-hours": _short(row["device_hours"]),
        "Notes": row["refused"] or row.get("stated") or "",
    }


def _best(row: Record) -> str:
    return "refused" if row["best_batch"] is None else rounded_cell(row, "best_batch")


def _time(row: Record) -> str:
    return "–" if row["least_s"] is None else in_one_unit(float(row["least_s"]), 3)


def _short(value: str | float | bool | None) -> str | None:  # noqa: FBT001 - a cell
    return None if value is None else count(float(value))


def _noise(value: str | float | bool | None) -> str:  # noqa: FBT001 - a cell
    return _short(value) or "not measured"


def _per_cent(value: str | float | bool | None) -> str:  # noqa: FBT001 - a cell
    return "–" if value is None else percent(float(value))


def set_sources(of: TrialSet, shared: Store) -> list[Record]:
    """Return the source of the trials."""
    return [{"What": "steps to target", **source_cells(of, shared.sets)}]


def sources(view: TargetView, shared: Store) -> list[Record]:
    """Return the sources of the steps to target and of the step times."""
    timed = {r.result_set: r for c in view.times.curves.values() for r in c.runs}
    steps = [{"What": "step times", **source_cells(run, shared.sets)} for run in timed.values()]
    return [*view.sources, *steps]


def way(row: Record) -> dict[str, object]:
    """Return a device count and batch that no other beats in both time and device-hours."""
    guess = " (a guess)" if row["guess"] else ""
    return {
        "Optimiser": row["optimizer"],
        "Devices": f"{row['devices']:,}{guess}",
        "Batch": size(float(row["batch"] or 0)),
        "Time": _time(row),
        "Device-hours": _short(row["device_hours"]),
        "Best by": row["best_by"],
        "Strong scaling efficiency": _per_cent(row["strong_efficiency"]),
        "Weak scaling efficiency": _per_cent(row["weak_efficiency"]),
    }
