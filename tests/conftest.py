"""What every test starts from: nobody's own result folders, sweeps or settings."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Final

import pytest

from planner.store.folders import FURTHER, OWN
from planner.store.sweeps import STATE

FRAMEWORK: Final = ("runners/", "faults/test_runner_kills.py", "pages/test_measure.py")
BROWSER: Final = ("browser/",)
"""Where tests train real networks, on every core, or wait for a real browser.

Each kind goes to one worker from beginning to end, so that two trainings never fight for the
cores, and a browser waits while others work.
"""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say which worker's work it is: the long kinds, else its file's."""
    item.add_marker(pytest.mark.xdist_group(_kind(item) or _place(item)))


@pytest.hookimpl(trylast=True)  # after the shuffle: all else stays in its order
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long kinds, so that no worker is left alone with one at the end."""
    first = ["framework", "browser"]
    items.sort(key=lambda item: first.index(kind) if (kind := _kind(item)) else len(first))


def _kind(item: pytest.Item) -> str | None:
    place = _place(item)
    if place.startswith(BROWSER):
        return "browser"
    return "framework" if place.startswith(FRAMEWORK) else None


def _place(item: pytest.Item) -> str:
    """The file in this folder."""
    return item.path.relative_to(Path(__file__).parent).as_posix()


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
