"""VGG-5: two stages of VGG (Simonyan and Zisserman, arXiv 1409.1556), for images from 8x8 on."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import biased_convolution, images, logits


def build(data: DataSet, *, width: int) -> keras.Model:
    """Return two 3x3 convolutions of `width` and two of 2 `width`, each pair pooled; logits."""
    inputs, x = images(data, least=4)
    for filters in (width, 2 * width):
        for _ in range(2):
            x = layers.ReLU()(biased_convolution(x, filters))
        x = layers.MaxPooling2D()(x)
    return keras.Model(inputs, logits(layers.Flatten()(x), data.classes), name="vgg5")
