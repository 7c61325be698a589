"""The simple CNN of article 001's model families: two convolutions and a hidden dense layer."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import images, logits

HIDDEN = 128
"""Units of the dense layer before the logits."""


def build(data: DataSet, *, width: int) -> keras.Model:
    """Return 3x3 convolutions of `width` and 2 `width` filters, each halved by pooling; logits."""
    inputs, x = images(data, least=4)
    for filters in (width, 2 * width):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dense(HIDDEN, activation="relu")(layers.Flatten()(x))
    return keras.Model(inputs, logits(x, data.classes), name="simple_cnn")
