"""Three dense layers: computing is so little that the host's work per step decides."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import images, logits


def build(data: DataSet, *, units: int) -> keras.Model:
    """Flatten, two hidden layers of `units`, logits: (batch, classes)."""
    given, x = images(data)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(units, activation="relu")(x)
    return keras.Model(given, logits(x, data.classes), name="mlp")
