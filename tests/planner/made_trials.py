"""Trials made from a known law: steps to any target are `smin * (1 + bcrit / batch)`, scaled.

The metric falls as 0.5 exp(-step / tau), with tau such that the recorded target 0.025 is reached
after exactly the steps of the law; other targets scale all batches by one factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from planner.runs import Trials, TrialSet, trials_of
from tests.store.build import row

SMIN: Final = 100.0
BCRIT: Final = 64.0
TARGET: Final = 0.025
BATCHES: Final = (8, 32, 128, 512, 2048)
BEST_RATE: Final = 0.25
FIRST: Final = 0.5
_SEEDS: Final = (0.97, 1.0, 1.04)
"""What seeds take of the law's steps; their median is the law."""


def evaluations(steps: float, *, end: float = 1.5) -> list[dict[str, Any]]:
    """A curve that reaches the target after `steps`, evaluated until `end` times that."""
    tau = steps / math.log(FIRST / TARGET)
    every = max(1, round(steps / 100))
    return [
        {"step": s, "value": FIRST * math.exp(-s / tau)}
        for s in range(every, round(end * steps), every)
    ]


def trial(batch: int, rate: float, seed: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """One trial as a row of the store: fast at the best rate, slow below, diverged above it."""
    smin, bcrit = changes.pop("smin", SMIN), changes.pop("bcrit", BCRIT)
    needed = smin * (1 + bcrit / batch) * _SEEDS[seed % 3] * (1.0 if rate >= BEST_RATE else 2.5)
    diverged = rate > BEST_RATE
    return row(
        **{
            "status": "nan" if diverged else "ok",
            "status_reason": "the loss was no longer a number" if diverged else None,
            "model": "Net",
            "dataset": "Data",
            "optimizer": "SGD",
            "precision": "float32",
            "engine": "trials",
            "global_batch_size": batch,
            "learning_rate": rate,
            "seed": seed,
            "evaluation_metric": "validation error",
            "evaluation_higher_is_better": False,
            "target_value": TARGET,
            "gradient_noise_scale": 10.0 * batch**0.5,
            "evaluations": None if diverged else evaluations(needed),
        }
        | changes
    )


def sweep(batches: Sequence[int] = BATCHES, **changes: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Three rates and three seeds at every batch."""
    rates = (BEST_RATE / 2, BEST_RATE, 2 * BEST_RATE)
    return [trial(b, r, s, **changes) for b in batches for r in rates for s in range(3)]


def set_of(records: Sequence[dict[str, Any]], **changes: Any) -> TrialSet:  # noqa: ANN401
    """The set such rows make."""
    first = records[0]
    known = {
        "network": first["model"], "dataset": first.get("dataset"),
        "precision": first.get("precision"), "metric": first["evaluation_metric"],
        "folder": "yours", "result_set": "mine", "files": ("/r/mine/a.parquet",),
        "trials": len(records), "target": first.get("target_value"),
        "higher_is_better": first.get("evaluation_higher_is_better"), "basis": "measured",
        "licence": "CC0", "source": None,
    }  # fmt: skip
    return TrialSet(**(known | changes))


def trials(records: Sequence[dict[str, Any]], **changes: Any) -> Trials:  # noqa: ANN401
    """The same as the store would read them."""
    kept = [r["evaluations"] or [] for r in records]
    return trials_of(
        set_of(records, **changes),
        optimizer=[r.get("optimizer") for r in records],
        batch=_floats([r["global_batch_size"] for r in records]),
        learning_rate=_floats([r.get("learning_rate") for r in records]),
        noise_scale=_floats([r.get("gradient_noise_scale") for r in records]),
        status=[r["status"] for r in records],
        trial=np.repeat(np.arange(len(kept)), [len(k) for k in kept]),
        step=_floats([e["step"] for k in kept for e in k]),
        value=_floats([e["value"] for k in kept for e in k]),
    )


def _floats(values: Sequence[float | None]) -> Any:  # noqa: ANN401
    return np.array(values, dtype=np.float64)
