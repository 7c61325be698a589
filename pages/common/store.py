"""The store that all sessions share, brought up to date once a rerun."""

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
    """The store over the shipped folder, the user's own and any further ones; fresh.

    While a page is drawn it is that of the moment when drawing began (pages/shell.py).
    """
    shared = _shared()
    if not shared.is_held:
        shared.refresh()
    return shared


@contextmanager
def at_one_moment(asked_s: float) -> Iterator[None]:
    """Show this thread one state of the store until the block ends: that of `asked_s` or later."""
    with _shared().at_one_moment(asked_s):
        yield


def _shared() -> Store:
    known = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("EPOCHWISE_")))
    with _STORE_LOCK:  # the first two sessions share one store
        return _store(known)
