"""Engine `loop`: one tf.function training loop over Keras 3 layers and a Keras 3 optimiser.

Keras 3's `fit` works for one host only; this loop runs under every tf.distribute strategy. Under
`mirrored` each replica takes an equal part of a batch, and the optimiser adds their gradients:
the losses are those of one device (except with batch normalisation, whose statistics are those of
a part). XLA compiles the step if the case sets `jit`; the
iterator stays outside, as XLA does not support it. `steps_per_execution` steps run in one call
into the framework.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from runners.child.engines import optimizers
from runners.child.samples.datasets import Data, PngFolder
from runners.child.samples.feeds import Batches, for_loop
from runners.plan.cases import Case

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
    plain = optimizers.make(case.optimizer, case.learning_rate)
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
            total = tf.add_n([loss, *(one / replicas for one in model.losses)])
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
