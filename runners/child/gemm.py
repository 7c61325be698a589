"""How fast a device multiplies matrices: what a training's FLOP/s are compared with.

A measured speed of the same device, in the same number format, through the same framework; a
vendor's peak is another number and the two are never mixed.

A machine that others use too has slow moments, and a peak must not be one of them: the best of
many short products of several sizes counts, spread over the whole of the time. A moment that
lasts as long as all of them still makes the peak too low, which `planner.job.utilization` says.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from runners.child.engines.backend import is_out_of_memory

SIZES: Final = tuple(2**power for power in range(8, 15))
"""Rows of the square matrices: 256 to 16,384 (1 GiB a matrix in float32)."""
ROUNDS: Final = 4
"""A size is measured where this many products of it fit the time."""

Product = Callable[[], None]


@dataclass(slots=True, kw_only=True)
class _Size:
    """One size of matrices, warmed up, and its shortest product so far [s]."""

    rows: int
    product: Product
    best_s: float = float("inf")

    def again(self, now: Callable[[], float]) -> float:
        """Multiply once more; how long it took [s]."""
        begin = now()
        self.product()
        seconds = now() - begin
        self.best_s = min(self.best_s, seconds)
        return seconds

    @property
    def flops_per_s(self) -> float:
        return 2 * self.rows**3 / self.best_s


def measure(backend: str, precision: str, budget_s: float = 0.4) -> float:
    """Best speed [FLOP/s] of square matrix products on the default device.

    `precision` is a Keras policy and decides the number format; a fused multiply-add counts as
    two operations. `budget_s` bounds the time of the products that count, not their warming up
    (a GPU chooses its kernel the first time). The smallest size is always measured.
    """
    dtype = precision.removeprefix("mixed_")
    return best_speed(lambda rows: _product(backend, rows, dtype), budget_s)


def best_speed(
    make: Callable[[int], Product], budget_s: float, now: Callable[[], float] = time.perf_counter
) -> float:
    """Best speed [FLOP/s] of the products that `make` gives for numbers of rows.

    All sizes take turns until `budget_s` [s] is used up, so a slow moment meets all of them and
    decides for none; a larger one joins once it would be short enough.
    """
    sizes: list[_Size] = []
    larger, spent_s = list(SIZES), 0.0
    while spent_s < budget_s:
        # The next size takes eight times as long.
        if larger and (not sizes or 8 * sizes[-1].best_s <= budget_s / ROUNDS):
            joined = _warmed(make, larger.pop(0), first=not sizes)
            sizes += [joined] if joined else []
            larger = larger if joined else []
        spent_s += sum(size.again(now) for size in sizes)
    return max(size.flops_per_s for size in sizes)


def _warmed(make: Callable[[int], Product], rows: int, *, first: bool) -> _Size | None:
    """A size after its first product; None where a card full of weights has no room for it."""
    try:
        product = make(rows)
        product()
    except Exception as error:
        if first or not is_out_of_memory(error):
            raise
        return None
    return _Size(rows=rows, product=product)


def _product(backend: str, rows: int, dtype: str) -> Product:
    """A product of matrices that are on the device; returns when its result is there.

    Random numbers, for zeros need less power and would be faster; one block of them side by side,
    for making as many as a large matrix holds takes longer than multiplying it.
    """
    import keras

    side = SIZES[0]
    block = keras.random.normal((side, side), dtype=dtype, seed=0)
    matrix = keras.ops.tile(block, (rows // side, rows // side))
    wait = _wait_jax if backend == "jax" else _wait_for_one_number
    return lambda: wait(keras.ops.matmul(matrix, matrix))


def _wait_jax(result: Any) -> None:  # noqa: ANN401 - an array of JAX
    result.block_until_ready()


def _wait_for_one_number(result: Any) -> None:  # noqa: ANN401 - a tensor of any backend
    """Only one number travels to the host, but not before all have been computed."""
    float(result[0, 0])
