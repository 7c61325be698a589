"""Update rules on parameters with a leading trial axis, with one learning rate per trial.

They equal Keras's optimisers of these names with default settings (a test compares them).
Shapes: parameters, gradients and slots (trials, ...), rates (trials,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import tensorflow as tf

MOMENTUM: Final = 0.9
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
SLOTS: Final = {"sgd": 0, "momentum": 1, "nesterov": 1, "adam": 2}
"""Number of optimiser variables per parameter."""

Update = Callable[[tf.Tensor, Sequence[tf.Tensor], tf.Tensor], None]


def apply(
    name: str,
    parameters: Sequence[tf.Variable],
    slots: Sequence[Sequence[tf.Variable]],
    gradients: Sequence[tf.Tensor],
    *,
    rates: tf.Tensor,
    step: tf.Tensor,
) -> None:
    """Take one step; `step` counts from 1 and is a float scalar."""
    rule = _RULES[name]
    for parameter, own, gradient in zip(parameters, slots, gradients, strict=True):
        rate = tf.reshape(rates, [-1] + [1] * (len(parameter.shape) - 1))
        rule(parameter, own, gradient, rate, step)


def _sgd(
    w: tf.Variable, _: Sequence[tf.Variable], g: tf.Tensor, rate: tf.Tensor, __: tf.Tensor
) -> None:
    w.assign_sub(rate * g)


def _momentum(
    w: tf.Variable, own: Sequence[tf.Variable], g: tf.Tensor, rate: tf.Tensor, _: tf.Tensor
) -> None:
    w.assign_add(own[0].assign(MOMENTUM * own[0] - rate * g))


def _nesterov(
    w: tf.Variable, own: Sequence[tf.Variable], g: tf.Tensor, rate: tf.Tensor, _: tf.Tensor
) -> None:
    velocity = own[0].assign(MOMENTUM * own[0] - rate * g)
    w.assign_add(MOMENTUM * velocity - rate * g)


def _adam(
    w: tf.Variable, own: Sequence[tf.Variable], g: tf.Tensor, rate: tf.Tensor, step: tf.Tensor
) -> None:
    first = own[0].assign_add((g - own[0]) * (1 - BETA_1))
    second = own[1].assign_add((g * g - own[1]) * (1 - BETA_2))
    unbiased = tf.sqrt(1 - tf.pow(BETA_2, step)) / (1 - tf.pow(BETA_1, step))
    w.assign_sub(rate * unbiased * first / (tf.sqrt(second) + EPSILON))


_RULES: Final = {"sgd": _sgd, "momentum": _momentum, "nesterov": _nesterov, "adam": _adam}
