"""The launcher `ray` on a cluster of this machine, and on one of two nodes."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from runners.launch.launcher import Launcher
from runners.plan.cases import Case
from runners.plan.expand import Expanded
from runners.plan.host import Python
from runners.plan.placement import placed
from runners.process.supervise import Ended, Limits, Stopped, supervise
from runners.sweep.measure import Bench, measure
from tests.faults.outcomes import FULL
from tests.runners.launch.test_local import WORKER
from tests.runners.networks import python
from tests.runners.stubs import HANG_S, new_mark, orphans

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed here"
)
CASE: Final = Case(
    sweep="strategies", workload="mlp", options=(("units", 16),), dataset="digits",
    train_samples=96, validation_samples=0, batch=32, epochs=2, strategy="multi-worker mirrored",
    devices=2,
)  # fmt: skip
full = pytest.mark.skipif(not FULL, reason="`make faults` runs it")
RAY: Final = Launcher(launcher="ray")


@pytest.fixture
def mark() -> Iterator[str]:
    """An argument of every worker; no process has it when the test is over."""
    text = new_mark()
    yield text
    assert orphans(text) == []


SETTINGS: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # A run has an environment of its own, so no process started ahead of it could be used.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
}


def _environ(address: str = "") -> dict[str, str]:
    return {**os.environ, **SETTINGS, "RAY_ADDRESS": address}


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[str]:
    """The address of a cluster of two nodes with one processor each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, setting in SETTINGS.items():
            patch.setenv(name, setting)
        head = {"num_cpus": 1, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            cluster.add_node(num_cpus=1)
            yield str(cluster.address)
        finally:
            cluster.shutdown()


def test_a_run_on_two_nodes_is_a_row(two_nodes: str, tmp_path: Path) -> None:
    here = Python(path=python("tensorflow"), python_version="3.11", versions={})
    bench = Bench(
        pythons={"tensorflow": here}, environ=_environ(two_nodes), cache=tmp_path,
        memory_share=0.8, timeout_s=10 * HANG_S, launcher=RAY,
    )  # fmt: skip
    [case] = placed("x", Expanded(cases=(CASE,)), RAY).cases
    row = measure(case, bench, "strategies")
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    # Both nodes have the address of this machine, so they are one.
    assert (row["launch"], row["number_of_nodes"], row["accelerators_per_node"]) == ("ray", 1, 2)
    assert 0.0 < json.loads(row["extra"])["cluster_start_s"] < 10 * HANG_S
    alone = measure(replace(CASE, strategy="none", devices=1), bench, "strategies")
    losses = [[epoch["loss"] for epoch in one["epochs"]] for one in (row, alone)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def _ended(how: str, mark: str, address: str = "", **hooks: Any) -> Ended:  # noqa: ANN401 - of the supervisor
    start = RAY.arguments(2, server=False)
    command = [sys.executable, *start, "-c", WORKER, mark]
    limits = Limits(timeout_s=3 * HANG_S, memory_bytes=1 << 40)
    return supervise(command, {"how": how}, _environ(address), limits, **hooks)


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("killed", "peer_lost", "worker 1 of 2 ended: SIGKILL"),
        pytest.param("wrong", "crashed", "ValueError: no such layer", marks=full),
    ],
)
def test_a_worker_that_ends_early_ends_the_run_with_the_reason(
    two_nodes: str, mark: str, how: str, status: str, reason: str
) -> None:
    ended = _ended(how, mark, two_nodes)
    assert (ended.status, ended.reason) == (status, reason)


@full
def test_a_stopped_run_on_a_cluster_of_its_own_leaves_no_worker(mark: str) -> None:
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
        return mark in line and "runners.launch.ray_tasks" not in line

    with pytest.raises(Stopped):
        _ended("waits", mark, stop=stop)
