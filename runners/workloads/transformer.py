"""Transformer language model: causal attention, normalised before each part (as GPT-2 is)."""

from __future__ import annotations

from typing import Any

import keras

from runners.workloads import DataSet
from runners.workloads.parts import logits, tokens


def build(data: DataSet, *, layers: int, width: int, heads: int) -> keras.Model:
    """Return embeddings, `layers` blocks, logits: (batch, length, vocabulary)."""
    require_multiple(width, heads)
    inputs = tokens(data)
    x = Places()(keras.layers.Embedding(data.classes, width)(inputs))
    for _ in range(layers):
        x = block(x, width, heads, causal=True)
    x = keras.layers.LayerNormalization()(x)
    return keras.Model(inputs, logits(x, data.classes), name="transformer")


def require_multiple(width: int, heads: int) -> None:
    """Raise ValueError if `width` cannot be divided among `heads`."""
    if width % heads:
        raise ValueError(f"width {width} is not a multiple of {heads} heads. Use a multiple.")


def block(x: keras.KerasTensor, width: int, heads: int, *, causal: bool) -> keras.KerasTensor:
    """Return attention, then two dense layers of 4 `width` and `width`.

    Attention is to all places, or with `causal` to earlier ones.
    """
    normed = keras.layers.LayerNormalization()(x)
    attention = keras.layers.MultiHeadAttention(heads, width // heads)
    x = keras.layers.Add()([x, attention(normed, normed, use_causal_mask=causal)])
    normed = keras.layers.LayerNormalization()(x)
    hidden = keras.layers.Dense(4 * width, activation="gelu")(normed)
    return keras.layers.Add()([x, keras.layers.Dense(width)(hidden)])


@keras.saving.register_keras_serializable("epochwise")
class Places(keras.layers.Layer):  # type: ignore[misc] # Keras ships no types
    """Adds a learnt vector to each place in the sequence."""

    def build(self, shape: tuple[int | None, ...]) -> None:
        """Create one vector for each place of `shape`."""
        self.table = self.add_weight(shape=shape[1:], initializer="normal", name="table")

    def call(self, x: Any) -> Any:  # noqa: ANN401 - a tensor of any backend
        """Return the sum, (batch, length, width) like the input."""
        return x + keras.ops.cast(self.table, x.dtype)
