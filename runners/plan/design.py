"""How few runs answer the question? Batch sizes for a throughput curve, and time to spend.

The throughput law has two numbers, so two batch sizes decide it and the others check it: the
smallest shows the overhead per step, the largest the asymptotic throughput, their geometric
middle whether the law holds, and one odd batch whether the machine dislikes batches that are no
power of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from runners.plan.cases import Case

EPOCHS: Final = 3
"""Epochs of the smallest design: one to warm up, two to see whether they agree."""


def batches(smallest: int, largest: int) -> tuple[int, ...]:
    """Smallest, geometric middle (a power of two), largest, and one odd batch, ascending."""
    if smallest >= largest:
        return (largest,)
    middle = 2 ** round(math.log2(math.sqrt(smallest * largest)))
    odd = middle * 3 // 4 | 1
    inside = {b for b in (middle, odd) if smallest < b < largest}
    return tuple(sorted({smallest, largest} | inside))


def smallest(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The smallest design within a sweep: at most four batches a group, three epochs, one repeat.

    A group is what differs only in batch size (and so in samples) and repeat.
    """
    chosen: list[Case] = []
    for group in groups(cases):
        kept = _of_group(sorted({c.batch for c in group}))
        first = {c.batch: c for c in reversed(group) if c.repeat == group[0].repeat}
        chosen += [replace(first[b], epochs=min(EPOCHS, first[b].epochs)) for b in kept]
    return tuple(chosen)


def _of_group(known: Sequence[int]) -> list[int]:
    """Of the batches a sweep names, those nearest to the design."""
    if len(known) <= 4:
        return list(known)
    target = math.sqrt(known[0] * known[-1])
    middle = min(known[1:-1], key=lambda b: abs(math.log(b / target)))
    odd = [b for b in known[1:-1] if b & (b - 1) and b != middle]
    return sorted({known[0], middle, known[-1], *odd[:1]})


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Cases that differ only in batch size, samples of an epoch and repeat, together."""
    found: dict[Case, list[Case]] = {}
    for case in cases:
        key = replace(case, batch=1, train_samples=1, repeat=0, epochs=1)
        found.setdefault(key, []).append(case)
    return list(found.values())
