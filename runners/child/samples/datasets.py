"""Training samples: real digits, synthetic sets in common shapes, CIFAR if it can be downloaded.

The same name, numbers and seed give the same bytes anywhere, verified by sha256.

Synthetic samples are made from raw PCG64 numbers, the only stream that NumPy guarantees. So the
same name, seed and number give the same bytes anywhere, and fewer samples are the first of more.
Images contain their class's pattern and tokens follow a rule, so the loss falls; the accuracy is
unrelated to the real set of the same shape.

`Orders` are random orders of the samples, one per seed: trials of one seed see the same batches at
any learning rate, so their curves differ by the rate alone.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from planner.core import Text
from runners.workloads import DATASETS, DataSet

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int32]
PATTERN: Final = 8
"""Rows and columns of a class's pattern; each cell covers the same share of the image."""
CHUNK_BYTES: Final = 1 << 25
"""Images are made in pieces of this size, to limit memory to little more than the set."""
SUCCESSORS: Final = 4
"""Number of tokens that may follow a token; one in eight follows no rule."""


class DataSplit(NamedTuple):
    """Samples and their targets."""

    x: np.ndarray
    y: Integers


def make(dataset: DataSet, samples: int, split: str, seed: int) -> DataSplit:
    """Return samples of a split ("train" or "validation"); both splits share a rule by `seed`."""
    kind = _images if dataset.task == "images" else _tokens
    return kind(dataset, samples, seed, split)


def _images(dataset: DataSet, samples: int, seed: int, split: str) -> DataSplit:
    """Return images: the class's pattern of 8x8 cells (0..127) plus noise (0..127)."""
    height, width, channels = dataset.shape
    cells = (dataset.classes, PATTERN, PATTERN, channels)
    count = int(np.prod(cells))
    patterns = _raw_bytes(count, raw(-(-count // 8), seed, dataset.name, "patterns")) >> 1
    patterns = patterns.reshape(cells)
    labels = (raw(samples, seed, dataset.name, split, "labels") % dataset.classes).astype(np.int32)
    size = height * width * channels
    x = _raw_bytes(samples * size, raw(-(-samples * size // 8), seed, dataset.name, split))
    x = x.reshape(samples, height, width, channels)
    step = max(1, CHUNK_BYTES // size)
    for begin in range(0, samples, step):
        piece = slice(begin, begin + step)
        large = patterns[labels[piece]].repeat(height // PATTERN, axis=1)
        x[piece] >>= 1
        x[piece] += large.repeat(width // PATTERN, axis=2)
    return DataSplit(x, labels)


def _tokens(dataset: DataSet, samples: int, seed: int, split: str) -> DataSplit:
    """Return sequences in which a token is usually one of four successors of the previous one.

    Small tokens are more frequent, like common words, so the loss falls from the first steps.
    """
    length, vocabulary = dataset.shape[0], dataset.classes
    allowed = _frequent(raw(vocabulary * SUCCESSORS, seed, dataset.name, "rule"), vocabulary)
    allowed = allowed.reshape(vocabulary, SUCCESSORS)
    drawn = raw(samples * (length + 1), seed, dataset.name, split).reshape(samples, length + 1)
    free = _frequent(drawn, vocabulary)
    ruled, choice = (drawn & 7) != 0, (drawn >> 3) % SUCCESSORS
    tokens = free.copy()
    for place in range(1, length + 1):
        follows = allowed[tokens[:, place - 1], choice[:, place]]
        tokens[:, place] = np.where(ruled[:, place], follows, free[:, place])
    return DataSplit(tokens[:, :-1].copy(), tokens[:, 1:].copy())


def _frequent(numbers: npt.NDArray[np.uint64], vocabulary: int) -> Integers:
    """Return tokens from raw numbers, with frequency t**(-2/3): the cube of a uniform number."""
    even = (numbers >> 11).astype(np.float64) * 2.0**-53
    tokens: Integers = (vocabulary * (even * even * even)).astype(np.int32)
    return tokens


def raw(count: int, seed: int, *purpose: str) -> npt.NDArray[np.uint64]:
    """Return `count` random 64-bit numbers; each seed and purpose has its own stream."""
    words = int.from_bytes(hashlib.sha256(" ".join(purpose).encode()).digest()[:8], "little")
    return np.random.PCG64(np.random.SeedSequence([seed, words])).random_raw(count)


def _raw_bytes(count: int, numbers: npt.NDArray[np.uint64]) -> Bytes:
    return numbers.astype("<u8", copy=False).view(np.uint8)[:count]


PADDING: Final = 4
"""Pixels of padding before cropping: the usual augmentation of CIFAR."""


class DataError(Exception):
    """Samples are unavailable; the message says what to do."""


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
    """Hash of the bytes of the four arrays, in this order."""

    @property
    def synthetic(self) -> bool:
        """Whether the samples are synthetic."""
        return self.dataset.synthetic


def load(name: str, train_samples: int, validation_samples: int, seed: int) -> Data:
    """Return samples of the data set `name` of `runners.workloads.DATASETS`.

    `seed` determines synthetic samples and the split of the digits; CIFAR has fixed splits, of
    which the first samples are returned.

    Raises:
        DataError: a real set has too few samples or cannot be downloaded.
    """
    dataset = DATASETS[name]
    counts = (train_samples, validation_samples)
    if not dataset.synthetic:
        _check_counts(dataset, counts)
    splits = _splits(dataset, counts, seed)
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


def _check_counts(dataset: DataSet, counts: tuple[int, int]) -> None:
    held = (dataset.train_samples, dataset.validation_samples)
    for split, count, there in zip(("training", "validation"), counts, held, strict=True):
        if count > there:
            raise DataError(
                Text(
                    "{dataset} has {available:,} {split} samples; {requested:,} are requested. "
                    "Request at most {available:,}, or use a synthetic set.",
                    dataset=dataset.title,
                    available=there,
                    split=split,
                    requested=count,
                )
            )


def _splits(dataset: DataSet, counts: tuple[int, int], seed: int) -> tuple[DataSplit, DataSplit]:
    if dataset.name == "digits":
        return _digits(counts, seed)
    if not dataset.synthetic:
        return _downloaded(dataset, counts)
    train, validation = zip(counts, ("train", "validation"), strict=True)
    return make(dataset, *train, seed), make(dataset, *validation, seed)


# -- real ----------------------------------------------------------------------------------------


def _digits(counts: tuple[int, int], seed: int) -> tuple[DataSplit, DataSplit]:
    """Return scikit-learn's 1,797 handwritten digits of 8x8 pixels; grey 0..16 becomes 0..255.

    UCI's "Optical Recognition of Handwritten Digits" (its test part), Alpaydin and Kaynak 1998.
    """
    table = _digits_table()
    images = np.rint(table[:, :-1].reshape(-1, 8, 8, 1) * (255 / 16)).astype(np.uint8)
    labels = table[:, -1].astype(np.int32)
    order = np.argsort(raw(len(labels), seed, "digits"), kind="stable")
    first = DATASETS["digits"].train_samples
    train, validation = order[: counts[0]], order[first : first + counts[1]]
    return DataSplit(images[train], labels[train]), DataSplit(
        images[validation], labels[validation]
    )


def _digits_table() -> npt.NDArray[np.float64]:
    """Return a row of 64 greys and the label for each digit, from scikit-learn's own file.

    Importing scikit-learn for it takes every child a second of processor time.
    """
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise DataError("digits needs scikit-learn. Install it in the Python of this backend.")
    path = Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path) as file:
        return np.loadtxt(file, delimiter=",")


def _downloaded(dataset: DataSet, counts: tuple[int, int]) -> tuple[DataSplit, DataSplit]:
    """Return CIFAR-10 or CIFAR-100 from Keras, which stores it in ~/.keras and checks sha256."""
    import keras

    try:
        parts = getattr(keras.datasets, dataset.name).load_data()
    except Exception as error:
        raise DataError(
            Text(
                "{title} is not in Keras's cache and could not be downloaded ({error}). Run "
                "once online, or copy ~/.keras/datasets from a machine that has it, or use "
                "the data set synthetic-{name}: same shapes, random images.",
                title=dataset.title,
                error=str(error),
                name=dataset.name,
            )
        ) from error
    train, validation = (
        DataSplit(x[:count], y[:count].reshape(-1).astype(np.int32))
        for (x, y), count in zip(parts, counts, strict=True)
    )
    return train, validation


# -- on the way to the network -------------------------------------------------------------------


def augment(batch: Bytes, rng: np.random.Generator) -> Bytes:
    """Return images randomly shifted by up to 4 pixels (padded with black) and mirrored.

    Input and output: (batch, height, width, channels); the output is a new array.
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
    """The training split as PNG files, with one subfolder per class."""

    folder: Path
    paths: tuple[str, ...]
    """In the order of `labels` and the training split."""
    labels: Integers


def as_png_folder(data: Data, root: Path, seed: int) -> PngFolder:
    """Write the training images as PNG files into a folder of `root`, once per content.

    The folder's name contains the data set's name, the seed and the sha256, which identifies the
    content. Every class has a subfolder, even without images, so that readers which number the
    subfolders get the right classes. Later epochs read from the page cache: they measure
    decoding rather than the disk.
    """
    from planner.store.disk.files import fill_folder

    if data.dataset.task != "images":
        raise DataError(
            Text(
                "{title} holds no images that could be written as PNG files.",
                title=data.dataset.title,
            )
        )
    folder = root / f"{data.dataset.name}-seed-{seed}-{data.sha256[:16]}"
    names = [f"{label:04d}/{number:07d}.png" for number, label in enumerate(data.train_y)]
    subfolders = [f"{label:04d}" for label in range(data.dataset.classes)]
    files = ((name, _png(image)) for name, image in zip(names, data.train_x, strict=True))
    fill_folder(folder, files, subfolders=subfolders)
    return PngFolder(
        folder=folder, paths=tuple(str(folder / name) for name in names), labels=data.train_y
    )


def _png(image: Bytes) -> bytes:
    """Return one image (height, width, 1 or 3 channels) as a PNG file."""
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(written, "PNG")
    return written.getvalue()


Sampling = Literal["epochwise", "with replacement"]
Places = npt.NDArray[np.int32]
_ORDER, _DRAWS = 1, 2  # separate streams: estimating the noise scale changes no training


@dataclass(slots=True)
class _Order:
    """The endless order of one seed; reading advances it."""

    rng: np.random.Generator
    left: Places


class Orders:
    """Batches for several seeds side by side."""

    def __init__(self, seeds: Sequence[int], samples: int, batch: int, sampling: Sampling) -> None:
        """Raise ValueError if a batch is larger than the set and sampling is epochwise."""
        if batch > samples and sampling == "epochwise":
            raise ValueError(
                Text(
                    "a batch of {batch} cannot be taken from {samples} samples",
                    batch=batch,
                    samples=samples,
                )
            )
        self._samples, self._batch, self._sampling = samples, batch, sampling
        self._orders = [_Order(rng=_rng(s, _ORDER), left=np.empty(0, np.int32)) for s in seeds]
        self._draws = [_rng(s, _DRAWS) for s in seeds]

    def take(self, steps: int) -> Places:
        """Return the next batches as indices of the training split, (seeds, steps, batch)."""
        return np.stack([self._next(order, steps) for order in self._orders])

    def draw(self, parts: int, size: int) -> Places:
        """Return samples for the gradient noise, with replacement: (seeds, parts, size)."""
        shape = (parts, size)
        return np.stack([_places(rng, self._samples, shape) for rng in self._draws])

    def _next(self, order: _Order, steps: int) -> Places:
        shape = (steps, self._batch)
        if self._sampling == "with replacement":
            return _places(order.rng, self._samples, shape)
        return np.stack([self._of_epoch(order) for _ in range(steps)])

    def _of_epoch(self, order: _Order) -> Places:
        """Return a batch of this epoch's permutation; the remainder of an epoch is dropped."""
        if len(order.left) < self._batch:
            order.left = order.rng.permutation(self._samples).astype(np.int32)
        taken: Places = order.left[: self._batch]
        order.left = order.left[self._batch :]
        return taken


def _rng(seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([seed, stream])


def _places(rng: np.random.Generator, samples: int, shape: tuple[int, ...]) -> Places:
    return rng.integers(0, samples, shape, dtype=np.int32)
