"""The network whose predictions are timed: trained on a real data set, then changed.

On a real data set every variant starts from the same float32 network, trained for a few seconds
from the case's seed. Its accuracy is that of the timed variant. On a synthetic set nothing is
trained and no accuracy is reported, as it would be meaningless.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from runners.child.engines import predict, train_small
from runners.child.forms import pruning
from runners.child.forms.rebuild import in_precision
from runners.child.samples import datasets
from runners.child.samples.datasets import Data
from runners.plan.cases import Case
from runners.plan.variants import parse, student_options
from runners.workloads import CATALOGUE, DATASETS, build, model_title


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
    train_small.train(plain, data)
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
    return train_small.accuracy(predict.forward(case, model), data)


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
    pruning.prune(model, share)
    extra = _recovered(model, data)
    pruning.release(model)
    return model, extra


def _structured(
    model: keras.Model, share: float, data: Data | None
) -> tuple[keras.Model, dict[str, Any]]:
    small = pruning.structured(model, share)
    return small, _recovered(small, data)


def _recovered(model: keras.Model, data: Data | None) -> dict[str, Any]:
    """Fine-tune a pruned network; return its samples as an extra, as it costs time too."""
    if data is None:
        return {"fine_tuned_samples": 0}
    train_small.train(model, data, train_small.SEEN_AGAIN)
    return {"fine_tuned_samples": train_small.SEEN_AGAIN}


def _student(
    case: Case, teacher: keras.Model, data: Data | None
) -> tuple[keras.Model, dict[str, Any]]:
    workload = CATALOGUE[case.workload]
    options = student_options(case.workload, {**workload.options, **dict(case.options)})
    student = build(case.workload, DATASETS[case.dataset], options)
    if data is not None:
        train_small.distil(student, teacher, data)
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
