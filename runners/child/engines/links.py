"""The link between synchronous workers, measured by all-reduces before training.

On TensorFlow they run under the strategy of the run, on JAX over the devices of all processes.
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

import numpy as np

from runners.plan.cases import Case

SumOf = Callable[[np.ndarray], Callable[[], float]]
SIZES: Final = (4_000_000, 16_000_000)
"""Sizes of the all-reduces that give the rate [bytes]: gradients of 1 and 4 million parameters."""
TINY: Final = 4
"""Size of the all-reduce that gives the latency [bytes]: one float32."""
REPEATS: Final = 5
LATENCY_REPEATS: Final = 25
LONG_S: Final = 1.0
"""Time of an all-reduce from which larger ones are left out [s]."""


def measured(case: Case) -> dict[str, float]:
    """Return the link between the workers of a case: latency [s] and rates [bytes/s]."""
    sum_of = _sum_on_jax if case.backend == "jax" else _sum_on_tensorflow
    workers = case.devices
    traffic = 2.0 * (workers - 1) / workers
    facts = {"link_latency_s": _median_s(sum_of, TINY, LATENCY_REPEATS)}
    for size in SIZES:
        taken_s = _median_s(sum_of, size, REPEATS)
        facts[f"link_{size // 1_000_000}_mb_bytes_per_s"] = traffic * size / taken_s
        mean_s = sum_of(np.full(1, taken_s, np.float32))() / workers
        if mean_s > LONG_S:  # the workers decide alike, or one would wait for ever
            break
    return facts


def _median_s(sum_of: SumOf, size: int, repeats: int) -> float:
    """Return the median time of an all-reduce of `size` bytes [s]; the first one connects."""
    reduce = sum_of(np.ones(size // 4, np.float32))
    reduce()
    seconds = []
    for _ in range(repeats):
        began_s = time.perf_counter()
        reduce()
        seconds.append(time.perf_counter() - began_s)
    return statistics.median(seconds)


def _sum_on_tensorflow(own: np.ndarray) -> Callable[[], float]:
    """Return a function that adds the arrays of all workers; its first number waits for the sum."""
    import tensorflow as tf

    value = tf.constant(own)
    strategy = tf.distribute.get_strategy()

    def add(value: tf.Tensor) -> tf.Tensor:
        return tf.distribute.get_replica_context().all_reduce("SUM", value)

    @tf.function  # type: ignore[untyped-decorator]
    def step() -> tf.Tensor:
        return strategy.run(add, args=(value,))[0]

    return lambda: float(step())


def _sum_on_jax(own: np.ndarray) -> Callable[[], float]:
    """Return the same on JAX: each worker has one row of an array that is added over its rows."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((jax.process_count(),), ("workers",))
    rows = NamedSharding(mesh, PartitionSpec("workers"))
    whole = NamedSharding(mesh, PartitionSpec())
    values = jax.make_array_from_process_local_data(rows, own[None])
    add = jax.jit(lambda array: array.sum(0), out_shardings=whole)
    return lambda: float(add(values)[0])
