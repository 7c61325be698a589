"""VGG-11: configuration A of Simonyan and Zisserman, arXiv 1409.1556, with normalisation.

Batch normalisation after each convolution and a single dense layer at the end are what the field
does on 32x32 images: without them it hardly starts to learn.
"""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import convolution, images, logits

STAGES = ((1,), (2,), (4, 4), (8, 8), (8, 8))
"""Filters of each convolution in widths; a pooling after each stage."""


def build(data: DataSet, *, width: int) -> keras.Model:
    """Eight 3x3 convolutions of `width` to 8 `width` filters, five poolings; logits."""
    given, x = images(data, least=32)
    for stage in STAGES:
        for times in stage:
            x = layers.ReLU()(convolution(x, times * width))
        x = layers.MaxPooling2D()(x)
    return keras.Model(given, logits(layers.Flatten()(x), data.classes), name="vgg11")
