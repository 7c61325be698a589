"""Engine `loop`: one tf.function training loop over Keras 3 layers and a Keras 3 optimiser.

Keras 3's `fit` works for one host only; this loop runs under every tf.distribute strategy. Under
`mirrored` each replica takes an equal part of a batch, and the optimiser adds their gradients:
the losses are those of one device (except with batch normalisation, whose statistics are those of
a part). XLA compiles the step if the case sets `jit`; the
iterator stays outside, as XLA does not support it. `steps_per_execution` steps run in one call
into the framework.

Under `parameter server` every worker takes a batch, and updates without waiting. The variables are
on a parameter server; the chief hands out steps. A worker computes the gradients of its own batch
and applies them to variables that others may have changed meanwhile. The staleness of an update is
how many others came between its read and its own write. Both ends are pinned: the counter is read
before the variables and grows once the gradients are there. Without that TensorFlow reads it
whenever it likes, and staleness is always 0. The step of a lost worker is handed to another one.
Every worker shuffles the whole data set in an order of its own. The batch of a case is that of all
workers, so an update has a part of it, and an epoch as many updates as the data have such parts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from runners.child.samples.datasets import Data, PngFolder
from runners.child.samples.feeds import Batches, for_loop
from runners.plan.cases import Case
from runners.workloads import networks

Call = Callable[[], tf.Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Calls of one epoch into the framework, in order, each returning a loss."""

    calls: tuple[Call, ...]
    """A call returns when it is queued; reading its loss waits for its end."""
    steps: tuple[int, ...]
    """Optimiser steps of each call."""
    validate: Callable[[], tuple[float, float]] | None
    """Loss and accuracy over the validation split, on the host."""


def prepare(case: Case, model: keras.Model, data: Data, images: PngFolder | None) -> Loop:
    """Return the loop of a case; nothing is traced or run yet."""
    strategy = tf.distribute.get_strategy()
    with strategy.scope():
        optimizer = _optimizer(case)
        optimizer.build(model.trainable_variables)
    step = _step(case, model, optimizer, strategy)
    calls, steps = epoch(case, step, for_loop(case, data, images))
    validate = validation(case, model, data) if case.validation else None
    return Loop(calls=calls, steps=steps, validate=validate)


def arrived(loss: tf.Tensor) -> float:
    """Return the loss on the host, once its step and all earlier ones have ended."""
    return float(loss)


def _optimizer(case: Case) -> keras.optimizers.Optimizer:
    """Return the optimiser; float16 needs loss scaling, as `fit` does by itself."""
    plain = networks.optimizer(case.optimizer, case.learning_rate)
    half = case.precision == "mixed_float16"
    return keras.optimizers.LossScaleOptimizer(plain) if half else plain


def _step(
    case: Case,
    model: keras.Model,
    optimizer: keras.optimizers.Optimizer,
    strategy: tf.distribute.Strategy,
) -> Callable[[Any, Any], tf.Tensor]:
    """Return a function for one optimiser step on a batch; it returns the mean loss."""
    replicas = strategy.num_replicas_in_sync

    def replica_step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = mean_loss(model(x, training=True), y) / replicas
            total = tf.add_n([loss, *(penalty / replicas for penalty in model.losses)])
            scaled = optimizer.scale_loss(total)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        losses = strategy.run(replica_step, args=(x, y))
        return losses if replicas == 1 else strategy.reduce("SUM", losses, axis=None)

    return tf.function(step, jit_compile=True) if case.jit else step


def mean_loss(logits: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Return the mean cross entropy over the batch (and the positions of token models)."""
    logits = tf.cast(logits, tf.float32)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))


def epoch(
    case: Case, step: Callable[[Any, Any], tf.Tensor], batches: Batches
) -> tuple[tuple[Call, ...], tuple[int, ...]]:
    """Return the calls of one epoch and the steps of each: groups, single steps, the last."""
    size = case.steps_per_execution
    groups, singles = divmod(batches.steps, size) if size > 1 else (0, batches.steps)

    @tf.function  # type: ignore[untyped-decorator]
    def single(iterator: Any) -> tf.Tensor:  # noqa: ANN401 - an iterator of tf.data
        return step(*next(iterator))

    @tf.function  # type: ignore[untyped-decorator]
    def many(iterator: Any) -> tf.Tensor:  # noqa: ANN401 - an iterator of tf.data
        loss = tf.constant(0.0)
        for _ in tf.range(size):
            loss = step(*next(iterator))
        return loss

    calls = [lambda: many(batches.full)] * groups + [lambda: single(batches.full)] * singles
    steps = [size] * groups + [1] * singles
    if batches.last is not None:
        calls, steps = [*calls, lambda: single(batches.last)], [*steps, 1]
    return tuple(calls), tuple(steps)


def validation(
    case: Case, model: Callable[..., tf.Tensor], data: Data
) -> Callable[[], tuple[float, float]]:
    """Return a function for loss and accuracy over the validation split, in training batches."""
    with tf.device("/CPU:0"):
        x, y = tf.constant(data.validation_x), tf.constant(data.validation_y)

    @tf.function  # type: ignore[untyped-decorator]
    def part(begin: tf.Tensor, end: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        logits = model(x[begin:end], training=False)
        right = tf.equal(tf.argmax(logits, -1, tf.int32), tf.cast(y[begin:end], tf.int32))
        count = tf.cast(end - begin, tf.float32)
        return mean_loss(logits, y[begin:end]) * count, tf.reduce_mean(
            tf.cast(right, tf.float32)
        ) * count

    def whole() -> tuple[float, float]:
        samples = len(data.validation_x)
        parts = [
            part(tf.constant(i), tf.constant(min(i + case.batch, samples)))
            for i in range(0, samples, case.batch)
        ]
        return (
            float(tf.add_n([p[0] for p in parts])) / samples,
            float(tf.add_n([p[1] for p in parts])) / samples,
        )

    return whole


Remote = Any
"""A value of a step that is computed on a worker: loss and staleness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsynchronousCalls:
    """Calls of one epoch; each hands out a step and returns its value to come."""

    calls: tuple[Callable[[], Remote], ...]
    arrived: Callable[[Remote], float]
    """Waits for every step that was handed out, and returns the loss of one [nats]."""
    staleness: Callable[[], tuple[float, int]]
    """Mean and largest staleness of all steps so far [updates]."""


def prepare_asynchronous(case: Case, model: keras.Model, data: Data) -> AsynchronousCalls:
    """Return the steps of a case; the variables of the network are on the server."""
    strategy = tf.distribute.get_strategy()
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        optimizer = networks.optimizer(case.optimizer, case.learning_rate)
        optimizer.build(model.trainable_variables)
        updates = tf.Variable(0, dtype=tf.int64, trainable=False)
    step = _asynchronous_step(strategy, model, optimizer, updates)
    batches = iter(coordinator.create_per_worker_dataset(lambda: _batches(case, data)))
    remotes: list[Remote] = []

    def hand_out() -> Remote:
        remote = coordinator.schedule(step, args=(batches,))
        remotes.append(remote)
        return remote

    def arrived(remote: Remote) -> float:
        coordinator.join()
        return float(remote.fetch()[0])

    def staleness() -> tuple[float, int]:
        timed = remotes[: case.epochs * len(calls)]  # single steps after them are never stale
        ages = [int(remote.fetch()[1]) for remote in timed]
        return statistics.fmean(ages), max(ages)

    calls = (hand_out,) * (case.train_samples // case.batch * case.devices)
    return AsynchronousCalls(calls=calls, arrived=arrived, staleness=staleness)


def _asynchronous_step(
    strategy: tf.distribute.Strategy,
    model: keras.Model,
    optimizer: keras.optimizers.Optimizer,
    updates: tf.Variable,
) -> Callable[[Any], Remote]:
    """Return an update by one worker; it returns loss and staleness."""

    def update(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        before = updates.read_value()
        with tf.control_dependencies([before]):
            x, y = tf.identity(x), tf.identity(y)
            with tf.GradientTape() as tape:
                loss = mean_loss(model(x, training=True), y)
                total = tf.add_n([loss, *model.losses])
            gradients = tape.gradient(total, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        # A read of what was written waits for it; it stays on the server, as the counter does.
        written = [v.value.read_value() for v in model.trainable_variables]
        with tf.control_dependencies(written):
            after = updates.assign_add(1, read_value=True)
        return loss, after - before - 1

    @tf.function  # type: ignore[untyped-decorator]
    def step(iterator: Any) -> Remote:  # noqa: ANN401 - an iterator of tf.data
        return strategy.run(update, args=next(iterator))

    handed_out: Callable[[Any], Remote] = step
    return handed_out


def _batches(case: Case, data: Data) -> tf.data.Dataset:
    """Return a worker's endless batches; its order is drawn on the worker."""
    samples = tf.data.Dataset.from_tensor_slices((data.train_x, data.train_y))
    shuffled = samples.shuffle(case.train_samples).repeat()
    return shuffled.batch(case.batch // case.devices, drop_remainder=True).prefetch(
        tf.data.AUTOTUNE
    )
