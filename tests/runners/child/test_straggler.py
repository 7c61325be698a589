"""A worker that is stopped a share of the time, under every launcher, and workers that wait."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from runners.child.straggler import is_last, waiting
from runners.launch.launcher import Launcher
from runners.plan.cases import Case
from runners.plan.expand import Expanded
from runners.plan.host import Python, placed
from runners.process.supervise import ROOT
from runners.sweep.measure import Bench, measure
from tests.faults.outcomes import FULL
from tests.runners.networks import python
from tests.runners.stubs import HANG_S

WORKERS: Final = ["127.0.0.1:1", "127.0.0.1:2"]


def _config(kind: str, index: int, workers: list[str] = WORKERS) -> str:
    body = {"cluster": {"worker": workers}, "task": {"type": kind, "index": index}}
    return json.dumps(body)


def test_the_last_of_several_workers_is_the_slow_one() -> None:
    assert is_last(_config("worker", 1))
    assert not is_last(_config("worker", 0))
    assert not is_last(_config("ps", 1))
    assert not is_last(_config("worker", 0, WORKERS[:1]))
    assert not is_last(None)


BUSY: Final = """
import sys
from runners.child.straggler import begin_stopping
begin_stopping(float(sys.argv[1]))
print("ready", flush=True)
while True:
    pass
"""


def _started(index: int, share: float) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(share)], cwd=ROOT, stdout=subprocess.PIPE,
        env={**os.environ, "TF_CONFIG": _config("worker", index)},
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


def _stopped_share(process: subprocess.Popen[bytes]) -> float:
    """Return the share of looks at which a process is stopped."""
    family = psutil.Process(process.pid)
    seen = []
    for _ in range(300):
        seen.append(family.status() == psutil.STATUS_STOPPED)
        time.sleep(0.003)
    return statistics.fmean(seen)


def test_only_the_last_worker_is_stopped_for_its_share_and_its_helper_ends_with_it() -> None:
    for index, low, high in ((0, 0.0, 0.0), (1, 0.1, 0.9)):
        process = _started(index, 0.5)
        try:
            assert low <= _stopped_share(process) <= high
            helpers = psutil.Process(process.pid).children()
            assert len(helpers) == index
        finally:
            process.kill()
            output, _ = process.communicate(timeout=HANG_S)  # the helper keeps no pipe open
        assert output == b""
        assert psutil.wait_procs(helpers, timeout=HANG_S)[1] == []


def test_waits_have_the_mean_and_the_scatter_that_were_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for call in waiting([lambda: 7] * 4000, 0.05, 0.01, seed=1):
        assert call() == 7
    assert statistics.fmean(slept) == pytest.approx(0.05, rel=0.02)
    assert statistics.stdev(slept) == pytest.approx(0.01, rel=0.05)
    own = list(slept)
    slept.clear()
    for call in waiting([lambda: 7] * 4000, 0.05, 0.01, seed=2):
        call()
    assert abs(statistics.correlation(own, slept)) < 0.1  # another worker waits otherwise


CASE: Final = Case(
    sweep="x", workload="mlp", options=(("units", 16),), dataset="digits", train_samples=320,
    validation_samples=0, batch=32, epochs=2, strategy="multi-worker mirrored", devices=2,
    threads=1,
)  # fmt: skip
HOSTS: Final = Launcher(
    launcher="command", hosts=("a=127.0.0.1", "b=127.0.0.1"), prefix="env HOST={host}"
)


def _row(case: Case, tmp_path: Path, launcher: Launcher) -> dict[str, Any]:
    here = Python(path=python("tensorflow"), python_version="3.11", versions={})
    bench = Bench(
        pythons={"tensorflow": here}, environ=dict(os.environ), cache=tmp_path, memory_share=0.8,
        timeout_s=10 * HANG_S, launcher=launcher,
    )  # fmt: skip
    [placed_case] = placed("x", Expanded(cases=(case,)), launcher).cases
    return dict(measure(placed_case, bench, "x"))


@pytest.mark.skipif(not FULL, reason="`make faults` runs it; a stopped process is tried above")
def test_a_slow_worker_on_hosts_behind_a_prefix_is_named_in_the_row(tmp_path: Path) -> None:
    row = _row(replace(CASE, slow_share=0.5), tmp_path, HOSTS)
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    assert row["launch"] == "command"
    assert row["system_name"].endswith(", one stopped 50 % of the time")


def test_synchronous_steps_wait_for_the_longest_wait(tmp_path: Path) -> None:
    case = replace(CASE, wait_s=0.1, wait_sd_s=0.05, timing="per step")
    row = _row(case, tmp_path, Launcher())
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    assert row["system_name"].endswith(", each waiting 100 ± 50 ms a step")
    # The mean of the larger of two waits is 0.1 + 0.05/sqrt(pi) s: other work only adds to it.
    assert row["step_s"] > 0.11


def test_a_stage_that_waits_takes_one_tensor_at_a_time_forward_and_backward() -> None:
    import tensorflow as tf

    from runners.child.forms import split

    wait = split.waits(0.05)

    @tf.function  # type: ignore[untyped-decorator]
    def both(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = wait(x) ** 2 + wait(2.0 * x) ** 2
        return tape.gradient(out, x)

    assert both(tf.constant([1.0, 2.0])).numpy().tolist() == [10.0, 20.0]
    begun = time.perf_counter()
    both(tf.constant([3.0, 4.0]))
    assert time.perf_counter() - begun >= 4 * 0.05
