"""Networks, data sets and optimisers that can be measured, by their names in the field.

This file imports no Keras: sweeps are planned and checked without it. Each network's file
(`runners/workloads/<file>.py`) does; it is imported only in the child process.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from runners.workloads import titles
from runners.workloads.titles import Value

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set for sweeps; the shape is of one sample."""

    name: str
    title: str
    """Value of the `dataset` column."""
    task: Literal["images", "tokens"]
    shape: tuple[int, ...]
    classes: int
    """Classes, or the vocabulary of tokens."""
    synthetic: bool
    train_samples: int
    """Samples of the training split (synthetic sets can have any number)."""
    validation_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A network for sweeps: its name, its options, the file that builds it."""

    name: str
    title: str
    """Value of the `model` column, with {option} for options that distinguish variants.

    {size} is the result of `sized` for the options.
    """
    file: str
    """Module in this folder with `build(data: DataSet, **options) -> keras.Model`."""
    task: Literal["images", "tokens"]
    dataset: str
    """Default data set."""
    options: Mapping[str, Value] = field(default_factory=dict)
    """Options and their defaults."""
    about: str = ""
    """Description, source, and usual larger options."""
    sized: Callable[[Mapping[str, Value]], str] = titles.unsized


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
    Workload(
        name="mlp", title="MLP {units}-{units}", file="mlp", task="images",
        dataset="synthetic-cifar10", options={"units": 512},
        about="Three dense layers: so small that the host decides (article 000).",
    ),
    Workload(
        name="simple-cnn", title="simple CNN {width}-{size}", file="simple_cnn", task="images",
        dataset="synthetic-cifar10", options={"width": 32}, sized=titles.twice_the_width,
        about="Two convolutions, one hidden dense layer (article 001).",
    ),
    Workload(
        name="towers", title="{towers} towers of CNN {width}", file="towers", task="images",
        dataset="synthetic-cifar10", options={"towers": 2, "width": 32},
        about="Simple CNNs side by side, joined before the logits: a network with branches "
        "(article 004).",
    ),
    Workload(
        name="vgg11", title="VGG-11{size}", file="vgg11", task="images",
        dataset="synthetic-cifar10", options={"width": 16}, sized=titles.width_unless(64),
        about="Configuration A of Simonyan and Zisserman with batch normalisation; width 64 is "
        "the published one, 16 the one a laptop trains.",
    ),
    Workload(
        name="resnet8", title="ResNet-8{size}", file="resnet8", task="images",
        dataset="synthetic-cifar10", options={"width": 16}, sized=titles.width_unless(16),
        about="The CIFAR ResNet of He et al. with one block a stage; width 64 on a GPU.",
    ),
    Workload(
        name="resnet50", title="ResNet-50", file="resnet50", task="images",
        dataset="synthetic-imagenet",
        about="keras.applications, random weights; 224x224 as published, CIFAR shapes as in "
        "article 003.",
    ),
    Workload(
        name="wide-resnet", title="WideResNet-{size}", file="wide_resnet", task="images",
        dataset="synthetic-cifar100", options={"k": 7, "n": 4, "kernel": 7},
        sized=titles.wide_resnet_size,
        about="Article 002's: 103,465,028 parameters on 100 classes; k=1 (2 million) on a CPU.",
    ),
    Workload(
        name="lstm", title="LSTM {layers}x{units}", file="lstm", task="tokens",
        dataset="synthetic-tokens", options={"layers": 1, "units": 128},
        about="Language model of article 001's family; 2 layers of 1,024 units on a GPU.",
    ),
    Workload(
        name="transformer", title="Transformer {layers}x{width}, {heads} heads",
        file="transformer", task="tokens", dataset="synthetic-tokens",
        options={"layers": 2, "width": 128, "heads": 4},
        about="Causal language model, pre-norm; layers 12, width 768, heads 12 are GPT-2 small's.",
    ),
    Workload(
        name="vgg5", title="VGG-5 width {width}", file="vgg5", task="images", dataset="digits",
        options={"width": 8},
        about="Two stages of VGG without normalisation, so that its trials train side by side.",
    ),
    Workload(
        name="resnet8-unnormalised", title="ResNet-8 width {width} without normalisation",
        file="resnet8_unnormalised", task="images", dataset="digits", options={"width": 8},
        about="ResNet-8 with biases instead of batch normalisation, so that its trials train side "
        "by side.",
    ),
    Workload(
        name="row-lstm", title="LSTM {units} over rows", file="row_lstm", task="images",
        dataset="digits", options={"units": 32},
        about="An LSTM that reads an image row by row.",
    ),
    Workload(
        name="row-transformer", title="Transformer {layers}x{width}, {heads} heads, over rows",
        file="row_transformer", task="images", dataset="digits",
        options={"layers": 1, "width": 32, "heads": 4},
        about="A Transformer encoder whose places are the rows of an image.",
    ),
)  # fmt: skip

OPTIMIZERS: Final[Mapping[str, str]] = MappingProxyType(
    {"sgd": "SGD", "momentum": "SGD momentum 0.9", "nesterov": "SGD Nesterov 0.9", "adam": "Adam"}
)
"""Names in sweeps, and values of the `optimizer` column."""

PRECISIONS: Final = ("float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16")
"""Keras's policies. Mixed ones keep float32 weights; the last two have weights of 16 bits too."""
PREDICTING: Final = ("bfloat16", "float16")
"""Precisions for inference only: 16-bit weights lose updates."""


def model_title(name: str, options: Mapping[str, Value]) -> str:
    """Return the `model` column of a network with these options."""
    workload = CATALOGUE[name]
    chosen = {**workload.options, **options}
    return workload.title.format(size=workload.sized(chosen), **chosen)


def build(name: str, data: DataSet, options: Mapping[str, Value]) -> keras.Model:
    """Return the network for samples of `data`; call it only in the child process.

    The network takes a batch of raw samples (images uint8, tokens int32) and scales inside. It
    returns logits of shape (batch, classes), for tokens (batch, length, classes).
    """
    workload = CATALOGUE[name]
    module = importlib.import_module(f"runners.workloads.{workload.file}")
    builder: Callable[..., keras.Model] = module.build
    return builder(data, **{**workload.options, **options})
