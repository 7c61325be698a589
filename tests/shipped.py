"""What the product ships, counted; so that a further result set changes no test."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

from planner.store import Store, folders_from_environment, queries
from planner.store.folders import OWN

ROOT: Final = Path(__file__).parent.parent


@functools.cache
def store() -> Store:
    """The shipped results and nobody's own."""
    known = Store(folders_from_environment(ROOT, {OWN: "nowhere"})[:1])
    known.refresh()
    return known


def runs(**filters: str) -> int:
    """How many runs are shipped that have these values."""
    return queries.count(store(), {name: [value] for name, value in filters.items()})


def all_of(further: int = 0) -> str:
    """How the results page counts all shipped runs and `further` ones."""
    total = runs() + further
    return f"{total:,} of {total:,} runs"


def some_of(**filters: str) -> str:
    """How it counts those that have these values."""
    return f"{runs(**filters):,} of {runs():,} runs"
