"""ResNet-50 of keras.applications, from random weights, on images of 32x32 and more."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet
from runners.workloads.parts import images, logits

MEAN_BGR = (103.939, 116.779, 123.68)
"""ImageNet's mean colours, as keras.applications.resnet.preprocess_input subtracts them."""


def build(data: DataSet) -> keras.Model:
    """Return preprocessing, 49 convolutions, logits: (batch, classes).

    The preprocessing uses layers: `preprocess_input` would compute in uint8 here.
    """
    inputs, _ = images(data, least=32)
    if data.shape[-1] != 3:
        raise ValueError(f"{data.title} is grey; ResNet-50 needs colours. Choose another data set.")
    shifted = layers.Rescaling(1.0, offset=[-mean for mean in MEAN_BGR])(inputs[..., ::-1])
    base = keras.applications.ResNet50(
        include_top=False, weights=None, input_tensor=shifted, pooling="avg"
    )
    return keras.Model(inputs, logits(base.output, data.classes), name="resnet50")
