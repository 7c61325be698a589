"""The optimisers a sweep can name."""

from __future__ import annotations

import keras


def make(name: str, learning_rate: float) -> keras.optimizers.Optimizer:
    """The optimiser called `name` in `runners.workloads.OPTIMIZERS`; ValueError for any other."""
    if name == "sgd":
        return keras.optimizers.SGD(learning_rate)
    if name in {"momentum", "nesterov"}:
        return keras.optimizers.SGD(learning_rate, momentum=0.9, nesterov=name == "nesterov")
    if name == "adam":
        return keras.optimizers.Adam(learning_rate)
    raise ValueError(f"no optimiser is called {name!r}. Take sgd, momentum, nesterov or adam.")
