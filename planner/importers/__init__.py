"""Bring in results that other programs wrote: one module a source, one list of sources.

`read` returns rows of the run table, or SourceError with all problems. What a file does not say is
stated by the user (`Stated`), never assumed. Files are read in a process apart (docs/import.md).
`commit` writes all rows of a file as one, or nothing.
"""

from planner.importers._apart import read
from planner.importers._preview import (
    Preview,
    commit,
    licences,
    located,
    preview,
    refused,
    with_terms,
)
from planner.importers._sources import SOURCES, files_from, guess, rows_of
from planner.importers.formats import MOST_BYTES, Source, SourceError, SourceFiles, Stated
from planner.importers.formats import typed as fact
from planner.importers.formats.logs.template import header, mapping
