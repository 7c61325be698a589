"""Measured peak of matrix products: the reference for a training's FLOP/s.

It is of the same device, number format and framework. A vendor's peak is another quantity; the
two are never mixed.

A shared machine has slow moments. So the best of many short products of several sizes counts,
spread over the whole time. If the machine is slow all that time, the peak is too low;
`planner.job.utilization` reports that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from runners.child.engines.backend import is_out_of_memory

SIZES: Final = tuple(2**power for power in range(8, 15))
"""Rows of the square matrices: 256 to 16,384 (1 GiB per matrix in float32)."""
ROUNDS: Final = 4
"""A size is measured if this many products of it fit the time."""

Product = Callable[[], None]


@dataclass(slots=True, kw_only=True)
class _Size:
    """One size of matrices, warmed up, and its shortest product so far [s]."""

    rows: int
    product: Product
    best_s: float = float("inf")

    def again(self, now: Callable[[], float]) -> float:
        """Multiply once more; return its time [s]."""
        begin = now()
        self.product()
        seconds = now() - begin
        self.best_s = min(self.best_s, seconds)
        return seconds

    @property
    def flops_per_s(self) -> float:
        return 2 * self.rows**3 / self.best_s


def measure(backend: str, precision: str, budget_s: float = 0.4) -> float:
    """Return the best speed [FLOP/s] of square matrix products on the default device.

    `precision` is a Keras policy that sets the number format; a fused multiply-add counts as two
    operations. `budget_s` limits the timed products, not the warm-up (a GPU chooses its kernel
    the first time). The smallest size is always measured.
    """
    dtype = precision.removeprefix("mixed_")
    return best_speed(lambda rows: _product(backend, rows, dtype), budget_s)


def best_speed(
    make: Callable[[int], Product], budget_s: float, now: Callable[[], float] = time.perf_counter
) -> float:
    """Return the best speed [FLOP/s] of the products that `make` builds for a number of rows.

    All sizes take turns until `budget_s` [s] is used up, so a slow moment affects all sizes. A
    larger size joins once its product is short enough.
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
    """Return a size after its first product; None if it does not fit the card's memory."""
    try:
        product = make(rows)
        product()
    except Exception as error:
        if first or not is_out_of_memory(error):
            raise
        return None
    return _Size(rows=rows, product=product)


def _product(backend: str, rows: int, dtype: str) -> Product:
    """Return a product of matrices on the device; calling it waits for the result.

    The matrices are random, because zeros need less power and would be faster. One random block
    is tiled: filling a large matrix would take longer than multiplying it.
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
    """Wait for the whole result by copying a single number to the host."""
    float(result[0, 0])
