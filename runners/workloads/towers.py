"""Parallel towers: simple CNNs over the same images, joined before the logits.

The towers need nothing of each other, so each may be on a device of its own (strategy `branch`).
"""

from __future__ import annotations

from typing import Final

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import images, logits

NAME: Final = "tower_"
"""Beginning of the name of each tower's last layer."""
HIDDEN: Final = 128
"""Units of each tower's dense layer."""


def build(data: DataSet, *, towers: int, width: int) -> keras.Model:
    """Return `towers` simple CNNs of `width` filters, joined; logits: (batch, classes)."""
    inputs, scaled = images(data, least=4)
    ends = []
    for place in range(towers):
        x = scaled
        for filters in (width, 2 * width):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
            x = layers.MaxPooling2D()(x)
        hidden = layers.Dense(HIDDEN, activation="relu", name=f"{NAME}{place}")
        ends.append(hidden(layers.Flatten()(x)))
    joined = layers.Concatenate()(ends) if towers > 1 else ends[0]
    return keras.Model(inputs, logits(joined, data.classes), name="towers")
