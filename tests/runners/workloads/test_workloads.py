from __future__ import annotations

from typing import Any

import pytest

from runners.workloads import CATALOGUE, DATASETS, OPTIMIZERS, model_title, wide_resnet_params
from tests.each import each
from tests.faults.outcomes import FULL
from tests.runners.networks import WEIGHTS_OF_ZERO, answer

# -- names, without Keras ------------------------------------------------------------------------


def test_the_article_s_network_has_the_title_of_the_published_runs() -> None:
    assert model_title("wide-resnet", {}) == "WideResNet-103M"
    assert model_title("wide-resnet", {"k": 1}) == "WideResNet-2M"


@each(
    ("name", "options", "title"),
    [
        ("mlp", {"units": 64}, "MLP 64-64"),
        ("simple-cnn", {}, "simple CNN 32-64"),
        ("vgg11", {}, "VGG-11 width 16"),
        ("vgg11", {"width": 64}, "VGG-11"),
        ("resnet8", {}, "ResNet-8"),
        ("resnet8", {"width": 64}, "ResNet-8 width 64"),
        ("resnet50", {}, "ResNet-50"),
        ("wide-resnet", {"k": 2, "n": 2, "kernel": 3}, "WideResNet-1M N=2 3x3"),
        ("lstm", {"units": 256}, "LSTM 1x256"),
        ("transformer", {"heads": 8}, "Transformer 2x128, 8 heads"),
        ("transformer", {"tied": True}, "Transformer 2x128, 4 heads, tied"),
        ("encoder", {"layers": 24}, "encoder 24x768, 12 heads"),
        ("vit", {"patch": 32}, "ViT 12x768, 12 heads, patch 32"),
        ("keras-application", {"network": "ConvNeXtTiny"}, "ConvNeXtTiny"),
        ("vgg5", {}, "VGG-5 width 8"),
        ("resnet8-unnormalised", {}, "ResNet-8 width 8 without normalisation"),
        ("row-lstm", {"units": 16}, "LSTM 16 over rows"),
        ("row-transformer", {"layers": 2}, "Transformer 2x32, 4 heads, over rows"),
    ],
)
def test_a_title_reports_a_network_from_its_sisters(
    name: str, options: dict[str, Any], title: str
) -> None:
    assert model_title(name, options) == title


def test_every_network_has_a_data_set_of_its_task() -> None:
    for workload in CATALOGUE.values():
        assert DATASETS[workload.dataset].task == workload.task
        assert workload.about.endswith(".")


# -- one process a backend -----------------------------------------------------------------------

Told = dict[str, Any]
FIRST = """
import json
from dataclasses import replace
import keras
import numpy as np
from runners.workloads import networks
from runners.child.samples import datasets
from runners.workloads import APPLICATIONS, CATALOGUE, DATASETS, build
"""


def _told(backend: str) -> Told:
    """All that is asked of a backend: importing it takes longer than most answers."""
    whole = backend == "tensorflow"
    given = (
        f"ROWS, SMALL = {BY_HAND if whole else SMALL_BY_HAND!r}, {SMALL if whole else SMALL_JAX!r}"
    )
    once = ["refused", "pixel", "finite", "listed"] if whole else []
    names = ["built", "losses", "rules", *once]
    last = f"print(json.dumps({{n: globals()[n] for n in {names!r}}}))"
    found: Told = answer(
        "\n".join([given, FIRST, BUILT, TRAINED, ONCE if whole else "", last]), backend
    )
    return {**found, "backend": backend}


@pytest.fixture(scope="module")
def on_tensorflow() -> Told:
    return _told("tensorflow")


@pytest.fixture(scope="module")
def on_jax() -> Told:
    return _told("jax")


@pytest.fixture(scope="module", params=["on_tensorflow", "on_jax"])
def result(request: pytest.FixtureRequest) -> Told:
    """What is built, trained and refused on each backend."""
    found: Told = request.getfixturevalue(request.param)
    return found


# -- parameters, by hand -------------------------------------------------------------------------

VGG = 9 * (3 * 64 + 64 * 128 + 128 * 256 + 256 * 256 + 256 * 512 + 3 * 512 * 512)
RESNET8 = 9 * (3 * 16 + 2 * 16 * 16 + 16 * 32 + 32 * 32 + 32 * 64 + 64 * 64)
BLOCK = 4 * (128 * 128 + 128) + (128 * 512 + 512) + (512 * 128 + 128) + 2 * (128 + 128)
NARROW = 4 * (64 * 64 + 64) + (64 * 256 + 256) + (256 * 64 + 64) + 2 * (64 + 64)
ROW_BLOCK = 4 * (32 * 32 + 32) + (32 * 128 + 128) + (128 * 32 + 32) + 2 * (32 + 32)
EVERY_BY_HAND: list[tuple[str, str, dict[str, Any], int]] = [
    ("mlp", "synthetic-cifar10", {},
     (3_072 * 512 + 512) + (512 * 512 + 512) + (512 * 10 + 10)),
    ("simple-cnn", "synthetic-cifar10", {},
     (27 * 32 + 32) + (9 * 32 * 64 + 64) + (8 * 8 * 64 * 128 + 128) + (128 * 10 + 10)),
    ("vgg11", "synthetic-cifar10", {"width": 64},
     VGG + 4 * (64 + 128 + 2 * 256 + 4 * 512) + (512 * 10 + 10)),
    ("resnet8", "synthetic-cifar10", {},
     RESNET8 + (16 * 32 + 32 * 64) + 4 * (3 * 16 + 3 * 32 + 3 * 64) + (64 * 10 + 10)),
    ("resnet50", "synthetic-imagenet", {}, 25_636_712),  # as keras.applications documents it
    ("resnet50", "synthetic-cifar10", {}, 25_636_712 - 2_049 * 1_000 + 2_049 * 10),
    ("wide-resnet", "synthetic-cifar100", {}, 103_465_028),  # article 002
    ("wide-resnet", "synthetic-cifar10", {"k": 1, "n": 2, "kernel": 3},
     wide_resnet_params(1, 2, 3, classes=10)),
    ("lstm", "synthetic-tokens", {},
     8_192 * 128 + 4 * 128 * (128 + 128 + 1) + (128 * 8_192 + 8_192)),
    ("transformer", "synthetic-tokens", {},
     8_192 * 128 + 128 * 128 + 2 * BLOCK + 2 * 128 + (128 * 8_192 + 8_192)),
    ("transformer", "synthetic-tokens", {"tied": True},
     8_192 * 128 + 128 * 128 + 2 * BLOCK + 2 * 128),
    ("transformer", "synthetic-gpt2-tokens", {"layers": 24, "width": 1024, "heads": 16,
     "tied": True}, 354_823_168),  # GPT-2 medium, planner/networks/networks.csv
    ("encoder", "synthetic-bert-tokens", {"layers": 1, "width": 64, "heads": 4},
     30_522 * 64 + 512 * 64 + 2 * 64 + NARROW + (64 * 64 + 64) + 2 * 64),
    ("encoder", "synthetic-bert-tokens", {}, 109_482_240),  # BERT base, likewise
    ("vit", "synthetic-cifar10", {"layers": 1, "width": 64, "heads": 4, "patch": 8},
     (8 * 8 * 3 * 64 + 64) + 64 + (1 + 16) * 64 + NARROW + 2 * 64 + (64 * 10 + 10)),
    ("vit", "synthetic-imagenet", {}, 86_567_656),  # ViT-B/16, likewise
    ("keras-application", "synthetic-imagenet", {"network": "ConvNeXtTiny"}, 28_589_128),
    ("keras-application", "synthetic-cifar10", {"network": "MobileNetV2"},
     3_538_984 - 1_281 * 1_000 + 1_281 * 10),  # as keras.applications documents it
    ("vgg5", "digits", {},
     (9 * 8 + 8) + (72 * 8 + 8) + (72 * 16 + 16) + (144 * 16 + 16) + (64 * 10 + 10)),
    ("resnet8-unnormalised", "digits", {},
     (9 * 8 + 8) + 2 * (72 * 8 + 8)
     + (72 * 16 + 16) + (144 * 16 + 16) + (8 * 16 + 16)
     + (144 * 32 + 32) + (288 * 32 + 32) + (16 * 32 + 32) + (32 * 10 + 10)),
    ("row-lstm", "digits", {}, 4 * 32 * (8 + 32 + 1) + (32 * 10 + 10)),
    ("row-transformer", "digits", {},
     (8 * 32 + 32) + 8 * 32 + ROW_BLOCK + 2 * 32 + (32 * 10 + 10)),
]  # fmt: skip

LONGEST = (("vgg11", "synthetic-cifar10"), ("resnet50", "synthetic-cifar10"),
           ("transformer", "synthetic-gpt2-tokens"), ("vit", "synthetic-imagenet"),
           ("keras-application", "synthetic-imagenet"))  # fmt: skip
"""Networks that take long to build, and whose layers others have."""
BY_HAND = [row for row in EVERY_BY_HAND if FULL or row[:2] not in LONGEST]
ON_JAX = ("mlp", "simple-cnn", "lstm", "transformer") if FULL else ("mlp",)
SMALL_BY_HAND = [row for row in BY_HAND if row[0] in ON_JAX and row[-1] < 3_000_000]
"""JAX compiles each shape of each initialiser: the others take it half a minute."""

BUILT = f"""
{WEIGHTS_OF_ZERO}
keras.config.set_dtype_policy("mixed_bfloat16")
built = []
for name, data, options, _ in ROWS:
    model = build(name, DATASETS[data], options)
    built.append([model.count_params(), model.input.dtype, model.output.dtype, model.output.shape])
keras.config.set_dtype_policy("float32")
keras.utils.clear_session()
keras.initializers.VarianceScaling.__call__ = drawn
"""


@pytest.fixture(scope="module")
def built(result: Told) -> list[tuple[tuple[str, str, int], list[Any]]]:
    """Network, data set and parameters by hand; then what Keras says: parameters, types, shape."""
    rows = BY_HAND if result["backend"] == "tensorflow" else SMALL_BY_HAND
    named = [(name, data, params) for name, data, _, params in rows]
    return list(zip(named, result["built"], strict=True))


def test_parameters_are_what_a_hand_counts(
    built: list[tuple[tuple[str, str, int], list[Any]]],
) -> None:
    assert [found[0] for _, found in built] == [params for (_, _, params), _ in built]


def test_samples_come_as_the_data_set_holds_them_and_logits_are_float32_under_any_policy(
    built: list[tuple[tuple[str, str, int], list[Any]]],
) -> None:
    for (_, name, _), (_, given, out, shape) in built:
        data = DATASETS[name]
        tokens = data.task == "tokens"
        assert given == ("int32" if tokens else "uint8")
        assert out == "float32"
        assert shape == [None, *(data.shape if tokens else ()), data.classes]


# -- learning ------------------------------------------------------------------------------------

EVERY: dict[str, dict[str, Any]] = {
    "mlp": {"units": 32}, "simple-cnn": {"width": 8}, "vgg11": {"width": 4},
    "resnet8": {"width": 8}, "wide-resnet": {"k": 1, "n": 1, "kernel": 3},
    "lstm": {"units": 32}, "transformer": {"layers": 1, "width": 32},
    "vgg5": {"width": 4}, "resnet8-unnormalised": {"width": 4}, "row-lstm": {"units": 32},
    "row-transformer": {"layers": 1, "width": 32},
    "encoder": {"layers": 1, "width": 32, "heads": 4},
    "vit": {"layers": 1, "width": 32, "heads": 4, "patch": 8},
    "keras-application": {"network": "MobileNet"},
}  # fmt: skip
DEEP = {"vgg11", "resnet8", "wide-resnet", "vgg5", "resnet8-unnormalised", "row-lstm",
        "row-transformer", "mlp", "keras-application"}  # fmt: skip
SMALL = EVERY if FULL else {n: o for n, o in EVERY.items() if n not in DEEP}
"""Networks of many layers or steps take longest to trace, and JAX trains the perceptron."""
SMALL_JAX: dict[str, dict[str, int]] = {name: {} for name in ON_JAX}
"""Of the sizes that were built before: initialisers of other shapes would be compiled anew."""

TRAINED = """
keras.utils.set_random_seed(0)
images = DATASETS["synthetic-cifar10"]
tokens = replace(DATASETS["synthetic-tokens"], shape=(16,), classes=64)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
losses = {}
for name, options in SMALL.items():
    data = images if CATALOGUE[name].task == "images" else tokens
    x, y = datasets.make(data, 256, "train", seed=0)
    model = build(name, data, options)
    model.compile(networks.optimizer("adam", 0.003), loss)
    losses[name] = model.fit(x, y, batch_size=32, epochs=4, verbose=0).history["loss"]
made = [networks.optimizer(name, 0.1) for name in ("sgd", "momentum", "nesterov", "adam")]
rules = [[type(o).__name__, getattr(o, "momentum", 0), getattr(o, "nesterov", False)] for o in made]
"""


def test_every_network_learns_the_synthetic_samples(result: Told) -> None:
    losses = result["losses"]
    assert list(losses) == list(SMALL if result["backend"] == "tensorflow" else SMALL_JAX)
    assert [name for name, seen in losses.items() if not seen[-1] < 0.95 * seen[0]] == []


def test_optimisers_are_the_field_s(result: Told) -> None:
    assert list(OPTIMIZERS) == ["sgd", "momentum", "nesterov", "adam"]
    assert result["rules"] == [
        ["SGD", 0.0, False],
        ["SGD", 0.9, False],
        ["SGD", 0.9, True],
        ["Adam", 0, False],
    ]


# -- refusals and preprocessing ------------------------------------------------------------------

ONCE = """
def said(call, *given):
    try:
        call(*given)
    except ValueError as error:
        return str(error)
digits, tokens = DATASETS["digits"], DATASETS["synthetic-tokens"]
refused = [
    said(build, "vgg11", digits, {}), said(build, "resnet50", digits, {}),
    said(build, "keras-application", replace(images, shape=(32, 32, 1)), {}),
    said(build, "vit", digits, {}), said(build, "mlp", tokens, {}), said(build, "lstm", digits, {}),
    said(build, "transformer", tokens, {"width": 100, "heads": 3}),
    said(networks.optimizer, "lion", 0.1),
]
model = build("resnet50", DATASETS["synthetic-cifar10"], {})
sample = np.zeros((1, 32, 32, 3), np.uint8)
sample[..., 0], sample[..., 2] = 255, 7
first = next(layer for layer in model.layers if "rescaling" in layer.name)
shifted = keras.ops.convert_to_numpy(keras.Model(model.input, first.output)(sample))
logits = keras.ops.convert_to_numpy(model(sample))
listed = sorted(set(APPLICATIONS) - set(dir(keras.applications)))
pixel, finite = shifted[0, 5, 5].tolist(), bool(np.isfinite(logits).all())
"""


def test_a_network_that_does_not_suit_the_samples_says_so_and_what_would(
    on_tensorflow: Told,
) -> None:
    assert on_tensorflow["refused"] == [
        "images of digits are 8x8; this network needs at least 32x32. Choose another data set.",
        "images of digits are 8x8; this network needs at least 32x32. Choose another data set.",
        "synthetic CIFAR-10 is grey; EfficientNetB0 needs colours. Choose another data set.",
        "images of digits are 8x8; this network needs at least 16x16. Choose another data set.",
        "synthetic tokens holds tokens, not images. Choose an image data set.",
        "digits holds images, not tokens. Choose a token data set.",
        "width 100 is not a multiple of 3 heads. Use a multiple.",
        "optimiser 'lion' is unknown. Use sgd, momentum, nesterov or adam.",
    ]


def test_resnet50_turns_rgb_to_bgr_and_takes_imagenet_s_mean_off(on_tensorflow: Told) -> None:
    assert on_tensorflow["pixel"] == pytest.approx([7 - 103.939, 0 - 116.779, 255 - 123.68])
    assert on_tensorflow["finite"]


def test_every_listed_network_is_in_keras_applications(on_tensorflow: Told) -> None:
    assert on_tensorflow["listed"] == []
