"""Formats of results: one module each, which turns bytes of files into rows of the run table.

The list of them is in `planner.importers`. A module opens no file.
"""

from planner.importers.formats._given import MOST_BYTES, Given, SourceError
from planner.importers.formats._source import Row, Source, Stated, typed
from planner.importers.formats.published_table import warm
from planner.importers.formats.template import header

__all__ = [
    "MOST_BYTES",
    "Given",
    "Row",
    "Source",
    "SourceError",
    "Stated",
    "header",
    "typed",
    "warm",
]
