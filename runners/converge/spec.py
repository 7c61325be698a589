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

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, convert

from planner.core import Text, plural
from runners.plan.spec import (
    MOST,
    Count,
    Natural,
    Positive,
    SpecError,
    String,
    Table,
    Title,
    Truth,
    problems,
    said,
    shown,
    sound,
    table,
    unknown,
)
from runners.workloads import CATALOGUE, DATASETS, OPTIMIZERS, model_title


def _one_of(names: Iterable[str]) -> Meta:
    return Meta(
        pattern=rf"\A(?:{'|'.join(map(re.escape, names))})\Z",
        **said(Text("one of {names}", names=", ".join(names))),
    )


_Workload = Annotated[str, _one_of(CATALOGUE)]
_Options = Annotated[Table, Meta(description="a table")]
_Factor = Meta(gt=1, le=MOST)
_Ratio = Meta(ge=1, le=MOST)
TOGETHER: Final = frozenset(
    {"mlp", "simple-cnn", "vgg5", "resnet8-unnormalised", "row-lstm", "row-transformer"}
)
"""Networks whose trials train side by side; others train one after the other."""
FINE_BATCH: Final = 128
"""From this batch on every step is evaluated, unless a sweep has its own `fine_batch`."""
SAMPLINGS: Final = ("epochwise", "with replacement")
COARSEST: Final = 8
"""Steps between evaluations at the smallest batches: about 1 % of a training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The grid of learning rates: `count` of them, each `factor` times the one before.

    It is widened by `widen_by` rates on the side where the best rate lies at the edge, at most
    `widenings` times.
    """

    factor: Annotated[
        Annotated[int, _Factor] | Annotated[float, _Factor], Meta(description="a number above 1")
    ] = 2.0
    count: Annotated[
        int,
        Meta(
            ge=3, le=MOST, description="a whole number from 3: a best rate lies between two others"
        ),
    ] = 11
    widenings: Natural = 3
    widen_by: Count = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLimits:
    """Limits of trials. `steps` and `epochs` add up, like steps to a target over the batch."""

    steps: Count = 300
    epochs: Positive = 15.0
    patience: Annotated[
        Annotated[int, _Ratio] | Annotated[float, _Ratio], Meta(description="a number from 1")
    ] = 2.0
    """A trial ends at this multiple of the best median: its rate cannot be the best."""
    timeout_s: Positive = 1800.0
    threads: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """One optimiser's entry of [optimizers]."""

    lowest_rate: Annotated[float, Meta(gt=0, le=MOST, description="a number above 0")]


_Optimizers = Annotated[
    Mapping[str, Optimizer], Meta(min_length=1, description="tables, as [optimizers.sgd]")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialNetwork:
    """One entry of [[networks]]; its entries replace those of the table."""

    workload: _Workload
    options: _Options = field(default_factory=dict)
    staleness: Natural = 0
    optimizers: _Optimizers = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergePlan:
    """A checked sweep of steps to a target. `optimizers` are names and their lowest rates."""

    name: str
    title: Title
    about: String = ""
    workload: _Workload
    options: _Options = field(default_factory=dict)
    dataset: Annotated[str, _one_of(DATASETS)] = ""
    """The workload's own, and all its samples, unless the file says otherwise."""
    train_samples: Count = 0
    validation_samples: Count = 0
    data_seed: Natural = 0
    batch: Annotated[
        tuple[Count, ...],
        Meta(min_length=1, description="a list of different whole numbers from 1"),
    ]
    seeds: Count = 5
    target: Annotated[float, Meta(gt=0, lt=1, description="a validation error between 0 and 1")]
    sampling: Annotated[str, _one_of(SAMPLINGS)] = "epochwise"
    evaluate_every: Count | None = None
    fine_batch: Count | None = None
    staleness: Natural = 0
    together: Truth = True
    learning_rates: Rates = field(default_factory=Rates)
    limits: TrialLimits = field(default_factory=TrialLimits)
    optimizers: _Optimizers

    @property
    def digest(self) -> str:
        """Hash of all settings of a trial but its batch; one result set holds one digest."""
        body = asdict(self)
        body["optimizers"] = {n: entry.lowest_rate for n, entry in self.optimizers.items()}
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


def read(path: Path) -> tuple[ConvergePlan, ...]:
    """Return the sweep in a TOML file, a plan per network; SpecError lists all its problems."""
    return of_networks(path.stem, table(path))


def variant(staleness: int) -> str:
    """Return the name of training with gradients of this age [updates]; empty for fresh ones."""
    old = plural(staleness, "gradients {count} update old", "gradients {count} updates old")
    return str(old) if staleness else ""


def of_networks(name: str, body: Table) -> tuple[ConvergePlan, ...]:
    """Return a plan per entry of `networks`, or one for a table with a single workload.

    An entry's own workload, options and optimisers replace those of the table.
    """
    if "networks" not in body:
        return (from_table(name, body),)
    entries = body["networks"]
    if not (isinstance(entries, list) and entries and all(isinstance(e, Mapping) for e in entries)):
        raise SpecError(name, ["networks: must be tables, as [[networks]]."])
    messages = [
        message
        for number, entry in enumerate(entries, 1)
        for message in problems(entry, TrialNetwork, f"networks {number}: ")
    ]
    if messages:
        raise SpecError(name, messages)
    shared = {k: v for k, v in body.items() if k != "networks"}
    whole = [{**shared, **entry} for entry in entries]
    if messages := [message for each in whole for message in _problems(each)]:
        raise SpecError(name, messages)
    plans = tuple(from_table(name, each) for each in whole)
    titles = [f"{model_title(p.workload, p.options)} {variant(p.staleness)}" for p in plans]
    if twice := [title.strip() for title in titles if titles.count(title) > 1]:
        texts = [Text("networks: {network} is listed twice. Remove one or change its options.",
                      network=title) for title in twice]  # fmt: skip
        raise SpecError(name, texts)
    return plans


def from_table(name: str, body: Table) -> ConvergePlan:
    """Return the sweep of a TOML table."""
    if messages := _problems(body):
        raise SpecError(name, messages)
    data = DATASETS[body.get("dataset", CATALOGUE[body["workload"]].dataset)]
    samples = {"train_samples": data.train_samples, "validation_samples": data.validation_samples}
    return convert({**samples, **body, "name": name, "dataset": data.name}, ConvergePlan)


def _problems(body: Table) -> list[str]:
    """Return all problems of a sweep of one workload; an empty list if it can run."""
    messages = problems(body, ConvergePlan)
    entries = sound(body, ConvergePlan)
    sizes = entries.get("batch", ())
    if len(set(sizes)) < len(sizes):
        text = Text(
            "batch: {sizes} has a size twice; it must be a list of different numbers.",
            sizes=shown(sizes),
        )
        messages.append(text)
    optimizers = body.get("optimizers")
    if isinstance(optimizers, Mapping):
        messages += [unknown(f"optimizers.{name}:", name, OPTIMIZERS)
                     for name in optimizers if name not in OPTIMIZERS]  # fmt: skip
    return messages + _of_workload(entries)


def _of_workload(entries: Table) -> list[str]:
    """Return the problems between the network, its data and the batch sizes."""
    workload = CATALOGUE.get(entries.get("workload", ""))
    if workload is None:
        return []
    messages = [unknown(f"options.{k}:", k, workload.options)
                for k in entries.get("options", {}) if k not in workload.options]  # fmt: skip
    data = DATASETS[entries.get("dataset", workload.dataset)]
    if data.task != workload.task:
        messages.append(
            Text(
                "dataset: {dataset} holds {given}, {workload} takes {needed}.",
                dataset=data.name,
                given=data.task,
                workload=workload.name,
                needed=workload.task,
            )
        )
    for name in ("train_samples", "validation_samples"):
        held = getattr(data, name)
        if not data.synthetic and entries.get(name, held) > held:
            messages.append(
                Text(
                    "{name}: is {value}; the data set holds {most}.",
                    name=name,
                    value=entries[name],
                    most=held,
                )
            )
    train = entries.get("train_samples", data.train_samples)
    large = [b for b in entries.get("batch", ()) if b > train]
    if large and entries.get("sampling") != "with replacement":
        sizes = ", ".join(map(str, large))
        messages.append(
            Text(
                "batch: {sizes} is more than the {train} training samples. Leave it out, or "
                'set sampling = "with replacement" (such a batch repeats samples).',
                sizes=sizes,
                train=train,
            )
        )
    return messages
