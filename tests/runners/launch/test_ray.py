"""The launcher `ray` on a cluster of this machine; tests/runners/cluster has it on two nodes."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from typing import Any, Final

import psutil
import pytest

from runners.launch.launcher import Launcher
from runners.plan.cases import Case
from runners.process.supervise import Ended, ProcessLimits, Stopped, supervise
from tests.faults.outcomes import FULL
from tests.runners.launch.test_local import WORKER
from tests.runners.stubs import HANG_S

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


SETTINGS: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # A run has an environment of its own, so no process started ahead of it could be used.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
}


def environ(address: str = "") -> dict[str, str]:
    """The environment of a run on the cluster of an address, or on one of its own."""
    return {**os.environ, **SETTINGS, "RAY_ADDRESS": address}


def ended_by(how: str, mark: str, address: str = "", **hooks: Any) -> Ended:  # noqa: ANN401 - of the supervisor
    """How a run of two workers of a stand-in ends."""
    start = RAY.arguments(2, server=False)
    command = [sys.executable, *start, "-c", WORKER, mark]
    limits = ProcessLimits(timeout_s=3 * HANG_S, memory_bytes=1 << 40)
    return supervise(command, {"how": how}, environ(address), limits, **hooks)


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
        ended_by("waits", mark, stop=stop)
