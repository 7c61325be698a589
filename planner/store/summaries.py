"""Summary columns of a folder's runs, read without DuckDB on measuring machines.

A machine rented for an hour may have pyarrow and no DuckDB. Single-run files have their summary in
the seal; multi-run files are read by column.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from planner.runs import SUMMARY
from planner.store.sealed.accept import body_problem
from planner.store.sealed.seal import check_seal


def summaries(result_set: Path) -> Iterator[dict[str, Any]]:
    """Yield the summary of every sound run of a result set, in order of file names.

    A damaged file is skipped, so its runs are measured again. `planner.store verify` names it.
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
        columns = [n for n in pq.read_schema(path).names if n in SUMMARY]
        rows = pq.read_table(path, columns=columns).to_pylist()
    except Exception:  # noqa: BLE001 - a damaged file counts as empty
        return []
    return [{k: v for k, v in row.items() if v is not None} for row in rows]
