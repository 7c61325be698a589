"""Pruning by magnitude: single weights set to 0, or whole units and filters cut out.

The first makes nothing faster without hardware or kernels for sparse matrices, as zeros in a
dense matrix are multiplied too; it shows the accuracy lost by a share of zeros. The second leaves
a smaller network of ordinary layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from runners.child.forms.rebuild import rebuilt

Weights = dict[str, list[np.ndarray]]


# -- single weights ------------------------------------------------------------------------------


def prune(model: keras.Model, share: float) -> None:
    """Set `share` of every kernel's weights, the smallest by magnitude, to 0.

    The same share in each layer (Han et al., arXiv 1506.02626); biases and normalisation stay.
    Later training keeps the zeros until `release`.
    """
    for kernel in kernels(model):
        mask = _mask(keras.ops.convert_to_numpy(kernel), share)
        kernel.assign(kernel * mask)
        kernel.constraint = _keeping(mask)


def release(model: keras.Model) -> None:
    """Let later training change all weights again."""
    for kernel in kernels(model):
        kernel.constraint = None


def kernels(model: keras.Model) -> list[Any]:
    """Return the matrices and filters of the network."""
    return [w for w in model.trainable_weights if w.path.endswith("kernel")]


def _mask(kernel: np.ndarray, share: float) -> np.ndarray:
    """Return 1 for weights that stay; exactly round(share * size) are 0, even with ties."""
    order = np.argsort(np.abs(kernel), axis=None, kind="stable")
    mask = np.ones(kernel.size, kernel.dtype)
    mask[order[: round(share * kernel.size)]] = 0
    return mask.reshape(kernel.shape)


def _keeping(mask: np.ndarray) -> Callable[[Any], Any]:
    """Return a constraint that Keras's optimisers apply after each update."""
    return lambda weights: weights * mask


# -- whole units and filters ---------------------------------------------------------------------


def structured(model: keras.Model, share: float) -> keras.Model:
    """Return the network without `share` of the units or filters of each layer but the logits'.

    Those with the smallest sum of absolute weights are removed, from the first layer on (Li et
    al., arXiv 1608.08710). For networks of layers in sequence (`runners.plan.variants.CHAINS`).
    """
    kept = _kept(model, share)

    def narrow(layer: keras.layers.Layer, config: dict[str, Any]) -> None:
        if layer.name in kept:
            width = "units" if isinstance(layer, keras.layers.Dense) else "filters"
            config[width] = kept[layer.name][0].shape[-1]

    small = rebuilt(model, narrow)
    for name, weights in kept.items():
        small.get_layer(name).set_weights(weights)
    return small


def _kept(model: keras.Model, share: float) -> Weights:
    """Return the remaining kernel (..., inputs, outputs) and bias (outputs,) of each layer."""
    kept: Weights = {}
    places: np.ndarray | None = None  # remaining inputs of the layer; None: all
    for layer in model.layers:
        if isinstance(layer, keras.layers.Flatten) and places is not None:
            places = _flattened(places, layer.input.shape)
        if not isinstance(layer, keras.layers.Dense | keras.layers.Conv2D):
            continue
        kernel, bias = layer.get_weights()
        kernel = kernel if places is None else kernel.take(places, axis=-2)
        places = _strongest(kernel, 0.0 if layer is model.layers[-1] else share)
        kept[layer.name] = [kernel[..., places], bias[places]]
    return kept


def _strongest(kernel: np.ndarray, share: float) -> np.ndarray:
    """Return the indices of the remaining outputs, ascending; at least one."""
    strength = np.abs(kernel).reshape(-1, kernel.shape[-1]).sum(axis=0)
    cut = min(round(share * len(strength)), len(strength) - 1)
    return np.sort(np.argsort(strength, kind="stable")[cut:])


def _flattened(channels: np.ndarray, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return the indices in the flattened (batch, ..., channels) of the remaining `channels`."""
    if len(shape) == 2:
        return channels
    width = int(shape[-1] or 1)
    pixels = np.arange(int(np.prod([int(s or 1) for s in shape[1:-1]])))
    flat: np.ndarray = (pixels[:, None] * width + channels).ravel()
    return flat
