"""Expand a sweep to its cases: fill in defaults, take cross products, check each case."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, get_args

import psutil

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
        return [f"workload {workload!r} is unknown. Choose from: {', '.join(CATALOGUE)}."]
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
    messages = [
        f"{name} {factors[name]!r} is unknown. Choose from: {', '.join(values)}."
        for name, values in allowed.items()
        if name in factors and factors[name] not in values
    ]
    options = ", ".join(CATALOGUE[workload].options) or "none"
    messages += [
        f"{workload} has no option {name!r}. It has: {options}."
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


def _option_problems(workload: str, options: Table) -> list[str]:
    """Return the problems of options: whole numbers from 1, true or false, one of the choices."""
    defaults = CATALOGUE[workload].options
    texts = [
        f"{workload}'s option {name} is {options[name]!r}. Choose from: {', '.join(values)}."
        for name, values in CATALOGUE[workload].choices.items()
        if options.get(name, defaults[name]) not in values
    ]
    truths = [
        f"{workload}'s option {name} is {options[name]!r}; it must be true or false."
        for name, usual in defaults.items()
        if isinstance(usual, bool) and not isinstance(options.get(name, usual), bool)
    ]
    return [*texts, *truths] + [
        f"{workload}'s option {name} is {value!r}; it must be a whole number from 1, as {usual} is."
        for name, usual in defaults.items()
        if isinstance(usual, int) and not isinstance(usual, bool)
        for value in (options.get(name, usual),)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1
    ]


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
        return (
            f"accelerator = {name!r} chooses a node of a cluster. Add --engine ray, or leave it "
            "out to measure on this machine."
        )
    if name.lower() not in host.accelerators:
        names = ", ".join(sorted(host.accelerators)) or "no declared accelerator"
        return (
            f"no node has the accelerator {name!r}. The nodes have: {names}. Change the sweep, or "
            "start a node that has it."
        )
    return None


def host_of(factors: Table, host: Host) -> Host:
    """Return the host that the factors choose: a node with their accelerator, else `host`."""
    name = factors.get("accelerator")
    return (host.accelerators or {}).get(name.lower(), host) if name else host


def _not_yet(factors: Table) -> list[str]:
    """Return the problems of unsupported factors: several nodes, an unknown strategy."""
    messages = []
    if factors.get("nodes", 1) > 1:
        messages.append(
            f"nodes = {factors['nodes']} is no factor: the hosts of the launcher are the nodes. "
            "Set it to 1, and name the hosts in [launch]."
        )
    strategy = factors.get("strategy", cases.NONE)
    if strategy not in cases.STRATEGIES:
        messages.append(
            f"strategy = {strategy!r} is unknown. Set it to {' or '.join(cases.STRATEGIES)}."
        )
    return messages


def _backend_problems(factors: Table, host: Host) -> list[str]:
    backend = factors.get("backend", "auto")
    if not host.backends:
        return ["no backend can be started here. Install TensorFlow (requirements.txt) or JAX "
                "(make jax, or requirements/jax.txt)."]  # fmt: skip
    if backend in {"auto", *host.backends}:
        return []
    how = {"jax": "make jax, or pip install -r requirements/jax.txt"}.get(
        backend, f"pip install {backend}"
    )
    return [f"backend {backend} is not installed here. Install it ({how}), or name its Python "
            f"with --python {backend}=PATH."]  # fmt: skip


def combination_problems(f: Table, host: Host) -> list[str]:
    """Return the broken rules between factors, each with what to change; `f` has all factors."""
    rules = [_device_rule(f, host), *_engine_rules(f), *_feed_rules(f), *_size_rules(f, host),
             *_strategy_rules(f)]  # fmt: skip
    return [text for broken, text in rules if broken]


def _device_rule(f: Table, host: Host) -> tuple[bool, str]:
    """Return the rule for the device: a run for a missing device would crash minutes later."""
    return (
        f["device"] not in {"cpu", host.device},
        f"device {f['device']} is requested but not detected here. Use auto, or set "
        f"--device {f['device']} if this machine has one.",
    )


def _engine_rules(f: Table) -> Iterator[tuple[bool, str]]:
    training = f["mode"] == "training"
    yield (
        f["engine"] == "loop" and training and f["backend"] != "tensorflow",
        "engine loop trains with TensorFlow only; use engine fit for other backends.",
    )
    yield f["engine"] == "predict" and training, "engine predict is for mode inference."
    yield f["engine"] == "fit" and not training, "engine fit is for training; use loop or predict."
    yield (
        f["variant"] is not None and training,
        "variant is for mode inference: it is made from a trained network.",
    )
    yield (
        f["precision"] in PREDICTING and training,
        f"precision {f['precision']} is for mode inference: 16-bit weights lose updates. "
        f"Train in mixed_{f['precision']}.",
    )
    yield (
        f["steps_per_execution"] > 1 and not training,
        "steps_per_execution is for training: each prediction is timed singly. Leave it out.",
    )
    yield (
        f["engine"] == "loop" and not training and f["backend"] == "torch",
        "engine loop predicts with TensorFlow and JAX only; use engine predict for torch.",
    )
    yield (DATASETS[f["dataset"]].task != CATALOGUE[f["workload"]].task,
           f"{f['workload']} takes {CATALOGUE[f['workload']].task}, "
           f"{f['dataset']} holds {DATASETS[f['dataset']].task}.")  # fmt: skip


def _feed_rules(f: Table) -> Iterator[tuple[bool, str]]:
    feed, stored = f["feed"], f["storage"] == "storage"
    images = DATASETS[f["dataset"]].task == "images"
    training = f["mode"] == "training"
    yield (
        f["engine"] == "loop" and training and feed != "tf.data",
        f"engine loop is fed by tf.data, not by {feed}; use engine fit for that.",
    )
    yield (
        feed in {"tf.data", "directory"} and f["backend"] != "tensorflow" and training,
        f"feed {feed} needs the tensorflow backend; use numpy, generator or PyDataset.",
    )
    yield (
        f["augmentation"] and feed in {"numpy", "directory"},
        f"feed {feed} cannot augment; use generator, PyDataset or tf.data.",
    )
    yield f["augmentation"] and not images, "augmentation is for images."
    yield stored and not images, "storage is for images: tokens are read from memory."
    yield (
        stored and feed == "numpy",
        "feed numpy reads from memory; use generator, PyDataset, tf.data or directory.",
    )
    yield (
        feed == "directory" and not stored,
        'feed directory reads files; set storage = "storage".',
    )
    yield (
        f["multiprocessing"] is not None and feed != "PyDataset",
        f"multiprocessing is a factor of feed PyDataset, not of {feed}.",
    )
    yield (
        f["workers"] is not None and feed not in {"PyDataset", "tf.data"},
        f"workers is a factor of the feeds PyDataset and tf.data, not of {feed}.",
    )
    yield (
        feed == "directory" and images and DATASETS[f["dataset"]].shape[-1] != 3,
        f"feed directory needs colour images; {f['dataset']} is grey. Use generator or PyDataset.",
    )
    yield (
        not training and (stored or f["augmentation"] or f["validation"]),
        "inference has no storage, augmentation or validation.",
    )
    yield (not training and (f["workers"] is not None or f["multiprocessing"] is not None),
           "inference reads its samples from memory: it has no workers.")  # fmt: skip


def _size_rules(f: Table, host: Host) -> Iterator[tuple[bool, str]]:
    data = DATASETS[f["dataset"]]
    samples, batch = f["train_samples"], f["batch"]
    yield (
        not data.synthetic and samples > data.train_samples,
        f"{f['dataset']} has {data.train_samples} training samples; {samples} are requested.",
    )
    yield (
        not data.synthetic and f["validation_samples"] > data.validation_samples,
        f"{f['dataset']} has {data.validation_samples} validation samples; "
        f"{f['validation_samples']} are requested.",
    )
    yield (
        batch != "auto" and batch > samples,
        f"batch {batch} is larger than the {samples} training samples of an epoch.",
    )
    whole = batch != "auto" and f["steps_per_execution"] > max(samples // batch, 1)
    yield (
        whole,
        f"steps_per_execution {f['steps_per_execution']} exceeds the full batches of an epoch. "
        "Lower it or lengthen the epoch.",
    )
    size = math.prod(data.shape) * (1 if data.task == "images" else 8) * samples
    yield (
        size > (host.memory_bytes or host_memory_bytes()),
        f"{samples} samples of {data.name} need {size / 1e9:.0f} GB, more than the machine's "
        "memory. Set train_samples or steps_per_epoch.",
    )
    yield (
        f["validation"] and f["validation_samples"] < 1,
        "validation needs validation_samples of at least 1.",
    )
    yield ("steps_per_epoch" in f and batch == "auto" and not data.synthetic,
           "steps_per_epoch with auto needs a synthetic data set; give train_samples.")  # fmt: skip


def _strategy_rules(f: Table) -> Iterator[tuple[bool, str]]:
    """Return the rules for several devices: each replica takes an equal part of every batch."""
    devices, batch, strategy = f["devices"], f["batch"], f["strategy"]
    split = strategy != cases.NONE
    yield (
        (f["backend"], f["device"]) == ("tensorflow", "tpu") and strategy != "tpu",
        'TensorFlow trains on a TPU with strategy tpu. Set strategy = "tpu".',
    )
    yield (
        devices > 1 and not split,
        f'devices = {devices} needs a strategy. Set strategy = "mirrored".',
    )
    if split:
        yield from _framework_rules(f)
    tensorflow = split and f["backend"] == "tensorflow"
    yield tensorflow and f["jit"], f"strategy {strategy} runs without jit. Set jit = false."
    yield (
        tensorflow and f["precision"] == "mixed_float16",
        f"strategy {strategy} does not scale losses. Train in float32 or mixed_bfloat16.",
    )
    yield split and batch == "auto", f"strategy {strategy} needs batch sizes. Give a list."
    yield (
        not f["tuned"] and f["backend"] != "jax",
        "tuned = false is for JAX on a GPU, where XLA times kernels. Leave it out.",
    )
    yield (
        f["slow_share"] > 0.0 and (strategy not in cases.OF_PROCESSES or devices < 2),
        "slow_share slows one of several workers. Set strategy to "
        f"{' or '.join(sorted(cases.OF_PROCESSES))}, and devices to 2 or more.",
    )
    yield (
        f["wait_s"] > 0.0
        and (strategy, f["engine"]) not in {("multi-worker mirrored", "loop"), ("stage", "loop")},
        "wait_s is a wait of synchronous workers or of stages in the loop. Set strategy to "
        "multi-worker mirrored or stage, and engine to loop.",
    )
    yield (
        f["wait_sd_s"] > 0.0 and strategy == "stage",
        "wait_sd_s is for workers: every stage waits alike. Leave it out.",
    )
    yield (
        f["wait_sd_s"] > f["wait_s"] / 2.0,
        f"wait_sd_s = {f['wait_sd_s']:g} is above half of wait_s = {f['wait_s']:g}, so many waits "
        "would be cut at 0. Lower it.",
    )
    yield (
        f["micro_batches"] > 1 and strategy not in cases.PLACED,
        f"micro_batches = {f['micro_batches']} is for a split network. Set strategy to "
        f"{' or '.join(sorted(cases.PLACED))}.",
    )
    if strategy == "parameter server":
        yield from _asynchronous_rules(f)
    if strategy in cases.PLACED:
        yield from _split_rules(f)
    if not split or batch == "auto" or strategy in cases.SPLIT:
        return
    rest = 0 if f["drop_remainder"] else f["train_samples"] % batch
    yield (
        batch % devices != 0,
        f"batch {batch} cannot be divided among {devices} devices. Take a multiple of {devices}.",
    )
    yield (
        batch % devices == 0 and rest % devices != 0,
        f"the last batch of an epoch has {rest} samples, which cannot be divided among {devices} "
        "devices. Set drop_remainder = true, or other train_samples.",
    )


def _asynchronous_rules(f: Table) -> Iterator[tuple[bool, str]]:
    """Return the rules of a parameter server: an update has one worker's part of a batch."""
    name = "strategy parameter server"
    rest = 0 if f["batch"] == "auto" or f["drop_remainder"] else f["train_samples"] % f["batch"]
    yield rest > 0, f"{name} has whole batches only. Set drop_remainder = true."
    yield f["timing"] == "per step", f"{name} has no single steps: they overlap. Time per epoch."
    yield f["validation"], f"{name} does not validate. Set validation = false."
    yield f["steps_per_execution"] > 1, f"{name} hands out single steps. Leave it out."
    yield f["augmentation"], f"{name} does not augment. Set augmentation = false."
    yield f["storage"] != "memory", f"{name} reads samples from memory."


def _framework_rules(f: Table) -> Iterator[tuple[bool, str]]:
    """Return the rules of engine and framework: tf.distribute in a loop, or fit on JAX."""
    strategy, backend = f["strategy"], f["backend"]
    on_jax = backend == "jax" and strategy in cases.ON_JAX
    yield (
        backend != "tensorflow" and not on_jax,
        f'strategy {strategy} does not run on {backend}. Set backend = "tensorflow".',
    )
    yield (
        backend == "tensorflow" and strategy == "tensor",
        'strategy tensor runs on JAX. Set backend = "jax".',
    )
    yield (
        strategy == "tpu" and f["device"] != "tpu",
        f'strategy tpu is for a TPU; the device is {f["device"]}. Set strategy = "mirrored".',
    )
    name = "JAX" if on_jax else "TensorFlow"
    engine = "fit" if on_jax else "loop"
    yield (
        (f["engine"], f["mode"]) != (engine, "training"),
        f"strategy {strategy} trains with engine {engine} on {name}.",
    )
    yield (
        on_jax and strategy == "multi-worker mirrored" and f["feed"] != "PyDataset",
        f"strategy {strategy} on JAX reads each worker's part of a batch from a PyDataset. "
        'Set feed = "PyDataset".',
    )


def _split_rules(f: Table) -> Iterator[tuple[bool, str]]:
    """Return the rules of a network split over devices: micro-batches are equal parts."""
    count, batch, strategy = f["micro_batches"], f["batch"], f["strategy"]
    towers = f["options"].get("towers", CATALOGUE["towers"].options["towers"])
    yield (
        strategy == "branch" and f["workload"] != "towers",
        f"strategy branch needs parallel towers; {f['workload']} has none. Take workload towers, "
        "or strategy stage.",
    )
    yield (
        strategy == "branch" and f["workload"] == "towers" and towers % f["devices"] != 0,
        f"{towers} towers cannot be divided among {f['devices']} devices.",
    )
    if batch == "auto":
        return
    rest = 0 if f["drop_remainder"] else f["train_samples"] % batch
    yield (
        batch % count != 0 or rest % count != 0,
        f"batch {batch if batch % count else rest} cannot be divided into {count} micro-batches.",
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
            problems += [f"[[runs]] block {i}: {text}" for text in messages]
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
