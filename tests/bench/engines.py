"""Do our engines cost anything? Overhead over bare loops, in one process, taking turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from runners import cases, environment
from runners.cases import Case

ROOT: Final = Path(__file__).parent.parent.parent
ROUNDS: Final = 15
SIZES: Final = (
    Case(sweep="bench", workload="mlp", dataset="synthetic-cifar10", train_samples=60 * 512,
         validation_samples=0, batch=512, epochs=1),
    Case(sweep="bench", workload="simple-cnn", dataset="synthetic-cifar10",
         train_samples=40 * 128, validation_samples=0, batch=128, epochs=1),
    Case(sweep="bench", workload="resnet8", dataset="synthetic-cifar10", train_samples=20 * 64,
         validation_samples=0, batch=64, epochs=1),
)  # fmt: skip
PAIRS: Final = (("loop engine", "bare tf.function loop"), ("fit engine", "bare model.fit"))


def figures() -> Iterator[str]:
    """A line per network and engine: its step time, and its overhead over the bare loop."""
    for case in SIZES:
        told = _measured(case)
        for ours, bare in PAIRS:
            yield _line(case, told, ours, bare)


def _measured(case: Case) -> Mapping[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.engine_child"],
        input=json.dumps({"case": cases.to_json(case), "rounds": ROUNDS}),
        env=environment.for_child(os.environ, backend="tensorflow", threads=None, device="cpu"),
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def _line(case: Case, told: Mapping[str, Any], ours: str, bare: str) -> str:
    """Overhead as the median over rounds of the ratio within a round, with its quartiles."""
    seconds: Mapping[str, Sequence[float]] = told["seconds"]
    ratios = [a / b - 1 for a, b in zip(seconds[ours], seconds[bare], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    step_ms = statistics.median(seconds[ours]) / told["steps"] * 1e3
    best = min(seconds[ours]) / min(seconds[bare]) - 1
    return (
        f"{case.workload}, batch {case.batch}: {ours} {step_ms:.2f} ms a step, overhead over "
        f"{bare} {middle:+.1%} (quartiles {low:+.1%} to {high:+.1%}; best against best {best:+.1%})"
    )
