"""Bring in results that other programs wrote: one module a source, one list of sources.

`read` returns rows of the run table, or SourceError with all problems. What a file does not say is
stated by the user (`Stated`), never assumed. `commit` writes all rows of a file as one, or nothing.
"""

from planner.importers._commit import Imported, commit
from planner.importers._source import Source, SourceError, Stated
from planner.importers._source import typed as fact
from planner.importers._sources import SOURCES, read
from planner.importers.template import header

__all__ = [
    "SOURCES",
    "Imported",
    "Source",
    "SourceError",
    "Stated",
    "commit",
    "fact",
    "header",
    "read",
]
