"""Summary columns of the runs of a folder, without DuckDB: for those who measure.

A machine rented for an hour may have pyarrow and no DuckDB. Files of one run carry their summary
in the seal; of files of many runs the summary columns are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from planner.runs import SUMMARY
from planner.store.sealed.accept import body_problem
from planner.store.sealed.seal import check_seal


def summaries(result_set: Path) -> Iterator[dict[str, Any]]:
    """The summary of every whole run in the folder of a result set, in order of file names.

    A damaged file holds nothing: what it was is measured again. `planner.store verify` names it.
    """
    for path in sorted(result_set.glob("*.parquet")):
        if path.name[0] != ".":
            yield from _of_file(path)


def _of_file(path: Path) -> list[dict[str, Any]]:
    try:
        seal = check_seal(path)
        if seal.summary is not None:
            return [seal.summary]
        if body_problem(str(path), seal.rows):
            return []
        known = [n for n in pq.read_schema(path).names if n in SUMMARY]
        rows = pq.read_table(path, columns=known).to_pylist()
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the file holds nothing
        return []
    return [{k: v for k, v in row.items() if v is not None} for row in rows]
