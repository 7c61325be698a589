"""Three lines in a training script write a sealed run that the pages show."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from planner.record import EpochTimes
from planner.runs import RecordError
from planner.store.summaries import summaries
from runners.process.supervise import ROOT
from tests.fork_server import executable
from tests.store.build import opened

FACTS: dict[str, Any] = {
    "model": "ResNet-50", "dataset": "CIFAR-10", "global_batch_size": 256,
    "samples_per_epoch": 50_000, "say": None,
}  # fmt: skip
KERAS = """
import numpy as np, keras, sys
from planner.record import EpochTimes
assert "scipy.special" not in sys.modules or keras.backend.backend() == "jax"
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
x, y = np.ones((64, 4)), np.ones((64, 2))
times = EpochTimes({folder!r}, model="Dense", global_batch_size=16, samples_per_epoch=64)
model.fit(x, y, batch_size=16, epochs=3, verbose=0, callbacks=[times], validation_data=(x, y))
"""
ALONE = """
import sys

class Refused:
    def find_spec(name, path=None, target=None):
        known = {{*sys.stdlib_module_names, "pyarrow", "planner"}}
        if name.split(".")[0] not in known and not name.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Refused)
from planner.record import EpochTimes
facts = dict(global_batch_size=16, samples_per_epoch=64, say=None)
with EpochTimes({folder!r}, model="with", **facts) as times:
    for epoch in times.epochs(2):
        with times.validating():
            pass
        times.loss(0.5)
times = EpochTimes({folder!r}, model="loop", **facts)
for _ in times.epochs(3):
    times.loss(0.25)
times.write()
for wrong in ({{"optimiser": "SGD"}}, {{"precision": 1}}):
    try:
        EpochTimes({folder!r}, model="wrong", **facts, **wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
loaded = {{name.split(".")[0] for name in sys.modules}}
assert not loaded & {{"numpy", "scipy", "duckdb", "pandas"}}, loaded
"""
"""A script where no package but pyarrow can be imported."""


def _only(folder: Path) -> dict[str, Any]:
    [row] = summaries(folder)
    return dict(row)


def test_a_loop_is_recorded_with_its_pre_train_time_and_validation(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    with EpochTimes(folder, **FACTS, optimizer="AdamW") as times:
        time.sleep(0.02)
        for _ in times.epochs(3):
            time.sleep(0.01)
            with times.validating():
                time.sleep(0.03)
            times.loss(0.5)
    row = _only(folder)
    assert (row["status"], row["epochs_measured"], row["optimizer"]) == ("ok", 3, "AdamW")
    assert row["pre_train_s"] >= 0.02
    assert row["later_epoch_mean_s"] >= 0.04
    assert row["later_epoch_mean_s"] - row["validation_s"] >= 0.01
    assert row["validation"] is True
    assert opened(tmp_path).refused == ()
    assert 'title = "ResNet-50 on ' in (folder / "set.toml").read_text(encoding="utf-8")


def test_an_exception_ends_the_run_with_its_name_and_goes_on(tmp_path: Path) -> None:
    def train() -> None:
        with EpochTimes(tmp_path / "mine", **FACTS) as times:
            for epoch in times.epochs(3):
                if epoch == 2:
                    raise MemoryError

    with pytest.raises(MemoryError):
        train()
    row = _only(tmp_path / "mine")
    assert (row["status"], row["status_reason"]) == ("oom", "MemoryError")
    assert row["epochs_measured"] == 2


def test_two_runs_of_one_script_are_two_runs(tmp_path: Path) -> None:
    for _ in range(2):
        with EpochTimes(tmp_path / "mine", **FACTS) as times, times.epoch():
            pass
    assert len(list(summaries(tmp_path / "mine"))) == 2


def test_wrong_columns_are_refused_before_the_training_all_at_once(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as refused:
        EpochTimes(tmp_path / "mine", **(FACTS | {"global_batch_size": -1}), optimiser="AdamW")
    assert "global_batch_size" in str(refused.value)
    assert "optimiser" in str(refused.value)
    assert not (tmp_path / "mine").exists()


def test_no_epoch_writes_nothing(tmp_path: Path) -> None:
    with EpochTimes(tmp_path / "mine", **FACTS):
        pass
    assert not (tmp_path / "mine").exists()


def test_an_epoch_within_an_epoch_is_an_error(tmp_path: Path) -> None:
    times = EpochTimes(tmp_path / "mine", **FACTS)
    with pytest.raises(RuntimeError, match="being timed already"), times.epoch(), times.epoch():
        pass


def test_a_script_goes_on_after_an_epoch_that_failed(tmp_path: Path) -> None:
    with EpochTimes(tmp_path / "mine", **FACTS) as times:
        with pytest.raises(MemoryError), times.epoch():
            raise MemoryError
        for _ in times.epochs(3):
            break  # an early stop
        for _ in times.epochs(2):
            pass
    assert _only(tmp_path / "mine")["epochs_measured"] == 2


def test_the_recorder_needs_pyarrow_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE.format(folder=str(tmp_path / "mine"))],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    rows = sorted(summaries(tmp_path / "mine"), key=lambda row: row["model"])
    assert [(row["model"], row["epochs_measured"]) for row in rows] == [("loop", 3), ("with", 2)]
    assert opened(tmp_path).refused == ()


@pytest.mark.long  # needs the environment of JAX
def test_keras_calls_it_as_a_callback(tmp_path: Path) -> None:
    folder = tmp_path / "keras"
    done = subprocess.run(
        [executable("jax"), "-c", KERAS.format(folder=str(folder))],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={"KERAS_BACKEND": "jax", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = _only(folder)
    assert (row["framework"], row["epochs_measured"], row["params"]) == ("JAX", 3, 10)
    assert 0.0 < row["validation_s"] < row["later_epoch_mean_s"]
    assert f"3 epochs are in {folder}" in done.stdout
