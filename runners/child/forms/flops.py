"""Floating-point operations of a sample, forward and in training.

Two methods check each other. The graph profiler adds up TensorFlow's statistics of every operation
that the result needs. The hand count adds up the layers that multiply matrices, on any backend.
They agree within 1 % where such products dominate, within 5 % on MobileNetV3 and EfficientNet-B0.

Conventions: a fused multiply-add is two operations. Training is forward and backward. The
optimiser's update is separate: a step pays it once, at any batch size. The backward pass costs a
layer as much as forward for its weights' gradient, and as much again for its input's gradient. The
latter is not computed if no earlier layer learns, as for the first layer. (The often quoted "three
times forward" counts it.) The state of a recurrent layer is an input of each of its places: its
gradient is needed wherever the layer learns, in the first layer too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import keras

from runners.workloads import DataSet

UPDATE: Final = {"sgd": 2, "momentum": 4, "nesterov": 6, "adam": 12}
"""Operations per parameter of one update, counted in the formulas of Keras's optimisers."""
OPAQUE: Final = {"While", "StatelessWhile", "If", "StatelessIf", "Case", "PartitionedCall",
                 "StatefulPartitionedCall"}  # fmt: skip
"""Operations with an inner graph, which the profiler does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flops:
    """Operations per sample [FLOP]; of token models a sample is a whole sequence."""

    forward: float
    train: float
    """Forward and backward."""
    method: str
    """'graph profiler' or 'hand count': the source of `forward` and `train`."""
    by_hand_forward: float
    by_hand_train: float
    update: float
    """Operations of one optimiser update, for the whole batch."""


def count(model: keras.Model, data: DataSet, *, batch: int, optimizer: str) -> Flops:
    """Return the operations of a sample of `data`; graphs are traced for `batch` samples, not run.

    From the graph profiler on TensorFlow. By hand on other backends and for graphs with loops,
    as of an LSTM, which the profiler cannot count.
    """
    forward, train = by_hand(model)
    profiled = None
    if keras.config.backend() == "tensorflow":
        profiled = by_profiler(model, data, batch)
    chosen = profiled or (forward, train)
    return Flops(
        forward=chosen[0],
        train=chosen[1],
        method="graph profiler" if profiled else "hand count",
        by_hand_forward=forward,
        by_hand_train=train,
        update=float(UPDATE[optimizer] * sum(math.prod(w.shape) for w in model.trainable_weights)),
    )


# -- by hand -------------------------------------------------------------------------------------


def by_hand(model: keras.Model) -> tuple[float, float]:
    """Return forward, and forward plus backward [FLOP per sample], of layers with matrices.

    Batch normalisation counts in training only (moments, scaling and their gradients): 2 % of a
    small residual network. Activations, pooling, embeddings and unknown layers count 0.
    """
    forward = train = 0.0
    for node, inputs_learn in _in_order(model):
        operation = node.operation
        tied = isinstance(operation, keras.layers.ReversibleEmbedding)
        flops = float(_projected(node) if tied else operations_of(operation))
        forward += flops
        train += flops * (1 + _learns(operation) + inputs_learn) + normalising(operation)
        if _learns(operation) and not inputs_learn:
            train += _through_state(operation)
    return forward, train


NORMALISING: Final = 18
"""FLOP per number of a batch normalisation in training, counted from TensorFlow's graph."""


def normalising(layer: Any) -> int:  # noqa: ANN401 - any layer or operation of Keras
    """Return the FLOP per sample of batch normalisation in a layer or model, in training."""
    if isinstance(layer, keras.Model):
        return sum(normalising(inner) for inner in layer.layers)
    if not isinstance(layer, keras.layers.BatchNormalization):
        return 0
    return int(NORMALISING * math.prod(layer.output.shape[1:]))


def _in_order(model: keras.Model) -> Iterator[tuple[Any, bool]]:
    """Yield the node of each use of an operation, in order, and whether an earlier one learns.

    A layer has a node for each use, in other models too, as a loaded Sequential has: those of this
    model's graph count.
    """
    learning: set[int] = set()
    # Wrapped, because a Sequential has no graph of its own.
    by_depth = keras.Model(model.inputs, model.outputs)._nodes_by_depth  # noqa: SLF001
    for depth in sorted(by_depth, reverse=True):
        for node in by_depth[depth]:
            before = any(id(tensor) in learning for tensor in node.input_tensors)
            if before or _learns(node.operation):
                learning |= {id(tensor) for tensor in node.outputs}
            yield node, before


def _learns(operation: Any) -> bool:  # noqa: ANN401 - any layer or operation of Keras
    return bool(getattr(operation, "trainable_weights", None))


def operations_of(layer: Any) -> int:  # noqa: ANN401 - any layer or operation of Keras
    """Return the forward FLOP per sample of one built layer; 0 for unknown types."""
    if isinstance(layer, keras.Model):
        return sum(operations_of(inner) for inner in layer.layers)
    for kinds, counted in _COUNTS:
        if isinstance(layer, kinds):
            return counted(layer)
    return 0


def _size(weight: Any) -> int:  # noqa: ANN401 - a variable of Keras
    return int(math.prod(weight.shape))


def _dense(layer: Any) -> int:  # noqa: ANN401 - each has its layer's type
    """Return the FLOP of a dense layer: each weight once per place; output (batch, ..., units)."""
    return 2 * int(math.prod(layer.output.shape[1:-1])) * _size(layer.kernel)


def _convolution(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of a convolution: each weight once per pixel of the output."""
    return 2 * _pixels(layer, layer.output) * _size(layer.kernel)


def _transposed(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of a transposed convolution: each weight once per pixel of the input."""
    return 2 * _pixels(layer, layer.input) * _size(layer.kernel)


def _separable(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of a depthwise and a pointwise convolution, per pixel of the output."""
    each = _size(layer.depthwise_kernel) + _size(layer.pointwise_kernel)
    return 2 * _pixels(layer, layer.output) * each


def _pixels(layer: Any, tensor: Any) -> int:  # noqa: ANN401 - a convolution, a tensor of Keras
    last = layer.data_format == "channels_last"
    return int(math.prod(tensor.shape[1:-1] if last else tensor.shape[2:]))


def _distributed(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of a dense layer or convolution at every place of a sequence."""
    inner = layer.layer
    if not isinstance(inner, (keras.layers.Dense, *_CONVOLUTIONS)):
        return 0
    if getattr(inner, "data_format", "channels_last") != "channels_last":
        return 0
    return 2 * int(math.prod(layer.output.shape[1:-1])) * _size(inner.kernel)


def _tied(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of an embedding that is also used as the projection to its vocabulary."""
    return sum(map(_projected, layer._inbound_nodes))  # noqa: SLF001


def _projected(node: Any) -> int:  # noqa: ANN401 - a node of Keras's graph
    """Return the FLOP of one use of such an embedding: looking up vectors takes none."""
    vectors, out = node.input_tensors[0], node.outputs[0]
    if len(vectors.shape) < len(out.shape):
        return 0
    return 2 * int(math.prod(vectors.shape[1:])) * int(out.shape[-1])


def _einsum(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of an einsum: a multiply-add per combination of letters but the batch's."""
    into, out = layer.equation.replace("...", "").split("->")
    left, right = into.split(",")
    sizes = dict(zip(left, layer.input.shape, strict=True))
    sizes |= dict(zip(right, layer.kernel.shape, strict=True))
    return 2 * math.prod(int(sizes[letter]) for letter in {*left, *right, *out} - {left[0]})


def _recurrent(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of all gates, from input and state, for all places of the sequence."""
    kernels = sum(_size(cell.kernel) for cell in _cells(layer))
    return 2 * _places(layer) * kernels + _state(layer)


def _state(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of a recurrent layer's products with its state, for all places."""
    return 2 * _places(layer) * sum(_size(cell.recurrent_kernel) for cell in _cells(layer))


def _cells(layer: Any) -> list[Any]:  # noqa: ANN401
    """Return the cell of a recurrent layer, or both of a bidirectional one; [] for other kinds."""
    if not isinstance(layer, keras.layers.Bidirectional):
        return [layer.cell]
    both = (layer.forward_layer, layer.backward_layer)
    return [inner.cell for inner in both if isinstance(inner, _SIMPLE)]


def _places(layer: Any) -> int:  # noqa: ANN401
    inputs = keras.tree.flatten(layer.input)
    return int(inputs[0].shape[1])


def _through_state(layer: Any) -> int:  # noqa: ANN401 - any layer or operation of Keras
    """Return the FLOP of the states' gradient of layers without a gradient of the input."""
    if isinstance(layer, keras.Model):
        inner = (node.operation for node, before in _in_order(layer) if not before)
        return sum(map(_through_state, inner))
    return _state(layer) if isinstance(layer, _RECURRENT) and _learns(layer) else 0


def _attention(layer: Any) -> int:  # noqa: ANN401
    """Return the FLOP of attention: projections, all pairs of places, weighted values.

    The second input has the places of keys and values; of self-attention it is the first one. A
    causal mask hides half of the products, but they are computed.
    """
    value = layer.value_dim or layer.key_dim
    pairs = int(layer.num_heads * (layer.key_dim + value))
    return _attending(layer, pairs)


def _grouped_attention(layer: Any) -> int:  # noqa: ANN401
    """Return the same of attention whose heads have keys and values in common."""
    return _attending(layer, int(layer.num_query_heads * 2 * layer.head_dim))


def _attending(layer: Any, each_pair: int) -> int:  # noqa: ANN401
    """Return the FLOP of projections, and of `each_pair` multiply-adds per pair of places."""
    inputs = keras.tree.flatten(layer.input)
    both = inputs[0], inputs[min(1, len(inputs) - 1)]
    here, there = (int(math.prod(tensor.shape[1:-1])) for tensor in both)
    at_query, at_keys = _kernels(layer, "query", "output"), _kernels(layer, "key", "value")
    return 2 * (here * at_query + there * at_keys + here * there * each_pair)


def _kernels(layer: Any, *names: str) -> int:  # noqa: ANN401
    """Return the weights of these projections of an attention layer."""
    return sum(_size(getattr(layer, f"_{name}_dense").kernel) for name in names)


_SIMPLE: Final = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)
_RECURRENT: Final = (*_SIMPLE, keras.layers.Bidirectional)
_CONVOLUTIONS: Final = (keras.layers.Conv1D, keras.layers.Conv2D, keras.layers.Conv3D)
_COUNTS: Final[tuple[tuple[Any, Callable[[Any], int]], ...]] = (
    (keras.layers.Dense, _dense),
    (
        (keras.layers.Conv1DTranspose, keras.layers.Conv2DTranspose, keras.layers.Conv3DTranspose),
        _transposed,
    ),
    ((keras.layers.SeparableConv1D, keras.layers.SeparableConv2D), _separable),
    ((*_CONVOLUTIONS, keras.layers.DepthwiseConv1D, keras.layers.DepthwiseConv2D), _convolution),
    (keras.layers.EinsumDense, _einsum),
    (keras.layers.ReversibleEmbedding, _tied),
    (keras.layers.TimeDistributed, _distributed),
    (_RECURRENT, _recurrent),
    (keras.layers.MultiHeadAttention, _attention),
    (keras.layers.GroupQueryAttention, _grouped_attention),
)


# -- by TensorFlow's graph profiler --------------------------------------------------------------


def by_profiler(model: keras.Model, data: DataSet, batch: int) -> tuple[float, float] | None:
    """Return forward, and forward plus backward [FLOP per sample]; None for opaque graphs."""
    import tensorflow as tf

    places = data.shape if data.task == "tokens" else ()
    kind = "int32" if data.task == "tokens" else "uint8"
    x, y = tf.TensorSpec((batch, *data.shape), kind), tf.TensorSpec((batch, *places), "int32")

    def forward(x: tf.Tensor) -> tf.Tensor:
        return model(x, training=False)

    def train(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            logits = tf.cast(model(x, training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        return [loss, *tape.gradient(loss, model.trainable_variables)]

    graphs = (
        tf.function(forward).get_concrete_function(x).graph,
        tf.function(train).get_concrete_function(x, y).graph,
    )
    there, back = map(flops_by_type, graphs)
    return (sum(there.values()) / batch, sum(back.values()) / batch) if there and back else None


def flops_by_type(graph: Any) -> dict[str, float] | None:  # noqa: ANN401 - a tf.Graph
    """Return the FLOP that the graph's outputs need, by operation type; None for opaque graphs.

    Unused operations are left out, as TensorFlow prunes them: mainly the gradient of the loss by
    the pixels. The modules are private, so their import is guarded.
    """
    try:
        from tensorflow.python.framework.ops import get_stats_for_node_def
        from tensorflow.python.profiler.internal import flops_registry  # noqa: F401 - registers
    except ImportError:
        return None
    totals: Counter[str] = Counter()
    for operation in _needed(graph):
        if operation.type in OPAQUE:
            return None
        own = _OWN_STATISTICS.get(operation.type)
        totals[operation.type] += (
            own(operation)
            if own
            else get_stats_for_node_def(graph, operation.node_def, "flops").value or 0
        )
    return {kind: float(flops) for kind, flops in totals.items() if flops}


def _graph_einsum(operation: Any) -> int:  # noqa: ANN401 - a tf.Operation
    """Return the FLOP of an einsum, for which TensorFlow has no statistic (used by attention)."""
    left, right = operation.get_attr("equation").decode().split("->")[0].split(",")
    sizes = dict(zip(left, operation.inputs[0].shape, strict=True))
    sizes |= dict(zip(right, operation.inputs[1].shape, strict=True))
    return 2 * math.prod(int(size) for size in sizes.values())


def _graph_batches(operation: Any) -> int:  # noqa: ANN401 - a tf.Operation
    """Return the FLOP of products of batches; TensorFlow's own statistic ignores a transposition.

    It took the gradient of ViT-B's projections for 3.9 times what it is.
    """
    inner = operation.inputs[0].shape[-2 if operation.get_attr("adj_x") else -1]
    return 2 * math.prod(int(size) for size in operation.outputs[0].shape) * int(inner)


_OWN_STATISTICS: Final[dict[str, Callable[[Any], int]]] = {
    "Einsum": _graph_einsum,
    "BatchMatMulV2": _graph_batches,
}


def _needed(graph: Any) -> list[Any]:  # noqa: ANN401 - a tf.Graph
    """Return the operations that the graph's outputs depend on."""
    operations: dict[str, Any] = {}
    ahead = [tensor.op for tensor in graph.outputs]
    while ahead:
        operation = ahead.pop()
        if operation.name not in operations:
            operations[operation.name] = operation
            ahead += [tensor.op for tensor in operation.inputs]
    return list(operations.values())
