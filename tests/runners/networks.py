"""Runs a program with a Keras backend in a process of its own and reads the JSON it prints last.

The tests' own process stays free of TensorFlow: importing it takes seconds and warns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
JAX = ROOT / ".venv-jax" / "bin" / "python"
"""An environment with JAX and without TensorFlow, as machines with only JAX have it."""
LEAN = "from runners.child.engines.lean import import_keras\nimport_keras()\n"


def answer(program: str, backend: str) -> Any:  # noqa: ANN401 - any JSON
    """What `program` prints as its last line, as JSON; skips where the environment is missing."""
    if backend == "jax" and not JAX.exists():
        pytest.skip("there is no .venv-jax; `make jax` makes it")
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable if backend == "tensorflow" else str(JAX), "-c", f"{LEAN}{program}"],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout.splitlines()[-1])
