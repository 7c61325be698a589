"""The real child on TensorFlow: a sweep that ends well, one that diverges, one out of memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from planner.store._verify import verify_folder
from planner.store.summaries import summaries
from runners.process.supervise import ROOT
from tests.faults.outcomes import FULL
from tests.runners.stubs import HANG_S
from tests.store.build import folder

SPEC: Final = """
title = "Three ends"
epochs = 3
[defaults]
workload = "mlp"
dataset = "digits"
train_samples = 96
options = { units = 16 }
[[runs]]
batch = 32
timing = "per step"
[[runs]]
batch = 32
learning_rate = 1e12
"""
LARGE: Final = """
title = "More than there is"
epochs = 1
[[runs]]
workload = "simple-cnn"
batch = 16384
steps_per_epoch = 1
"""


def _run(tmp: Path, spec: str, *more: str) -> subprocess.CompletedProcess[str]:
    (tmp / "mine.toml").write_text(spec, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "runners", "run", str(tmp / "mine.toml"), "--yes", "--results",
         str(tmp / "results"), "--name", "mine", "--backend", "tensorflow", *more],
        cwd=ROOT, env={**os.environ, "EPOCHWISE_STATE": str(tmp / "state")},
        capture_output=True, text=True, timeout=5 * HANG_S,
    )  # fmt: skip


def _rows(place: Path) -> list[dict[str, Any]]:
    """The rows with their lists, as a notebook would read them."""
    return [row for file in place.glob("*.parquet") for row in pq.read_table(file).to_pylist()]


def test_a_real_run_is_ok_and_one_with_an_absurd_learning_rate_is_nan(tmp_path: Path) -> None:
    done = _run(tmp_path, SPEC)
    assert done.returncode == 1, done.stderr
    found = {r["status"]: r for r in summaries(tmp_path / "results" / "mine")}
    assert found.keys() == {"ok", "nan"}
    assert found["nan"]["status_reason"] == "the loss is no longer a number"
    assert found["nan"]["attempt"] == 0
    assert found["nan"]["epochs_measured"] >= 1
    assert found["ok"]["epochs_measured"] == 3
    assert found["ok"]["train_flops_per_sample"] > 0
    assert verify_folder(folder(tmp_path / "results")).problems == ()
    assert json.loads(found["ok"]["extra"])["threads_default"] == len(os.sched_getaffinity(0))
    [kept] = [r for r in _rows(tmp_path / "results" / "mine") if r["status"] == "ok"]
    assert [s["step"] for s in kept["steps"]] == list(range(1, 3 * 3 + 1))
    assert kept["steps"][0]["step_s"] == kept["first_step_s"]
    for number, epoch in enumerate(kept["epochs"]):
        steps_s = sum(s["step_s"] for s in kept["steps"][3 * number : 3 * number + 3])
        assert 0 < steps_s <= epoch["epoch_s"]


@pytest.mark.skipif(not FULL, reason="`make faults` runs it")
def test_a_real_run_above_its_memory_is_out_of_memory_and_tried_once(tmp_path: Path) -> None:
    done = _run(tmp_path, LARGE, "--memory-limit", "1.0")
    assert done.returncode == 1, done.stderr
    [row] = summaries(tmp_path / "results" / "mine")
    assert row["status"] == "oom"
    assert "watchdog: 1." in row["status_reason"]
