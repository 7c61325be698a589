"""`runners describe`: somebody's own Keras model, loaded in a child process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

from planner.answers.comparison import compare_parameters
from planner.core import texts_of_link
from tests.faults.outcomes import FULL
from tests.fork_server import JAX, executable

ROOT: Final = Path(__file__).parents[3]
MINE: Final = """
import keras
from keras import layers

def small():
    given = keras.Input((32, 32, 3), name="images")
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(given)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(given, layers.Dense(10)(x), name="mine")

def open_size():
    given = keras.Input((None, None, 3))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3)(given))
    return keras.Model(given, layers.Dense(4)(x), name="open")

def unsafe():
    given = keras.Input((4,))
    return keras.Model(given, layers.Lambda(lambda x: x * 2.0)(given), name="unsafe")

def nothing():
    return 3

def in_a_row():
    return keras.Sequential([
        keras.Input((16, 16, 3)), layers.Conv2D(8, 3), layers.Conv2D(8, 3), layers.Flatten(),
        layers.Dense(10),
    ], name="row")

class Sub(keras.Model):
    def __init__(self, **more):
        super().__init__(**more)
        self.dense = layers.Dense(3)

    def call(self, x):
        return self.dense(x)

def subclassed():
    return Sub()

def within():
    given = keras.Input((5,))
    return keras.Model(given, layers.Dense(2)(Sub()(given)))

def two_inputs():
    a, b = keras.Input((16,)), keras.Input((8, 8, 1))
    joined = layers.Concatenate()([layers.Dense(4)(a), layers.Flatten()(b)])
    return keras.Model([a, b], layers.Dense(2)(joined), name="two")

def across():
    q, k = keras.Input((10, 16)), keras.Input((100, 16))
    return keras.Model([q, k], layers.MultiHeadAttention(2, 8)(q, k))

def grouped():
    q = keras.Input((10, 16))
    return keras.Model(q, layers.GroupQueryAttention(8, 4, 2)(q, q))

def upwards():
    x = layers.Conv2D(8, 3, padding="same")(given := keras.Input((32, 32, 3)))
    x = layers.Conv2DTranspose(4, 2, strides=2)(x)
    return keras.Model(given, layers.SeparableConv2D(4, 3)(x))

def volume():
    given = keras.Input((8, 8, 8, 1))
    return keras.Model(given, layers.Conv3D(4, 3)(given))

def both_ways():
    given = keras.Input((10, 6))
    return keras.Model(given, layers.Bidirectional(layers.LSTM(4))(given))

def at_each_place():
    given = keras.Input((10, 6))
    return keras.Model(given, layers.TimeDistributed(layers.Dense(4))(given))

def without_weights():
    given = keras.Input((4,))
    return keras.Model(given, layers.ReLU()(given))

def too_large():
    return bytearray(10**15)

def raises():
    raise ValueError("first line\\n  second line")

def ends():
    raise SystemExit(3)

NUMBER = 3
LAYER = layers.Dense(3)
BUILT = small()

def of_width(width, *, depth, rate=0.1):
    return small()

def save():
    sub = Sub()
    sub(keras.ops.ones((1, 5)))
    sub.save("sub.keras")
    small().save("mine.keras")
    in_a_row().save("row.keras")
    unsafe().save("unsafe.keras")
"""
FORWARD: Final = 2 * 32 * 32 * 9 * 3 * 16 + 2 * 16 * 10


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mymodels.py").write_text(MINE)
    result = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [executable("tensorflow"), "-c", "import mymodels; mymodels.save()"]
    subprocess.run(command, cwd=folder, env=result, check=True, capture_output=True)  # fmt: skip
    return folder


def described(
    place: Path, *words: str, python: str | None = None, backend: str = "", path: str = str(ROOT)
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("KERAS_BACKEND", None)
    if backend:
        environment["KERAS_BACKEND"] = backend
    command = [python or executable("tensorflow"), "-m", "runners", "describe", *words]
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False
    )


def as_json(place: Path, *words: str) -> dict[str, Any]:
    done = described(place, *words, "--json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert isinstance(body, dict)
    return body


def test_a_file_is_described_with_operations_parameters_memory_and_a_link(place: Path) -> None:
    body = as_json(place, "mine.keras", "--samples", "50000", "--epochs", "20")
    assert body["params"] == 9 * 3 * 16 + 4 * 16 + 16 * 10 + 10
    assert body["forward_flops"] == FORWARD
    assert 2 * FORWARD < body["train_flops"] < 3.5 * FORWARD
    assert (body["family"], body["image_px"], body["input_shape"]) == ("cnn", 32, [32, 32, 3])
    assert body["not_counted"] == []
    sizes = [row["bytes"] for row in body["memory"]]
    assert sizes == sorted(sizes)
    each = (sizes[1] - sizes[0]) / 7
    assert each == pytest.approx(4 * (3 * 32 * 32 * 16 + 16 + 10), rel=0.01)
    page, given = texts_of_link(body["compare"])
    asking, problems = compare_parameters(given)
    assert page == "compare"
    assert problems == ()
    assert asking.described is not None
    assert asking.described.flops_per_sample == body["train_flops"]
    assert asking.described.samples_per_epoch == 50_000
    assert asking.request.epochs == 20


def test_a_sequential_has_the_same_operations_in_a_file_and_from_its_function(place: Path) -> None:
    first, second, dense = 2 * 14**2 * 27 * 8, 2 * 12**2 * 72 * 8, 2 * 12**2 * 8 * 10
    train = 2 * first + 3 * second + 3 * dense  # the input has no gradient
    for source in ("mymodels:in_a_row", "row.keras"):
        body = as_json(place, source)
        assert (body["forward_flops"], body["train_flops"]) == (first + second + dense, train)


def test_a_function_of_ones_own_and_the_lines_for_people(place: Path) -> None:
    done = described(place, "mymodels:small")
    assert done.returncode == 0, done.stderr
    assert "mine: 666 parameters" in done.stdout
    assert "Operations of one sample: forward 885,000 FLOP" in done.stdout
    assert "batch  512" in done.stdout
    link = re.search(r"Compare hardware: (\S+)", done.stdout)
    assert link is not None
    asking, problems = compare_parameters(texts_of_link(link[1])[1])
    assert problems == ()
    assert asking.described is not None
    assert (asking.described.name, asking.described.samples_per_epoch) == ("mine", 1e6)
    assert "The link assumes 1,000,000 samples per epoch. Change it with --samples." in done.stdout


def test_a_module_of_pythonpath_is_found_from_another_folder(place: Path, tmp_path: Path) -> None:
    done = described(tmp_path, "mymodels:small", path=f"{ROOT}{os.pathsep}{place}")
    assert done.returncode == 0, done.stderr
    assert "mine: 666 parameters" in done.stdout
    refused = described(tmp_path, "mymodels:small")
    assert refused.returncode == 1
    assert "No module named 'mymodels'" in refused.stderr


@pytest.mark.skipif(not JAX.exists(), reason="no .venv-jax here; make jax makes it")
@pytest.mark.parametrize("backend", ["", *(["jax"] if FULL else [])])
def test_with_jax_alone_a_file_is_described_by_jax(place: Path, backend: str) -> None:
    done = described(place, "mine.keras", "--json", python=str(JAX), backend=backend)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["forward_flops"] == FORWARD


def test_a_backend_that_is_not_there_is_refused(place: Path) -> None:
    done = described(place, "mine.keras", backend="theano")
    assert done.returncode == 2
    assert "backend theano" in done.stderr
    assert "cannot be started here" in done.stderr


def test_an_open_size_needs_a_shape(place: Path) -> None:
    refused = described(place, "mymodels:open_size")
    assert refused.returncode == 1
    assert "Its input size is open" in refused.stderr
    body = as_json(place, "mymodels:open_size", "--shape", "16,16,3")
    assert body["forward_flops"] == 2 * 14 * 14 * 9 * 3 * 8 + 2 * 8 * 4


def test_a_file_that_brings_code_along_is_not_run(place: Path) -> None:
    refused = described(place, "unsafe.keras")
    assert refused.returncode == 1
    assert "cannot be described" in refused.stderr
    assert "Lambda" in refused.stderr or "lambda" in refused.stderr


@pytest.mark.parametrize(
    ("source", "says", "code"),
    [("nothing.keras", "There is no file", 2), ("mine", "neither a .keras file", 2),
     ("mymodels:nothing", "Return a Keras model", 1), ("nowhere:at_all", "ModuleNotFound", 1)],
)  # fmt: skip
def test_what_is_no_model_is_refused_with_what_to_do(
    place: Path, source: str, says: str, code: int
) -> None:
    done = described(place, source)
    assert done.returncode == code
    assert says in done.stderr


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("unsafe.keras", "The file holds Python code, as a Lambda layer, which is not run. Give"),
        ("sub.keras", "The class Sub is not in the file. Give module:function"),
        ("half.keras", "its content is not a zip archive"),
        ("other.keras", "It cannot be read as a Keras model (KeyError"),
        ("mymodels:subclassed", "Sub is a subclassed model, whose operations are not recorded"),
        ("mymodels:within", "Sub is a subclassed model, whose operations are not recorded"),
        ("mymodels:too_large", "does not fit into the memory of this machine"),
        ("mymodels:raises", "cannot be described. ValueError: first line second line"),
        ("mymodels:ends", "The program ended itself (exit code 3) before it returned a model"),
        ("mymodels:NUMBER", "NUMBER of mymodels is int, no function and no Keras model. Give"),
        ("mymodels:LAYER", "LAYER of mymodels is Dense, no function and no Keras model. Give"),
        ("mymodels:lacking", "mymodels has no lacking. Give module:function"),
        (
            "mymodels:of_width",
            "of_width of mymodels needs the arguments width, depth. It is called",
        ),
    ],
)
def test_a_model_that_cannot_be_described_says_why_and_what_to_do(
    place: Path, source: str, says: str
) -> None:
    whole = (place / "row.keras").read_bytes()
    (place / "half.keras").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(place / "other.keras", "w") as archive:
        archive.writestr("notes.txt", "no model")
    done = described(place, source)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("two_inputs", 2 * (16 * 4 + 68 * 2)),
        ("across", 2 * (16 * 16 * (10 + 100 + 100 + 10) + 10 * 100 * 32)),
        ("grouped", 2 * (10 * 16 * 32 * 2 + 10 * 16 * 16 * 2 + 10 * 10 * 4 * 16)),
        ("upwards", 2 * (1024 * (9 * 3 * 8 + 4 * 4 * 8) + 62 * 62 * (9 * 4 + 4 * 4))),
        ("volume", 2 * 6**3 * 27 * 4),
        ("both_ways", 2 * 2 * 10 * (6 * 16 + 4 * 16)),
        ("at_each_place", 2 * 10 * 6 * 4),
    ],
)
def test_operations_are_those_of_the_layers_own_shapes(
    place: Path, name: str, forward: float
) -> None:
    body = as_json(place, f"mymodels:{name}")
    assert body["forward_flops"] == forward
    assert body["not_counted"] == []


def test_a_model_of_the_program_is_described_without_a_call(place: Path) -> None:
    assert as_json(place, "mymodels:BUILT") == as_json(place, "mymodels:small") | {
        "compare": as_json(place, "mymodels:BUILT")["compare"]
    }


def test_every_input_is_named(place: Path) -> None:
    assert "one sample 16 and 8 x 8 x 1" in described(place, "mymodels:two_inputs").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mine.keras", "--shape", "9,9,9"], "A sample of the model is 32 x 32 x 3, not 9 x 9 x 9"),
        (["mymodels:open_size", "--shape", "16"], "A sample of the model is open x open x 3"),
        (["mymodels:two_inputs", "--shape", "16"], "It has 2 inputs; --shape is for one"),
        (["mine.keras", "--epochs", "0"], "'0' is not a whole number from 1 to 1,000,000"),
        (["mine.keras", "--samples", "nan"], "'nan' is not a number from 1 to 1e+15"),
        (["mymodels:"], "neither a .keras file nor module:function"),
    ],
)
def test_a_shape_or_number_that_contradicts_is_refused(
    place: Path, words: list[str], says: str
) -> None:
    done = described(place, *words)
    assert done.returncode in (1, 2)
    assert says in done.stderr


def test_a_link_has_no_number_that_compare_refuses(place: Path) -> None:
    body = as_json(place, "mymodels:without_weights", "--samples", "1.28M")
    _, given = texts_of_link(body["compare"])
    assert (given.get("params"), given.get("flops")) == (None, None)
    assert given["samples"] == ["1280000"]
