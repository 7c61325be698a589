"""Made runs of a sweep, healthy but for what is asked, for the checks of suspect runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.runs import CheckedRun
from planner.suspects import Flag

BATCHES: Final = (32, 64, 128, 256, 512)
PATTERNS: Final = {"plain": 1.0, "validated": 1.1, "augmented": 1.25, "from storage": 1.4}
SAMPLES: Final = 51_200


def run(batch: int, pattern: str = "plain", factor: float = 1.0, **more: object) -> CheckedRun:
    """A run of the law T = 0.5 s + b/100, times its pattern's factor and its own."""
    steps = SAMPLES // batch
    step_s = (0.5 + batch / 100) * PATTERNS[pattern] * factor
    facts: dict[str, object] = {
        "run_id": f"{pattern} {batch}",
        "label": f"GPU at batch {batch}",
        "workload": "network",
        "software": "framework 1",
        "pattern": pattern,
        "system_name": "GPU",
        "global_batch_size": batch,
        "pre_train_s": 3.0 + batch / 1000,
        "first_epoch_s": 1.5 * step_s * steps,
        "later_epoch_mean_s": step_s * steps,
        "later_epoch_sd_s": 0.01 * step_s * steps,
        "epochs_measured": 4,
        "steps_per_epoch": steps,
        "samples_per_epoch": SAMPLES,
        "step_time_s": step_s,
        "samples_per_s": batch / step_s,
        "total_s": 3.0 + batch / 1000 + 4.5 * step_s * steps,
    }
    return CheckedRun(**{**facts, **more})  # type: ignore[arg-type]


def sweep(scatter: float = 0.01, **odd: float) -> list[CheckedRun]:
    """Every batch under every pattern; `odd` multiplies the time of single runs."""
    noise = random.Random(7)
    return [
        run(b, p, odd.get(f"{p}_{b}", 1.0) * np.exp(scatter * noise.gauss(0, 1)))
        for b in BATCHES
        for p in PATTERNS
    ]


def found(flags: Sequence[Flag]) -> list[tuple[str, str]]:
    return [(flag.name, flag.run) for flag in flags]


def only(flags: Sequence[Flag]) -> Flag:
    assert len(flags) == 1
    return flags[0]


def slipped(batch: int, factor: float, pattern: str = "plain") -> CheckedRun:
    """All times of a run multiplied, consistently: only others can tell."""
    return replace(run(batch, pattern, factor), pre_train_s=None, total_s=None)
