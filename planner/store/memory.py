"""How much memory the runs in memory may take: a setting, and half of the machine at most."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import duckdb

from planner.store import sql

SETTING: Final = "EPOCHWISE_MEMORY_GB"
USUAL_BYTES: Final = 4_000_000_000
"""The same on every machine that has twice as much, so that figures compare."""
LEAST_BYTES: Final = 100_000_000
FULL: Final = 0.6
"""Share that runs may fill; queries need the rest."""
WORKING_BYTES: Final = 64_000_000
"""What taking in one chunk of runs needs beside what is loaded: a copy, a sort, a checkpoint."""


def memory_limit_bytes(environment: Mapping[str, str]) -> int:
    """What DuckDB may use [bytes]: `EPOCHWISE_MEMORY_GB`, else 4 GB or half of the machine's.

    A setting that is no number above 0 counts as none.
    """
    with suppress(ValueError, OverflowError):
        asked = float(environment.get(SETTING, "nan"))
        if math.isfinite(asked) and asked > 0.0:
            return max(int(asked * 1e9), LEAST_BYTES)
    with suppress(OSError, ValueError, AttributeError):
        half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        return max(min(half, USUAL_BYTES), LEAST_BYTES)
    return USUAL_BYTES


def has_room(base: duckdb.DuckDBPyConnection, limit_bytes: int) -> bool:
    """Whether more runs may be loaded: what is in memory leaves room for queries."""
    [(used,)] = base.execute(sql.MEMORY).fetchall()
    return int(used or 0) < min(FULL * limit_bytes, limit_bytes - WORKING_BYTES)
