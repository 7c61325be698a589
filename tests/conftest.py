"""What every test starts from: nobody's own result folders."""

from __future__ import annotations

import pytest

from planner.store.folders import FURTHER, OWN


@pytest.fixture(autouse=True)
def no_folders_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own results must change no test."""
    monkeypatch.delenv(OWN, raising=False)
    monkeypatch.delenv(FURTHER, raising=False)
