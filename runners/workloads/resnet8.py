"""ResNet-8: the CIFAR networks of He et al., arXiv 1512.03385, section 4.2, with n=1 (6n+2)."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import convolution, images, logits


def build(data: DataSet, *, width: int) -> keras.Model:
    """Return the three residual blocks of `width`, 2 `width`, 4 `width` filters; logits."""
    inputs, x = images(data, least=4)
    x = layers.ReLU()(convolution(x, width))
    for filters, strides in ((width, 1), (2 * width, 2), (4 * width, 2)):
        x = _block(x, filters, strides)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, logits(x, data.classes), name="resnet8")


def _block(x: keras.KerasTensor, filters: int, strides: int) -> keras.KerasTensor:
    """Two convolutions beside a shortcut, which is a 1x1 convolution where the shape changes."""
    same = x.shape[-1] == filters and strides == 1
    shortcut = x if same else convolution(x, filters, 1, strides)
    x = layers.ReLU()(convolution(x, filters, 3, strides))
    return layers.ReLU()(layers.Add()([shortcut, convolution(x, filters)]))
