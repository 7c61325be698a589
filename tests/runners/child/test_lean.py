from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.child.start import hidden
from tests.faults.outcomes import FULL
from tests.fork_server import JAX, ROOT

MODULES = """
import json, sys
from runners.child import start
start.import_keras()
import keras
from runners.child.samples import datasets
digits = datasets.load("digits", 16, 0, 0)
wrapped = [n for n in start.WRAPPED if n in sys.modules]
print(json.dumps([keras.config.backend(), len(digits.train_x), wrapped]))
"""


def test_what_is_hidden_is_found_again_and_what_was_imported_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with hidden(("colorsys", "sys")), pytest.raises(ModuleNotFoundError):
        import colorsys
    import colorsys

    assert colorsys.__name__ == "colorsys"
    assert sys.modules["sys"] is sys


@pytest.mark.parametrize("backend", ["tensorflow", *(["jax"] if FULL else [])])
def test_neither_keras_nor_the_digits_import_what_keras_wraps(backend: str) -> None:
    path = str(JAX) if backend == "jax" else sys.executable
    if not Path(path).exists():
        pytest.skip("there is no .venv-jax; `make jax` makes it")
    done = subprocess.run(
        [path, "-c", MODULES], cwd=ROOT, env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == [backend, 16, []]


def test_a_measured_process_starts_with_the_sentences_of_the_planner_alone() -> None:
    program = "import runners.child.__main__, sys; print(*(m for m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    of_planner = {m for m in done.stdout.split() if m.partition(".")[0] == "planner"}
    core = {f"planner.core{part}" for part in ("", "._lazy", "._text", ".limits")}
    assert of_planner == {"planner", *core}
