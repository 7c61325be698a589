"""Transformer encoder over the rows of an image: each row is a place, attention sees all."""

from __future__ import annotations

import keras

from runners.workloads import DataSet
from runners.workloads.parts import logits, rows
from runners.workloads.transformer import Places, block, require_multiple


def build(data: DataSet, *, layers: int, width: int, heads: int) -> keras.Model:
    """Return `layers` blocks over the rows, the mean over places, logits: (batch, classes)."""
    require_multiple(width, heads)
    inputs, x = rows(data)
    x = Places()(keras.layers.Dense(width)(x))
    for _ in range(layers):
        x = block(x, width, heads, causal=False)
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.LayerNormalization()(x))
    return keras.Model(inputs, logits(x, data.classes), name="row_transformer")
