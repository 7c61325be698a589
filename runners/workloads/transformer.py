"""Transformer language model: causal attention, normalised before each part (as GPT-2 is)."""

from __future__ import annotations

from typing import Any

import keras

from runners.workloads import DataSet
from runners.workloads.parts import logits, tokens


def build(data: DataSet, *, layers: int, width: int, heads: int) -> keras.Model:
    """Embeddings, `layers` blocks, logits: (batch, length, vocabulary)."""
    if width % heads:
        raise ValueError(f"width {width} cannot be shared by {heads} heads. Take a multiple.")
    given = tokens(data)
    x = Places()(keras.layers.Embedding(data.classes, width)(given))
    for _ in range(layers):
        x = _block(x, width, heads)
    x = keras.layers.LayerNormalization()(x)
    return keras.Model(given, logits(x, data.classes), name="transformer")


def _block(x: keras.KerasTensor, width: int, heads: int) -> keras.KerasTensor:
    """Attention to earlier places, then two dense layers of 4 `width` and `width`."""
    normed = keras.layers.LayerNormalization()(x)
    attention = keras.layers.MultiHeadAttention(heads, width // heads)
    x = keras.layers.Add()([x, attention(normed, normed, use_causal_mask=True)])
    normed = keras.layers.LayerNormalization()(x)
    hidden = keras.layers.Dense(4 * width, activation="gelu")(normed)
    return keras.layers.Add()([x, keras.layers.Dense(width)(hidden)])


@keras.saving.register_keras_serializable("epochwise")
class Places(keras.layers.Layer):  # type: ignore[misc] # Keras ships no types
    """Adds a learnt vector for each place in the sequence."""

    def build(self, shape: tuple[int | None, ...]) -> None:
        """One vector of the width for each of `shape`'s places."""
        self.table = self.add_weight(shape=shape[1:], initializer="normal", name="table")

    def call(self, x: Any) -> Any:  # noqa: ANN401 - a tensor of any backend
        """(batch, length, width) in, the same out."""
        return x + keras.ops.cast(self.table, x.dtype)
