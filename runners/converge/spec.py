"""A sweep of steps to a target as a TOML file; all its problems are reported at once.

title, about          workload, options, dataset, train_samples, validation_samples, data_seed
batch = [8, 16]       seeds = 5          target = 0.025 (validation error, share of samples)
sampling              "epochwise" (default: each epoch a new order, its remainder dropped), or
                      "with replacement", required for a batch larger than the set
evaluate_every        steps; default: every step from batch `fine_batch` (128) on, at most every 8
staleness             updates between the weights of a gradient and its use; default 0
together              false: train trials one after the other instead of at once
[learning_rates]      factor, count, widenings, widen_by
[optimizers.NAME]     lowest_rate: this optimiser's lowest learning rate
[limits]              steps + epochs: a trial ends after steps + epochs x samples / batch;
                      patience: or at this many times the best median; timeout_s; threads
[[networks]]          instead of one workload: workload, and options, staleness and optimizers of
                      its own
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from runners.converge import checks
from runners.plan.spec import SpecError, table
from runners.workloads import CATALOGUE, DATASETS

TOGETHER: Final = frozenset(
    {"mlp", "simple-cnn", "vgg5", "resnet8-unnormalised", "row-lstm", "row-transformer"}
)
"""Networks whose trials train side by side; others train one after the other."""
FINE_BATCH: Final = 128
"""From this batch on every step is evaluated, unless a sweep has its own `fine_batch`."""
COARSEST: Final = 8
"""Steps between evaluations at the smallest batches: about 1 % of a training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The grid of learning rates: `count` of them, each `factor` times the one before.

    It is widened by `widen_by` rates on the side where the best rate lies at the edge, at most
    `widenings` times.
    """

    factor: float = 2.0
    count: int = 11
    widenings: int = 3
    widen_by: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of trials. `steps` and `epochs` add up, like steps to a target over the batch."""

    steps: int = 300
    epochs: float = 15.0
    patience: float = 2.0
    """A trial ends at this multiple of the best median: its rate cannot be the best."""
    timeout_s: float = 1800.0
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A checked sweep of steps to a target. `optimizers` are names and their lowest rates."""

    name: str
    title: str
    about: str = ""
    workload: str
    options: Mapping[str, Any] = field(default_factory=dict)
    dataset: str
    train_samples: int
    validation_samples: int
    data_seed: int = 0
    batch: tuple[int, ...]
    seeds: int = 5
    target: float
    sampling: str = "epochwise"
    evaluate_every: int | None = None
    fine_batch: int | None = None
    staleness: int = 0
    together: bool = True
    learning_rates: Rates = field(default_factory=Rates)
    limits: Limits = field(default_factory=Limits)
    optimizers: Mapping[str, float]

    @property
    def digest(self) -> str:
        """Hash of all settings of a trial but its batch; one result set holds one digest."""
        body = asdict(self)
        for name in ("title", "about", "batch"):
            del body[name]
        del body["limits"]["timeout_s"]
        for name, usual in (("fine_batch", None), ("staleness", 0)):
            if body[name] == usual:  # sweeps without this entry keep their digest
                del body[name]
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def at_once(self) -> bool:
        """Whether the trials of a group are trained side by side."""
        return self.together and self.workload in TOGETHER

    def interval(self, batch: int) -> int:
        """Return steps between evaluations: the resolution of steps to the target."""
        fine = self.fine_batch or FINE_BATCH
        return self.evaluate_every or min(COARSEST, max(1, fine // batch))

    def steps_limit(self, batch: int) -> int:
        """Return the step limit of a trial."""
        return self.limits.steps + int(self.limits.epochs * self.train_samples / batch)


def read(path: Path) -> tuple[Plan, ...]:
    """Return the sweep in a TOML file, a plan per network; SpecError lists all its problems."""
    return of_networks(path.stem, table(path))


def of_networks(name: str, body: Mapping[str, Any]) -> tuple[Plan, ...]:
    """Return a plan per entry of `networks`, or one for a table with a single workload.

    An entry's own workload, options and optimisers replace those of the table.
    """
    if "networks" not in body:
        return (from_table(name, body),)
    if problems := checks.problems_of_networks(body):
        raise SpecError(name, problems)
    return tuple(from_table(name, whole) for whole in checks.per_network(body))


def from_table(name: str, body: Mapping[str, Any]) -> Plan:
    """Return the sweep of a TOML table."""
    if problems := checks.problems(body):
        raise SpecError(name, problems)
    data = DATASETS[body.get("dataset", CATALOGUE[body["workload"]].dataset)]
    samples = {"train_samples": data.train_samples, "validation_samples": data.validation_samples}
    parts = {
        "dataset": data.name,
        "batch": tuple(body["batch"]),
        "learning_rates": Rates(**body.get("learning_rates", {})),
        "limits": Limits(**body.get("limits", {})),
        "optimizers": {k: float(v["lowest_rate"]) for k, v in body["optimizers"].items()},
    }
    return Plan(name=name, **{**samples, **body, **parts})
