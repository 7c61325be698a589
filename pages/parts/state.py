"""The store that all sessions share, brought up to date once a rerun."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import streamlit as st

from planner.store import Store, folders_from_environment

ROOT: Final = Path(__file__).parent.parent.parent


@st.cache_resource(show_spinner=False)
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
    return _store(known)
