"""The launcher `spark` on a local cluster of two workers."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from runners.launch.cluster import WorkerError, failure_in
from runners.launch.launcher import Launcher
from runners.launch.spark_stage import has_java
from runners.plan.cases import Case
from runners.plan.expand import Expanded
from runners.plan.host import Python, placed
from runners.process.supervise import Ended, ProcessLimits, Stopped, supervise
from runners.sweep.measure import Bench, measure
from tests.runners.launch.test_local import WORKER
from tests.runners.stubs import HANG_S

needs_spark = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None or shutil.which("java") is None,
    reason="pyspark (requirements/spark.txt) or Java is not installed here",
)
CASE: Final = Case(
    sweep="strategies", workload="mlp", options=(("units", 16),), dataset="digits",
    train_samples=96, validation_samples=0, batch=32, epochs=2, strategy="multi-worker mirrored",
    devices=2,
)  # fmt: skip
SPARK: Final = Launcher(launcher="spark")


def _environ(tmp_path: Path) -> dict[str, str]:
    """A cluster of two executors on loopback; its files are in the folder of the test."""
    return {
        **os.environ, "SPARK_MASTER": "local-cluster[2,1,1024]", "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(tmp_path / "work"), "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
        "PYTHONHASHSEED": "0",
    }  # fmt: skip


def test_a_failure_passes_through_the_text_of_a_cluster() -> None:
    reason = 'no "room" {x}: ä'
    text = f"Job aborted:\\n  File\\nRuntimeError: {WorkerError('oom', reason)}\\n\\tat"
    assert failure_in(text) == ("oom", reason)
    assert failure_in("Job aborted") is None


@needs_spark
def test_a_run_on_two_executors_is_a_row(tmp_path: Path) -> None:
    here = Python(path=sys.executable, python_version="3.11", versions={})
    bench = Bench(
        pythons={"tensorflow": here}, environ=_environ(tmp_path), cache=tmp_path,
        memory_share=0.8, timeout_s=10 * HANG_S, launcher=SPARK,
    )  # fmt: skip
    [case] = placed("x", Expanded(cases=(CASE,)), SPARK).cases
    row = measure(case, bench, "strategies")
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    assert (row["launch"], row["number_of_nodes"], row["accelerators_per_node"]) == (
        "spark", 1, 2,
    )  # fmt: skip
    assert 0.0 < json.loads(row["extra"])["cluster_start_s"] < 10 * HANG_S
    alone = measure(replace(CASE, strategy="none", devices=1), bench, "strategies")
    losses = [[epoch["loss"] for epoch in one["epochs"]] for one in (row, alone)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def _ended(how: str, mark: str, tmp_path: Path, **hooks: Any) -> Ended:  # noqa: ANN401 - of the supervisor
    start = SPARK.arguments(2, server=False)
    command = [sys.executable, *start, "-c", WORKER, mark]
    limits = ProcessLimits(timeout_s=10 * HANG_S, memory_bytes=1 << 40)
    return supervise(command, {"how": how}, _environ(tmp_path), limits, **hooks)


@needs_spark
@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("killed", "peer_lost", "worker 1 of 2 ended: SIGKILL"),
        ("wrong", "crashed", "ValueError: no such layer"),
    ],
)
def test_a_worker_that_ends_early_ends_the_stage_with_the_reason(
    mark: str, tmp_path: Path, how: str, status: str, reason: str
) -> None:
    ended = _ended(how, mark, tmp_path)
    assert (ended.status, ended.reason) == (status, reason)


@needs_spark
def test_a_stopped_run_leaves_no_worker_on_the_executors(mark: str, tmp_path: Path) -> None:
    up_s: list[float] = []

    def stop() -> bool:
        if not up_s and any(map(_is_worker, psutil.process_iter())):
            up_s.append(time.monotonic())
        return bool(up_s) and time.monotonic() > up_s[0] + 1.0

    def _is_worker(process: psutil.Process) -> bool:
        try:
            line = process.cmdline()
        except psutil.Error:
            return False
        return mark in line and "runners.launch.spark_stage" not in line

    with pytest.raises(Stopped):
        _ended("waits", mark, tmp_path, stop=stop)


def test_a_driver_without_pyspark_says_what_to_install(tmp_path: Path) -> None:
    bare = tmp_path / "pyspark"
    bare.mkdir()
    (bare / "__init__.py").write_text("raise ModuleNotFoundError('none', name='pyspark')\n")
    start = SPARK.arguments(2, server=False)
    environ = {**_environ(tmp_path), "PYTHONPATH": str(tmp_path)}
    limits = ProcessLimits(timeout_s=10 * HANG_S, memory_bytes=1 << 40)
    ended = supervise([sys.executable, *start, "-c", WORKER], {"how": "ok"}, environ, limits)
    assert ended.status == "crashed"
    assert ended.reason
    assert ended.reason.endswith("Install it: make spark.")


def _without_java(tmp_path: Path, java_home: Path) -> str | None:
    """Why a run ends on a machine whose Java is that of `java_home`."""
    fake = tmp_path / "pyspark"
    fake.mkdir()
    started = "    def __init__(self, conf): raise RuntimeError('[JAVA_GATEWAY_EXITED] exited')\n"
    conf = "    def __getattr__(self, name): return lambda *_: self\n"
    (fake / "__init__.py").write_text(f"class SparkConf:\n{conf}class SparkContext:\n{started}")
    environ = {**_environ(tmp_path), "PYTHONPATH": str(tmp_path), "JAVA_HOME": str(java_home)}
    limits = ProcessLimits(timeout_s=10 * HANG_S, memory_bytes=1 << 40)
    start = SPARK.arguments(2, server=False)
    ended = supervise([sys.executable, *start, "-c", WORKER], {"how": "ok"}, environ, limits)
    assert ended.status == "crashed"
    return ended.reason


def test_a_driver_without_java_says_what_to_install(tmp_path: Path) -> None:
    reason = _without_java(tmp_path, tmp_path / "none")
    assert reason
    assert "Java is not found" in reason
    assert "apt-get install default-jre-headless" in reason


def test_a_java_that_does_not_start_spark_says_which_one_does(tmp_path: Path) -> None:
    java = tmp_path / "jre" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    reason = _without_java(tmp_path, tmp_path / "jre")
    assert reason
    assert "Java did not start Spark. Spark needs Java 17 or later" in reason


def test_java_is_looked_for_in_java_home_else_in_path(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    assert has_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert has_java({"PATH": str(java.parent)})
    assert not has_java({"JAVA_HOME": str(tmp_path / "other"), "PATH": str(java.parent)})
    assert not has_java({"PATH": ""})
    assert not has_java({})
