"""What every test starts from: nobody's own result folders, sweeps or settings."""

from __future__ import annotations

import os
import signal

import pytest

from planner.store.folders import FURTHER, OWN
from planner.store.sweeps import STATE

SLOWEST = (
    "browser/test_measure.py", "runners/test_converge_child.py", "runners/test_cli.py",
    "faults/test_runner_kills.py", "runners/test_inference.py", "runners/test_workloads.py",
    "pages/test_measure.py", "runners/test_flops.py", "runners/test_late_device.py",
    "runners/test_jax.py", "runners/test_real.py", "runners/test_supervise.py",
)  # fmt: skip
"""Files of minutes. They come first, so that no worker is left alone with one at the end."""


@pytest.hookimpl(trylast=True)  # after the shuffle: all else stays in its order
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files."""

    def rank(item: pytest.Item) -> int:
        places = (i for i, name in enumerate(SLOWEST) if str(item.path).endswith(name))
        return next(places, len(SLOWEST))

    items.sort(key=rank)


def pytest_configure() -> None:
    """What every process of the tests inherits; under nohup or `&` a shell ignores signals."""
    # No test asks how fast JAX is; its compiler takes half of what they take of it.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def no_folders_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A developer's own results and sweeps must change no test."""
    monkeypatch.delenv(OWN, raising=False)
    monkeypatch.delenv(FURTHER, raising=False)
    monkeypatch.delenv("EPOCHWISE_MEASURE", raising=False)
    monkeypatch.setenv(STATE, str(tmp_path_factory.getbasetemp() / "no-sweeps"))
