"""LSTM language model: the next token from all before it."""

from __future__ import annotations

import keras

from runners.workloads import DataSet
from runners.workloads.parts import logits, tokens


def build(data: DataSet, *, layers: int, units: int) -> keras.Model:
    """Return embedding, recurrent layers of `units`, logits: (batch, length, vocabulary)."""
    inputs = tokens(data)
    x = keras.layers.Embedding(data.classes, units)(inputs)
    for _ in range(layers):
        x = keras.layers.LSTM(units, return_sequences=True)(x)
    return keras.Model(inputs, logits(x, data.classes), name="lstm")
