"""The only door to disk: result sets as immutable parquet files, served by DuckDB."""

from planner.store.commit import CommitError, commit_runs
from planner.store.folders import Folder, folders_from_environment
from planner.store.reader import Refused, Store

__all__ = [
    "CommitError",
    "Folder",
    "Refused",
    "Store",
    "commit_runs",
    "folders_from_environment",
]
