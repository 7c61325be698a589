"""What can be measured: networks, data sets and optimisers, by their names in the field.

This file imports no Keras: sweeps are planned and checked without it. Each network's own file
(`runners/workloads/<file>.py`) does, and is only imported in the child process.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    import keras

Value = int | float | str | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set a sweep can name. Shapes are of one sample; `samples` are what there is."""

    name: str
    title: str
    """What the `dataset` column says."""
    task: Literal["images", "tokens"]
    shape: tuple[int, ...]
    classes: int
    """Classes, or the vocabulary of tokens."""
    synthetic: bool
    train_samples: int
    """Samples of the training split (synthetic sets can be made in any number)."""
    validation_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A network a sweep can name: what it is called, its options, where it is built."""

    name: str
    title: str
    """The `model` column, with {option} where an option tells sisters apart."""
    file: str
    """Module in this folder with `build(data: DataSet, **options) -> keras.Model`."""
    task: Literal["images", "tokens"]
    dataset: str
    """The data set used where a sweep names none."""
    options: Mapping[str, Value] = field(default_factory=dict)
    """Options and their defaults."""
    about: str = ""


def _by_name(*items: Any) -> MappingProxyType[str, Any]:  # noqa: ANN401 - one of the two records
    return MappingProxyType({item.name: item for item in items})


DATASETS: Final[Mapping[str, DataSet]] = _by_name(
    DataSet(name="digits", title="digits", task="images", shape=(8, 8, 1), classes=10,
            synthetic=False, train_samples=1_280, validation_samples=517),
    DataSet(name="synthetic-cifar10", title="synthetic CIFAR-10", task="images",
            shape=(32, 32, 3), classes=10, synthetic=True, train_samples=50_000,
            validation_samples=10_000),
    DataSet(name="synthetic-cifar100", title="synthetic CIFAR-100", task="images",
            shape=(32, 32, 3), classes=100, synthetic=True, train_samples=50_000,
            validation_samples=10_000),
    DataSet(name="synthetic-imagenet", title="synthetic ImageNet", task="images",
            shape=(224, 224, 3), classes=1_000, synthetic=True, train_samples=1_281_167,
            validation_samples=50_000),
    DataSet(name="synthetic-tokens", title="synthetic tokens", task="tokens", shape=(128,),
            classes=8_192, synthetic=True, train_samples=100_000, validation_samples=10_000),
    DataSet(name="cifar10", title="CIFAR-10", task="images", shape=(32, 32, 3), classes=10,
            synthetic=False, train_samples=50_000, validation_samples=10_000),
    DataSet(name="cifar100", title="CIFAR-100", task="images", shape=(32, 32, 3), classes=100,
            synthetic=False, train_samples=50_000, validation_samples=10_000),
)  # fmt: skip

CATALOGUE: Final[Mapping[str, Workload]] = _by_name(
    Workload(name="mlp", title="MLP {units}-{units}", file="mlp", task="images",
             dataset="synthetic-cifar10", options={"units": 512},
             about="three dense layers: so small that the host decides (article 000)"),
)  # fmt: skip

OPTIMIZERS: Final[Mapping[str, str]] = MappingProxyType(
    {"sgd": "SGD", "momentum": "SGD momentum 0.9", "nesterov": "SGD Nesterov 0.9", "adam": "Adam"}
)
"""Names a sweep uses, and what the `optimizer` column says."""

PRECISIONS: Final = ("float32", "mixed_bfloat16", "mixed_float16")


def model_title(name: str, options: Mapping[str, Value]) -> str:
    """What the `model` column says of a network with these options."""
    workload = CATALOGUE[name]
    return workload.title.format(**{**workload.options, **options})


def build(name: str, data: DataSet, options: Mapping[str, Value]) -> keras.Model:
    """The network, built for samples of `data`; only ever called in the child process.

    Takes a batch of samples as the data set holds them (images uint8, tokens int32), scales
    inside, and returns logits of shape (batch, classes), for tokens (batch, length, classes).
    """
    workload = CATALOGUE[name]
    module = importlib.import_module(f"runners.workloads.{workload.file}")
    builder: Callable[..., keras.Model] = module.build
    return builder(data, **{**workload.options, **options})
