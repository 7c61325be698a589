"""Inference: batches of samples in, logits on the host out, timed like training.

Engine `loop` runs the bare network as one compiled function (tf.function, jax.jit). Engine
`predict` is Keras's `predict_on_batch`, as a Keras server uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from runners.child.samples.datasets import Data
from runners.plan.cases import Case

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
    raise ValueError(f"engine loop cannot run inference on {case.backend}; use engine predict")


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
