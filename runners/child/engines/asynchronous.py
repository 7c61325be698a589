"""Engine for `parameter server`: every worker takes a batch, and updates without waiting.

The variables are on a parameter server; the chief hands out steps. A worker reads the variables,
computes the gradients of its own batch, and applies them to variables that others may have changed
meanwhile. The staleness of an update is how many others came between its read and its own write.
Both ends are pinned: the counter is read before the variables and grows once the gradients are
there. Without that TensorFlow reads it whenever it likes, and staleness is always 0.

A worker that is gone takes its step with it: TensorFlow hands the step to another worker, and uses
the restarted one again. Every worker shuffles the whole data set in an order of its own. The
batch of a case is that of all workers, so an update has a part of it, and an epoch as many updates
as the data have such parts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from runners.child.engines import optimizers
from runners.child.engines.loop import mean_loss
from runners.child.samples.datasets import Data
from runners.plan.cases import Case

Remote = Any
"""A value of a step that is computed on a worker: loss and staleness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asynchronous:
    """Calls of one epoch; each hands out a step and returns its value to come."""

    calls: tuple[Callable[[], Remote], ...]
    arrived: Callable[[Remote], float]
    """Waits for every step that was handed out, and returns the loss of one [nats]."""
    staleness: Callable[[], tuple[float, int]]
    """Mean and largest staleness of all steps so far [updates]."""


def prepare(case: Case, model: keras.Model, data: Data) -> Asynchronous:
    """Return the steps of a case; the variables of the network are on the server."""
    strategy = tf.distribute.get_strategy()
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        optimizer = optimizers.make(case.optimizer, case.learning_rate)
        optimizer.build(model.trainable_variables)
        updates = tf.Variable(0, dtype=tf.int64, trainable=False)
    step = _step(strategy, model, optimizer, updates)
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
    return Asynchronous(calls=calls, arrived=arrived, staleness=staleness)


def _step(
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
        with tf.control_dependencies(gradients):
            after = updates.assign_add(1, read_value=True)
        optimizer.apply(gradients, model.trainable_variables)
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
