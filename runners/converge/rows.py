"""Trials reported by the child, as rows of the run table: one row per trial. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any, Final

from planner.runs import Row
from runners.converge.grid import Best
from runners.converge.groups import Group, Request, key_of
from runners.converge.spec import Plan
from runners.process.events import Event
from runners.sweep.result_set import OWNERS
from runners.workloads import DATASETS, OPTIMIZERS, model_title

METRIC: Final = "validation error"
ENGINE: Final = "trials"
Trial = dict[str, Any]


def trials_of(request: Request, events: Iterable[Event]) -> list[Trial]:
    """Return the columns of each trial; if the child failed, all trials share its failure."""
    reported = list(events)
    rows = [dict(row) for e in reported if e["event"] == "rows" for row in e["rows"]]
    failed = next((e for e in reported if e["event"] == "failed"), None)
    if rows and not failed:
        return rows
    end = {
        "status": failed["status"] if failed else "crashed",
        "status_reason": str(failed["reason"]) if failed else "the child reported no rows",
    }
    return [
        {"learning_rate": rate, "seed": seed, "target_value": request["target"], **end}
        for rate, seed in product(request["rates"], request["seeds"])
    ]


def rows_of(
    plan: Plan,
    group: Group,
    trials: Sequence[Trial],
    events: Iterable[Event],
    *,
    request: Request,
    best: Best,
    facts: Mapping[str, Any],
    result_set: str,
    recorded_at: datetime,
    attempt: int,
) -> list[Row]:
    """Return complete rows, without times: trials trained together share their time."""
    columns, more = _merged(events)
    common = {**_planned(plan, group), **facts, **columns, "result_set": result_set,
              "recorded_at": recorded_at, "attempt": attempt}  # fmt: skip
    shared = {**_extra(plan, group, request, best), **more}
    rows: list[Row] = []
    for trial in trials:
        extra = {**shared, **trial.get("extra", {})}
        extra["best_rate_so_far"] = trial["learning_rate"] == best.rate
        row = {**common, **trial, "extra": _json(extra)}
        rows.append({k: v for k, v in row.items() if v is not None})
    return rows


def _merged(events: Iterable[Event]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return columns and extra of all events about the whole group."""
    columns: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for event in events:
        columns |= {k: v for k, v in event.get("columns", {}).items() if v is not None}
        extra |= event.get("extra", {})
    return columns, extra


def _planned(plan: Plan, group: Group) -> dict[str, Any]:
    data = DATASETS[plan.dataset]
    shape = "x".join(map(str, data.shape))
    return {
        "sweep": plan.name, "repeat": 0, "basis": "measured", "mode": "training",
        "licence": OWNERS,
        "model": model_title(plan.workload, plan.options), "dataset": data.title,
        "synthetic_data": data.synthetic,
        "input_shape": shape if data.task == "images" else f"{shape} tokens",
        "optimizer": OPTIMIZERS[group.optimizer], "precision": "float32",
        "train_samples": plan.train_samples, "validation_samples": plan.validation_samples,
        "framework": "TensorFlow", "backend": "tensorflow", "engine": ENGINE, "jit": False,
        "strategy": "none", "parallelism": "none", "launch": "single process", "sync": "none",
        "global_batch_size": group.batch, "per_device_batch_size": group.batch,
        "augmentation": False, "storage": "memory",
        "drop_remainder": True if plan.sampling == "epochwise" else None,
        "threads": plan.limits.threads, "evaluation_metric": METRIC,
        "evaluation_higher_is_better": False,
    }  # fmt: skip


def _extra(plan: Plan, group: Group, request: Request, best: Best) -> dict[str, Any]:
    """Return details for judging a trial, and the key that identifies its group."""
    trials = len(request["rates"]) * len(request["seeds"])
    return {
        "group": key_of(request),
        "plan": plan.digest,
        "grid_part": group.part,
        "trials_in_group": trials,
        "trials_at_once": trials if request["at_once"] else 1,
        "evaluate_every_steps": request["interval"],
        "steps_limit": request["steps_limit"],
        "patience": request["patience"],
        "sampling": request["sampling"],
        "data_seed": request["data_seed"],
        "best_rate_at_edge": best.edge,
    }


def _json(extra: Mapping[str, Any]) -> str:
    return json.dumps({k: v for k, v in extra.items() if v is not None}, sort_keys=True)
