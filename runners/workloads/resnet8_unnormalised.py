"""ResNet-8 with biases instead of batch normalisation: it has no state beside its weights."""

from __future__ import annotations

import keras

from runners.workloads import DataSet
from runners.workloads.parts import biased_convolution
from runners.workloads.resnet8 import residual


def build(data: DataSet, *, width: int) -> keras.Model:
    """Return the blocks of ResNet-8 without normalisation; logits: (batch, classes)."""
    return residual(data, width, biased_convolution, name="resnet8_unnormalised")
