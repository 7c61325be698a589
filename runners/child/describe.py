"""Describe one Keras model: `python -m runners.child.describe`, the request on standard input.

The request is {"source": ..., "folders": [...], "shape": ...}. The source is a .keras file, or
module:function that returns a model, with its module in one of the folders. The shape is that of
one sample, if the model leaves it open. A file is loaded in Keras's safe mode, which runs no code
of the file. A function is the user's program and is run. Nothing is trained.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, Final

from runners.child.start import import_keras, leave
from runners.process.events import EventWriter

_VIEWS: Final = frozenset({"InputLayer", "Flatten", "Reshape", "Permute", "Activation", "Dropout"})
"""Layers whose output shares memory with the input or is not kept for the backward pass."""
_SIZES: Final = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2}
_CONVOLUTION: Final = "Conv"
_ATTENTION: Final = "Attention"


def main() -> int:
    """Describe and report; any error is reported as the reason."""
    request = json.load(sys.stdin)
    writer = EventWriter()
    try:
        import_keras()
        writer.send("result", columns=describe(_model(request)))
    except Exception as error:  # noqa: BLE001 - a user's model may raise anything
        reason = f"{type(error).__name__}: {error}"
        writer.send("failed", status="crashed", reason=reason[:2000])
        return 1
    return 0


def describe(model: Any) -> dict[str, Any]:  # noqa: ANN401 - a keras.Model
    """Return operations, parameters and activation bytes of one sample, as JSON values."""
    from runners.child.forms.flops import by_hand

    forward, train = by_hand(model)
    every = list(_layers(model))
    shape = [int(n) for n in model.inputs[0].shape[1:]]
    return {
        "name": str(model.name),
        "input_shape": shape,
        "params": int(model.count_params()),
        "trainable_params": sum(math.prod(w.shape) for w in model.trainable_weights),
        "forward_flops": forward,
        "train_flops": train,
        "activation_bytes": sum(map(_bytes, every)),
        "half": str(model.dtype_policy.compute_dtype) != "float32",
        "tokens": shape[0] if len(shape) == 1 and _has(every, "Embedding") else None,
        "image_px": shape[0] if len(shape) == 3 else None,
        "family": _family(every, shape),
        "not_counted": sorted(_not_counted(every)),
    }


def _model(request: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a keras.Model
    """Return the model of a request, with a fixed size of its sample.

    Raises:
        ValueError: it is not a model, or its sample size is open and none is given.
    """
    import keras

    source = str(request["source"])
    sys.path[:0] = request["folders"]
    if source.endswith(".keras") and not zipfile.is_zipfile(source):
        raise ValueError(f"{source} is not a Keras model: its content is not a zip archive.")
    if source.endswith((".keras", ".h5")):
        model = keras.saving.load_model(source, compile=False, safe_mode=True)
    else:
        module, _, function = source.partition(":")
        model = getattr(importlib.import_module(module), function)()
    if not isinstance(model, keras.Model):
        kind = type(model).__name__
        raise ValueError(f"{source} returns {kind}. Return a Keras model.")  # noqa: TRY004
    shape = request.get("shape")
    if shape and len(getattr(model, "inputs", None) or []) <= 1:
        model = keras.models.clone_model(model, input_tensors=_input(model, shape))
    if not getattr(model, "inputs", None):
        raise ValueError(
            "Its inputs are undefined. Give the shape of a sample, as --shape 224,224,3, "
            "or build it as a functional or sequential model."
        )
    if any(n is None for tensor in model.inputs for n in tensor.shape[1:]):
        raise ValueError("Its input size is open. Give the shape of a sample: --shape 224,224,3.")
    return model


def _input(model: Any, shape: list[int]) -> Any:  # noqa: ANN401 - Keras tensors
    import keras

    inputs = getattr(model, "inputs", None) or []
    return keras.Input(tuple(shape), dtype=inputs[0].dtype if inputs else None)


def _layers(model: Any) -> Iterator[Any]:  # noqa: ANN401 - a keras.Model
    """Yield every layer, including those of nested models."""
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _layers(layer)
        else:
            yield layer


def _bytes(layer: Any) -> float:  # noqa: ANN401 - a Keras layer
    """Return the memory of the output for one sample [bytes]; 0 if it is not kept."""
    import keras

    if type(layer).__name__ in _VIEWS:
        return 0.0
    size = _SIZES.get(str(getattr(layer, "compute_dtype", "float32")), 4)
    outputs = keras.tree.flatten(getattr(layer, "output", []))
    return float(size * sum(math.prod(n or 1 for n in o.shape[1:]) for o in outputs))


def _has(layers: list[Any], word: str) -> bool:
    return any(word in type(layer).__name__ for layer in layers)


def _family(layers: list[Any], shape: list[int]) -> str:
    """Return the network family that the layers suggest; "" if none."""
    images = len(shape) == 3
    if _has(layers, _ATTENTION):
        return "vit" if images else "dense"
    return "cnn" if images and _has(layers, _CONVOLUTION) else ""


def _not_counted(layers: list[Any]) -> set[str]:
    """Return the types of layers with weights whose operations are not counted."""
    from runners.child.forms.flops import operations_of

    silent = {"Embedding", "BatchNormalization", "LayerNormalization", "GroupNormalization",
              "Normalization", "PReLU"}  # fmt: skip
    return {
        type(layer).__name__
        for layer in layers
        if layer.weights and type(layer).__name__ not in silent and operations_of(layer) == 0
    }


if __name__ == "__main__":
    leave(main())
