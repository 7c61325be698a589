"""Forecasts that were written before a sweep was measured are those of its runs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from planner.networks import network_known
from runners.plan import spec
from runners.plan.expand import Host, expand
from runners.workloads import model_title

FORECASTS: Final = Path(__file__).parents[2] / "data" / "forecasts"


def test_every_run_of_the_sweep_has_a_forecast_with_its_interval() -> None:
    with (FORECASTS / "one-gpu-networks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    planned = expand(
        spec.read(spec.find("one-gpu-networks")), Host(device="gpu", backends=("jax",))
    )
    runs = {(model_title(c.workload, dict(c.options)), c.batch) for c in planned.cases}
    assert {(row["model"], int(row["batch"])) for row in rows} == runs
    assert len(rows) == len(runs)
    for row in rows:
        assert network_known(row["network"]) is not None, row["network"]
        assert 0 < float(row["low"]) < float(row["samples_per_s"]) < float(row["high"])
