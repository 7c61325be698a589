"""The network whose predictions are timed: trained on a real data set, then changed.

On a real data set every variant starts from the same float32 network, trained for a few seconds
from the case's seed. Its accuracy is that of the timed variant. On a synthetic set nothing is
trained and no accuracy is reported, as it would be meaningless.

Pruning by magnitude: single weights set to 0, or whole units and filters cut out.

The first makes nothing faster without hardware or kernels for sparse matrices, as zeros in a
dense matrix are multiplied too; it shows the accuracy lost by a share of zeros. The second leaves
a smaller network of ordinary layers.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from runners.child.engines import predict
from runners.child.samples import datasets
from runners.child.samples.datasets import Data
from runners.plan.cases import Case, parse, student_options
from runners.workloads import CATALOGUE, DATASETS, build, model_title

Change = Callable[[keras.layers.Layer, dict[str, Any]], None]
"""Changes the configuration of one layer in place."""


def rebuilt(model: keras.Model, change: Change) -> keras.Model:
    """Return a new network of the same layers, changed by `change`; its weights are not set."""

    def again(layer: keras.layers.Layer) -> keras.layers.Layer:
        config = layer.get_config()
        # Random weights are not needed, and LSTM's orthogonal ones fail in bfloat16.
        config |= {name: "zeros" for name in config if name.endswith("_initializer")}
        change(layer, config)
        return layer.__class__.from_config(config)

    # An uncompiled model of the same layers: a clone of `model` would copy the optimiser too.
    bare = keras.Model(model.inputs, model.outputs, name=model.name)
    return keras.models.clone_model(bare, clone_function=again)


def in_precision(model: keras.Model, policy: str) -> keras.Model:
    """Return a copy with weights and computing in a Keras policy, without training state.

    The logits stay float32, as in this project under every policy (`workloads.networks.logits`).
    """

    def cast(layer: keras.layers.Layer, config: dict[str, Any]) -> None:
        if layer.name != "logits":
            config["dtype"] = policy

    copy = rebuilt(model, cast)
    copy.set_weights(model.get_weights())
    return copy


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
    al., arXiv 1608.08710). For networks of layers in sequence (`runners.plan.cases.CHAINS`).
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A network to time, its run columns, and values without a column."""

    model: keras.Model
    columns: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    training_s: float = 0.0
    """Time of training, changing and checking it [s]; not part of the start-up time."""


def make(case: Case) -> Made:
    """Return the network of a case; for inference, in its variant and precision.

    ValueError for an unknown variant.
    """
    if case.mode == "training":
        model = _built(case)
        return Made(model=model, columns={"params": model.count_params()})
    keras.config.set_dtype_policy("float32")
    keras.utils.set_random_seed(case.seed)
    return _untrained(case) if DATASETS[case.dataset].synthetic else _trained(case)


def _built(case: Case) -> keras.Model:
    return build(case.workload, DATASETS[case.dataset], dict(case.options))


def _untrained(case: Case) -> Made:
    model, extra = _changed(case, _built(case), None)
    return Made(model=model, columns={"params": params(model)}, extra=facts(model) | extra)


def _trained(case: Case) -> Made:
    """Return the trained network; it is trained and checked on the whole data set."""
    began = time.perf_counter()
    plain, data = _built(case), _whole(case)
    predict.train(plain, data)
    before = _accuracy(case, plain, data)
    model, extra = _changed(case, plain, data)
    columns = {"params": params(model), **_judged(case, model, data)}
    seconds = time.perf_counter() - began
    extra |= {"float32_accuracy": before, "training_before_s": round(seconds, 3)}
    return Made(model=model, columns=columns, extra=facts(model) | extra, training_s=seconds)


def counted(case: Case, model: keras.Model) -> keras.Model:
    """Return the network whose operations are counted: for int8 the float32 network.

    Its products are the same; TensorFlow has no statistics for 8-bit ones.
    """
    if case.mode != "inference" or case.variant != "int8":
        return model
    return _built(case)


def _whole(case: Case) -> Data:
    about = DATASETS[case.dataset]
    return datasets.load(about.name, about.train_samples, about.validation_samples, case.seed)


def _accuracy(case: Case, model: keras.Model, data: Data) -> float:
    """Return the accuracy with the timed engine, in a separate function: the timed one retraces."""
    return predict.accuracy(predict.forward(case, model), data)


def _judged(case: Case, model: keras.Model, data: Data) -> dict[str, Any]:
    """Return the columns for accuracy on the whole validation split."""
    return {
        "validation_samples": len(data.validation_x),
        "evaluation_metric": "accuracy",
        "evaluation_higher_is_better": True,
        "final_metric": _accuracy(case, model, data),
    }


# -- changing ------------------------------------------------------------------------------------


def _changed(
    case: Case, plain: keras.Model, data: Data | None
) -> tuple[keras.Model, dict[str, Any]]:
    """Return the network in the case's variant and precision, and extras; `data` trains it."""
    variant = parse(case.variant) if case.variant else None
    if variant is None and data is None and case.precision == "float32":
        return plain, {}
    if variant is None:
        return in_precision(plain, case.precision), {}
    if variant.kind == "int8":
        return _quantized(in_precision(plain, "float32"))
    if variant.kind == "distilled":
        model, extra = _student(case, plain, data)
    else:
        cut = _pruned if variant.kind == "pruned" else _structured
        model, extra = cut(plain, variant.share, data)
    return in_precision(model, case.precision), extra


def _quantized(model: keras.Model) -> tuple[keras.Model, dict[str, Any]]:
    """Return the network with dense layers, einsums and embeddings in int8, and extras."""
    with warnings.catch_warnings():
        # One warning for each layer that cannot be quantised, such as convolutions.
        warnings.filterwarnings("ignore", message=".*does not have a `quantize` method")
        model.quantize("int8")
    eight = [w for w in model.weights if str(w.dtype) == "int8"]
    return model, {
        "int8_layers": sorted({w.path.rsplit("/", 1)[0] for w in eight}),
        "int8_share_of_params": sum(map(_size, eight)) / params(model),
    }


def _pruned(
    model: keras.Model, share: float, data: Data | None
) -> tuple[keras.Model, dict[str, Any]]:
    prune(model, share)
    extra = _recovered(model, data)
    release(model)
    return model, extra


def _structured(
    model: keras.Model, share: float, data: Data | None
) -> tuple[keras.Model, dict[str, Any]]:
    small = structured(model, share)
    return small, _recovered(small, data)


def _recovered(model: keras.Model, data: Data | None) -> dict[str, Any]:
    """Fine-tune a pruned network; return its samples as an extra, as it costs time too."""
    if data is None:
        return {"fine_tuned_samples": 0}
    predict.train(model, data, predict.SEEN_AGAIN)
    return {"fine_tuned_samples": predict.SEEN_AGAIN}


def _student(
    case: Case, teacher: keras.Model, data: Data | None
) -> tuple[keras.Model, dict[str, Any]]:
    workload = CATALOGUE[case.workload]
    options = student_options(case.workload, {**workload.options, **dict(case.options)})
    student = build(case.workload, DATASETS[case.dataset], options)
    if data is not None:
        predict.distil(student, teacher, data)
    return student, {"student": model_title(case.workload, options)}


# -- facts ---------------------------------------------------------------------------------------


def facts(model: keras.Model) -> dict[str, Any]:
    """Return bytes of all weights, parameters that are not 0, parameters by number format."""
    formats: Counter[str] = Counter()
    for weight in _parameters(model):
        formats[str(weight.dtype)] += _size(weight)
    arrays = [keras.ops.convert_to_numpy(w) for w in _parameters(model)]
    return {
        "weight_bytes": sum(keras.ops.convert_to_numpy(w).nbytes for w in model.weights),
        "nonzero_params": sum(int(np.count_nonzero(a)) for a in arrays),
        "params_by_dtype": dict(formats),
    }


def params(model: keras.Model) -> int:
    """Return the number of parameters, without int8 scales."""
    return sum(map(_size, _parameters(model)))


def _parameters(model: keras.Model) -> list[Any]:
    return [w for w in model.weights if not w.path.endswith("_scale")]


def _size(weight: Any) -> int:  # noqa: ANN401 - a variable of Keras
    return math.prod(weight.shape)
