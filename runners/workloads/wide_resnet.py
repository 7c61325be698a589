"""The WideResNet of article 002, layer by layer.

Zagoruyko and Komodakis, arXiv 1605.07146, with 7x7 instead of 3x3 convolutions for more
parameters. As in the article, except that the softmax is part of the loss here.
"""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import images, logits


def build(data: DataSet, *, k: int, n: int, kernel: int) -> keras.Model:
    """Return stages of 16 k, 32 k and 64 k filters with n blocks each; logits: (batch, classes)."""
    inputs, x = images(data, least=4)
    x = layers.Conv2D(16 * k, 1)(x)
    x = _stage(x, 16 * k, n, kernel)
    for filters in (32 * k, 64 * k):
        x = layers.AveragePooling2D(2)(x)
        x = layers.Conv2D(filters, 1)(x)
        x = _stage(x, filters, n, kernel)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, logits(x, data.classes), name="wide_resnet")


def _stage(x: keras.KerasTensor, filters: int, n: int, kernel: int) -> keras.KerasTensor:
    """Return the residual blocks whose sum comes after the last ReLU."""
    for _ in range(n):
        start = x
        for _ in range(2):
            x = layers.Conv2D(filters, kernel, padding="same")(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Add()([start, x])
    return x
