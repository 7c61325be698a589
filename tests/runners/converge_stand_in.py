"""A child that trains nothing: steps to the target are a formula of rate and batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runners.converge.measure import RunChild, Took
from runners.plan.spec import Table
from runners.process.events import Event

FACTS = {
    "system_name": "2-core test machine",
    "device_kind": "cpu",
    "accelerators_per_node": 1,
    "number_of_nodes": 1,
}
BODY: Table = {
    "title": "A sweep for tests",
    "workload": "mlp",
    "dataset": "digits",
    "batch": [8, 64],
    "seeds": 3,
    "target": 0.05,
    "learning_rates": {"count": 3, "widenings": 2, "widen_by": 2},
    "optimizers": {"sgd": {"lowest_rate": 0.25}, "adam": {"lowest_rate": 0.25}},
}
TOML = """
title = "A sweep for tests"
workload = "mlp"
dataset = "digits"
batch = [8, 64]
seeds = 3
target = 0.05
[learning_rates]
count = 3
widenings = 2
widen_by = 2
[optimizers.sgd]
lowest_rate = {sgd}
[optimizers.adam]
lowest_rate = 0.25
"""


def steps_of(rate: float, batch: int, best: float = 0.5) -> int | None:
    """Fewest at the rate `best`, none at all far away from it."""
    octaves = max(rate / best, best / rate)
    return round(10 * (1 + 64 / batch) * octaves) if octaves < 8 else None


def trial(request: dict[str, Any], rate: float, seed: int) -> dict[str, Any]:
    """The columns a child would tell of one trial."""
    steps = steps_of(rate, request["batch"])
    points = [{"step": steps or 100, "samples": 1, "value": 0.04 if steps else 0.3, "loss": 0.1}]
    result = {
        "learning_rate": rate,
        "seed": seed,
        "status": "ok",
        "target_value": request["target"],
        "target_reached": steps is not None,
        "steps_to_target": steps,
        "samples_to_target": steps and steps * request["batch"],
        "final_metric": 0.04 if steps else abs(rate - 0.5),
        "evaluations": points,
    }
    return {k: v for k, v in result.items() if v is not None}


def child(request: dict[str, Any]) -> list[Event]:
    """What a sound child tells of one group."""
    rows = [trial(request, rate, seed) for rate in request["rates"] for seed in request["seeds"]]
    return [
        {"event": "imported", "columns": {"framework_version": "0"}},
        {"event": "built", "columns": {"params": 10}, "extra": {"dataset_sha256": "0"}},
        {"event": "rows", "rows": rows},
    ]


def each(tell: Callable[[dict[str, Any]], list[Event]]) -> RunChild:
    """Trains one group after the other, telling of each what `tell` says."""

    def run(requests: Sequence[dict[str, Any]], took: Took) -> None:
        for place, request in enumerate(requests):
            took(place, tell(request))

    return run
