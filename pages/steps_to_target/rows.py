"""How the rows of the page Steps to target are shown in its tables."""

from __future__ import annotations

from pages.steps_to_target.lines import View
from planner.core import Record, in_words
from planner.runs import TrialSet
from planner.store import Store
from planner.throughput import count, interval_cell, size


def fit(row: Record) -> dict[str, object]:
    """What was fitted for one optimiser, or the refusal."""
    if row.get("refused"):
        return {
            "Optimiser": row["optimizer"],
            "Batches": row["batches"],
            "Bcrit (samples)": "refused",
            "Notes": f"{row['refused']} {row['measure_next']}",
        }
    shown: dict[str, object] = {
        "Optimiser": row["optimizer"],
        "Batches": row["batches"],
        "Bcrit (samples)": interval_cell(row, "critical_batch_size", size),
        "Noise scale (samples)": _noise(row["noise_scale_median"]),
        "Smin (steps)": interval_cell(row, "min_steps"),
        "Emin (samples)": interval_cell(row, "min_samples"),
        "Perfect up to": interval_cell(row, "perfect_up_to_batch", size),
        "Maximal from": interval_cell(row, "maximal_from_batch", size),
        "Scatter": "–" if row["scatter_percent"] is None else f"{row['scatter_percent']:.1f} %",
    }
    if "best_batch" in row:
        shown |= {"Best batch": _best(row), "Time there": _time(row)}
    return shown | {"Basis": row["basis"], "Notes": row["notes"] or ""}


def batch(row: Record) -> dict[str, object]:
    """One batch of one optimiser at its best rate."""
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


def reached(row: Record) -> Record:
    """One stated time to the target, and where it was reached."""
    return {
        "System": row["system"],
        "Devices": row["devices"],
        "Batch": row["global_batch_size"],
        "Time to target": in_words(float(row["time_to_target_s"] or 0.0)),
        "Steps": row["steps_to_target"],
        "Software": row["software"],
        "Submission": row["source_path"],
    }


def devices(row: Record) -> dict[str, object]:
    """The best batch of one optimiser on one number of devices."""
    return {
        "System": row["system"],
        "Optimiser": row["optimizer"],
        "Best batch": _best(row),
        "Time there": _time(row),
        "Device-hours": _short(row["device_hours"]),
        "Why not": row["refused"] or "",
    }


def _best(row: Record) -> str:
    return "refused" if row["best_batch"] is None else interval_cell(row, "best_batch", size)


def _time(row: Record) -> str:
    return "–" if row["least_s"] is None else in_words(float(row["least_s"]))


def _short(value: str | float | bool | None) -> str | None:  # noqa: FBT001 - a cell
    return None if value is None else count(float(value))


def _noise(value: str | float | bool | None) -> str:  # noqa: FBT001 - a cell
    return _short(value) or "not measured"


def _per_cent(value: str | float | bool | None) -> str:  # noqa: FBT001 - a cell
    return "–" if value is None else f"{100 * float(value):.0f} %"


def set_sources(of: TrialSet, shared: Store) -> list[Record]:
    """The set of the trials."""
    found = {(s.folder, s.slug): s for s in shared.sets}.get((of.folder, of.set_folder))
    return [
        {
            "What": "steps to target",
            "Result set": found.title if found else of.result_set,
            "Folder": of.folder,
            "Basis": of.basis,
            "Source": (found.citation or found.source) if found else of.source,
            "Licence": of.licence,
        }
    ]


def sources(view: View, shared: Store) -> list[Record]:
    """Where the steps to target come from, and the sets of the step times."""
    known, rows = {(s.folder, s.slug): s for s in shared.sets}, list(view.sources)
    for run in {r.result_set: r for c in view.times.curves.values() for r in c.runs}.values():
        found = known.get((run.folder, run.set_folder))
        rows.append(
            {
                "What": "step times",
                "Result set": found.title if found else run.result_set,
                "Folder": run.folder,
                "Basis": run.basis,
                "Source": (found.citation or found.source) if found else run.source,
                "Licence": run.licence,
            }
        )
    return rows


def way(row: Record) -> dict[str, object]:
    """One number of devices and batch that no other beats in time and in device-hours."""
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
