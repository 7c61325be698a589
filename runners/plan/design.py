"""The smallest sufficient design: few batch sizes that define a throughput curve.

The throughput law has two parameters, so two batch sizes define it and the others check it. The
smallest shows the overhead per step, the largest the asymptotic throughput. Their geometric
middle checks the law; one odd batch checks sizes that are not powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from runners.plan.cases import Case

EPOCHS: Final = 3
"""Epochs of the smallest design: one to warm up, two to compare."""


def batches(smallest: int, largest: int) -> tuple[int, ...]:
    """Return smallest, geometric middle (a power of two), one odd and largest batch, ascending."""
    if smallest >= largest:
        return (largest,)
    middle = 2 ** round(math.log2(math.sqrt(smallest * largest)))
    odd = middle * 3 // 4 | 1
    inside = {b for b in (middle, odd) if smallest < b < largest}
    return tuple(sorted({smallest, largest} | inside))


def smallest(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the smallest design of a sweep: per group at most four batches, one repeat.

    Each case has at most three epochs. Cases of a group differ only in batch size (and so in
    samples) and repeat.
    """
    chosen: list[Case] = []
    for group in groups(cases):
        kept = _of_group(sorted({c.batch for c in group}))
        first = {c.batch: c for c in reversed(group) if c.repeat == group[0].repeat}
        chosen += [replace(first[b], epochs=min(EPOCHS, first[b].epochs)) for b in kept]
    return tuple(chosen)


def _of_group(sizes: Sequence[int]) -> list[int]:
    """Return those batch sizes of a sweep that are nearest to the design."""
    if len(sizes) <= 4:
        return list(sizes)
    target = math.sqrt(sizes[0] * sizes[-1])
    middle = min(sizes[1:-1], key=lambda b: abs(math.log(b / target)))
    odd = [b for b in sizes[1:-1] if b & (b - 1) and b != middle]
    return sorted({sizes[0], middle, sizes[-1], *odd[:1]})


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Return groups of cases that differ only in batch size, samples of an epoch and repeat."""
    by_key: dict[Case, list[Case]] = {}
    for case in cases:
        key = replace(case, batch=1, train_samples=1, repeat=0, epochs=1)
        by_key.setdefault(key, []).append(case)
    return list(by_key.values())
