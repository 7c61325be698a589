"""A short, seeded training before inference is timed: variants need weights that know something.

What it reaches is no record: the point is one and the same network in several forms, each with
the accuracy it has. A few seconds on digits; CIFAR takes as many steps, and longer for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import keras
import numpy as np

from runners.child.engines import optimizers
from runners.child.samples.datasets import Data

SEEN: Final = 25_600
"""Samples a training sees: 20 epochs of the digits, half of one of CIFAR."""
SEEN_AGAIN: Final = SEEN // 4
"""Samples a pruned network sees to recover."""
BATCH: Final = 32
STEPS_A_CALL: Final = 20
LEARNING_RATE: Final = 0.001
TEMPERATURE: Final = 4.0
"""Softens the teacher's outputs, so that the student also learns which classes are alike."""
SOFT_SHARE: Final = 0.9
"""Weight of the teacher's outputs in the student's loss; the rest is the labels'."""

Loss = Callable[[Any, Any], Any]


def train(model: keras.Model, data: Data, seen: int = SEEN) -> None:
    """Adam on the training split's labels, for `seen` samples in batches of 32."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    _fit(model, data.train_x, data.train_y, loss, seen)


def distil(student: keras.Model, teacher: keras.Model, data: Data) -> None:
    """Teach the student the teacher's softened outputs, and a little of the labels.

    Hinton, Vinyals and Dean, arXiv 1503.02531: cross entropy with both at the temperature T, times
    T squared (its gradients shrink by that much), and the plain one with the labels.
    """
    taught = teacher.predict(data.train_x, batch_size=256, verbose=0)
    targets = np.stack([taught, np.eye(taught.shape[-1], dtype="float32")[data.train_y]], axis=1)
    _fit(student, data.train_x, targets, _distillation, SEEN)


def _distillation(targets: Any, logits: Any) -> Any:  # noqa: ANN401 - tensors of any backend
    """Loss of each sample; targets (batch, 2, classes) are the teacher's logits and the labels."""
    soft = keras.ops.softmax(targets[:, 0] / TEMPERATURE)
    alike = keras.ops.categorical_crossentropy(soft, logits / TEMPERATURE, from_logits=True)
    right = keras.ops.categorical_crossentropy(targets[:, 1], logits, from_logits=True)
    return SOFT_SHARE * TEMPERATURE**2 * alike + (1 - SOFT_SHARE) * right


def _fit(model: keras.Model, x: np.ndarray, y: np.ndarray, loss: Loss, seen: int) -> None:
    # One call of the framework for many steps: each is far shorter than the call around it.
    steps = 1 if keras.backend.backend() == "torch" else STEPS_A_CALL  # Keras allows torch one
    model.compile(optimizers.make("adam", LEARNING_RATE), loss, steps_per_execution=steps)
    epochs = max(1, seen // len(x))
    model.fit(x[:seen], y[:seen], batch_size=BATCH, epochs=epochs, verbose=0)


def accuracy(forward: Callable[[np.ndarray], np.ndarray], data: Data, batch: int = 256) -> float:
    """Share of the validation split's samples that are recognised."""
    x, y = data.validation_x, data.validation_y
    parts = [forward(x[i : i + batch]).argmax(axis=-1) for i in range(0, len(x), batch)]
    return float((np.concatenate(parts) == y).mean())
