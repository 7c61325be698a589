"""Fixtures of the runners' tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.runners.stubs import new_mark, orphans


@pytest.fixture
def mark() -> Iterator[str]:
    """An argument of every worker; no process has it when the test is over."""
    text = new_mark()
    yield text
    assert orphans(text) == []


@pytest.fixture
def signals_as_they_were() -> Iterator[None]:
    """The commands install handlers of signals; those of the test process are put back."""
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
