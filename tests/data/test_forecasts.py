"""Forecasts that were written before a sweep was measured are those of its runs."""

from __future__ import annotations

import csv
import statistics
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from planner.networks import network_or_none
from runners.plan import spec
from runners.plan.expand import Host, expand
from runners.workloads import model_title

DATA: Final = Path(__file__).parents[2] / "data"
SWEEP: Final = "one-gpu-networks"


@cache
def _forecasts() -> dict[tuple[str, int], dict[str, str]]:
    """Return the rows of the forecast by model and batch size."""
    with (DATA / "forecasts" / f"{SWEEP}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    by_run = {(row["model"], int(row["batch"])): row for row in rows}
    assert len(by_run) == len(rows)
    return by_run


def test_every_run_of_the_sweep_has_a_forecast_with_its_interval() -> None:
    planned = expand(spec.read(spec.find(SWEEP)), Host(device="gpu", backends=("jax",)))
    runs = {(model_title(c.workload, dict(c.options)), c.batch) for c in planned.cases}
    assert set(_forecasts()) == runs
    for row in _forecasts().values():
        assert network_or_none(row["network"]) is not None, row["network"]
        assert 0 < float(row["low"]) < float(row["samples_per_s"]) < float(row["high"])


def test_measured_runs_beside_their_forecasts() -> None:
    """Prints the table of docs/evidence.md (`pytest -s`); the error has no bound, by intent."""
    [path] = (DATA / "results" / f"{SWEEP}-nvidia-h200").glob("*.parquet")
    names = ["model", "global_batch_size", "throughput", "precision", "sweep", "status"]
    runs = pq.read_table(path, columns=names).to_pylist()
    errors, inside = [], 0
    print("\n| network | batch | forecast | 90 % interval | measured | error | inside |")
    print("|---|---|---|---|---|---|---|")
    for run in sorted(runs, key=lambda r: (r["model"], r["global_batch_size"])):
        row = _forecasts()[run["model"], run["global_batch_size"]]
        assert (run["sweep"], run["precision"]) == (SWEEP, f"mixed_{row['precision']}")
        if run["status"] != "ok":
            continue
        low, middle, high = (float(row[name]) for name in ("low", "samples_per_s", "high"))
        measured = run["throughput"]
        errors.append(middle / measured - 1)
        inside += low <= measured <= high
        print(f"| {row['network']} | {row['batch']} | {middle:,.0f} | {low:,.0f} to {high:,.0f} "
              f"| {measured:,.0f} | {100 * errors[-1]:+.0f} % "
              f"| {'yes' if low <= measured <= high else 'no'} |")  # fmt: skip
    sizes = [abs(error) for error in errors]
    print(f"{len(sizes)} runs, {inside} inside; error {100 * statistics.median(sizes):.0f} % "
          f"(median), {100 * statistics.mean(sizes):.0f} % (mean), "
          f"{100 * max(sizes):.0f} % (largest)")  # fmt: skip
