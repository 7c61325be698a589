"""The only access to disk: result sets as immutable parquet files, served by DuckDB.

Measuring needs the commit protocol but no DuckDB (a rented machine may lack it), so `Store` and its
dependencies are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.core import Text
from planner.store.disk.folders import Folder, folders_from_environment
from planner.store.sealed.commit import CommitError, commit_runs

if TYPE_CHECKING:
    from planner.store.reader import LimitError, Refused, Store

__all__ = [
    "CommitError",
    "Folder",
    "LimitError",
    "Refused",
    "Store",
    "commit_runs",
    "folders_from_environment",
]


def __getattr__(name: str) -> object:
    if name in {"LimitError", "Refused", "Store"}:
        from planner.store import reader

        return getattr(reader, name)
    raise AttributeError(
        Text("module {module!r} has no attribute {name!r}", module=__name__, name=name)
    )
