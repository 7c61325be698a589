"""Order of the samples in training: one random order per seed, on the host.

Trials of one seed see the same batches at any learning rate and beside any other trials: their
curves differ by the rate alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

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
            raise ValueError(f"a batch of {batch} cannot be taken from {samples} samples")
        self._samples, self._batch, self._sampling = samples, batch, sampling
        self._orders = [_Order(rng=_rng(s, _ORDER), left=_none()) for s in seeds]
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


def _none() -> Places:
    return np.empty(0, np.int32)


def _places(rng: np.random.Generator, samples: int, shape: tuple[int, ...]) -> Places:
    return rng.integers(0, samples, shape, dtype=np.int32)
