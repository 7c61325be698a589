"""The only access to disk: result sets as immutable parquet files, served by DuckDB.

Measuring needs the commit protocol but no DuckDB (a rented machine may lack it), so `Store` and its
dependencies are imported on first use.
"""

from typing import TYPE_CHECKING

from planner.core import on_first_use
from planner.store.disk.folders import Folder, folders_from_environment
from planner.store.sealed.commit import CommitError, commit_runs

if TYPE_CHECKING:
    from planner.store.reader import LimitError, Refused, Store
else:
    __getattr__ = on_first_use(__name__, "reader")
