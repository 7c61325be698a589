"""The optimisers for sweeps."""

from __future__ import annotations

import keras


def make(name: str, learning_rate: float) -> keras.optimizers.Optimizer:
    """Return the optimiser `name` of `runners.workloads.OPTIMIZERS`; ValueError for others."""
    if name == "sgd":
        return keras.optimizers.SGD(learning_rate)
    if name in {"momentum", "nesterov"}:
        return keras.optimizers.SGD(learning_rate, momentum=0.9, nesterov=name == "nesterov")
    if name == "adam":
        return keras.optimizers.Adam(learning_rate)
    raise ValueError(f"optimiser {name!r} is unknown. Use sgd, momentum, nesterov or adam.")
