"""Inference: batches of samples in, logits on the host out, timed like training.

Engine `loop` runs the bare network as one compiled function (tf.function, jax.jit). Engine
`predict` is Keras's `predict_on_batch`, as a Keras server uses it.

A short, seeded training before inference is timed: variants need trained weights.

Its accuracy is no record. The purpose is the same network in several variants, each with its
accuracy. It takes a few seconds on digits; CIFAR takes as many, but longer, steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import keras
import numpy as np

from planner.core import Text
from runners.child.samples.datasets import Data
from runners.plan.cases import Case
from runners.workloads import networks

Forward = Callable[[np.ndarray], np.ndarray]


def forward(case: Case, model: keras.Model) -> Forward:
    """Return the network as a function from batch to logits, both on the host."""
    if case.engine == "predict":
        model.compile(jit_compile=case.jit)
        return lambda x: np.asarray(model.predict_on_batch(x))
    if case.backend == "tensorflow":
        return _tensorflow(case, model)
    if case.backend == "jax":
        return _jax(case, model)
    raise ValueError(
        Text(
            "engine loop cannot run inference on {backend}; use engine predict",
            backend=case.backend,
        )
    )


def _tensorflow(case: Case, model: keras.Model) -> Forward:
    import tensorflow as tf

    @tf.function(jit_compile=case.jit)  # type: ignore[untyped-decorator]
    def run(x: Any) -> Any:  # noqa: ANN401 - tensors
        return model(x, training=False)

    return lambda x: np.asarray(run(tf.constant(x)).numpy())


def _jax(case: Case, model: keras.Model) -> Forward:
    import jax

    trainable = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]

    def run(trainable: Any, fixed: Any, x: Any) -> Any:  # noqa: ANN401 - arrays
        return model.stateless_call(trainable, fixed, x, training=False)[0]

    called = jax.jit(run) if case.jit else run
    return lambda x: np.asarray(called(trainable, fixed, x))


def batches(case: Case, data: Data) -> list[np.ndarray]:
    """Return the batches of one pass; the last may be smaller unless it is dropped."""
    x, size = data.train_x[: case.train_samples], case.batch
    parts = [x[i : i + size] for i in range(0, len(x), size)]
    return [p for p in parts if len(p) == size or not case.drop_remainder]


SEEN: Final = 25_600
"""Samples of a training: 20 epochs of digits, half an epoch of CIFAR."""
SEEN_AGAIN: Final = SEEN // 4
"""Samples of the fine-tuning of a pruned network."""
BATCH: Final = 32
STEPS_A_CALL: Final = 20
LEARNING_RATE: Final = 0.001
TEMPERATURE: Final = 4.0
"""Softens the teacher's outputs, so that the student also learns similarities of classes."""
SOFT_SHARE: Final = 0.9
"""Weight of the teacher's outputs in the student's loss; the rest is the labels'."""

Loss = Callable[[Any, Any], Any]


def train(model: keras.Model, data: Data, seen: int = SEEN) -> None:
    """Train with Adam on the training split, for `seen` samples in batches of 32."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    _fit(model, data.train_x, data.train_y, loss, seen)


def distil(student: keras.Model, teacher: keras.Model, data: Data) -> None:
    """Train the student on the teacher's softened outputs and, with less weight, the labels.

    Hinton, Vinyals and Dean, arXiv 1503.02531: cross entropy with both at temperature T, times T
    squared (its gradients shrink by that factor), plus the plain one with the labels.
    """
    taught = teacher.predict(data.train_x, batch_size=256, verbose=0)
    targets = np.stack([taught, np.eye(taught.shape[-1], dtype="float32")[data.train_y]], axis=1)
    _fit(student, data.train_x, targets, _distillation, SEEN)


def _distillation(targets: Any, logits: Any) -> Any:  # noqa: ANN401 - tensors of any backend
    """Return the loss of each sample; targets (batch, 2, classes): teacher's logits, labels."""
    soft = keras.ops.softmax(targets[:, 0] / TEMPERATURE)
    alike = keras.ops.categorical_crossentropy(soft, logits / TEMPERATURE, from_logits=True)
    right = keras.ops.categorical_crossentropy(targets[:, 1], logits, from_logits=True)
    return SOFT_SHARE * TEMPERATURE**2 * alike + (1 - SOFT_SHARE) * right


def _fit(model: keras.Model, x: np.ndarray, y: np.ndarray, loss: Loss, seen: int) -> None:
    # Many steps per call into the framework: a step is far shorter than the call's overhead.
    steps = 1 if keras.backend.backend() == "torch" else STEPS_A_CALL  # the limit on torch
    model.compile(networks.optimizer("adam", LEARNING_RATE), loss, steps_per_execution=steps)
    epochs = max(1, seen // len(x))
    model.fit(x[:seen], y[:seen], batch_size=BATCH, epochs=epochs, verbose=0)


def accuracy(forward: Callable[[np.ndarray], np.ndarray], data: Data, batch: int = 256) -> float:
    """Return the accuracy on the validation split, 0..1."""
    x, y = data.validation_x, data.validation_y
    parts = [forward(x[i : i + batch]).argmax(axis=-1) for i in range(0, len(x), batch)]
    return float((np.concatenate(parts) == y).mean())
