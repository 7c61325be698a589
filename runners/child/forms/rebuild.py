"""Rebuild a network with changed layer settings, such as width or precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

Change = Callable[[keras.layers.Layer, dict[str, Any]], None]
"""Changes the configuration of one layer in place."""


def rebuilt(model: keras.Model, change: Change) -> keras.Model:
    """Return a new network of the same layers, changed by `change`; its weights are not set."""

    def again(layer: keras.layers.Layer) -> keras.layers.Layer:
        config = layer.get_config()
        # Random weights are not needed, and LSTM's orthogonal ones fail in bfloat16.
        config |= {name: "zeros" for name in config if name.endswith("_initializer")}
        change(layer, config)
        return layer.__class__.from_config(config)

    # An uncompiled model of the same layers: a clone of `model` would copy the optimiser too.
    bare = keras.Model(model.inputs, model.outputs, name=model.name)
    return keras.models.clone_model(bare, clone_function=again)


def in_precision(model: keras.Model, policy: str) -> keras.Model:
    """Return a copy with weights and computing in a Keras policy, without training state.

    The logits stay float32, as in this project under every policy (`workloads.parts.logits`).
    """

    def cast(layer: keras.layers.Layer, config: dict[str, Any]) -> None:
        if layer.name != "logits":
            config["dtype"] = policy

    copy = rebuilt(model, cast)
    copy.set_weights(model.get_weights())
    return copy
