"""What the product ships, counted; so that a further result set changes no test."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from planner.store import Store, folders_from_environment, queries
from planner.store.disk.folders import OWN, Folder

ROOT: Final = Path(__file__).parent.parent
STEP: Final = 60
"""One published workload in so many is asked about: there are more than a thousand."""


@functools.cache
def store() -> Store:
    """The shipped results, without those of a user."""
    opened = Store(folders_from_environment(ROOT, {OWN: "nowhere"})[:1])
    opened.refresh()
    return opened


@functools.cache
def library() -> Store:
    """All shipped results, the published library with them."""
    opened = Store((Folder(path=ROOT / "data" / "results", label="shipped", kind="shipped"),))
    opened.refresh()
    return opened


def every(workloads: Iterable[str]) -> list[str]:
    """Measured workloads, and of published ones each `STEP`th; all of them under `make faults`."""
    rows = store().rows("SELECT DISTINCT workload FROM runs WHERE repository IS NULL")
    measured = {str(row[0]) for row in rows}
    names = list(workloads)
    published = [name for name in names if name not in measured]
    step = 1 if os.environ.get("EPOCHWISE_FAULTS") == "full" else STEP
    kept = {*measured, *published[::step]}
    return [name for name in names if name in kept]


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


def article_sets() -> list[int]:
    """How many runs each set has that is typed in from an article."""
    counts = store().rows(
        "SELECT count(*) FROM runs WHERE result_set LIKE 'article-%' GROUP BY result_set"
    )
    return [int(count) for (count,) in counts]
