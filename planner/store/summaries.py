"""Summary columns of the runs of a folder, without DuckDB: for those who measure.

A machine rented for an hour may have pyarrow and no DuckDB. Files of one run carry their summary
in the seal; of files of many runs the summary columns are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from planner.schema import SUMMARY
from planner.store.seal import SealError, check_seal


def summaries(result_set: Path) -> Iterator[dict[str, Any]]:
    """The summary of every whole run in the folder of a result set, in order of file names.

    A damaged file holds nothing: what it was is measured again. `planner.store verify` names it.
    """
    for path in sorted(result_set.glob("*.parquet")):
        if path.name[0] != ".":
            yield from _of_file(path)


def _of_file(path: Path) -> list[dict[str, Any]]:
    try:
        summary = check_seal(path).summary
        if summary is not None:
            return [summary]
        known = [n for n in pq.read_schema(path).names if n in SUMMARY]
        rows = pq.read_table(path, columns=known).to_pylist()
    except (SealError, OSError, pa.ArrowException):
        return []
    return [{k: v for k, v in row.items() if v is not None} for row in rows]
