"""Describe one Keras model: `python -m runners.child.describe`, the request on standard input.

The request is {"source": ..., "folders": [...], "shape": ...}. The source is a .keras file, or
module:function that returns a model (or module:model), with its module in one of the folders. The
shape is that of one sample, if the model leaves it open. A file is loaded in Keras's safe mode,
which runs no code of the file. A function is the user's program and is run. Nothing is trained.

A subclassed model or layer has no recorded graph. Such a model is refused; such a layer is listed
among those that are not counted.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from planner.core import Text, paragraph, plural
from runners.child.start import import_keras, leave
from runners.process.events import EventWriter

CODE: Final = "Give module:function with a function that returns the model."

_VIEWS: Final = frozenset({"InputLayer", "Flatten", "Reshape", "Permute", "Activation", "Dropout"})
"""Layers whose output shares memory with the input or is not kept for the backward pass."""
_SIZES: Final = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2}
_CONVOLUTION: Final = "Conv"
_ATTENTION: Final = "Attention"


class UnclearError(Exception):
    """A model that cannot be described, in words for its owner."""


def main() -> int:
    """Describe and report; any error is reported as the reason."""
    request = json.load(sys.stdin)
    writer = EventWriter()
    try:
        import_keras()
        writer.send("result", columns=describe(_model(request)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a program may raise anything
        writer.send("failed", status="crashed", reason=_reason(error)[:2000])
        return 1
    return 0


def _reason(error: BaseException) -> str:
    """Return what happened in one line: our own words, or the kind and message of an error."""
    if isinstance(error, UnclearError):
        return str(error)
    if isinstance(error, SystemExit):
        code = 0 if error.code is None else error.code
        return Text(
            "The program ended itself (exit code {code}) before it returned a model.", code=code
        )
    detail = " ".join(str(error).split())
    if isinstance(error, MemoryError) or _NO_MEMORY in detail:
        return (
            "The model does not fit into the memory of this machine. Return one with fewer layers, "
            "or enter its parameters and operations on Compare."
        )
    return f"{_kind(error)}: {detail}"


_NO_MEMORY: Final = "OOM when allocating"
"""Of TensorFlow's error, which is no MemoryError."""


def describe(model: Any) -> dict[str, Any]:  # noqa: ANN401 - a keras.Model
    """Return operations, parameters and activation bytes of one sample, as JSON values."""
    from runners.child.forms.flops import by_hand

    every = list(_layers(model))
    forward, train = by_hand(model)
    shapes = [[int(n) for n in tensor.shape[1:]] for tensor in model.inputs]
    shape = shapes[0]
    return {
        "name": str(model.name),
        "input_shape": shape,
        "input_shapes": shapes,
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
        UnclearError: it is not a model, or its sample size is open and none is given.
    """
    import keras

    source = str(request["source"])
    sys.path[:0] = request["folders"]
    model = _loaded(source) if source.endswith((".keras", ".h5")) else _returned(source)
    if not isinstance(model, keras.Model):
        raise UnclearError(
            Text("{source} returns {kind}. Return a Keras model.", source=source, kind=_kind(model))
        )
    if shape := request.get("shape"):
        model = _of_shape(model, shape)
    if not getattr(model, "inputs", None):
        raise UnclearError(
            "Its inputs are undefined. Give the shape of a sample, as --shape 224,224,3."
            if isinstance(model, keras.Sequential)
            else _subclassed(model)
        )
    if any(n is None for tensor in model.inputs for n in tensor.shape[1:]):
        several = len(model.inputs) > 1
        raise UnclearError(
            "The size of an input is open. Return a model whose inputs have fixed sizes."
            if several
            else "Its input size is open. Give the shape of a sample: --shape 224,224,3."
        )
    return model


def _loaded(source: str) -> Any:  # noqa: ANN401 - a keras.Model
    import keras

    if source.endswith(".keras") and not zipfile.is_zipfile(source):
        raise UnclearError(
            Text("{source} is not a Keras model: its content is not a zip archive.", source=source)
        )
    try:
        return keras.saving.load_model(source, compile=False, safe_mode=True)
    except MemoryError:
        raise
    except Exception as error:
        detail = " ".join(str(error).split())
        if _NO_MEMORY in detail:
            raise
        if "safe_mode" in detail or "unsafe" in detail:
            what = "The file holds Python code, as a Lambda layer, which is not run."
            raise UnclearError(paragraph(what, CODE)) from error
        if missing := _NO_CLASS.search(detail):
            what = Text("The class {name} is not in the file.", name=missing[1])
            raise UnclearError(paragraph(what, CODE)) from error
        raise UnclearError(
            Text(
                "It cannot be read as a Keras model ({error}: {detail}). Save it again with "
                "model.save('name.keras').",
                error=_kind(error),
                detail=detail[:200],
            )
        ) from error


_NO_CLASS: Final = re.compile(r"Could not locate (?:class|function) '(\w+)'")


def _returned(source: str) -> Any:  # noqa: ANN401 - anything
    """Return a model of the user's program, or what a function of it returns.

    Raises:
        UnclearError: the program has no such name, or it is neither a model nor such a function.
    """
    import keras

    module, _, name = source.partition(":")
    program = importlib.import_module(module)
    if not hasattr(program, name):
        raise UnclearError(
            paragraph(Text("{module} has no {name}.", module=module, name=name), CODE)
        )
    value = getattr(program, name)
    if isinstance(value, keras.Model):
        return value
    if not callable(value) or isinstance(value, keras.layers.Layer):
        what = Text("{name} of {module} is {kind}, no function and no Keras model.",
                    name=name, module=module, kind=_kind(value))  # fmt: skip
        raise UnclearError(paragraph(what, CODE))
    if needed := _needed(value):
        what = plural(
            len(needed),
            "{name} of {module} needs the argument {arguments}. It is called without any.",
            "{name} of {module} needs the arguments {arguments}. It is called without any.",
            name=name,
            module=module,
            arguments=", ".join(needed),
        )
        raise UnclearError(paragraph(what, CODE))
    return value()


def _needed(function: Callable[..., Any]) -> list[str]:
    """Return the arguments without which a function cannot be called."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a compiled function
        return []
    any_number = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return [a.name for a in arguments if a.default is a.empty and a.kind not in any_number]


def _kind(value: object) -> str:
    return type(value).__name__


def _subclassed(model: Any) -> str:  # noqa: ANN401 - a keras.Model
    return Text(
        "{kind} is a subclassed model, whose operations are not recorded. Return a "
        "functional or sequential model.",
        kind=_kind(model),
    )


def _of_shape(model: Any, shape: list[int]) -> Any:  # noqa: ANN401 - keras.Model
    """Return the model with the open sizes of its one input fixed; its own sizes stay.

    Raises:
        UnclearError: it contradicts the model, which may have several inputs or no graph.
    """
    import keras

    inputs = getattr(model, "inputs", None) or []
    if not inputs and not isinstance(model, keras.Sequential):
        raise UnclearError(_subclassed(model))
    if len(inputs) > 1:
        raise UnclearError(
            Text(
                "It has {count} inputs; --shape is for one. Return a model whose inputs have "
                "fixed sizes.",
                count=len(inputs),
            )
        )
    given = " x ".join(map(str, shape))
    if inputs:
        own = inputs[0].shape[1:]
        if len(own) != len(shape) or any(
            n is not None and n != m for n, m in zip(own, shape, strict=True)
        ):
            stated = " x ".join("open" if n is None else str(n) for n in own)
            raise UnclearError(
                Text(
                    "A sample of the model is {stated}, not {given}. Change --shape.",
                    stated=stated,
                    given=given,
                )
            )
    tensor = keras.Input(tuple(shape), dtype=inputs[0].dtype if inputs else None)
    try:
        return keras.models.clone_model(model, input_tensors=tensor)
    except (ValueError, TypeError) as error:
        detail = " ".join(str(error).split())[:300]
        raise UnclearError(
            Text("A sample of {given} does not fit the model: {error}", given=given, error=detail)
        ) from error


def _layers(model: Any) -> Iterator[Any]:  # noqa: ANN401 - a keras.Model
    """Yield every layer, including those of nested models; refuse a subclassed model."""
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.Model):
            if not getattr(layer, "inputs", None):
                raise UnclearError(_subclassed(layer))
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
