"""Samples to train on: real digits, synthetic sets in known shapes, CIFAR where there is a network.

The same name, numbers and seed give the same bytes anywhere, told by their sha256.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from runners.child.samples import synthetic
from runners.child.samples.synthetic import Bytes, Integers, Split
from runners.workloads import DATASETS, DataSet

PADDING: Final = 4
"""Pixels around an image before it is cropped: what CIFAR's augmentation usually is."""


class DataError(Exception):
    """Samples cannot be had: what, where, and what to do next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Both splits. Images: x (n, height, width, channels) uint8, y (n,) int32 classes.

    Tokens: x (n, length) int32, y (n, length) int32, each token's successor.
    """

    dataset: DataSet
    train_x: np.ndarray
    train_y: Integers
    validation_x: np.ndarray
    validation_y: Integers
    sha256: str
    """Of the bytes of the four arrays, in this order."""

    @property
    def synthetic(self) -> bool:
        """Whether the samples are made up."""
        return self.dataset.synthetic


def load(name: str, train_samples: int, validation_samples: int, seed: int) -> Data:
    """So many samples of the data set called `name` in `runners.workloads.DATASETS`.

    `seed` decides what synthetic samples are, and how the digits are split; CIFAR has splits of
    its own and gives its first samples. DataError where a real set has fewer than asked for, or
    cannot be downloaded; no other set is ever taken instead.
    """
    dataset = DATASETS[name]
    wanted = (train_samples, validation_samples)
    if not dataset.synthetic:
        _check_there_are(dataset, wanted)
    splits = _splits(dataset, wanted, seed)
    arrays = [np.ascontiguousarray(array) for split in splits for array in split]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.data if array.size else b"")
    return Data(
        dataset=dataset,
        train_x=arrays[0],
        train_y=arrays[1],
        validation_x=arrays[2],
        validation_y=arrays[3],
        sha256=digest.hexdigest(),
    )


def _check_there_are(dataset: DataSet, wanted: tuple[int, int]) -> None:
    held = (dataset.train_samples, dataset.validation_samples)
    for split, asked, there in zip(("training", "validation"), wanted, held, strict=True):
        if asked > there:
            raise DataError(
                f"{dataset.title} holds {there:,} {split} samples, {asked:,} were asked for. "
                f"Ask for at most {there:,}, or take a synthetic set."
            )


def _splits(dataset: DataSet, wanted: tuple[int, int], seed: int) -> tuple[Split, Split]:
    if dataset.name == "digits":
        return _digits(wanted, seed)
    if not dataset.synthetic:
        return _downloaded(dataset, wanted)
    train, validation = zip(wanted, ("train", "validation"), strict=True)
    return synthetic.make(dataset, *train, seed), synthetic.make(dataset, *validation, seed)


# -- real ----------------------------------------------------------------------------------------


def _digits(wanted: tuple[int, int], seed: int) -> tuple[Split, Split]:
    """1,797 handwritten digits of 8x8 pixels, shipped with scikit-learn; grey 0..16 becomes 0..255.

    UCI's "Optical Recognition of Handwritten Digits" (its test part), Alpaydin and Kaynak 1998.
    """
    from sklearn.datasets import load_digits

    found = load_digits()
    images = np.rint(found.images[..., None] * (255 / 16)).astype(np.uint8)
    labels = found.target.astype(np.int32)
    order = np.argsort(synthetic.raw(len(labels), seed, "digits"), kind="stable")
    first = DATASETS["digits"].train_samples
    train, validation = order[: wanted[0]], order[first : first + wanted[1]]
    return Split(images[train], labels[train]), Split(images[validation], labels[validation])


def _downloaded(dataset: DataSet, wanted: tuple[int, int]) -> tuple[Split, Split]:
    """CIFAR-10 or CIFAR-100 by Keras, which keeps it under ~/.keras and checks its sha256."""
    import keras

    try:
        parts = getattr(keras.datasets, dataset.name).load_data()
    except Exception as error:
        raise DataError(
            f"{dataset.title} is not in Keras's cache and could not be downloaded ({error}). "
            f"Run once with a network, or copy the cache (~/.keras/datasets) from a machine that "
            f"has it, or name the data set synthetic-{dataset.name}: same shapes, made-up images."
        ) from error
    train, validation = (
        Split(x[:count], y[:count].reshape(-1).astype(np.int32))
        for (x, y), count in zip(parts, wanted, strict=True)
    )
    return train, validation


# -- on the way to the network -------------------------------------------------------------------


def augment(batch: Bytes, rng: np.random.Generator) -> Bytes:
    """Each image moved by up to 4 pixels (black comes in) and mirrored or not, at random.

    (batch, height, width, channels) in, a new array of the same shape out.
    """
    count, height, width, channels = batch.shape
    around = ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0))
    # A pixel as one item: twice as fast as gathering channel by channel.
    pixels = np.pad(batch, around).view(f"V{channels}")[..., 0]
    top, left = rng.integers(0, 2 * PADDING + 1, (2, count, 1))
    mirrored = rng.integers(0, 2, (count, 1), dtype=bool)
    places = np.arange(width)
    rows = top + np.arange(height)
    columns = left + np.where(mirrored, places[::-1], places)
    image = np.arange(count)[:, None, None]
    chosen = pixels[image, rows[:, :, None], columns[:, None, :]]
    changed: Bytes = chosen.view(np.uint8).reshape(batch.shape)
    return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class PngFolder:
    """The training split as PNG files in a subfolder for each class."""

    folder: Path
    paths: tuple[str, ...]
    """In the order of `labels`, which is the training split's."""
    labels: Integers


def as_png_folder(data: Data, root: Path, seed: int) -> PngFolder:
    """Write the training images as PNG files into a folder of `root`, once for each content.

    Its name is made of the data set's name, the seed it was loaded with and the sha256, which
    alone decides whether it is the same. Every class has a subfolder, even one
    without images, so readers that number the subfolders find the classes. A second epoch reads
    from the page cache: what is measured is decoding rather than the disk.
    """
    from planner.store.disk.cache import fill_folder

    if data.dataset.task != "images":
        raise DataError(f"{data.dataset.title} holds no images that could be written as PNG files.")
    folder = root / f"{data.dataset.name}-seed-{seed}-{data.sha256[:16]}"
    names = [f"{label:04d}/{number:07d}.png" for number, label in enumerate(data.train_y)]
    subfolders = [f"{label:04d}" for label in range(data.dataset.classes)]
    files = ((name, _png(image)) for name, image in zip(names, data.train_x, strict=True))
    fill_folder(folder, files, subfolders=subfolders)
    return PngFolder(
        folder=folder,
        paths=tuple(str(folder / name) for name in names),
        labels=data.train_y,
    )


def _png(image: Bytes) -> bytes:
    """One image (height, width, 1 or 3 channels) as a PNG file."""
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(written, "PNG")
    return written.getvalue()
