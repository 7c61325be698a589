"""The link between synchronous workers, measured by all-reduces before training.

Every worker runs the same all-reduces in the same order, under the strategy of the run. An
all-reduce over a ring of n workers sends 2(n-1)/n times its bytes over each link (Patarasuk and
Yuan, J. Parallel Distrib. Comput. 69(2), 2009). The rate of a link is that traffic over the median
time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Final

import tensorflow as tf

SIZES: Final = (4_000_000, 16_000_000)
"""Sizes of the all-reduces that give the rate [bytes]: gradients of 1 and 4 million parameters."""
TINY: Final = 4
"""Size of the all-reduce that gives the latency [bytes]: one float32."""
REPEATS: Final = 5
LATENCY_REPEATS: Final = 25
LONG_S: Final = 1.0
"""Time of an all-reduce from which larger ones are left out [s]."""


def measured() -> dict[str, float]:
    """Return the link of the current strategy: latency [s] and rates [bytes/s], for `extra`."""
    workers = tf.distribute.get_strategy().num_replicas_in_sync
    traffic = 2.0 * (workers - 1) / workers
    facts = {"link_latency_s": _median_s(TINY, LATENCY_REPEATS)}
    for size in SIZES:
        taken_s = _median_s(size, REPEATS)
        facts[f"link_{size // 1_000_000}_mb_bytes_per_s"] = traffic * size / taken_s
        if _agreed(taken_s) > LONG_S:
            break
    return facts


def _median_s(size: int, repeats: int) -> float:
    """Return the median time of an all-reduce of `size` bytes [s]; the first one connects."""
    reduce = _all_reduce(size)
    reduce()
    seconds = []
    for _ in range(repeats):
        began_s = time.perf_counter()
        reduce()
        seconds.append(time.perf_counter() - began_s)
    return statistics.median(seconds)


def _all_reduce(size: int) -> Callable[[], float]:
    """Return a function that adds `size` bytes over all workers; it waits for the sum."""
    value = tf.ones([size // 4])
    strategy = tf.distribute.get_strategy()

    @tf.function  # type: ignore[untyped-decorator]
    def step() -> tf.Tensor:
        return strategy.run(_sum, args=(value,))[0]

    return lambda: float(step())


def _sum(value: tf.Tensor) -> tf.Tensor:
    return tf.distribute.get_replica_context().all_reduce("SUM", value)


def _agreed(seconds: float) -> float:
    """Return the mean over the workers [s]: they decide alike, or one would wait for ever."""
    strategy = tf.distribute.get_strategy()
    total = strategy.run(lambda: _sum(tf.constant(seconds)))
    return float(total) / int(strategy.num_replicas_in_sync)
