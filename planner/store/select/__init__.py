"""Read-only SQL over the runs, in a process of its own (docs/decisions/0051)."""

from planner.store.select._child import LONGEST, MOST_ROWS, SECONDS
from planner.store.select._refusals import RefusedError
from planner.store.select._worker import Rows, Worker
