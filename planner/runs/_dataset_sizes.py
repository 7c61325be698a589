"""Samples in the training and validation split of public data sets, by name.

A run that names such a data set but not its size is converted by this table; a synthetic stand-in
("synthetic CIFAR-10") has the size of the original. Every row names the source of the size.
`synthetic tokens` and `digits` are the project's own (docs/measure.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSize:
    """Samples of the splits of one data set; `validation_samples` None is no standard split."""

    name: str
    train_samples: int
    validation_samples: int | None
    source: str


_TFDS: Final = "https://www.tensorflow.org/datasets/catalog/"
_OWN: Final = "docs/measure.md"
STAND_IN: Final = "synthetic"
SIZES: Final = (
    DatasetSize(name="CIFAR-10", train_samples=50_000, validation_samples=10_000,
                source="https://www.cs.toronto.edu/~kriz/cifar.html"),
    DatasetSize(name="CIFAR-100", train_samples=50_000, validation_samples=10_000,
                source="https://www.cs.toronto.edu/~kriz/cifar.html"),
    DatasetSize(name="MNIST", train_samples=60_000, validation_samples=10_000,
                source=f"{_TFDS}mnist"),
    DatasetSize(name="Fashion-MNIST", train_samples=60_000, validation_samples=10_000,
                source="https://github.com/zalandoresearch/fashion-mnist"),
    DatasetSize(name="KMNIST", train_samples=60_000, validation_samples=10_000,
                source=f"{_TFDS}kmnist"),
    DatasetSize(name="SVHN", train_samples=73_257, validation_samples=26_032,
                source=f"{_TFDS}svhn_cropped"),
    DatasetSize(name="ImageNet", train_samples=1_281_167, validation_samples=50_000,
                source="https://www.image-net.org/challenges/LSVRC/2012/"),
    DatasetSize(name="COCO 2017", train_samples=118_287, validation_samples=5_000,
                source=f"{_TFDS}coco"),
    DatasetSize(name="Food-101", train_samples=75_750, validation_samples=25_250,
                source=f"{_TFDS}food101"),
    DatasetSize(name="IMDB reviews", train_samples=25_000, validation_samples=25_000,
                source=f"{_TFDS}imdb_reviews"),
    DatasetSize(name="AG News", train_samples=120_000, validation_samples=7_600,
                source=f"{_TFDS}ag_news_subset"),
    DatasetSize(name="digits", train_samples=1_280, validation_samples=517, source=_OWN),
    DatasetSize(name="synthetic tokens", train_samples=100_000, validation_samples=10_000,
                source=_OWN),
)  # fmt: skip
ALIASES: Final = MappingProxyType(
    {
        "imagenet1k": "ImageNet",
        "imagenet2012": "ImageNet",
        "imagenetilsvrc2012": "ImageNet",
        "ilsvrc2012": "ImageNet",
        "coco2017": "COCO 2017",
        "imdb": "IMDB reviews",
    }
)
"""Other spellings in use, without blanks and punctuation."""


def is_stand_in(dataset: str | None) -> bool:
    """Return whether a data set is synthetic data in the shape of another one."""
    return (dataset or "").strip().lower().startswith(f"{STAND_IN} ")


def dataset_size(dataset: str | None) -> DatasetSize | None:
    """Return the size of a data set by its name, or None.

    Case, blanks and punctuation do not matter.
    """
    plain = _plain(dataset or "")
    own = _BY_NAME.get(plain)
    return own or _BY_NAME.get(plain.removeprefix(STAND_IN))


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]", "", name.lower())


_BY_NAME: Final = MappingProxyType(
    {_plain(size.name): size for size in SIZES}
    | {short: size for short, name in ALIASES.items() for size in SIZES if size.name == name}
)
