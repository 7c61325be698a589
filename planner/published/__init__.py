"""Published measurements: tables in the library's format, and what their cells mean.

The library is a folder of tab-separated tables, one row a published figure with its source. This
package reads any such folder, skips bad rows with a reason, and finds the accelerators of rows in
the catalogue. `configurations` makes cleaned questions of the rows; `runs` makes the run records
that the product ships.
"""

from __future__ import annotations

from planner.published.accelerators import accelerator_of, accelerators_of
from planner.published.configurations import Configuration, configurations
from planner.published.rows import COLUMNS, PublishedRow, read_rows, rows_of
from planner.published.runs import RunRecords, run_records

__all__ = [
    "COLUMNS",
    "Configuration",
    "PublishedRow",
    "RunRecords",
    "accelerator_of",
    "accelerators_of",
    "configurations",
    "read_rows",
    "rows_of",
    "run_records",
]
