"""Do our engines cost anything? Overhead over bare loops, in one process, taking turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from runners.machine import environment
from runners.plan import cases
from runners.plan.cases import Case
from tests.bench.figures import figure, heading

ROOT: Final = Path(__file__).parent.parent.parent
ROUNDS: Final = 30
"""Many short epochs: a shared machine changes its pace, ratios within a round do less."""
SIZES: Final = (
    Case(sweep="bench", workload="mlp", dataset="synthetic-cifar10", train_samples=20 * 512,
         validation_samples=0, batch=512, epochs=1),
    Case(sweep="bench", workload="simple-cnn", dataset="synthetic-cifar10",
         train_samples=12 * 128, validation_samples=0, batch=128, epochs=1),
    Case(sweep="bench", workload="resnet8", dataset="synthetic-cifar10", train_samples=8 * 64,
         validation_samples=0, batch=64, epochs=1),
)  # fmt: skip
PAIRS: Final = (
    ("loop engine", "bare tf.function loop"),
    ("loop engine", "bare model.fit"),
    ("fit engine", "bare model.fit"),
)


def _measured(case: Case) -> Mapping[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.engine_child"],
        input=json.dumps({"case": cases.to_json(case), "rounds": ROUNDS}),
        env=environment.for_child(os.environ, backend="tensorflow", threads=None, device="cpu"),
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def _told(case: Case, result: Mapping[str, Any], ours: str, bare: str) -> None:
    """Overhead as the median over rounds of the ratio within a round, beside its quartiles."""
    seconds: Mapping[str, Sequence[float]] = result["seconds"]
    step_ms = statistics.median(seconds[ours]) / result["steps"] * 1e3
    over = [100 * (a / b - 1) for a, b in zip(seconds[ours], seconds[bare], strict=True)]
    low, middle, high = statistics.quantiles(over, n=4)
    target = 1.0 if step_ms > 5 else None
    figure(f"{ours}: step of {case.workload}, batch {case.batch}", step_ms, "ms")
    figure(f"  overhead over {bare}", middle, "%", target)
    figure("  its quartiles over rounds, lower", low, "%")
    figure("  its quartiles over rounds, upper", high, "%")


def main() -> None:
    """Print the figures of every size."""
    for case in SIZES:
        heading(f"Engines against bare loops: {case.workload}, {ROUNDS} rounds taking turns")
        result = _measured(case)
        for ours, bare in PAIRS:
            _told(case, result, ours, bare)


if __name__ == "__main__":
    main()
