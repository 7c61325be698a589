"""Made-up samples in known shapes, seeded, that can be learnt.

They are made from raw PCG64 numbers, the only stream NumPy promises never to change, so the same
name, seed and number give the same bytes anywhere, and fewer samples are the first of more.
Images carry their class's pattern and tokens follow a rule, so a loss falls; their accuracy says
nothing about the real set whose shape they have.
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
"""Images are made in pieces of this size, so that memory holds the set hardly more than once."""
SUCCESSORS: Final = 4
"""Tokens that may follow a token, but for one in eight that follows no rule."""


class Split(NamedTuple):
    """Samples and their targets."""

    x: np.ndarray
    y: Integers


def make(dataset: DataSet, samples: int, split: str, seed: int) -> Split:
    """So many samples of a split ("train" or "validation"), which share their rule by `seed`."""
    kind = _images if dataset.task == "images" else _tokens
    return kind(dataset, samples, seed, split)


def _images(dataset: DataSet, samples: int, seed: int, split: str) -> Split:
    """Each image is its class's pattern of 8x8 cells (0..127) and noise (0..127), added."""
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
    """Sequences in which a token is mostly one of four that its predecessor allows.

    Small tokens are more frequent, as common words are, so a loss falls from the first steps.
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
    """Tokens from raw numbers, token t about as t**(-2/3): the cube of an even draw."""
    even = (numbers >> 11).astype(np.float64) * 2.0**-53
    tokens: Integers = (vocabulary * (even * even * even)).astype(np.int32)
    return tokens


def raw(count: int, seed: int, *purpose: str) -> npt.NDArray[np.uint64]:
    """`count` random 64-bit numbers; each seed and purpose has a stream of its own."""
    words = int.from_bytes(hashlib.sha256(" ".join(purpose).encode()).digest()[:8], "little")
    return np.random.PCG64(np.random.SeedSequence([seed, words])).random_raw(count)


def _raw_bytes(count: int, numbers: npt.NDArray[np.uint64]) -> Bytes:
    return numbers.astype("<u8", copy=False).view(np.uint8)[:count]
