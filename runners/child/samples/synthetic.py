"""Seeded synthetic samples in common shapes that a network can learn.

They are made from raw PCG64 numbers, the only stream that NumPy guarantees. So the same name, seed
and number give the same bytes anywhere, and fewer samples are the first of more. Images contain
their class's pattern and tokens follow a rule, so the loss falls; the accuracy is unrelated to the
real set of the same shape.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runners.workloads import DataSet

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int32]
PATTERN: Final = 8
"""Rows and columns of a class's pattern; each cell covers the same share of the image."""
CHUNK_BYTES: Final = 1 << 25
"""Images are made in pieces of this size, to limit memory to little more than the set."""
SUCCESSORS: Final = 4
"""Number of tokens that may follow a token; one in eight follows no rule."""


class Split(NamedTuple):
    """Samples and their targets."""

    x: np.ndarray
    y: Integers


def make(dataset: DataSet, samples: int, split: str, seed: int) -> Split:
    """Return samples of a split ("train" or "validation"); both splits share a rule by `seed`."""
    kind = _images if dataset.task == "images" else _tokens
    return kind(dataset, samples, seed, split)


def _images(dataset: DataSet, samples: int, seed: int, split: str) -> Split:
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
    for piece in _pieces(samples, size):
        large = patterns[labels[piece]].repeat(height // PATTERN, axis=1)
        x[piece] >>= 1
        x[piece] += large.repeat(width // PATTERN, axis=2)
    return Split(x, labels)


def _pieces(samples: int, size: int) -> Iterator[slice]:
    step = max(1, CHUNK_BYTES // size)
    return (slice(begin, begin + step) for begin in range(0, samples, step))


def _tokens(dataset: DataSet, samples: int, seed: int, split: str) -> Split:
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
    return Split(tokens[:, :-1].copy(), tokens[:, 1:].copy())


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
