"""Trials of one network trained side by side: parameters carry a leading trial axis.

Trials are independent: a trial that diverges does not affect the others, and one trained alone
gives the same curve to float32 rounding. Networks with a state beside their weights (batch
normalisation) are trained with an axis of length 1, one trial after the other, by the same code.

Update rules on parameters with a leading trial axis, with one learning rate per trial.

They equal Keras's optimisers of these names with default settings (a test compares them).
Shapes: parameters, gradients and slots (trials, ...), rates (trials,).

With a staleness of s updates a gradient is that of the weights before the last s updates, as of a
worker that read them then; the first s gradients are those of the initial weights.

Convolutions as matrix products, which TensorFlow can vectorise over weights.

`tf.vectorized_map` stacks samples of a convolution but not filters. As shifted slices and one
matrix product, a convolution can have a trial axis like a dense layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import keras
import numpy as np
import tensorflow as tf

from planner.core import Text
from runners.child.samples.datasets import Data

MOMENTUM: Final = 0.9
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
SMALL_PIXELS: Final = 64
"""Up to this image size [pixels] a convolution is one product with a full matrix."""
SLOTS: Final = {"sgd": 0, "momentum": 1, "nesterov": 1, "adam": 2}
"""Number of optimiser variables per parameter."""


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


class StackableConv2D(keras.layers.Conv2D):  # type: ignore[misc] # Keras ships no types
    """The same numbers as Conv2D with padding "same", to float32 rounding."""

    def call(self, x: Any) -> Any:  # noqa: ANN401 - a tensor
        """Return (batch, rows, columns, filters) for x (batch, height, width, channels)."""
        small = x.shape[1] * x.shape[2] <= SMALL_PIXELS and self.kernel_size != (1, 1)
        y = (_by_matrix if small else _by_patches)(x, self.kernel, self.strides)
        return self.activation(y + self.bias if self.use_bias else y)


def _by_patches(x: tf.Tensor, kernel: tf.Tensor, strides: tuple[int, int]) -> tf.Tensor:
    """Return the convolution as one matrix product per patch of the input."""
    patches = _patches(x, tuple(kernel.shape[:2]), strides)
    filters = kernel.shape[-1]
    flat = tf.matmul(
        tf.reshape(patches, (-1, patches.shape[-1])), tf.reshape(kernel, (-1, filters))
    )
    return tf.reshape(flat, (-1, *patches.shape[1:3], filters))


def _by_matrix(x: tf.Tensor, kernel: tf.Tensor, strides: tuple[int, int]) -> tf.Tensor:
    """Return the convolution as one product with a matrix of all inputs by all outputs.

    It multiplies zeros too, but moves far less memory than patches do.
    """
    height, width, channels = x.shape[1:]
    places = _placement(height, width, tuple(kernel.shape[:2]), strides)
    rows, columns = -(-height // strides[0]), -(-width // strides[1])
    filters = kernel.shape[-1]
    spread = tf.matmul(
        tf.constant(places.reshape(-1, places.shape[-1])),
        tf.reshape(kernel, (places.shape[-1], channels * filters)),
    )
    matrix = tf.transpose(
        tf.reshape(spread, (height * width, rows * columns, channels, filters)), (0, 2, 1, 3)
    )
    size = height * width * channels
    flat = tf.matmul(tf.reshape(x, (-1, size)), tf.reshape(matrix, (size, -1)))
    return tf.reshape(flat, (-1, rows, columns, filters))


def _placement(
    height: int, width: int, kernel: tuple[int, int], strides: tuple[int, int]
) -> np.ndarray:
    """Return 1 where an input and an output meet in a place of the kernel, otherwise 0.

    The shape is (height x width, rows x columns, places of the kernel).
    """
    down, across = (
        _line(size, k, s) for size, k, s in zip((height, width), kernel, strides, strict=True)
    )
    whole: np.ndarray = np.einsum("hri,wcj->hwrcij", down, across)
    return whole.reshape(height * width, -1, kernel[0] * kernel[1])


def _line(size: int, kernel: int, stride: int) -> np.ndarray:
    """Return `_placement` along one axis: (size, outputs, kernel)."""
    outputs, before, _ = _same(size, kernel, stride)
    inputs, places = np.arange(size)[:, None, None], np.arange(kernel)
    reached = np.arange(outputs)[:, None] * stride - before + places
    return np.asarray(inputs == reached, np.float32)


def _patches(x: tf.Tensor, kernel: tuple[int, int], strides: tuple[int, int]) -> tf.Tensor:
    """Return the input patch of each output; last axis: rows, columns, channels of a kernel."""
    (rows, above, below), (columns, left, right) = (
        _same(size, k, s) for size, k, s in zip(x.shape[1:3], kernel, strides, strict=True)
    )
    padded = tf.pad(x, [[0, 0], [above, below], [left, right], [0, 0]])
    down, across = strides
    shifted = [
        padded[:, i : i + (rows - 1) * down + 1 : down, j : j + (columns - 1) * across + 1 : across]
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    return tf.concat(shifted, axis=-1)


def _same(size: int, kernel: int, stride: int) -> tuple[int, int, int]:
    """Return outputs and the zeros before and after an axis, as TensorFlow's padding "same"."""
    outputs = -(-size // stride)
    zeros = max((outputs - 1) * stride + kernel - size, 0)
    return outputs, zeros // 2, zeros - zeros // 2


def stackable(model: keras.Model) -> keras.Model:
    """Return the network with convolutions as matrix products; weights keep their order.

    ValueError for a convolution with groups, dilation or other padding.
    """
    return keras.models.clone_model(model, clone_function=_clone)


def _clone(layer: keras.layers.Layer) -> keras.layers.Layer:
    if type(layer) is not keras.layers.Conv2D:
        return layer.__class__.from_config(layer.get_config())
    plain = (layer.dilation_rate, layer.groups, layer.padding)
    if plain != ((1, 1), 1, "same"):
        raise ValueError(
            Text("{name} is not a plain convolution: train its trials one by one", name=layer.name)
        )
    return StackableConv2D.from_config(layer.get_config())


PART: Final = 1024
"""Validation samples per evaluation call; more would need more memory and save no time."""
Weights = list[np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFunctions:
    """Functions on `size` trials; all returned arrays have shape (size,)."""

    size: int
    start: Callable[[Sequence[float], Sequence[Weights], Sequence[Weights]], None]
    """Restart with these rates, and the trainable and other weights of each trial."""
    train: Callable[[tf.Tensor], tf.Tensor]
    """Train on samples at indices (size, steps, batch); returns the loss of the last step."""
    evaluate: Callable[[], tuple[tf.Tensor, tf.Tensor]]
    """Validation error [share of samples, 0..1] and mean validation loss."""
    norms: Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]
    """Mean squared gradient norm of the parts, and that of all parts together, from indices
    (size, parts, samples)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Variables of all trials; created once, so that nothing is traced twice."""

    weights: Sequence[tf.Variable]
    read: Sequence[tf.Variable]
    """The weights whose gradient is taken: `weights`, or copies of earlier ones."""
    earlier: Sequence[tf.Variable]
    """The weights before each of the last updates, (staleness, size, ...), as a ring."""
    others: Sequence[tf.Variable]
    slots: Sequence[Sequence[tf.Variable]]
    rates: tf.Variable
    step: tf.Variable


def make(
    model: keras.Model, data: Data, optimizer: str, size: int, *, staleness: int = 0
) -> TrialFunctions:
    """Return trials of `model` (its weights are not used); `size` above 1 trains them at once.

    A gradient is that of the weights before the last `staleness` updates.

    ValueError if the network cannot be trained at once: its weights change outside of gradients
    (batch normalisation), or TensorFlow cannot vectorise it.
    """
    if size > 1 and model.non_trainable_weights:
        raise ValueError(
            Text("{name} has a state: train its trials one after the other", name=model.name)
        )
    state = _state(model, optimizer, size, staleness)
    network = _together(stackable(model), state) if size > 1 else _alone(model, state)
    return TrialFunctions(
        size=size,
        start=_start(state),
        train=_train(network, state, data, optimizer),
        evaluate=_evaluate(network, data, size),
        norms=_norms(network, state, data),
    )


def initial_weights(build: Callable[[], keras.Model], seed: int) -> tuple[Weights, Weights]:
    """Return the trainable and other weights of a network built with this seed."""
    keras.utils.set_random_seed(seed)
    model = build()
    return _values(model.trainable_variables), _values(model.non_trainable_variables)


def _values(variables: Sequence[Any]) -> Weights:
    return [np.asarray(keras.ops.convert_to_numpy(v)) for v in variables]


def _state(model: keras.Model, optimizer: str, size: int, staleness: int) -> _State:
    def room(v: Any, *more: int) -> tf.Variable:  # noqa: ANN401 - a Keras variable
        return tf.Variable(tf.zeros([*more, size, *v.shape], v.dtype))

    shapes = model.trainable_variables
    weights = [room(v) for v in shapes]
    return _State(
        weights=weights,
        read=[room(v) for v in shapes] if staleness else weights,
        earlier=[room(v, staleness) for v in shapes] if staleness else [],
        others=[room(v) for v in model.non_trainable_variables],
        slots=[[room(v) for _ in range(SLOTS[optimizer])] for v in shapes],
        rates=tf.Variable(tf.zeros([size])),
        step=tf.Variable(0.0),
    )


def _start(state: _State) -> Callable[..., None]:
    def start(
        rates: Sequence[float], weights: Sequence[Weights], others: Sequence[Weights]
    ) -> None:
        for variables, values in ((state.weights, weights), (state.others, others)):
            for i, variable in enumerate(variables):
                variable.assign(np.stack([own[i] for own in values]))
        for ring, variable in zip(state.earlier, state.weights, strict=False):
            ring.assign(tf.broadcast_to(variable, ring.shape))
        for slot in (s for own in state.slots for s in own):
            slot.assign(tf.zeros_like(slot))
        state.rates.assign(np.asarray(rates, np.float32))
        state.step.assign(0.0)

    return start


# -- the network over the trial axis ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """The network of all trials; both functions return logits (size, batch, classes)."""

    trained: Callable[[tf.Tensor], tf.Tensor]
    """In training at `_State.read`, on separate samples of each trial: (size, batch, ...)."""
    evaluated: Callable[[tf.Tensor], tf.Tensor]
    """In evaluation, on samples shared by all trials: (batch, ...)."""


def _together(model: keras.Model, state: _State) -> _Network:
    # A recurrent layer has the seed of a dropout that it does not use.
    unused = [v.value for v in model.non_trainable_variables]

    def over_trials(function: Callable[..., tf.Tensor], *stacked: tf.Tensor) -> tf.Tensor:
        # A fallback loop would be slower than trials in sequence: raise instead.
        return tf.vectorized_map(function, list(stacked), fallback_to_while_loop=False)

    def trained(x: tf.Tensor) -> tf.Tensor:
        def single(arguments: Sequence[tf.Tensor]) -> tf.Tensor:
            return model.stateless_call(arguments[:-1], unused, arguments[-1], training=True)[0]

        return over_trials(single, *state.read, x)

    def evaluated(x: tf.Tensor) -> tf.Tensor:
        def single(arguments: Sequence[tf.Tensor]) -> tf.Tensor:
            return model.stateless_call(arguments, unused, x, training=False)[0]

        return over_trials(single, *state.weights)

    return _Network(trained=trained, evaluated=evaluated)


def _alone(model: keras.Model, state: _State) -> _Network:
    def call(x: tf.Tensor, *, training: bool) -> tuple[tf.Tensor, Sequence[tf.Tensor]]:
        own = state.read if training else state.weights
        weights, others = [w[0] for w in own], [o[0] for o in state.others]
        logits, after = model.stateless_call(weights, others, x, training=training)
        return logits[None], after

    def trained(x: tf.Tensor) -> tf.Tensor:
        logits, after = call(x[0], training=True)
        for variable, value in zip(state.others, after, strict=True):
            variable.assign(value[None])
        return logits

    return _Network(trained=trained, evaluated=lambda x: call(x, training=False)[0])


def _losses(logits: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Return the mean cross entropy over all but the trial axis, (size,)."""
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(y, tf.cast(logits, tf.float32))
    return tf.reduce_mean(each, axis=list(range(1, len(each.shape))))


# -- training, evaluation, noise -------------------------------------------------------------------


def _gradients(
    network: _Network, state: _State, x: tf.Tensor, y: tf.Tensor
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return losses (size,) and the gradients of each trial: their sum has no mixed terms."""
    with tf.GradientTape() as tape:
        losses = _losses(network.trained(x), y)
        total = tf.reduce_sum(losses)
    return losses, [tf.convert_to_tensor(g) for g in tape.gradient(total, list(state.read))]


def _read(state: _State, place: tf.Tensor) -> None:
    """Read the weights of the ring at a place, and put the current ones there."""
    for ring, read, now in zip(state.earlier, state.read, state.weights, strict=True):
        read.assign(ring[place])
        ring.scatter_nd_update([[place]], now[None])


def _train(network: _Network, state: _State, data: Data, optimizer: str) -> Callable[..., Any]:
    x, y = tf.constant(data.train_x), tf.constant(data.train_y)

    # One trace for every batch size and number of steps.
    places = tf.TensorSpec([state.rates.shape[0], None, None], tf.int32)

    @tf.function(input_signature=[places])  # type: ignore[untyped-decorator]
    def train(places: tf.Tensor) -> tf.Tensor:
        losses = tf.zeros_like(state.rates)
        for step in tf.range(tf.shape(places)[1]):
            at = places[:, step]
            if state.earlier:
                _read(state, tf.cast(state.step, tf.int32) % state.earlier[0].shape[0])
            losses, gradients = _gradients(network, state, tf.gather(x, at), tf.gather(y, at))
            state.step.assign_add(1.0)
            apply(optimizer, state.weights, state.slots, gradients,
                          rates=state.rates, step=state.step)  # fmt: skip
        return losses

    return train  # type: ignore[no-any-return]


def _evaluate(network: _Network, data: Data, size: int) -> Callable[..., Any]:
    x, y = tf.constant(data.validation_x), tf.constant(data.validation_y)
    begins = range(0, len(data.validation_y), PART)
    shares = [len(data.validation_y[b : b + PART]) / len(data.validation_y) for b in begins]

    @tf.function  # type: ignore[untyped-decorator]
    def evaluate() -> tuple[tf.Tensor, tf.Tensor]:
        parts = [_check(network, x[b : b + PART], y[b : b + PART], size) for b in begins]
        errors = tf.add_n([e * share for (e, _), share in zip(parts, shares, strict=True)])
        return errors, tf.add_n([v * share for (_, v), share in zip(parts, shares, strict=True)])

    return evaluate  # type: ignore[no-any-return]


def _check(network: _Network, x: tf.Tensor, y: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    y = tf.repeat(y[None], size, axis=0)
    logits = network.evaluated(x)
    wrong = tf.cast(tf.argmax(logits, -1, tf.int32) != y, tf.float32)
    return tf.reduce_mean(wrong, axis=list(range(1, len(wrong.shape)))), _losses(logits, y)


def _norms(network: _Network, state: _State, data: Data) -> Callable[..., Any]:
    x, y = tf.constant(data.train_x), tf.constant(data.train_y)

    @tf.function  # type: ignore[untyped-decorator]
    def norms(places: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        count = places.shape[1]
        if state.earlier:  # the noise is that of the weights now
            for read, now in zip(state.read, state.weights, strict=True):
                read.assign(now)
        before = [tf.identity(o) for o in state.others]
        mean = [tf.zeros_like(w) for w in state.weights]
        small = tf.zeros_like(state.rates)
        for part in tf.range(count):
            at = places[:, part]
            _, gradients = _gradients(network, state, tf.gather(x, at), tf.gather(y, at))
            mean = [m + g / count for m, g in zip(mean, gradients, strict=True)]
            small += _squared(gradients) / count
        for variable, value in zip(state.others, before, strict=True):
            variable.assign(value)  # restore the moving averages of batch normalisation
        return small, _squared(mean)

    return norms  # type: ignore[no-any-return]


def _squared(gradients: Sequence[tf.Tensor]) -> tf.Tensor:
    """Return the squared length over all parameters of each trial: (size,)."""
    return tf.add_n([tf.reduce_sum(g * g, axis=list(range(1, len(g.shape)))) for g in gradients])


def columns_of(model: keras.Model) -> Mapping[str, Any]:
    """Return the run columns of the network itself."""
    return {"params": model.count_params()}
