"""Networks, data sets and optimisers that can be measured, by their names in the field.

This file imports no Keras: sweeps are planned and checked without it. `networks` builds them with
Keras; it is imported only in the child process.
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
Options = Mapping[str, Value]


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


def unsized(options: Options) -> str:  # noqa: ARG001 - the others read them
    """Return "": the title needs no computed part."""
    return ""


def twice_the_width(options: Options) -> str:
    """Return the filters of the second layer, twice those of the first."""
    return str(2 * int(options["width"]))


def width_unless(published: int) -> Callable[[Options], str]:
    """Return a function that adds the width to the title unless it is the published one."""
    return lambda options: "" if options["width"] == published else f" width {options['width']}"


def with_tied_logits(options: Options) -> str:
    """Return a note that the logits have the weights of the embedding, or "" if they have not."""
    return ", tied" if options["tied"] else ""


def wide_resnet_size(options: Options) -> str:
    """Return the millions of parameters, and options that differ from article 002's."""
    k, n, kernel = (int(options[name]) for name in ("k", "n", "kernel"))
    millions = wide_resnet_params(k, n, kernel, classes=100) / 1e6
    deeper = "" if n == 4 else f" N={n}"
    smaller = "" if kernel == 7 else f" {kernel}x{kernel}"
    return f"{millions:.0f}M{deeper}{smaller}"


def wide_resnet_params(k: int, n: int, kernel: int, *, classes: int) -> int:
    """Return the parameters of article 002's WideResNet; 103,465,028 for (7, 4, 7, classes=100).

    Each stage: a 1x1 convolution to its width w, then n blocks of two (w, w) convolutions with
    bias, each followed by batch normalisation (4 w: scale, shift, moving mean and variance).
    """
    total, before = 0, 3
    for width in (16 * k, 32 * k, 64 * k):
        convolution = kernel * kernel * width * width + width
        total += before * width + width + n * 2 * (convolution + 4 * width)
        before = width
    return total + before * classes + classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A network for sweeps: its name, its options, its title.

    `networks` builds it by a function of this name, with `_` for `-`.
    """

    name: str
    title: str
    """Value of the `model` column, with {option} for options that distinguish variants.

    {size} is the result of `sized` for the options.
    """
    task: Literal["images", "tokens"]
    dataset: str
    """Default data set."""
    options: Mapping[str, Value] = field(default_factory=dict)
    """Options and their defaults."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Allowed values of the options that are texts."""
    about: str = ""
    """Description, source, and usual larger options."""
    sized: Callable[[Mapping[str, Value]], str] = unsized


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
    DataSet(name="synthetic-bert-tokens", title="synthetic BERT tokens", task="tokens",
            shape=(512,), classes=30_522, synthetic=True, train_samples=100_000,
            validation_samples=10_000),
    DataSet(name="synthetic-gpt2-tokens", title="synthetic GPT-2 tokens", task="tokens",
            shape=(1_024,), classes=50_257, synthetic=True, train_samples=100_000,
            validation_samples=10_000),
    DataSet(name="cifar10", title="CIFAR-10", task="images", shape=(32, 32, 3), classes=10,
            synthetic=False, train_samples=50_000, validation_samples=10_000),
    DataSet(name="cifar100", title="CIFAR-100", task="images", shape=(32, 32, 3), classes=100,
            synthetic=False, train_samples=50_000, validation_samples=10_000),
)  # fmt: skip

APPLICATIONS: Final = (
    "ConvNeXtTiny", "ConvNeXtSmall", "ConvNeXtBase", "ConvNeXtLarge", "ConvNeXtXLarge",
    "DenseNet121", "DenseNet169", "DenseNet201",
    "EfficientNetB0", "EfficientNetB1", "EfficientNetB2", "EfficientNetB3", "EfficientNetB4",
    "EfficientNetB5", "EfficientNetB6", "EfficientNetB7",
    "EfficientNetV2B0", "EfficientNetV2B1", "EfficientNetV2B2", "EfficientNetV2B3",
    "EfficientNetV2S", "EfficientNetV2M", "EfficientNetV2L",
    "InceptionResNetV2", "InceptionV3", "MobileNet", "MobileNetV2", "MobileNetV3Large",
    "MobileNetV3Small", "NASNetLarge", "NASNetMobile", "ResNet50", "ResNet50V2", "ResNet101",
    "ResNet101V2", "ResNet152", "ResNet152V2", "VGG16", "VGG19", "Xception",
)  # fmt: skip
"""Networks of keras.applications, by their names there."""

CATALOGUE: Final[Mapping[str, Workload]] = _by_name(
    Workload(name="mlp", title="MLP {units}-{units}", task="images", dataset="synthetic-cifar10",
        options={"units": 512},
        about="Three dense layers: so small that the host decides (article 000)."),
    Workload(name="simple-cnn", title="simple CNN {width}-{size}", task="images",
        dataset="synthetic-cifar10", options={"width": 32}, sized=twice_the_width,
        about="Two convolutions, one hidden dense layer (article 001)."),
    Workload(name="towers", title="{towers} towers of CNN {width}", task="images",
        dataset="synthetic-cifar10", options={"towers": 2, "width": 32},
        about="Simple CNNs side by side, joined before the logits: a network with branches "
        "(article 004)."),
    Workload(name="vgg11", title="VGG-11{size}", task="images", dataset="synthetic-cifar10",
        options={"width": 16}, sized=width_unless(64),
        about="Configuration A of Simonyan and Zisserman with batch normalisation; width 64 is "
        "the published one, 16 the one a laptop trains."),
    Workload(name="resnet8", title="ResNet-8{size}", task="images", dataset="synthetic-cifar10",
        options={"width": 16}, sized=width_unless(16),
        about="The CIFAR ResNet of He et al. with one block a stage; width 64 on a GPU."),
    Workload(name="resnet50", title="ResNet-50", task="images", dataset="synthetic-imagenet",
        about="keras.applications, random weights; 224x224 as published, CIFAR shapes as in "
        "article 003."),
    Workload(name="wide-resnet", title="WideResNet-{size}", task="images",
        dataset="synthetic-cifar100", options={"k": 7, "n": 4, "kernel": 7}, sized=wide_resnet_size,
        about="Article 002's: 103,465,028 parameters on 100 classes; k=1 (2 million) on a CPU."),
    Workload(name="lstm", title="LSTM {layers}x{units}", task="tokens", dataset="synthetic-tokens",
        options={"layers": 1, "units": 128},
        about="Language model of article 001's family; 2 layers of 1,024 units on a GPU."),
    Workload(name="transformer", title="Transformer {layers}x{width}, {heads} heads{size}",
        task="tokens", dataset="synthetic-tokens", sized=with_tied_logits,
        options={"layers": 2, "width": 128, "heads": 4, "tied": False},
        about="Causal language model, pre-norm; layers 12, width 768, heads 12 are GPT-2 small's. "
        "tied: the logits have the weights of the embedding; with 24, 1,024, 16 and GPT-2's tokens "
        "these are the 354,823,168 parameters of GPT-2 medium."),
    Workload(name="encoder", title="encoder {layers}x{width}, {heads} heads", task="tokens",
        dataset="synthetic-bert-tokens", options={"layers": 12, "width": 768, "heads": 12},
        about="Attention to all places, and a head over the vocabulary with the weights of the "
        "embedding: the 109,482,240 parameters of BERT base on BERT's tokens."),
    Workload(name="vit", title="ViT {layers}x{width}, {heads} heads, patch {patch}", task="images",
        dataset="synthetic-imagenet",
        options={"layers": 12, "width": 768, "heads": 12, "patch": 16},
        about="Vision Transformer with a class token; the defaults are ViT-B/16, 24, 1,024 and 16 "
        "with patch 16 are ViT-L/16 (arXiv 2010.11929)."),
    Workload(name="keras-application", title="{network}", task="images",
        dataset="synthetic-imagenet", options={"network": "EfficientNetB0"},
        choices={"network": APPLICATIONS},
        about="A network of keras.applications by its name there, from random weights."),
    Workload(name="vgg5", title="VGG-5 width {width}", task="images", dataset="digits",
        options={"width": 8},
        about="Two stages of VGG without normalisation, so that its trials train side by side."),
    Workload(name="resnet8-unnormalised", title="ResNet-8 width {width} without normalisation",
        task="images", dataset="digits", options={"width": 8},
        about="ResNet-8 with biases instead of batch normalisation, so that its trials train side "
        "by side."),
    Workload(name="row-lstm", title="LSTM {units} over rows", task="images", dataset="digits",
        options={"units": 32}, about="An LSTM that reads an image row by row."),
    Workload(name="row-transformer", title="Transformer {layers}x{width}, {heads} heads, over rows",
        task="images", dataset="digits", options={"layers": 1, "width": 32, "heads": 4},
        about="A Transformer encoder whose places are the rows of an image."),
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
    networks = importlib.import_module("runners.workloads.networks")
    builder: Callable[..., keras.Model] = getattr(networks, name.replace("-", "_"))
    return builder(data, **{**workload.options, **options})
