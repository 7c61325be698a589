"""How fast a device multiplies matrices: what a training's FLOP/s are compared with.

A measured speed of the same device, in the same number format, through the same framework; a
vendor's peak is another number and the two are never mixed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

SIZES: Final = tuple(2**power for power in range(8, 15))
"""Rows of the square matrices: 256 to 16,384 (1 GiB a matrix in float32)."""
REPEATS: Final = 5
RISE: Final = 1.05
"""A larger size that is not this much faster than all before ends the search."""


def measure(backend: str, precision: str, budget_s: float = 0.3) -> float:
    """Best speed [FLOP/s] of square matrix products on the default device.

    `precision` is a Keras policy and decides the number format; a fused multiply-add counts as
    two operations. `budget_s` bounds the time of the products that count, not their warming up
    (a GPU chooses its kernel the first time). The smallest size is always measured.
    """
    dtype = precision.removeprefix("mixed_")
    best, left_s = 0.0, budget_s
    for size in SIZES:
        product = _product(backend, size, dtype)
        product()
        seconds = _fastest(product, left_s)
        speed = 2 * size**3 / seconds[0]
        rises, best = speed >= RISE * best, max(best, speed)
        left_s -= seconds[1]
        # The next size takes eight times as long, once to warm up and once to count.
        if not rises or left_s < 8 * seconds[0]:
            break
    return best


def _fastest(product: Callable[[], None], budget_s: float) -> tuple[float, float]:
    """Shortest of several calls, and how long all took [s]; ends early past `budget_s`."""
    best, began = float("inf"), time.perf_counter()
    for _ in range(REPEATS):
        start = time.perf_counter()
        product()
        end = time.perf_counter()
        best = min(best, end - start)
        if end - began >= budget_s:
            break
    return best, end - began


def _product(backend: str, size: int, dtype: str) -> Callable[[], None]:
    """A product of two matrices that are on the device; returns when its result is there."""
    import keras

    a, b = (keras.random.normal((size, size), dtype=dtype, seed=seed) for seed in (0, 1))
    wait = _wait_jax if backend == "jax" else _wait_for_one_number
    return lambda: wait(keras.ops.matmul(a, b))


def _wait_jax(result: Any) -> None:  # noqa: ANN401 - an array of JAX
    result.block_until_ready()


def _wait_for_one_number(result: Any) -> None:  # noqa: ANN401 - a tensor of any backend
    """Only one number travels to the host, but not before all have been computed."""
    float(result[0, 0])
