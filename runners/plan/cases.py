"""A case: all planned settings of one run.

A case is sent to the child process as JSON. A later `resume` matches rows to cases by its hash
(`case_id`). Versions and machine facts are measured, so they are not part of a case.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from runners.workloads import CATALOGUE

KEPT_STEPS: Final = 20_000
"""Number of first steps of a run whose times are stored: about 0.2 MB of a file."""

Mode = Literal["training", "inference"]
Backend = Literal["tensorflow", "jax", "torch"]
Engine = Literal["loop", "fit", "predict"]
Device = Literal["cpu", "gpu", "tpu"]
Timing = Literal["per epoch", "per step"]
Options = tuple[tuple[str, int | float | str | bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run to be measured. Batch sizes in samples; None is the framework's default."""

    sweep: str
    workload: str
    """A name of `runners.workloads.CATALOGUE`."""
    options: Options = ()
    """Options of the network (`k`, `depth` ...), sorted by name."""
    dataset: str
    """A name of `runners.workloads.DATASETS`."""
    train_samples: int
    validation_samples: int
    mode: Mode = "training"
    variant: str | None = None
    """Changed network (inference): int8, pruned 80 %, distilled ..."""
    backend: Backend = "tensorflow"
    engine: Engine = "loop"
    device: Device = "cpu"
    batch: int
    """Global batch size."""
    epochs: int
    repeat: int = 0
    attempt: int = 0
    optimizer: str = "sgd"
    """A name of `runners.workloads.OPTIMIZERS`."""
    learning_rate: float = 0.01
    precision: str = "float32"
    validation: bool = False
    augmentation: bool = False
    storage: Literal["memory", "storage"] = "memory"
    feed: str = "tf.data"
    workers: int | None = None
    multiprocessing: bool | None = None
    drop_remainder: bool = False
    steps_per_execution: int = 1
    jit: bool = False
    threads: int | None = None
    timing: Timing = "per epoch"
    seed: int = 0
    devices: int = 1
    nodes: int = 1
    strategy: str = "none"

    @property
    def case_id(self) -> str:
        """First 16 hex digits of the sha256 of all fields but `attempt`."""
        body = asdict(replace(self, attempt=0))
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def words(self) -> str:
        """Description of the case in progress reports."""
        network = [self.workload, *(f"{k}={v}" for k, v in self.options), self.variant or ""]
        mode = "inference" if self.mode == "inference" else ""
        precision = "" if self.precision == "float32" else self.precision
        usual = self.backend == "jax"  # name only the unusual setting
        jit = "" if self.jit == usual else "jit" if self.jit else "no jit"
        optimizer = self.optimizer if self.mode == "training" else ""
        data = "" if self.dataset == CATALOGUE[self.workload].dataset else f"on {self.dataset}"
        how = [data, mode, optimizer, precision, self.backend, self.engine, jit, *self._input_words,
               f"batch {self.batch}", f"repeat {self.repeat + 1}" if self.repeat else "",
               f"seed {self.seed}" if self.seed else ""]  # fmt: skip
        return " ".join(t for t in network if t) + ", " + ", ".join(t for t in how if t)

    @property
    def _input_words(self) -> tuple[str, ...]:
        """Settings that differ within a sweep of input patterns."""
        return (
            "validation" if self.validation else "",
            "augmentation" if self.augmentation else "",
            "from storage" if self.storage == "storage" else "",
            self.feed if self.engine == "fit" else "",
            f"{self.workers} workers" if self.workers else "",
            "processes" if self.multiprocessing else "",
            "whole batches" if self.drop_remainder else "",
            f"{self.steps_per_execution} steps per call" if self.steps_per_execution > 1 else "",
            f"{self.threads} threads" if self.threads else "",
            "timed per step" if self.timing == "per step" else "",
        )


def to_json(case: Case) -> dict[str, Any]:
    """Return the case as a JSON object."""
    return asdict(case)


def from_json(body: Mapping[str, Any]) -> Case:
    """Return the case from the JSON object of `to_json`."""
    options = tuple((str(k), v) for k, v in body["options"])
    return Case(**{**body, "options": options})
