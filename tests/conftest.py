"""What every test starts from: nobody's own result folders, sweeps or settings."""

from __future__ import annotations

import signal

import pytest

from planner.store.folders import FURTHER, OWN
from planner.store.sweeps import STATE


def pytest_configure() -> None:
    """Under nohup or `&` a shell has these ignored, and every child would inherit that."""
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
