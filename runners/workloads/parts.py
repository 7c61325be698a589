"""What several networks share: their first and last layers."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet


def images(data: DataSet, *, least: int = 1) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """The input (batch, height, width, channels) uint8, and the same scaled to 0..1.

    ValueError where the images are smaller than the `least` height and width [pixels] that the
    network's poolings leave something of.
    """
    if data.task != "images":
        raise ValueError(f"{data.title} holds {data.task}, not images. Name a set of images.")
    if min(data.shape[:2]) < least:
        raise ValueError(
            f"images of {data.title} are {data.shape[0]}x{data.shape[1]}; this network needs "
            f"{least}x{least}. Name another data set."
        )
    given = keras.Input(data.shape, dtype="uint8", name="images")
    return given, layers.Rescaling(1 / 255, name="scaled")(given)


def tokens(data: DataSet) -> keras.KerasTensor:
    """The input (batch, length) int32; ValueError where the data set holds images."""
    if data.task != "tokens":
        raise ValueError(f"{data.title} holds {data.task}, not tokens. Name a set of tokens.")
    return keras.Input(data.shape, dtype="int32", name="tokens")


def logits(x: keras.KerasTensor, classes: int) -> keras.KerasTensor:
    """Dense layer to the classes, float32 under every policy: 16-bit logits cost accuracy."""
    return layers.Dense(classes, dtype="float32", name="logits")(x)


def convolution(
    x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1
) -> keras.KerasTensor:
    """Convolution and batch normalisation, as ResNet and VGG have it; no activation.

    He's initial weights suit ReLU; the bias is the normalisation's.
    """
    x = layers.Conv2D(
        filters, kernel, strides, "same", use_bias=False, kernel_initializer="he_normal"
    )(x)
    return layers.BatchNormalization()(x)
