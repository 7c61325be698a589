"""Three dense layers: so little computing that the host's work per step dominates."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import images, logits


def build(data: DataSet, *, units: int) -> keras.Model:
    """Return a flatten layer, two hidden layers of `units`, logits: (batch, classes)."""
    inputs, x = images(data)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(units, activation="relu")(x)
    return keras.Model(inputs, logits(x, data.classes), name="mlp")
