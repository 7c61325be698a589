"""ResNet-8: the CIFAR networks of He et al., arXiv 1512.03385, section 4.2, with n=1 (6n+2)."""

from __future__ import annotations

from typing import Protocol

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import convolution, images, logits


class Convolution(Protocol):
    """A convolution with what follows it before the activation."""

    def __call__(
        self, x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1
    ) -> keras.KerasTensor:
        """Return the output (batch, height / strides, width / strides, filters)."""


def build(data: DataSet, *, width: int) -> keras.Model:
    """Return the three residual blocks of `width`, 2 `width`, 4 `width` filters; logits."""
    return residual(data, width, convolution, name="resnet8")


def residual(data: DataSet, width: int, convolve: Convolution, *, name: str) -> keras.Model:
    """Return ResNet-8 with these convolutions; logits: (batch, classes)."""
    inputs, x = images(data, least=4)
    x = layers.ReLU()(convolve(x, width))
    for filters, strides in ((width, 1), (2 * width, 2), (4 * width, 2)):
        x = _block(x, filters, strides, convolve)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, logits(x, data.classes), name=name)


def _block(
    x: keras.KerasTensor, filters: int, strides: int, convolve: Convolution
) -> keras.KerasTensor:
    """Two convolutions beside a shortcut, which is a 1x1 convolution where the shape changes."""
    same = x.shape[-1] == filters and strides == 1
    shortcut = x if same else convolve(x, filters, 1, strides)
    x = layers.ReLU()(convolve(x, filters, 3, strides))
    return layers.ReLU()(layers.Add()([shortcut, convolve(x, filters)]))
