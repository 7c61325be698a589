"""A sweep of steps to a target as a TOML file, with all its mistakes reported at once.

title, about          workload, options, dataset, train_samples, validation_samples, data_seed
batch = [8, 16]       seeds = 5          target = 0.025 (validation error, share of samples)
sampling              "epochwise" (default: each epoch a new order, its rest dropped), or
                      "with replacement", which alone allows a batch larger than the set
evaluate_every        steps; where left out, every step from batch 128 on, at most every 8
together              false: one trial after the other, where it would be all at once
[learning_rates]      factor, count, widenings, widen_by
[optimizers.NAME]     lowest_rate: where this optimiser's learning rates begin
[limits]              steps + epochs: a trial ends after steps + epochs x samples / batch;
                      patience: or at so many times the best median; timeout_s; threads
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

TOGETHER: Final = frozenset({"mlp", "simple-cnn"})
"""Networks whose trials can share a process side by side; others train one after the other."""
FINE_BATCH: Final = 128
"""From this batch on every step is evaluated: there a whole training has a few dozen."""
COARSEST: Final = 8
"""Steps between evaluations at the smallest batches: about 1 % of such a training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The grid of learning rates: `count` of them, each `factor` times the one before.

    It is widened by `widen_by` rates on a side where the best one lies at that edge, at most
    `widenings` times.
    """

    factor: float = 2.0
    count: int = 11
    widenings: int = 3
    widen_by: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When trials end. `steps` and `epochs` add up, as steps to a target do over the batch."""

    steps: int = 300
    epochs: float = 15.0
    patience: float = 2.0
    """At this many times the best median [share]: what comes later is not the best rate."""
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
    together: bool = True
    learning_rates: Rates = field(default_factory=Rates)
    limits: Limits = field(default_factory=Limits)
    optimizers: Mapping[str, float]

    @property
    def digest(self) -> str:
        """Of all that decides a trial but its batch: one result set holds trials of one."""
        body = asdict(self)
        for name in ("title", "about", "batch"):
            del body[name]
        del body["limits"]["timeout_s"]
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def at_once(self) -> bool:
        """Whether the trials of a group are trained side by side."""
        return self.together and self.workload in TOGETHER

    def interval(self, batch: int) -> int:
        """Steps between evaluations: they bound how finely steps to the target are known."""
        return self.evaluate_every or min(COARSEST, max(1, FINE_BATCH // batch))

    def steps_limit(self, batch: int) -> int:
        """Steps after which a trial has not reached the target."""
        return self.limits.steps + int(self.limits.epochs * self.train_samples / batch)


def read(path: Path) -> Plan:
    """The sweep in a TOML file; SpecError tells everything that is wrong with it."""
    return from_table(path.stem, table(path))


def from_table(name: str, body: Mapping[str, Any]) -> Plan:
    """The sweep of a TOML table."""
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
