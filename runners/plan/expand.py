"""Expand a sweep to its cases: fill in defaults, take cross products, check each case."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from runners.plan import cases, variants
from runners.plan.cases import Case
from runners.plan.rules import combination_problems, name_problems
from runners.plan.spec import Spec, SpecError, Table
from runners.workloads import CATALOGUE, DATASETS

MOST_RUNS: Final = 200_000
"""Largest number of runs of a sweep: an article of this field had 168,160."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """This machine: its best device and the backends that can be started."""

    device: cases.Device
    backends: tuple[str, ...]
    """The first one is used for auto."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic:
    """A group whose batch sizes are searched; `case` is its member of batch 1."""

    case: Case
    steps_per_epoch: int | None
    """Set if an epoch is given in steps: its samples grow with the batch."""

    def at(self, batch: int) -> Case:
        """Return the member of this group with a batch size [samples]."""
        samples = self.steps_per_epoch * batch if self.steps_per_epoch else None
        return replace(self.case, batch=batch, train_samples=samples or self.case.train_samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The cases of a sweep; `automatic` are groups whose batch sizes are searched."""

    cases: tuple[Case, ...]
    automatic: tuple[Automatic, ...] = ()


def expand(spec: Spec, host: Host) -> Expanded:
    """Return all cases in the order of their runs.

    Raises:
        SpecError: some combinations are invalid; it lists all problems.
    """
    explicit: dict[str, Case] = {}
    automatic: dict[str, Automatic] = {}
    problems: list[str] = []
    _check_size(spec)
    for i, block in enumerate(spec.blocks, 1):
        for factors in _products({**spec.defaults, **block}, spec.patterns):
            messages = _problems(factors, host)
            problems += [f"[[runs]] block {i}: {text}" for text in messages]
            if messages:
                continue
            for repeat in range(spec.repeats):
                case = _case(spec, factors, host, repeat)
                if factors["batch"] == "auto":
                    group = Automatic(case=case, steps_per_epoch=factors.get("steps_per_epoch"))
                    automatic.setdefault(case.case_id, group)
                else:
                    explicit.setdefault(case.case_id, case)
    if problems:
        raise SpecError(spec.name, problems)
    return Expanded(cases=tuple(explicit.values()), automatic=tuple(automatic.values()))


def _check_size(spec: Spec) -> None:
    """Raise SpecError if the cross product of a sweep is too large to expand."""
    runs = spec.repeats * sum(
        _runs_of({**spec.defaults, **block}, spec.patterns) for block in spec.blocks
    )
    if runs > MOST_RUNS:
        text = f"it has {runs:,} runs; the limit is {MOST_RUNS:,}. Shorten its lists."
        raise SpecError(spec.name, [text])


def _runs_of(block: Table, patterns: Mapping[str, Table]) -> int:
    """Return the number of combinations of a block, without expanding it."""
    names = block.get("pattern")
    chosen = [names] if isinstance(names, str) else names or []
    return sum(
        math.prod(_values(v) for v in {**block, **table}.values())
        for table in [{**patterns[n], "pattern": n} for n in chosen] or [{}]
    )


def _values(value: Any) -> int:  # noqa: ANN401 - a value, a list of them, or a table of options
    if isinstance(value, Mapping):
        return math.prod(map(_values, value.values()))
    return len(value) if isinstance(value, list) else 1


def steps_in(case: Case) -> int:
    """Return the optimiser steps of an epoch, including a smaller last one."""
    full, rest = divmod(case.train_samples, case.batch)
    return full + bool(rest and not case.drop_remainder)


def _products(block: Table, patterns: Mapping[str, Table]) -> Iterator[dict[str, Any]]:
    names = block.get("pattern")
    chosen = [names] if isinstance(names, str) else names
    for pattern in [patterns[n] for n in chosen] if chosen else [{}]:
        merged = {k: v for k, v in {**block, **pattern}.items() if k != "pattern"}
        lists = {k: v if isinstance(v, list) else [v] for k, v in merged.items() if k != "options"}
        for options in _option_products(merged.get("options", {})):
            for values in itertools.product(*lists.values()):
                yield {**dict(zip(lists, values, strict=True)), "options": options}


def _option_products(options: Table) -> Iterator[dict[str, Any]]:
    lists = [v if isinstance(v, list) else [v] for v in options.values()]
    for values in itertools.product(*lists):
        yield dict(zip(options, values, strict=True))


def _problems(factors: Table, host: Host) -> list[str]:
    """Return the problems of one combination of factors: names first, then combinations."""
    return name_problems(factors, host) or combination_problems(_filled(factors, host), host)


# -- filling in ----------------------------------------------------------------------------------


def _filled(factors: Table, host: Host) -> dict[str, Any]:
    """Return all factors; missing ones are the workload's defaults or chosen for the machine."""
    chosen = {k: v for k, v in factors.items() if v != "auto" or k == "batch"}
    workload = CATALOGUE[factors["workload"]]
    data = DATASETS[chosen.get("dataset", workload.dataset)]
    f: dict[str, Any] = {
        "dataset": data.name, "mode": "training", "variant": None, "device": host.device,
        "backend": host.backends[0], "optimizer": "sgd", "precision": "float32",
        "validation": False, "augmentation": False, "storage": "memory", "workers": None,
        "multiprocessing": None, "drop_remainder": False, "steps_per_execution": 1,
        "threads": None, "timing": "per epoch", "seed": 0,
    } | chosen  # fmt: skip
    tensorflow = f["backend"] == "tensorflow"
    f["variant"] = None if f["variant"] == variants.NONE else f["variant"]
    f.setdefault("engine", "loop" if tensorflow or f["mode"] == "inference" else "fit")
    f.setdefault("feed", "tf.data" if f["engine"] == "loop" and tensorflow else "numpy")
    f.setdefault("jit", _jit(f))
    f.setdefault("learning_rate", 0.001 if f["optimizer"] == "adam" else 0.01)
    return f | _sizes(f, data)


def _jit(f: Table) -> bool:
    """Return each framework's default: JAX compiles, PyTorch does not, TensorFlow on devices.

    An LSTM on TensorFlow is not compiled: its fast kernel (cuDNN) cannot be.
    """
    if f["backend"] == "tensorflow":
        return bool(f["device"] != "cpu" and f["workload"] != "lstm")
    return bool(f["backend"] == "jax")


def _sizes(f: Table, data: Any) -> dict[str, int]:  # noqa: ANN401 - a DataSet
    """Return the samples of both splits; an epoch given in steps has that many full batches."""
    batch = 1 if f["batch"] == "auto" else f["batch"]
    steps = f.get("steps_per_epoch")
    samples = steps * batch if steps else f.get("train_samples", data.train_samples)
    validating = data.validation_samples if f["validation"] else 0
    return {
        "train_samples": samples,
        "validation_samples": f.get("validation_samples", validating),
    }


def _case(spec: Spec, factors: Table, host: Host, repeat: int) -> Case:
    f = _filled(factors, host)
    names = set(Case.__dataclass_fields__) - {"sweep", "options", "repeat", "attempt"}
    kept = {k: v for k, v in f.items() if k in names}
    return Case(
        sweep=spec.name,
        options=tuple(sorted(f["options"].items())),
        repeat=repeat,
        **{**kept, "batch": 1 if f["batch"] == "auto" else f["batch"],
           "epochs": f.get("epochs", spec.epochs)},
    )  # fmt: skip
