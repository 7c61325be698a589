"""Convolutions as matrix products, which TensorFlow can vectorise over weights.

`tf.vectorized_map` stacks samples of a convolution but not filters. As shifted slices and one
matrix product, a convolution can have a trial axis like a dense layer.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


class PatchConv2D(keras.layers.Conv2D):  # type: ignore[misc] # Keras ships no types
    """The same numbers as Conv2D with stride 1 and padding "same", to float32 rounding."""

    def call(self, x: Any) -> Any:  # noqa: ANN401 - a tensor
        """Return (batch, height, width, filters) for x (batch, height, width, channels)."""
        patches = _patches(x, *self.kernel_size)
        kernel = tf.reshape(self.kernel, (-1, self.filters))
        flat = tf.matmul(tf.reshape(patches, (-1, patches.shape[-1])), kernel)
        y = tf.reshape(flat, (-1, *patches.shape[1:3], self.filters))
        return self.activation(y + self.bias if self.use_bias else y)


def _patches(x: tf.Tensor, rows: int, columns: int) -> tf.Tensor:
    """Return the input patch of each pixel; last axis: rows, columns, channels of a kernel."""
    height, width = x.shape[1:3]
    above, left = (rows - 1) // 2, (columns - 1) // 2
    around = [[0, 0], [above, rows - 1 - above], [left, columns - 1 - left], [0, 0]]
    padded = tf.pad(x, around)
    shifted = [
        padded[:, i : i + height, j : j + width] for i in range(rows) for j in range(columns)
    ]
    return tf.concat(shifted, axis=-1)


def stackable(model: keras.Model) -> keras.Model:
    """Return the network with convolutions as matrix products; weights keep their order.

    ValueError for a convolution with strides, groups, dilation or other padding.
    """
    return keras.models.clone_model(model, clone_function=_clone)


def _clone(layer: keras.layers.Layer) -> keras.layers.Layer:
    if type(layer) is not keras.layers.Conv2D:
        return layer.__class__.from_config(layer.get_config())
    plain = (layer.strides, layer.dilation_rate, layer.groups, layer.padding)
    if plain != ((1, 1), (1, 1), 1, "same"):
        raise ValueError(f"{layer.name} is not a plain convolution: train its trials one by one")
    return PatchConv2D.from_config(layer.get_config())
