"""VGG-11: configuration A of Simonyan and Zisserman, arXiv 1409.1556, with normalisation.

Batch normalisation after each convolution and a single dense layer at the end are usual on 32x32
images: without them training barely starts.
"""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import convolution, images, logits

STAGES = ((1,), (2,), (4, 4), (8, 8), (8, 8))
"""Filters of each convolution, in multiples of the width; a pooling after each stage."""


def build(data: DataSet, *, width: int) -> keras.Model:
    """Return the eight 3x3 convolutions of `width` to 8 `width` filters, five poolings; logits."""
    inputs, x = images(data, least=32)
    for stage in STAGES:
        for times in stage:
            x = layers.ReLU()(convolution(x, times * width))
        x = layers.MaxPooling2D()(x)
    return keras.Model(inputs, logits(layers.Flatten()(x), data.classes), name="vgg11")
