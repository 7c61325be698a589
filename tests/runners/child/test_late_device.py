"""A device that finishes late is not timed early: real frameworks with a layer that sleeps."""

from __future__ import annotations

import json
from typing import Final

from tests.each import each
from tests.faults.outcomes import FULL
from tests.runners.networks import answer

SLEEP_S: Final = 0.05
STEPS: Final = 6
PROGRAM: Final = """
import json, time
import keras, numpy as np
from runners.plan.cases import Case
from runners.child.engines import backend
from runners.child.samples import datasets
from runners.child.__main__ import _run

def late(x):
    time.sleep(SLEEP_S)
    return np.asarray(x)

class Late(keras.layers.Layer):
    def call(self, x):
        if keras.config.backend() == "jax":
            import jax
            shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
            return jax.pure_callback(late, shape, x, vmap_method="sequential")
        import tensorflow as tf
        return tf.ensure_shape(tf.numpy_function(late, [x], x.dtype), x.shape)
    def compute_output_shape(self, shape):
        return shape

def run(engine, mode, feed, timing, together):
    case = Case(sweep="s", workload="mlp", dataset="digits", train_samples=SAMPLES,
                validation_samples=0, batch=16, epochs=3, backend=keras.config.backend(),
                engine=engine, mode=mode, timing=timing, feed=feed, steps_per_execution=together)
    data = datasets.load("digits", SAMPLES, 0, 0)
    model = keras.Sequential([
        keras.Input((8, 8, 1), dtype="uint8"), keras.layers.Rescaling(1 / 255), Late(),
        keras.layers.Flatten(), keras.layers.Dense(10)])
    told = []
    paced = _run(case, model, data, None, lambda event, **more: told.append((event, more)))
    return {"epochs": [m["epoch_s"] for e, m in told if e == "epoch"],
            "kept": [m["step_seconds"] for e, m in told if e == "epoch"],
            "first": paced["first_step_s"], "steps": list(paced["step_seconds"])}

backend.prepare(Case(sweep="s", workload="mlp", dataset="digits", train_samples=1,
                     validation_samples=0, batch=1, epochs=1, backend=keras.config.backend()))
print(json.dumps([run(*told) for told in json.loads(WAYS)]))
"""
WAYS: Final = {
    "tensorflow": [
        ("loop", "training", "tf.data", "per epoch", 3),
        ("fit", "training", "tf.data", "per step", 4),
        ("loop", "inference", "tf.data", "per epoch", 1),
    ],
    "jax": [
        ("fit", "training", "PyDataset", "per step", 1),
        ("loop", "inference", "numpy", "per epoch", 1),
    ],
}
"""Engine, mode, feed, timing, and steps of one call: each engine, mode and timing once."""
if FULL:
    WAYS["tensorflow"] += [
        ("loop", "training", "tf.data", "per epoch", 1),
        ("loop", "training", "tf.data", "per step", 1),
        ("fit", "training", "tf.data", "per epoch", 1),
        ("predict", "inference", "tf.data", "per epoch", 1),
    ]
    WAYS["jax"] += [
        ("fit", "training", "numpy", "per epoch", 1),
        ("fit", "training", "numpy", "per epoch", 3),
        ("predict", "inference", "numpy", "per epoch", 1),
    ]


@each("backend", list(WAYS))
def test_whatever_is_timed_lasts_at_least_as_long_as_the_late_steps_in_it(backend: str) -> None:
    """Lower bounds only: a busy machine may make everything longer and nothing shorter."""
    given = f"SLEEP_S, SAMPLES, WAYS = {SLEEP_S}, {16 * STEPS}, {json.dumps(WAYS[backend])!r}"
    for way, result in zip(WAYS[backend], answer(given + PROGRAM, backend), strict=True):
        assert len(result["epochs"]) == 3, way
        assert min(result["epochs"]) >= STEPS * SLEEP_S, way
        assert result["first"] >= SLEEP_S, way
        assert len(result["steps"]) >= STEPS, way
        assert sum(result["steps"]) >= len(result["steps"]) * SLEEP_S * 0.999, way
        if "per step" in way:
            for kept, epoch_s in zip(result["kept"], result["epochs"], strict=True):
                assert len(kept) == STEPS, way
                assert STEPS * SLEEP_S * 0.999 <= sum(kept) <= epoch_s, way
