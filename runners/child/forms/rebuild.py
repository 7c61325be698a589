"""The same network again with its layers' settings changed: another width, another precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

Change = Callable[[keras.layers.Layer, dict[str, Any]], None]
"""Changes the configuration of one layer in place."""


def rebuilt(model: keras.Model, change: Change) -> keras.Model:
    """A new network of the same layers in the same order; its weights are still to be set."""

    def again(layer: keras.layers.Layer) -> keras.layers.Layer:
        config = layer.get_config()
        # Drawing weights would be for nothing, and LSTM's orthogonal ones cannot be in bfloat16.
        config |= {name: "zeros" for name in config if name.endswith("_initializer")}
        change(layer, config)
        return layer.__class__.from_config(config)

    # The same layers as a model that was never compiled: a clone would copy the optimiser too.
    bare = keras.Model(model.inputs, model.outputs, name=model.name)
    return keras.models.clone_model(bare, clone_function=again)


def in_precision(model: keras.Model, policy: str) -> keras.Model:
    """A copy with weights and computing in a Keras policy, and without traces of a training.

    The logits stay float32, as under every policy in this project (`workloads.parts.logits`).
    """

    def cast(layer: keras.layers.Layer, config: dict[str, Any]) -> None:
        if layer.name != "logits":
            config["dtype"] = policy

    copy = rebuilt(model, cast)
    copy.set_weights(model.get_weights())
    return copy
