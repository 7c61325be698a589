"""Engine for a network that is split over devices: `stage` (in series) and `branch` (in parallel).

Stages are consecutive layers, one stage on each device. A batch is cut into micro-batches, so that
a stage works on one while the next stage works on the one before (GPipe, arXiv 1811.06965). The
gradients of all micro-batches are added, and one update follows, so the losses are those of one
device (except with batch normalisation, whose statistics are those of a micro-batch).

With m micro-batches on p stages of equal time, a device waits for the share (p - 1) / (m + p - 1)
of a step: the bubble. Stages are cut where a single tensor passes, so that their largest number of
operations is least. With `wait_s` every stage takes longer, by a wait that is shared by the
micro-batches: a stage waits for one at a time, as a device of its own would work, without a core.
Branches are the towers of the network `towers`, which need no data of each
other until their outputs are joined on the first device.
"""

from __future__ import annotations

import itertools
import math
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import keras
import tensorflow as tf

from planner.core import Text
from runners.child.engines import loop
from runners.child.engines.pace import lap
from runners.child.forms import flops
from runners.child.samples.datasets import Data, PngFolder
from runners.child.samples.feeds import for_loop
from runners.plan.cases import Case
from runners.workloads import networks

TIMED: Final = 5
"""Measurements of the time of a part alone; the median counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Layers on one device, with their own optimiser; `wait` follows each of their passes."""

    device: str
    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    wait: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkParts:
    """The parts of a network and how they follow each other."""

    parts: tuple[Part, ...]
    parallel: bool
    """The parts but the last take the same samples; the last one joins their outputs."""

    def __call__(self, x: Any, *, training: bool = True) -> Any:  # noqa: ANN401 - tensors
        """Return the logits of a batch; each part computes on its device."""
        if self.parallel:
            ends = [_on(part, x, training=training) for part in self.parts[:-1]]
            return _on(self.parts[-1], ends, training=training)
        for part in self.parts:
            x = _on(part, x, training=training)
        return x

    @property
    def weights(self) -> list[Any]:
        """All trainable weights, part by part."""
        return [weight for part in self.parts for weight in part.model.trainable_variables]


def prepare(
    case: Case, model: keras.Model, data: Data, images: PngFolder | None
) -> tuple[loop.Loop, NetworkParts]:
    """Return the loop of a case and the parts; `model` has the first weights.

    Raises:
        ValueError: the network has no place for so many stages, or no such branches.
    """
    devices = tf.config.list_logical_devices(case.device.upper())
    names = [device.name for device in devices[: case.devices]]
    split = by_branch(case, model, names) if case.strategy == "branch" else by_stage(
        case, model, names)  # fmt: skip
    step = _step(case, split)
    calls, steps = loop.epoch(case, step, for_loop(case, data, images))
    validate = loop.validation(case, split, data) if case.validation else None
    return loop.Loop(calls=calls, steps=steps, validate=validate), split


def by_stage(case: Case, model: keras.Model, devices: Sequence[str]) -> NetworkParts:
    """Return consecutive layers on each device; the slowest stage has the least operations."""
    graph = keras.Model(model.inputs, model.outputs)
    ends = [*_cuts(graph, len(devices)), graph.output]
    begins = [graph.input, *ends[:-1]]
    models = [keras.Model(a, b, name=f"stage_{i}")
              for i, (a, b) in enumerate(zip(begins, ends, strict=True))]  # fmt: skip
    parts = tuple(_placed(case, *stage) for stage in zip(models, devices, strict=True))
    return NetworkParts(parts=parts, parallel=False)


def by_branch(case: Case, model: keras.Model, devices: Sequence[str]) -> NetworkParts:
    """Return the towers in turn on the devices, and the joining layers on the first one."""
    ends = [layer.output for layer in model.layers if layer.name.startswith(networks.TOWER)]
    towers = [keras.Model(model.input, end, name=f"branch_{i}") for i, end in enumerate(ends)]
    joined = keras.Model(ends, model.output, name="joined")
    places = itertools.cycle(devices)
    parts = [_placed(case, tower, next(places)) for tower in towers]
    return NetworkParts(parts=(*parts, _placed(case, joined, devices[0])), parallel=True)


def part_seconds(case: Case, split: NetworkParts, data: Data) -> list[float]:
    """Return the time of each part alone for a micro-batch, forward and backward [s].

    The parts run one after another, so no part shares the cores. `wait_s` of a stage is its work.
    """
    x: Any = tf.constant(data.train_x[: case.batch // case.micro_batches])
    seconds: list[float] = []
    outputs: list[Any] = []
    for place, waited in enumerate(split.parts):
        part = replace(waited, wait=None)  # TensorFlow takes waits out of a constant's graph
        last = place == len(split.parts) - 1
        fed = outputs if split.parallel and last else x
        work = _alone(part, fed)
        laps = [lap(work, float).seconds for _ in range(TIMED + 1)]
        seconds.append(statistics.median(laps[1:]) + case.wait_s / case.micro_batches)
        out = _on(part, fed)
        outputs.append(out)
        x = x if split.parallel else out
    return seconds


def facts(
    case: Case, split: NetworkParts, seconds: Sequence[float], step_s: float
) -> dict[str, Any]:
    """Return what was split and how long devices waited, as entries of `extra`.

    `bubble_share` is the share of a step in which a device waits if all parts take the same time,
    `idle_share` the one measured: 1 minus the mean work of a device over the time of a step. Parts
    that share cores may take longer alone than together; the share is then 0.
    """
    p, m = case.devices, case.micro_batches
    bubble = {} if split.parallel else {"bubble_share": (p - 1) / (m + p - 1)}
    busy = m * sum(seconds) / (p * step_s) if step_s > 0.0 else None
    idle = {} if busy is None else {"idle_share": max(1.0 - busy, 0.0)}
    return {
        **bubble, **idle, "part_s": [round(s, 6) for s in seconds],
        "part_params": [part.model.count_params() for part in split.parts],
        "part_devices": [part.device.rsplit("device:", 1)[-1] for part in split.parts],
    }  # fmt: skip


# -- cutting -------------------------------------------------------------------------------------


def _cuts(graph: keras.Model, stages: int) -> list[Any]:
    """Return the tensors between stages: the largest stage has the least operations."""
    places = list(_single_tensors(graph))
    total = sum(flops.operations_of(layer) for layer in graph.layers)
    if len(places) < stages - 1:
        raise ValueError(
            Text(
                "{network} has at most {most} stages; devices = {stages} needs {stages}. "
                "Set devices to fewer, or take a deeper network.",
                network=graph.name,
                most=len(places) + 1,
                stages=stages,
            )
        )

    ends = [operations for operations, _ in places]
    return [places[place][1] for place in balanced([*ends, total], stages)[:-1]]


def balanced(ends: Sequence[int], stages: int) -> list[int]:
    """Return the last place of each stage, so that the largest stage is least.

    `ends` is the work up to each place; the last stage ends at the last place.
    """
    best: list[tuple[float, list[int]]] = [(end, [place]) for place, end in enumerate(ends)]
    for count in range(1, stages):
        best = [
            min(
                (max(best[before][0], end - ends[before]), [*best[before][1], place])
                for before in range(count - 1, place)
            )
            if place >= count
            else (math.inf, [])
            for place, end in enumerate(ends)
        ]
    return best[-1][1]


def _single_tensors(graph: keras.Model) -> Iterator[tuple[int, Any]]:
    """Yield each tensor that alone passes from earlier layers to later ones.

    Beside it stand the operations up to there. Places without weights on one side are left out.
    """
    by_depth = graph._nodes_by_depth  # noqa: SLF001 - Keras has no public graph
    nodes = [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]
    total = sum(flops.operations_of(layer) for layer in graph.layers)
    done = 0
    for place, node in enumerate(nodes):
        done += flops.operations_of(node.operation)
        earlier = {id(t): t for n in nodes[: place + 1] for t in n.outputs}
        later = {id(t) for n in nodes[place + 1 :] for t in n.input_tensors}
        live = [tensor for key, tensor in earlier.items() if key in later]
        if len(live) == 1 and 0 < done < total:
            yield done, live[0]


# -- on a device ---------------------------------------------------------------------------------


def _placed(case: Case, model: keras.Model, device: str) -> Part:
    """Return a copy of the layers whose weights and optimiser are on a device."""
    with tf.device(device):
        copy = keras.models.clone_model(model)
        optimizer = networks.optimizer(case.optimizer, case.learning_rate)
        optimizer.build(copy.trainable_variables)
    copy.set_weights(model.get_weights())
    wait = waits(case.wait_s / (2.0 * case.micro_batches)) if case.wait_s else None
    return Part(device=device, model=copy, optimizer=optimizer, wait=wait)


def waits(seconds: float) -> Callable[[Any], Any]:
    """Return the identity of a tensor that takes so long forward and again backward.

    One call waits at a time.
    """
    alone = threading.Lock()

    def slept(x: Any) -> Any:  # noqa: ANN401 - an array
        with alone:
            time.sleep(seconds)
        return x

    def passed(x: Any) -> Any:  # noqa: ANN401 - a tensor
        # Stateful functions would follow each other in the order of the program.
        y = tf.numpy_function(slept, [x], x.dtype, stateful=False)
        y.set_shape(x.shape)
        return y

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def wait(x: Any) -> Any:  # noqa: ANN401 - a tensor
        return passed(x), passed

    both: Callable[[Any], Any] = wait
    return both


def _on(part: Part, x: Any, *, training: bool = True) -> Any:  # noqa: ANN401 - tensors
    with tf.device(part.device):
        y = part.model(x, training=training)
        return part.wait(y) if part.wait is not None and training else y


def _step(case: Case, split: NetworkParts) -> Callable[[Any, Any], tf.Tensor]:
    """Return a function for one optimiser step on a batch; it returns the mean loss."""
    count = case.micro_batches

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        losses = []
        with tf.GradientTape() as tape:
            for micro_x, micro_y in zip(tf.split(x, count), tf.split(y, count), strict=True):
                losses.append(loop.mean_loss(split(micro_x), micro_y) / count)
            penalties = [loss for part in split.parts for loss in part.model.losses]
            total = tf.add_n([*losses, *penalties])
        gradients = iter(tape.gradient(total, split.weights))
        for part in split.parts:
            weights = part.model.trainable_variables
            own = list(itertools.islice(gradients, len(weights)))
            with tf.device(part.device):
                part.optimizer.apply(own, weights)
        return tf.add_n(losses)

    return step


def _alone(part: Part, fed: Any) -> Callable[[], tf.Tensor]:  # noqa: ANN401 - tensors
    """Return the forward and backward pass of a part, with any gradient of its output."""
    into = [x for x in tf.nest.flatten(fed) if x.dtype.is_floating]  # samples have no gradient

    @tf.function  # type: ignore[untyped-decorator]
    def work() -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(into)
            out = tf.reduce_sum(_on(part, fed))
        gradients = tape.gradient(out, [*part.model.trainable_variables, *into])
        return tf.add_n([tf.reduce_sum(tf.convert_to_tensor(g)) for g in gradients])

    call: Callable[[], tf.Tensor] = work
    return call
