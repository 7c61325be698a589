"""A case: all planned settings of one run.

A case is sent to the child process as JSON. A later `resume` matches rows to cases by its hash
(`case_id`). Versions and machine facts are measured, so they are not part of a case.

Variants of a network for inference, by their names in the field; no Keras here.

    int8                 weights and inputs of dense layers in 8 bits (Keras's `quantize`)
    pruned <share> %     the smallest weights set to 0; the matrices keep their shapes
    structured <share> % whole units and filters removed: the network is smaller
    distilled            a smaller student, trained on the network's outputs

16-bit numbers are a precision (bfloat16, float16), not a variant. See docs/decisions/0012.

The smallest sufficient design has few batch sizes. The throughput law has two parameters, so two
sizes define it: the smallest shows the overhead per step, the largest the asymptotic throughput.
Their geometric middle checks the law; one odd batch checks sizes that are not powers of two.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from planner.core import Text, joined, message_of
from runners.workloads import CATALOGUE

KEPT_STEPS: Final = 20_000
"""Number of first steps of a run whose times are stored: about 0.2 MB of a file."""

Mode = Literal["training", "inference"]
Backend = Literal["tensorflow", "jax", "torch"]
Engine = Literal["loop", "fit", "predict"]
Device = Literal["cpu", "gpu", "tpu"]
Timing = Literal["per epoch", "per step"]
Strategy = Literal[
    "none",
    "mirrored",
    "multi-worker mirrored",
    "parameter server",
    "stage",
    "branch",
    "tensor",
    "tpu",
]
"""One device; a copy of the network on each device, in one process; a process for each copy;
workers that update the variables of a server without waiting for each other; consecutive layers
on each device; parallel towers on each device; a part of each layer on each device;
or a copy on each core of a TPU."""
OF_PROCESSES: Final[frozenset[Strategy]] = frozenset({"multi-worker mirrored", "parameter server"})
"""Strategies that start a process for each worker."""
PLACED: Final[frozenset[Strategy]] = frozenset({"stage", "branch"})
"""Strategies that place whole layers of the network on devices."""
SPLIT: Final[frozenset[Strategy]] = frozenset({*PLACED, "tensor"})
"""Strategies that split the network, not the batch."""
ON_JAX: Final[frozenset[Strategy]] = frozenset({"mirrored", "multi-worker mirrored", "tensor"})
"""Strategies of keras.distribution, which works on JAX."""
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
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
    tuned: bool = True
    """XLA times the kernels of each operation on a GPU and keeps the fastest, which takes minutes.
    Without it the steps are slow, so the row holds memory and no speed."""
    threads: int | None = None
    timing: Timing = "per epoch"
    seed: int = 0
    devices: int = 1
    """Copies of the network: devices, or processes; on a CPU they share its cores."""
    nodes: int = 1
    strategy: Strategy = "none"
    slow_share: float = 0.0
    """Share of the time in which the last worker is stopped: a straggler."""
    wait_s: float = 0.0
    """Mean of the wait of every worker before each step, or of a stage during one [s]."""
    wait_sd_s: float = 0.0
    """Standard deviation of that wait from step to step, drawn by each worker [s]."""
    micro_batches: int = 1
    """Parts of a batch that follow each other through the stages of a network."""
    launcher: str = "local"
    """How several processes are started: a name of `runners.launch.launcher.MODULES`."""
    accelerator: str | None = None
    """Type of the accelerator that a node of a cluster must have, in lower case; None is any."""

    @property
    def case_id(self) -> str:
        """First 16 hex digits of the sha256 of all fields but `attempt`."""
        body = asdict(replace(self, attempt=0))
        usual = {
            "tuned": True,
            "slow_share": 0.0,
            "wait_s": 0.0,
            "wait_sd_s": 0.0,
            "micro_batches": 1,
            "launcher": "local",
            "accelerator": None,
        }
        for name, value in usual.items():
            if body[name] == value:  # rows from before it was a factor keep their case
                del body[name]
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def words(self) -> str:
        """Description of the case in progress reports."""
        return self._words(f"batch {self.batch}")

    @property
    def words_at_any_batch(self) -> str:
        """Description of the case and others that differ in the batch size alone."""
        return self._words("")

    def _words(self, batch: str) -> str:
        network = [self.workload, *(f"{k}={v}" for k, v in self.options), self.variant or ""]
        mode = "inference" if self.mode == "inference" else ""
        precision = "" if self.precision == "float32" else self.precision
        usual = self.backend == "jax"  # name only the unusual setting
        jit = "" if self.jit == usual else "jit" if self.jit else "no jit"
        optimizer = self.optimizer if self.mode == "training" else ""
        data = "" if self.dataset == CATALOGUE[self.workload].dataset else f"on {self.dataset}"
        how = [data, mode, optimizer, precision, self.backend, self.engine, jit, *self._input_words,
               batch, self.accelerator or "",
               f"repeat {self.repeat + 1}" if self.repeat else "",
               f"seed {self.seed}" if self.seed else ""]  # fmt: skip
        return joined(", ", (" ".join(t for t in network if t), *how))

    @property
    def _input_words(self) -> tuple[str, ...]:
        """Settings that differ within a sweep of input patterns."""
        steps, parts, by = self.steps_per_execution, self.micro_batches, self.launcher
        stopped, wait = f"{100.0 * self.slow_share:g} %", waiting(self.wait_s, self.wait_sd_s)
        return (
            "validation" if self.validation else "",
            "augmentation" if self.augmentation else "",
            "from storage" if self.storage == "storage" else "",
            self.feed if self.engine == "fit" else "",
            f"{self.workers} workers" if self.workers else "",
            "processes" if self.multiprocessing else "",
            "whole batches" if self.drop_remainder else "",
            Text("{steps} steps per call", steps=steps) if steps > 1 else "",
            f"{self.threads} threads" if self.threads else "",
            "" if self.tuned else "kernels not timed",
            f"{self.strategy} x {self.devices}" if self.strategy != "none" else "",
            Text("{count} micro-batches", count=parts) if parts > 1 else "",
            Text("one stopped {share} of the time", share=stopped) if self.slow_share else "",
            Text("each waiting {time} a step", time=wait) if self.wait_s else "",
            "" if by == "local" else Text("started by {launcher}", launcher=by),
            "timed per step" if self.timing == "per step" else "",
        )


def waiting(mean_s: float, sd_s: float) -> str:
    """Return a random wait in words: `50 ± 10 ms`."""
    return f"{1e3 * mean_s:g} ± {1e3 * sd_s:g} ms"


def to_json(case: Case) -> dict[str, Any]:
    """Return the case as a JSON object."""
    return asdict(case)


def from_json(body: Mapping[str, Any]) -> Case:
    """Return the case from the JSON object of `to_json`."""
    options = tuple((str(k), v) for k, v in body["options"])
    return Case(**{**body, "options": options})


NONE: Final = "none"
"""Value for the unchanged network in a list of variants."""
VARIANTS: Final = ("int8", "pruned <1 to 99> %", "structured <1 to 99> %", "distilled")
CHAINS: Final = ("mlp", "simple-cnn")
"""Networks of layers in sequence, so that a unit can be removed from both its layers."""
STUDENTS: Final[Mapping[str, str]] = MappingProxyType(
    {"mlp": "units", "simple-cnn": "width", "vgg11": "width", "resnet8": "width"}
)
"""Networks that can be a student, and the option that makes them smaller."""
STUDENT_SHARE: Final = 4
"""Divisor of the teacher's units or width: large matrices shrink to a sixteenth."""

_FORM: Final = re.compile(r"(?P<kind>int8|distilled)|(?P<cut>pruned|structured) (?P<share>\d\d?) %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One variant; `share` is the removed part, 0 for none."""

    kind: Literal["int8", "pruned", "structured", "distilled"]
    share: float = 0.0


def unknown(what: str, name: object, allowed: Iterable[str]) -> Text:
    """Return the error for an unknown name, with the allowed ones."""
    names = ", ".join(allowed)
    return Text("{what} {name!r} is unknown. Choose from: {names}.",
                what=what, name=name, names=names)  # fmt: skip


def parse(name: str) -> Variant:
    """Return the variant of that name; ValueError lists the allowed names."""
    match = _FORM.fullmatch(name)
    share = int(match["share"] or 0) if match else 0
    if not match or (match["cut"] and not share):
        raise ValueError(unknown("variant", name, VARIANTS))
    return Variant(kind=match["kind"] or match["cut"], share=share / 100)  # type: ignore[arg-type]


def problem(name: str, *, workload: str, precision: str) -> str | None:
    """Return why this variant cannot be made and what to change; None if it can."""
    try:
        kind = parse(name).kind
    except ValueError as error:
        return message_of(error)
    if kind == "structured" and workload not in CHAINS:
        return _only(name, CHAINS, workload)
    if kind == "distilled" and workload not in STUDENTS:
        return _only(name, STUDENTS, workload)
    if kind == "int8" and precision != "float32":
        return Text(
            'int8 is made from a float32 network, not {precision}. Set precision = "float32".',
            precision=precision,
        )
    return None


def student_options(
    workload: str, options: Mapping[str, int | float | str | bool]
) -> dict[str, int | float | str | bool]:
    """Return the teacher's options with a quarter of its units or width, at least 1."""
    name = STUDENTS[workload]
    return {**options, name: max(int(options[name]) // STUDENT_SHARE, 1)}


def _only(name: str, able: Mapping[str, str] | tuple[str, ...], workload: str) -> str:
    return Text(
        "variant {variant!r} can be made of {networks}, not of {workload}. "
        "Leave it out for this workload, or use int8 or pruned.",
        variant=name,
        networks=", ".join(able),
        workload=workload,
    )


DESIGN_EPOCHS: Final = 3
"""Epochs of the smallest design: one to warm up, two to compare."""


def design_batches(smallest: int, largest: int) -> tuple[int, ...]:
    """Return smallest, geometric middle (a power of two), one odd and largest batch, ascending."""
    if smallest >= largest:
        return (largest,)
    middle = 2 ** round(math.log2(math.sqrt(smallest * largest)))
    odd = middle * 3 // 4 | 1
    inside = {b for b in (middle, odd) if smallest < b < largest}
    return tuple(sorted({smallest, largest} | inside))


def smallest_design(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the smallest design of a sweep: per group at most four batches, one repeat.

    Each case has at most three epochs. Cases of a group differ only in batch size (and so in
    samples) and repeat.
    """
    chosen: list[Case] = []
    for group in groups(cases):
        kept = _of_group(sorted({c.batch for c in group}))
        first = {c.batch: c for c in reversed(group) if c.repeat == group[0].repeat}
        chosen += [replace(first[b], epochs=min(DESIGN_EPOCHS, first[b].epochs)) for b in kept]
    return tuple(chosen)


def _of_group(sizes: Sequence[int]) -> list[int]:
    """Return those batch sizes of a sweep that are nearest to the design."""
    if len(sizes) <= 4:
        return list(sizes)
    target = math.sqrt(sizes[0] * sizes[-1])
    middle = min(sizes[1:-1], key=lambda b: abs(math.log(b / target)))
    odd = [b for b in sizes[1:-1] if b & (b - 1) and b != middle]
    return sorted({sizes[0], middle, sizes[-1], *odd[:1]})


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Return groups of cases that differ only in batch size, samples of an epoch and repeat."""
    by_key: dict[Case, list[Case]] = {}
    for case in cases:
        key = replace(case, batch=1, train_samples=1, repeat=0, epochs=1)
        by_key.setdefault(key, []).append(case)
    return list(by_key.values())
