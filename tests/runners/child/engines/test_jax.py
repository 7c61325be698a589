"""With JAX alone: no TensorFlow, no DuckDB, the same command line and the same rows."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from planner.store import Store
from planner.store._verify import verify_folder
from planner.store.summaries import summaries
from runners.process.supervise import ROOT
from tests.faults.outcomes import FULL
from tests.fork_server import JAX
from tests.runners.networks import python
from tests.runners.stubs import HANG_S
from tests.store.build import folder, ids

pytestmark = pytest.mark.skipif(not JAX.exists(), reason="no .venv-jax here; make jax makes it")

SPEC: Final = """
title = "Tiny runs on JAX"
epochs = 3
[defaults]
workload = "mlp"
dataset = "digits"
train_samples = 96
batch = 32
options = { units = 16 }
engine = "fit"
[[runs]]
feed = ["numpy", "PyDataset"]
timing = "per step"
[[runs]]
feed = "numpy"
learning_rate = 1e12
"""


def _run(tmp: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command by the interpreter with JAX alone; its children are fresh ones in full."""
    warm = [] if FULL else ["--python", f"jax={python('jax')}"]
    environ = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    return subprocess.run(
        [str(JAX), "-m", "runners", *command, str(tmp / "tiny.toml"), "--results",
         str(tmp / "results"), "--name", "tiny", *warm],
        cwd=ROOT, env={**environ, "KERAS_BACKEND": "jax", "EPOCHWISE_STATE": str(tmp / "state")},
        capture_output=True, text=True, timeout=5 * HANG_S,
    )  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The sweep, run once by the interpreter that has only JAX."""
    tmp = tmp_path_factory.mktemp("jax")
    (tmp / "tiny.toml").write_text(SPEC, encoding="utf-8")
    return tmp, _run(tmp, "run", "--yes")


def test_the_environment_has_neither_tensorflow_nor_duckdb() -> None:
    program = "import importlib.util as u; print(*[bool(u.find_spec(n)) for n in ('tensorflow', 'duckdb', 'jax')])"  # noqa: E501
    done = subprocess.run([str(JAX), "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False", "True"]


def test_a_sweep_runs_and_its_rows_are_read_where_the_pages_are(
    tiny: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    tmp, done = tiny
    assert done.returncode == 1, done.stdout + done.stderr  # one of the three diverges
    assert "Traceback" not in done.stderr
    assert verify_folder(folder(tmp / "results")).problems == ()
    store = Store([folder(tmp / "results")])
    store.refresh()
    rows: list[dict[str, Any]] = list(summaries(tmp / "results" / "tiny"))
    assert ids(store) == sorted(r["run_id"] for r in rows)
    assert Counter((r["status"], r["backend"], r["feed"]) for r in rows) == {
        ("ok", "jax", "numpy"): 1, ("ok", "jax", "PyDataset"): 1, ("nan", "jax", "numpy"): 1,
    }  # fmt: skip
    good = [r for r in rows if r["status"] == "ok"]
    assert all(r["epochs_measured"] == 3 and r["framework"] == "JAX" for r in good)
    assert all(r["step_s"] > 0 and r["pre_train_s"] > 0 for r in good)


def test_a_run_timed_step_by_step_keeps_every_step_of_its_epochs(
    tiny: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    files = (tiny[0] / "results" / "tiny").glob("*.parquet")
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert {r["timing"]: len(r["steps"] or ()) for r in rows} == {"per step": 9, "per epoch": 0}
    for row in (r for r in rows if r["steps"]):
        assert [s["step"] for s in row["steps"]] == list(range(1, 10))
        for number, epoch in enumerate(row["epochs"]):
            steps_s = sum(s["step_s"] for s in row["steps"][3 * number : 3 * number + 3])
            assert 0 < steps_s <= epoch["epoch_s"]


def test_what_is_done_on_jax_is_not_measured_again(
    tiny: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    tmp, _ = tiny
    done = _run(tmp, "resume")
    assert (done.returncode, "nothing to do" in done.stdout) == (1, True), "one run diverged"
    assert len(list((tmp / "results" / "tiny").glob("*.parquet"))) == 3
