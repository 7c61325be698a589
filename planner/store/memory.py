"""The memory limit of loaded runs: a setting, or at most half of the machine's memory."""

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
"""The same on every machine with twice as much, so that figures are comparable."""
LEAST_BYTES: Final = 100_000_000
FULL: Final = 0.6
"""Share that runs may fill; queries need the rest."""
WORKING_BYTES: Final = 64_000_000
"""Extra memory to load one chunk of runs: a copy, a sort, a checkpoint."""


def memory_limit_bytes(environment: Mapping[str, str]) -> int:
    """Return DuckDB's memory limit [bytes].

    It is `EPOCHWISE_MEMORY_GB`, else 4 GB or half of the machine's memory.

    A setting that is not a number above 0 is ignored.
    """
    with suppress(ValueError, OverflowError):
        gigabytes = float(environment.get(SETTING, "nan"))
        if math.isfinite(gigabytes) and gigabytes > 0.0:
            return max(int(gigabytes * 1e9), LEAST_BYTES)
    with suppress(OSError, ValueError, AttributeError):
        half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        return max(min(half, USUAL_BYTES), LEAST_BYTES)
    return USUAL_BYTES


def has_room(base: duckdb.DuckDBPyConnection, limit_bytes: int) -> bool:
    """Return whether more runs may be loaded with room left for queries."""
    [(used,)] = base.execute(sql.MEMORY).fetchall()
    return int(used or 0) < min(FULL * limit_bytes, limit_bytes - WORKING_BYTES)
