"""Samples to train on: real digits, synthetic sets in known shapes, CIFAR where there is a network.

Synthetic samples are made from raw PCG64 numbers, the only stream NumPy promises never to change:
the same name, seed and number give the same bytes anywhere, and fewer samples are the first of
more. They can be learnt (images carry their class's pattern, tokens follow a rule), but their
accuracy says nothing about the real set whose shape they have.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from planner.store.cache import file_system, fill_folder
from runners.workloads import DATASETS, DataSet

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int32]
PATTERN: Final = 8
"""Rows and columns of a class's pattern; each cell covers the same share of the image."""
CHUNK_BYTES: Final = 1 << 25
"""Images are made in pieces of this size, so that memory holds the set hardly more than once."""
SUCCESSORS: Final = 4
"""Tokens that may follow a token, but for one in eight that follows no rule."""
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


class Split(NamedTuple):
    """Samples and their targets."""

    x: np.ndarray
    y: Integers


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
    make = _synthetic_images if dataset.task == "images" else _synthetic_tokens
    return make(dataset, wanted[0], seed, "train"), make(dataset, wanted[1], seed, "validation")


# -- real ----------------------------------------------------------------------------------------


def _digits(wanted: tuple[int, int], seed: int) -> tuple[Split, Split]:
    """1,797 handwritten digits of 8x8 pixels, shipped with scikit-learn; grey 0..16 becomes 0..255.

    UCI's "Optical Recognition of Handwritten Digits" (its test part), Alpaydin and Kaynak 1998.
    """
    from sklearn.datasets import load_digits

    found = load_digits()
    images = np.rint(found.images[..., None] * (255 / 16)).astype(np.uint8)
    labels = found.target.astype(np.int32)
    order = np.argsort(_raw(len(labels), seed, "digits"), kind="stable")
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


# -- synthetic -----------------------------------------------------------------------------------


def _raw(count: int, seed: int, *purpose: str) -> npt.NDArray[np.uint64]:
    """`count` 64-bit numbers; each seed and purpose has a stream of its own."""
    words = int.from_bytes(hashlib.sha256(" ".join(purpose).encode()).digest()[:8], "little")
    return np.random.PCG64(np.random.SeedSequence([seed, words])).random_raw(count)


def _raw_bytes(count: int, raw: npt.NDArray[np.uint64]) -> Bytes:
    return raw.astype("<u8", copy=False).view(np.uint8)[:count]


def _synthetic_images(dataset: DataSet, samples: int, seed: int, split: str) -> Split:
    """Each image is its class's pattern of 8x8 cells (0..127) and noise (0..127), added."""
    height, width, channels = dataset.shape
    cells = (dataset.classes, PATTERN, PATTERN, channels)
    count = int(np.prod(cells))
    patterns = _raw_bytes(count, _raw(-(-count // 8), seed, dataset.name, "patterns")) >> 1
    patterns = patterns.reshape(cells)
    labels = (_raw(samples, seed, dataset.name, split, "labels") % dataset.classes).astype(np.int32)
    size = height * width * channels
    x = _raw_bytes(samples * size, _raw(-(-samples * size // 8), seed, dataset.name, split))
    x = x.reshape(samples, height, width, channels)
    for piece in _pieces(samples, size):
        large = patterns[labels[piece]].repeat(height // PATTERN, axis=1)
        x[piece] >>= 1
        x[piece] += large.repeat(width // PATTERN, axis=2)
    return Split(x, labels)


def _pieces(samples: int, size: int) -> Iterator[slice]:
    step = max(1, CHUNK_BYTES // size)
    return (slice(begin, begin + step) for begin in range(0, samples, step))


def _synthetic_tokens(dataset: DataSet, samples: int, seed: int, split: str) -> Split:
    """Sequences in which a token is mostly one of four that its predecessor allows.

    Small tokens are more frequent, as common words are, so a loss falls from the first steps.
    """
    length, vocabulary = dataset.shape[0], dataset.classes
    allowed = _frequent(_raw(vocabulary * SUCCESSORS, seed, dataset.name, "rule"), vocabulary)
    allowed = allowed.reshape(vocabulary, SUCCESSORS)
    raw = _raw(samples * (length + 1), seed, dataset.name, split).reshape(samples, length + 1)
    free = _frequent(raw, vocabulary)
    ruled, choice = (raw & 7) != 0, (raw >> 3) % SUCCESSORS
    tokens = free.copy()
    for place in range(1, length + 1):
        follows = allowed[tokens[:, place - 1], choice[:, place]]
        tokens[:, place] = np.where(ruled[:, place], follows, free[:, place])
    return Split(tokens[:, :-1].copy(), tokens[:, 1:].copy())


def _frequent(raw: npt.NDArray[np.uint64], vocabulary: int) -> Integers:
    """Tokens from raw numbers, token t about as t**(-2/3): the cube of an even draw."""
    even = (raw >> 11).astype(np.float64) * 2.0**-53
    tokens: Integers = (vocabulary * (even * even * even)).astype(np.int32)
    return tokens


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
    file_system: str | None
    """Type of the file system (ext4, tmpfs ...); None where the system does not tell."""


def as_png_folder(data: Data, root: Path, seed: int) -> PngFolder:
    """Write the training images as PNG files into a folder of `root`, once for each content.

    Its name is made of the data set's name, the seed it was loaded with and the sha256, which
    alone decides whether it is the same. Every class has a subfolder, even one
    without images, so readers that number the subfolders find the classes. A second epoch reads
    from the page cache: what is measured is decoding rather than the disk.
    """
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
        file_system=file_system(folder),
    )


def _png(image: Bytes) -> bytes:
    """One image (height, width, 1 or 3 channels) as a PNG file."""
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(written, "PNG")
    return written.getvalue()
