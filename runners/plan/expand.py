"""Expand a sweep to its cases: fill in defaults, take cross products, check each case."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, get_args

import psutil

from planner.core import Text
from runners.plan import cases
from runners.plan.cases import Case
from runners.plan.spec import Spec, SpecError, Table
from runners.workloads import CATALOGUE, DATASETS, OPTIMIZERS, PRECISIONS, PREDICTING

FEEDS: Final = ("numpy", "generator", "PyDataset", "tf.data", "directory")
STORAGES: Final = ("memory", "storage")


def name_problems(factors: Table, host: Host) -> list[str]:
    """Return the problems of names and options, and unsupported factors, as sentences."""
    workload = str(factors.get("workload", ""))
    if workload not in CATALOGUE:
        return [cases.unknown("workload", workload, CATALOGUE)]
    allowed: dict[str, Sequence[str]] = {
        "dataset": tuple(DATASETS),
        "mode": get_args(cases.Mode),
        "backend": (*get_args(cases.Backend), "auto"),
        "engine": (*get_args(cases.Engine), "auto"),
        "device": (*get_args(cases.Device), "auto"),
        "optimizer": tuple(OPTIMIZERS),
        "precision": PRECISIONS,
        "storage": STORAGES,
        "feed": (*FEEDS, "auto"),
        "timing": get_args(cases.Timing),
    }
    messages: list[str] = [
        cases.unknown(name, factors[name], values)
        for name, values in allowed.items()
        if name in factors and factors[name] not in values
    ]
    options = ", ".join(CATALOGUE[workload].options) or "none"
    messages += [
        Text(
            "{workload} has no option {name!r}. It has: {options}.",
            workload=workload,
            name=name,
            options=options,
        )
        for name in factors["options"]
        if name not in CATALOGUE[workload].options
    ]
    messages += _option_problems(workload, factors["options"])
    if "batch" not in factors:
        messages.append('batch is missing. Give a list of batch sizes, or "auto".')
    problems = (_variant_problem(factors), _accelerator_problem(factors, host))
    return (
        messages
        + [text for text in problems if text]
        + _not_yet(factors)
        + _backend_problems(factors, host_of(factors, host))
    )


def _option_problems(workload: str, options: Table) -> Iterator[str]:
    """Yield the problems of options: one of the choices, true or false, whole numbers from 1."""
    for name, usual in CATALOGUE[workload].options.items():
        value, choices = options.get(name, usual), CATALOGUE[workload].choices.get(name)
        if choices and value not in choices:
            yield Text(
                "{workload}'s option {name} is {value!r}. Choose from: {choices}.",
                workload=workload,
                name=name,
                value=value,
                choices=", ".join(choices),
            )
        elif isinstance(usual, bool) and not isinstance(value, bool):
            yield Text(
                "{workload}'s option {name} is {value!r}; it must be true or false.",
                workload=workload,
                name=name,
                value=value,
            )
        elif isinstance(usual, int) and not isinstance(usual, bool) and not _counts(value):
            yield Text(
                "{workload}'s option {name} is {value!r}; it must be a whole number from 1, "
                "as {usual} is.",
                workload=workload,
                name=name,
                value=value,
                usual=usual,
            )


def _counts(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _variant_problem(factors: Table) -> str | None:
    name = factors.get("variant", cases.NONE)
    if name == cases.NONE:
        return None
    precision = str(factors.get("precision", "float32"))
    return cases.problem(name, workload=factors["workload"], precision=precision)


def _accelerator_problem(factors: Table, host: Host) -> str | None:
    name = factors.get("accelerator")
    if name is None:
        return None
    if host.accelerators is None:
        return Text(
            "accelerator = {name!r} chooses a node of a cluster. Add --engine ray, or "
            "leave it out to measure on this machine.",
            name=name,
        )
    if name.lower() not in host.accelerators:
        names = ", ".join(sorted(host.accelerators)) or "no declared accelerator"
        return Text(
            "no node has the accelerator {name!r}. The nodes have: {available}. Change the "
            "sweep, or start a node that has it.",
            name=name,
            available=names,
        )
    return None


def host_of(factors: Table, host: Host) -> Host:
    """Return the host that the factors choose: a node with their accelerator, else `host`."""
    name = factors.get("accelerator")
    return (host.accelerators or {}).get(name.lower(), host) if name else host


def _not_yet(factors: Table) -> list[str]:
    """Return the problems of unsupported factors: several nodes, an unknown strategy."""
    messages: list[str] = []
    if factors.get("nodes", 1) > 1:
        messages.append(
            Text(
                "nodes = {nodes} is no factor: the hosts of the launcher are the nodes. Set "
                "it to 1, and name the hosts in [launch].",
                nodes=factors["nodes"],
            )
        )
    strategy = factors.get("strategy", cases.NONE)
    if strategy not in cases.STRATEGIES:
        messages.append(
            Text(
                "strategy = {strategy!r} is unknown. Set it to {strategies}.",
                strategy=strategy,
                strategies=" or ".join(cases.STRATEGIES),
            )
        )
    return messages


def _backend_problems(factors: Table, host: Host) -> list[str]:
    backend = factors.get("backend", "auto")
    if not host.backends:
        return ["no backend can be started here. Install TensorFlow (requirements.txt) or JAX "
                "(make jax, or requirements/jax.txt)."]  # fmt: skip
    if backend in {"auto", *host.backends}:
        return []
    jax = "make jax, or pip install -r requirements/jax.txt"
    return [
        Text(
            "backend {backend} is not installed here. Install it ({command}), or name its Python "
            "with --python {backend}=PATH.",
            backend=backend,
            command=jax if backend == "jax" else Text("pip install {package}", package=backend),
        )
    ]


def combination_problems(f: Table, host: Host) -> list[str]:
    """Return the broken rules between factors, each with what to change; `f` has all factors."""
    return [*_device_problems(f, host), *_engine_problems(f), *_feed_problems(f),
            *_input_problems(f), *_size_problems(f, host), *_strategy_problems(f),
            *_wait_problems(f), *_division_problems(f)]  # fmt: skip


def _device_problems(f: Table, host: Host) -> Iterator[str]:
    """Yield the problem of a missing device: a run for it would crash minutes later."""
    if f["device"] not in {"cpu", host.device}:
        yield Text(
            "device {device} is requested but not detected here. Use auto, or set --device "
            "{device} if this machine has one.",
            device=f["device"],
        )


def _engine_problems(f: Table) -> Iterator[str]:
    training = f["mode"] == "training"
    if f["engine"] == "loop" and training and f["backend"] != "tensorflow":
        yield "engine loop trains with TensorFlow only; use engine fit for other backends."
    if f["engine"] == "predict" and training:
        yield "engine predict is for mode inference."
    if f["engine"] == "fit" and not training:
        yield "engine fit is for training; use loop or predict."
    if f["variant"] is not None and training:
        yield "variant is for mode inference: it is made from a trained network."
    if f["precision"] in PREDICTING and training:
        yield Text(
            "precision {precision} is for mode inference: 16-bit weights lose updates. "
            "Train in mixed_{precision}.",
            precision=f["precision"],
        )
    if f["steps_per_execution"] > 1 and not training:
        yield "steps_per_execution is for training: each prediction is timed singly. Leave it out."
    if f["engine"] == "loop" and not training and f["backend"] == "torch":
        yield "engine loop predicts with TensorFlow and JAX only; use engine predict for torch."
    if DATASETS[f["dataset"]].task != CATALOGUE[f["workload"]].task:
        yield Text(
            "{workload} takes {needed}, {dataset} holds {given}.",
            workload=f["workload"],
            needed=CATALOGUE[f["workload"]].task,
            dataset=f["dataset"],
            given=DATASETS[f["dataset"]].task,
        )


def _feed_problems(f: Table) -> Iterator[str]:
    feed, stored = f["feed"], f["storage"] == "storage"
    images, training = DATASETS[f["dataset"]].task == "images", f["mode"] == "training"
    if f["engine"] == "loop" and training and feed != "tf.data":
        yield Text(
            "engine loop is fed by tf.data, not by {feed}; use engine fit for that.", feed=feed
        )
    if feed in {"tf.data", "directory"} and f["backend"] != "tensorflow" and training:
        yield Text(
            "feed {feed} needs the tensorflow backend; use numpy, generator or PyDataset.",
            feed=feed,
        )
    if f["augmentation"] and feed in {"numpy", "directory"}:
        yield Text("feed {feed} cannot augment; use generator, PyDataset or tf.data.", feed=feed)
    if f["augmentation"] and not images:
        yield "augmentation is for images."
    if stored and not images:
        yield "storage is for images: tokens are read from memory."
    if stored and feed == "numpy":
        yield "feed numpy reads from memory; use generator, PyDataset, tf.data or directory."
    if feed == "directory" and not stored:
        yield 'feed directory reads files; set storage = "storage".'


def _input_problems(f: Table) -> Iterator[str]:
    feed, training = f["feed"], f["mode"] == "training"
    if f["multiprocessing"] is not None and feed != "PyDataset":
        yield Text("multiprocessing is a factor of feed PyDataset, not of {feed}.", feed=feed)
    if f["workers"] is not None and feed not in {"PyDataset", "tf.data"}:
        yield Text(
            "workers is a factor of the feeds PyDataset and tf.data, not of {feed}.", feed=feed
        )
    data = DATASETS[f["dataset"]]
    if feed == "directory" and data.task == "images" and data.shape[-1] != 3:
        yield Text(
            "feed directory needs colour images; {dataset} is grey. Use generator or PyDataset.",
            dataset=f["dataset"],
        )
    if not training and (f["storage"] == "storage" or f["augmentation"] or f["validation"]):
        yield "inference has no storage, augmentation or validation."
    if not training and (f["workers"] is not None or f["multiprocessing"] is not None):
        yield "inference reads its samples from memory: it has no workers."


def _size_problems(f: Table, host: Host) -> Iterator[str]:
    data = DATASETS[f["dataset"]]
    samples, batch = f["train_samples"], f["batch"]
    if not data.synthetic and samples > data.train_samples:
        yield Text(
            "{dataset} has {available} training samples; {requested} are requested.",
            dataset=f["dataset"],
            available=data.train_samples,
            requested=samples,
        )
    if not data.synthetic and f["validation_samples"] > data.validation_samples:
        yield Text(
            "{dataset} has {available} validation samples; {requested} are requested.",
            dataset=f["dataset"],
            available=data.validation_samples,
            requested=f["validation_samples"],
        )
    if batch != "auto" and batch > samples:
        yield Text(
            "batch {batch} is larger than the {samples} training samples of an epoch.",
            batch=batch,
            samples=samples,
        )
    whole = batch != "auto" and f["steps_per_execution"] > max(samples // batch, 1)
    if whole:
        yield Text(
            "steps_per_execution {steps} exceeds the full batches of an "
            "epoch. Lower it or lengthen the epoch.",
            steps=f["steps_per_execution"],
        )
    size = math.prod(data.shape) * (1 if data.task == "images" else 8) * samples
    if size > (host.memory_bytes or host_memory_bytes()):
        yield Text(
            "{samples} samples of {dataset} need {size_gb:.0f} GB, more than the machine's "
            "memory. Set train_samples or steps_per_epoch.",
            samples=samples,
            dataset=data.name,
            size_gb=size / 1e9,
        )
    if f["validation"] and f["validation_samples"] < 1:
        yield "validation needs validation_samples of at least 1."
    if "steps_per_epoch" in f and batch == "auto" and not data.synthetic:
        yield "steps_per_epoch with auto needs a synthetic data set; give train_samples."


def _strategy_problems(f: Table) -> Iterator[str]:
    devices, strategy = f["devices"], f["strategy"]
    split = strategy != cases.NONE
    if (f["backend"], f["device"]) == ("tensorflow", "tpu") and strategy != "tpu":
        yield 'TensorFlow trains on a TPU with strategy tpu. Set strategy = "tpu".'
    if devices > 1 and not split:
        yield Text(
            'devices = {devices} needs a strategy. Set strategy = "mirrored".', devices=devices
        )
    if split:
        yield from _framework_problems(f)
    tensorflow = split and f["backend"] == "tensorflow"
    if tensorflow and f["jit"]:
        yield Text("strategy {strategy} runs without jit. Set jit = false.", strategy=strategy)
    if tensorflow and f["precision"] == "mixed_float16":
        yield Text(
            "strategy {strategy} does not scale losses. Train in float32 or mixed_bfloat16.",
            strategy=strategy,
        )
    if split and f["batch"] == "auto":
        yield Text("strategy {strategy} needs batch sizes. Give a list.", strategy=strategy)
    if not f["tuned"] and f["backend"] != "jax":
        yield "tuned = false is for JAX on a GPU, where XLA times kernels. Leave it out."


def _wait_problems(f: Table) -> Iterator[str]:
    strategy = f["strategy"]
    if f["slow_share"] > 0.0 and (strategy not in cases.OF_PROCESSES or f["devices"] < 2):
        yield Text(
            "slow_share slows one of several workers. Set strategy to {strategies}, "
            "and devices to 2 or more.",
            strategies=" or ".join(sorted(cases.OF_PROCESSES)),
        )
    waits = f["engine"] == "loop" and strategy in {"multi-worker mirrored", "stage"}
    if f["wait_s"] > 0.0 and not waits:
        yield (
            "wait_s is a wait of synchronous workers or of stages in the loop. Set strategy to "
            "multi-worker mirrored or stage, and engine to loop."
        )
    if f["wait_sd_s"] > 0.0 and strategy == "stage":
        yield "wait_sd_s is for workers: every stage waits alike. Leave it out."
    if f["wait_sd_s"] > f["wait_s"] / 2.0:
        yield Text(
            "wait_sd_s = {sd_s:g} is above half of wait_s = {mean_s:g}, so many waits would be "
            "cut at 0. Lower it.",
            sd_s=f["wait_sd_s"],
            mean_s=f["wait_s"],
        )


def _division_problems(f: Table) -> Iterator[str]:
    """Yield what hinders equal parts: each replica takes an equal part of every batch."""
    devices, batch, strategy = f["devices"], f["batch"], f["strategy"]
    if f["micro_batches"] > 1 and strategy not in cases.PLACED:
        yield Text(
            "micro_batches = {count} is for a split network. Set strategy to {strategies}.",
            count=f["micro_batches"],
            strategies=" or ".join(sorted(cases.PLACED)),
        )
    if strategy == "parameter server":
        yield from _asynchronous_problems(f)
    if strategy in cases.PLACED:
        yield from _split_problems(f)
    if batch == "auto" or strategy == cases.NONE or strategy in cases.SPLIT:
        return
    rest = 0 if f["drop_remainder"] else f["train_samples"] % batch
    if batch % devices != 0:
        yield Text(
            "batch {batch} cannot be divided among {devices} devices. Take a multiple of "
            "{devices}.",
            batch=batch,
            devices=devices,
        )
    if batch % devices == 0 and rest % devices != 0:
        yield Text(
            "the last batch of an epoch has {rest} samples, which cannot be divided "
            "among {devices} devices. Set drop_remainder = true, or other train_samples.",
            rest=rest,
            devices=devices,
        )


def _asynchronous_problems(f: Table) -> Iterator[str]:
    """Yield the broken rules of a parameter server: an update has one worker's part of a batch."""
    rest = 0 if f["batch"] == "auto" or f["drop_remainder"] else f["train_samples"] % f["batch"]
    if rest > 0:
        yield "strategy parameter server has whole batches only. Set drop_remainder = true."
    if f["timing"] == "per step":
        yield "strategy parameter server has no single steps: they overlap. Time per epoch."
    if f["validation"]:
        yield "strategy parameter server does not validate. Set validation = false."
    if f["steps_per_execution"] > 1:
        yield "strategy parameter server hands out single steps. Leave steps_per_execution out."
    if f["augmentation"]:
        yield "strategy parameter server does not augment. Set augmentation = false."
    if f["storage"] != "memory":
        yield 'strategy parameter server reads samples from memory. Set storage = "memory".'


def _framework_problems(f: Table) -> Iterator[str]:
    """Yield the broken rules of engine and framework: tf.distribute in a loop, or fit on JAX."""
    strategy, backend = f["strategy"], f["backend"]
    on_jax = backend == "jax" and strategy in cases.ON_JAX
    if backend != "tensorflow" and not on_jax:
        yield Text(
            'strategy {strategy} does not run on {backend}. Set backend = "tensorflow".',
            strategy=strategy,
            backend=backend,
        )
    if backend == "tensorflow" and strategy == "tensor":
        yield 'strategy tensor runs on JAX. Set backend = "jax".'
    if strategy == "tpu" and f["device"] != "tpu":
        yield Text(
            'strategy tpu is for a TPU; the device is {device}. Set strategy = "mirrored".',
            device=f["device"],
        )
    name = "JAX" if on_jax else "TensorFlow"
    engine = "fit" if on_jax else "loop"
    if (f["engine"], f["mode"]) != (engine, "training"):
        yield Text(
            "strategy {strategy} trains with engine {engine} on {framework}.",
            strategy=strategy,
            engine=engine,
            framework=name,
        )
    if on_jax and strategy == "multi-worker mirrored" and f["feed"] != "PyDataset":
        yield Text(
            "strategy {strategy} on JAX reads each worker's part of a batch from a "
            'PyDataset. Set feed = "PyDataset".',
            strategy=strategy,
        )


def _split_problems(f: Table) -> Iterator[str]:
    """Yield the broken rules of a network split over devices: micro-batches are equal parts."""
    count, batch, strategy = f["micro_batches"], f["batch"], f["strategy"]
    towers = f["options"].get("towers", CATALOGUE["towers"].options["towers"])
    if strategy == "branch" and f["workload"] != "towers":
        yield Text(
            "strategy branch needs parallel towers; {workload} has none. Take workload "
            "towers, or strategy stage.",
            workload=f["workload"],
        )
    if strategy == "branch" and f["workload"] == "towers" and towers % f["devices"] != 0:
        yield Text(
            "{towers} towers cannot be divided among {devices} devices.",
            towers=towers,
            devices=f["devices"],
        )
    if batch == "auto":
        return
    rest = 0 if f["drop_remainder"] else f["train_samples"] % batch
    if batch % count != 0 or rest % count != 0:
        yield Text(
            "batch {batch} cannot be divided into {count} micro-batches.",
            batch=batch if batch % count else rest,
            count=count,
        )


@cache
def host_memory_bytes() -> int:
    """Return the memory of this machine [bytes]."""
    return int(psutil.virtual_memory().total)


MOST_RUNS: Final = 200_000
"""Largest number of runs of a sweep: an article of this field had 168,160."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine or cluster: its best device and the backends that can be started."""

    device: cases.Device
    backends: tuple[str, ...]
    """The first one is used for auto."""
    memory_bytes: int | None = None
    """Memory of the machine [bytes]; None means that of this one."""
    accelerators: Mapping[str, Host] | None = None
    """Nodes of a cluster by the accelerator that they declare, in lower case; None: no cluster."""


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
    for i, block in _sound_blocks(spec):
        for factors in _products({**spec.defaults, **block}, spec.patterns):
            there = host_of(factors, host)
            messages = _problems(factors, host)
            problems += [Text("[[runs]] block {number}: {problem}", number=i, problem=text)
                         for text in messages]  # fmt: skip
            if messages:
                continue
            for repeat in range(spec.repeats):
                case = _case(spec, factors, there, repeat)
                if factors["batch"] == "auto":
                    group = Automatic(case=case, steps_per_epoch=factors.get("steps_per_epoch"))
                    automatic.setdefault(case.case_id, group)
                else:
                    explicit.setdefault(case.case_id, case)
    if problems:
        raise SpecError(spec.name, problems)
    return Expanded(cases=tuple(explicit.values()), automatic=tuple(automatic.values()))


def _sound_blocks(spec: Spec) -> list[tuple[int, Table]]:
    """Return the blocks to expand, each with its number from 1."""
    return [(i, block) for i, block in enumerate(spec.runs, 1) if i not in spec.wrong_blocks]


def _check_size(spec: Spec) -> None:
    """Raise SpecError if the cross product of a sweep is too large to expand."""
    runs = spec.repeats * sum(
        _runs_of({**spec.defaults, **block}, spec.patterns) for _, block in _sound_blocks(spec)
    )
    if runs > MOST_RUNS:
        text = Text(
            "it has {runs:,} runs; the limit is {most:,}. Shorten its lists.",
            runs=runs,
            most=MOST_RUNS,
        )
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
    if messages := name_problems(factors, host):
        return messages
    there = host_of(factors, host)
    return combination_problems(_filled(factors, there), there)


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
        "threads": None, "timing": "per epoch", "seed": 0, "devices": 1, "strategy": cases.NONE,
        "tuned": True, "slow_share": 0.0, "wait_s": 0.0, "wait_sd_s": 0.0, "micro_batches": 1,
        "accelerator": None,
    } | chosen  # fmt: skip
    tensorflow = f["backend"] == "tensorflow"
    f["variant"] = None if f["variant"] == cases.NONE else f["variant"]
    f["accelerator"] = f["accelerator"] and f["accelerator"].lower()
    f.setdefault("engine", "loop" if tensorflow or f["mode"] == "inference" else "fit")
    own_part = f["strategy"] == "multi-worker mirrored"
    usual = "PyDataset" if own_part else "numpy"
    f.setdefault("feed", "tf.data" if f["engine"] == "loop" and tensorflow else usual)
    f.setdefault("jit", _jit(f))
    f.setdefault("learning_rate", 0.001 if f["optimizer"] == "adam" else 0.01)
    return f | _sizes(f, data)


def _jit(f: Table) -> bool:
    """Return each framework's default: JAX compiles, PyTorch does not, TensorFlow on devices.

    An LSTM on TensorFlow is not compiled: its fast kernel (cuDNN) cannot be.
    """
    if f["backend"] == "tensorflow":
        plain = f["strategy"] == cases.NONE
        return bool(plain and f["device"] != "cpu" and f["workload"] != "lstm")
    return bool(f["backend"] == "jax")


def _sizes(f: Table, data: Any) -> dict[str, int]:  # noqa: ANN401 - a DataSet
    """Return the samples of both splits; an epoch given in steps has that many full batches."""
    batch = 1 if f["batch"] == "auto" else f["batch"]
    steps = f.get("steps_per_epoch")
    samples = steps * batch if steps else f.get("train_samples", data.train_samples)
    validating = data.validation_samples if f["validation"] else 0
    return {"train_samples": samples, "validation_samples": f.get("validation_samples", validating)}


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
