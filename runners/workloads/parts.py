"""First and last layers that several networks share."""

from __future__ import annotations

import keras
from keras import layers

from runners.workloads import DataSet


def images(data: DataSet, *, least: int = 1) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """Return the input (batch, height, width, channels) uint8, and the same scaled to 0..1.

    ValueError if the images are smaller than `least` [pixels], the minimum for the network's
    poolings.
    """
    if data.task != "images":
        raise ValueError(f"{data.title} holds {data.task}, not images. Choose an image data set.")
    if min(data.shape[:2]) < least:
        raise ValueError(
            f"images of {data.title} are {data.shape[0]}x{data.shape[1]}; this network needs at "
            f"least {least}x{least}. Choose another data set."
        )
    inputs = keras.Input(data.shape, dtype="uint8", name="images")
    return inputs, layers.Rescaling(1 / 255, name="scaled")(inputs)


def rows(data: DataSet) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """Return the input as `images` does, and its rows scaled to 0..1, (batch, height, values)."""
    inputs, x = images(data)
    height, width, channels = data.shape
    return inputs, layers.Reshape((height, width * channels), name="rows")(x)


def tokens(data: DataSet) -> keras.KerasTensor:
    """Return the input (batch, length) int32; ValueError if the data set holds images."""
    if data.task != "tokens":
        raise ValueError(f"{data.title} holds {data.task}, not tokens. Choose a token data set.")
    return keras.Input(data.shape, dtype="int32", name="tokens")


def logits(x: keras.KerasTensor, classes: int) -> keras.KerasTensor:
    """Return the dense layer to the classes, always float32: 16-bit logits cost accuracy."""
    return layers.Dense(classes, dtype="float32", name="logits")(x)


def convolution(
    x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1
) -> keras.KerasTensor:
    """Return convolution and batch normalisation, as in ResNet and VGG; no activation.

    He initialisation suits ReLU; the normalisation has the bias.
    """
    x = layers.Conv2D(
        filters, kernel, strides, "same", use_bias=False, kernel_initializer="he_normal"
    )(x)
    return layers.BatchNormalization()(x)


def biased_convolution(
    x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1
) -> keras.KerasTensor:
    """Return a convolution with bias and no normalisation; He initialisation suits ReLU."""
    return layers.Conv2D(filters, kernel, strides, "same", kernel_initializer="he_normal")(x)
