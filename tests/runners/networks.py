"""Run a program with a Keras backend in a process of its own and read the JSON it prints last.

The tests' own process stays free of TensorFlow: importing it takes seconds and warns.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from tests.fork_server import JAX, ROOT, executable

THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
"""Small networks take less processor time on one thread than on several."""

WEIGHTS_OF_ZERO = """
import keras
drawn = keras.initializers.VarianceScaling.__call__
def zeros(self, shape, dtype=None, **_):
    return keras.ops.zeros(shape, dtype)
keras.initializers.VarianceScaling.__call__ = zeros
"""
"""Where only the shapes of weights count: drawing 100 million numbers takes seconds."""


def answer(program: str, backend: str) -> Any:  # noqa: ANN401 - any JSON
    """What `program` prints as its last line, as JSON; skips where the environment is missing."""
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment |= dict.fromkeys(THREADS, "1")
    done = subprocess.run(
        [python(backend), "-c", program],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout.splitlines()[-1])


def python(backend: str) -> str:
    """Return a Python that has imported Keras; skips where the environment is missing."""
    if backend == "jax" and not JAX.exists():
        pytest.skip("there is no .venv-jax; `make jax` makes it")
    return executable(backend)
