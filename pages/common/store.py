"""The store that all sessions share, refreshed once a rerun."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.store import Store, folders_from_environment

ROOT: Final = Path(__file__).parent.parent.parent


_STORE_LOCK: Final = threading.Lock()


@lru_cache(maxsize=4)
def _store(environment: tuple[tuple[str, str], ...]) -> Store:
    return Store(folders_from_environment(ROOT, dict(environment)))


def store() -> Store:
    """Return the refreshed store over the shipped folder, the user's own and any further ones.

    While a page is drawn, the store keeps the state of the start of drawing (pages/shell.py).
    """
    shared = _shared()
    if not shared.is_held:
        shared.refresh()
    return shared


@contextmanager
def at_one_moment(requested_s: float) -> Iterator[None]:
    """Show this thread one state of the store until the block ends: `requested_s` or later."""
    with _shared().at_one_moment(requested_s):
        yield


def _shared() -> Store:
    environment = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("EPOCHWISE_")))
    with _STORE_LOCK:  # simultaneous first sessions share one store
        return _store(environment)
