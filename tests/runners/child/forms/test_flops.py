from __future__ import annotations

from typing import Any

import pytest

from tests.faults.outcomes import FULL
from tests.runners.networks import WEIGHTS_OF_ZERO, answer

NETWORKS: dict[str, tuple[str, dict[str, int]]] = {
    "mlp": ("synthetic-cifar10", {}),
    "simple-cnn": ("synthetic-cifar10", {}),
    **({"vgg11": ("synthetic-cifar10", {}), "resnet8": ("synthetic-cifar10", {}),
        "resnet50": ("synthetic-imagenet", {})} if FULL else {}),
    "wide-resnet": ("synthetic-cifar100", {"k": 7}),
    "lstm": ("synthetic-tokens", {}),
    "transformer": ("synthetic-tokens", {}),
    "encoder": ("synthetic-bert-tokens", {"layers": 1, "width": 768, "heads": 12}),
    "vit": ("synthetic-imagenet", {"layers": 1, "width": 768, "heads": 12}),
}  # fmt: skip
MATRIX = {"Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "MatMul", "BatchMatMulV2",
          "Einsum"}  # fmt: skip
"""Operations that multiply matrices: what a hand counts."""

TOKENS = 128 if FULL else 32
"""Places of the sequence whose loop is unrolled."""
COUNTED = f"""
{WEIGHTS_OF_ZERO}
import json
from dataclasses import asdict, replace
import keras
from runners.child.forms import flops
from runners.workloads import DATASETS, build
counts, kinds, hands = {{}}, [], {{}}
of_graph = flops.flops_by_type
def watched(graph):
    found = of_graph(graph)
    kinds.append(found)
    return found
flops.flops_by_type = watched
for name, (data, options) in {NETWORKS!r}.items():
    kinds.clear()
    data = replace(DATASETS[data], shape=({TOKENS},)) if name == "lstm" else DATASETS[data]
    model = build(name, data, options)
    if name == "lstm":
        counts["loop"] = asdict(flops.count(model, data, batch=8, optimizer="sgd"))
        for layer in model.layers:
            layer.unroll = True
        kinds.clear()
    counted = flops.count(model, data, batch=8, optimizer="adam")
    matrix = [sum(v for k, v in f.items() if k in {MATRIX!r}) / 8 for f in kinds]
    counts[name] = asdict(counted) | dict(zip(["matrix_forward", "matrix_train"], matrix))
    counts[name]["normalising"] = flops.normalising(model)
    counts[name]["learning"] = sum(w.shape.num_elements() for w in model.trainable_variables)
"""


SPEED = """
keras.initializers.VarianceScaling.__call__ = drawn
from runners.child import gemm
formats = ("float32", "mixed_bfloat16", "mixed_float16")
speeds = [gemm.measure(keras.config.backend(), p, budget_s=0.02) for p in formats]
print(json.dumps([counts, speeds]))
"""


@pytest.fixture(scope="module")
def on_tensorflow() -> tuple[dict[str, dict[str, Any]], list[float]]:
    """Operations of every network, and how fast matrices are multiplied."""
    result, speeds = answer(COUNTED + SPEED, "tensorflow")
    return result, speeds


@pytest.fixture(scope="module")
def counted(
    on_tensorflow: tuple[dict[str, dict[str, Any]], list[float]],
) -> dict[str, dict[str, Any]]:
    """Every network's operations on TensorFlow, with the profiler's share of matrix products."""
    return on_tensorflow[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_forward_by_profiler_and_by_hand_agree_within_one_per_cent(
    counted: dict[str, dict[str, Any]], name: str
) -> None:
    result = counted[name]
    assert result["method"] == "graph profiler"
    assert result["forward"] == pytest.approx(result["by_hand_forward"], rel=0.01)


@pytest.mark.parametrize("name", NETWORKS)
def test_training_by_profiler_and_by_hand_agree_within_one_per_cent(
    counted: dict[str, dict[str, Any]], name: str
) -> None:
    result = counted[name]
    assert result["train"] == pytest.approx(result["by_hand_train"], rel=0.01)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_profiler_s_matrix_products_are_exactly_the_hand_s(
    counted: dict[str, dict[str, Any]], name: str
) -> None:
    # An LSTM's first state is constant, so its first place computes no gradient of it; and the
    # profiler takes 115x115 for the 112x112 pixels of ResNet-50's first filter gradient, because
    # that convolution's padding is a layer of its own.
    result, known = counted[name], {"lstm": 2e-4 * 128 / TOKENS, "resnet50": 6e-4}
    assert result["matrix_forward"] == pytest.approx(result["by_hand_forward"], rel=1e-9)
    matrix = result["by_hand_train"] - result["normalising"]
    assert result["matrix_train"] == pytest.approx(matrix, rel=known.get(name, 1e-9))


def test_the_article_s_network_takes_30_gflop_forward_and_91_in_training(
    counted: dict[str, dict[str, Any]],
) -> None:
    result = counted["wide-resnet"]
    assert result["forward"] / 1e9 == pytest.approx(30.244, abs=0.001)
    assert result["by_hand_forward"] / 1e9 == pytest.approx(30.238, abs=0.001)
    assert result["train"] / 1e9 == pytest.approx(90.75, abs=0.01)


def test_the_first_layer_computes_no_gradient_of_the_pixels(
    counted: dict[str, dict[str, Any]],
) -> None:
    first, second, last = 3_072 * 512, 512 * 512, 512 * 10
    assert counted["mlp"]["by_hand_forward"] == 2 * (first + second + last)
    assert counted["mlp"]["by_hand_train"] == 2 * (2 * first + 3 * second + 3 * last)


def test_a_loop_is_counted_by_hand_and_its_unrolled_form_by_the_profiler_is_as_much(
    counted: dict[str, dict[str, Any]],
) -> None:
    loop, unrolled = counted["loop"], counted["lstm"]
    assert (loop["method"], unrolled["method"]) == ("hand count", "graph profiler")
    assert loop["forward"] == loop["by_hand_forward"] == unrolled["by_hand_forward"]
    assert loop["train"] == pytest.approx(unrolled["train"], rel=0.01)


def test_an_update_is_counted_per_parameter_and_apart(counted: dict[str, dict[str, Any]]) -> None:
    assert counted["mlp"]["update"] == 12 * counted["mlp"]["learning"]
    assert counted["loop"]["update"] == 2 * counted["lstm"]["learning"]


# -- other backends, other layers ----------------------------------------------------------------

BY_HAND = """
import json
from dataclasses import asdict
import keras
from runners.child.forms import flops
from runners.workloads import DATASETS, build
images = DATASETS["synthetic-cifar10"]
model = build("mlp", images, {"units": 16})
counted = asdict(flops.count(model, images, batch=4, optimizer="sgd"))
given = keras.Input((8, 8, 6))
x = keras.layers.DepthwiseConv2D(3, padding="same")(given)
x = keras.layers.Conv2D(4, 3, strides=2, groups=2, padding="same")(x)
x = keras.layers.Reshape((16, 4))(x)
x = keras.layers.EinsumDense("abc,cd->abd", (16, 5))(x)
x = keras.layers.Conv1D(7, 3, padding="same")(x)
parts = [flops.operations_of(layer) for layer in keras.Model(given, x).layers]
inner = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5), keras.layers.Dense(4)])
outer = keras.Sequential([keras.Input((6,)), inner, keras.layers.Dense(3)])

def recurrent(kind, before, trainable=True):
    given = keras.Input((20, 8))
    x = keras.layers.Dense(8)(given) if before else given
    layer = kind(32, trainable=trainable)
    return flops.by_hand(keras.Model(given, layer(x)))
L, G, S = keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN
wrapped = keras.Sequential([keras.Input((20, 8)), keras.Sequential([keras.Input((20, 8)), L(32)])])
loops = {"lstm": recurrent(L, False), "gru": recurrent(G, False), "simple": recurrent(S, False),
         "later": recurrent(L, True), "frozen": recurrent(L, False, False),
         "inside": flops.by_hand(wrapped)}
words = keras.Input((6,), dtype="int32")
table = keras.layers.ReversibleEmbedding(50, 8)
tied = keras.Model(words, table(keras.layers.Dense(8)(table(words)), reverse=True))
nested = keras.Model(words, tied(words))
loops["tied"], loops["nested"] = flops.by_hand(tied), flops.by_hand(nested)
counts = [counted, parts, flops.by_hand(inner), flops.by_hand(outer)[0], loops]
"""


@pytest.fixture(scope="module")
def on_jax() -> tuple[list[Any], list[float]]:
    """Operations counted by hand, and how fast matrices are multiplied."""
    result, speeds = answer(WEIGHTS_OF_ZERO + BY_HAND + SPEED, "jax")
    return result, speeds


@pytest.fixture(scope="module")
def by_hand(on_jax: tuple[list[Any], list[float]]) -> list[Any]:
    """A network on JAX, single layers, and models of models."""
    return on_jax[0]


def test_jax_is_counted_by_hand(by_hand: list[Any]) -> None:
    counted = by_hand[0]
    assert counted["method"] == "hand count"
    assert counted["forward"] == counted["by_hand_forward"] == 2 * (3_072 * 16 + 16 * 16 + 16 * 10)


def test_convolutions_and_einsums_count_each_weight_once_for_each_output(
    by_hand: list[Any],
) -> None:
    depthwise, grouped = 2 * 64 * 9 * 6, 2 * 16 * 9 * 3 * 4
    assert by_hand[1] == [0, depthwise, grouped, 0, 2 * 16 * 4 * 5, 2 * 16 * 3 * 5 * 7]


def test_a_model_inside_a_model_is_counted(by_hand: list[Any]) -> None:
    inner = 2 * (6 * 5 + 5 * 4)
    assert by_hand[2] == [inner, inner * 3 - 2 * 6 * 5]
    assert by_hand[3] == inner + 2 * 4 * 3


def test_an_embedding_that_is_also_the_projection_to_its_vocabulary_counts_once(
    by_hand: list[Any],
) -> None:
    forward = 2 * 6 * (8 * 8 + 8 * 50)
    assert by_hand[4]["tied"] == [forward, 3 * forward]
    assert by_hand[4]["nested"][0] == forward


@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3), ("simple", 1)])
def test_a_recurrent_first_layer_needs_the_gradient_of_its_states(
    by_hand: list[Any], kind: str, gates: int
) -> None:
    inputs, states = 2 * 20 * 8 * 32 * gates, 2 * 20 * 32 * 32 * gates
    assert by_hand[4][kind] == [inputs + states, 2 * inputs + 3 * states]
    if kind == "lstm":
        assert by_hand[4][kind] == [204_800, 573_440]


def test_states_need_no_further_gradient_behind_another_layer_or_where_nothing_learns(
    by_hand: list[Any],
) -> None:
    forward, dense = 204_800, 2 * 20 * 8 * 8
    assert by_hand[4]["later"] == [forward + dense, 3 * forward + 2 * dense]
    assert by_hand[4]["frozen"] == [forward, forward]
    assert by_hand[4]["inside"] == by_hand[4]["lstm"]


@pytest.mark.parametrize("backend", ["on_tensorflow", "on_jax"])
def test_every_number_format_has_a_matrix_speed(
    backend: str, request: pytest.FixtureRequest
) -> None:
    # Slower than any machine and faster than any accelerator would be a mistake in the units.
    _, speeds = request.getfixturevalue(backend)
    assert len(speeds) == 3
    assert all(1e7 < speed < 1e17 for speed in speeds)
