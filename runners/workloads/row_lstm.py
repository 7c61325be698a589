"""LSTM over the rows of an image: one step per row, from top to bottom."""

from __future__ import annotations

import keras

from runners.workloads import DataSet
from runners.workloads.parts import logits, rows


def build(data: DataSet, *, units: int) -> keras.Model:
    """Return one layer of `units`, whose last output gives the logits: (batch, classes).

    The steps are unrolled: TensorFlow cannot vectorise a loop over trials.
    """
    inputs, x = rows(data)
    x = keras.layers.LSTM(units, unroll=True)(x)
    return keras.Model(inputs, logits(x, data.classes), name="row_lstm")
