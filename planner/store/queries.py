"""What pages ask of the store, as typed questions; the SQL is in `planner.store.sql`."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.estimate import Floats
from planner.forms import FormRun
from planner.runs import Run
from planner.schema import ARROW_SCHEMA
from planner.store import sql
from planner.store.commit import write_parquet
from planner.store.reader import Store
from planner.store.seal import blank_seal, seal_bytes
from planner.store.sets import ResultSet

MOST_ROWS: Final = 5000
"""Rows a table shows at once; more are counted, and the downloads hold all of them."""

MOST_RUNS: Final = 2000
"""Runs of one workload under one pattern that a page reasons about; it says so above that."""

Filters = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How much there is, and how fresh."""

    runs: int
    newest: datetime | None


def totals(store: Store) -> Totals:
    """Number of runs shown and when the newest was recorded (UTC)."""
    count, newest = store.rows(sql.COUNT_ALL)[0]
    return Totals(runs=count, newest=newest.replace(tzinfo=UTC) if newest else None)


def workloads(store: Store) -> dict[str, int]:
    """Workloads with at least one good run, most runs first, with the number of runs."""
    return dict(store.rows(sql.WORKLOADS))


def patterns(store: Store, workload: str) -> dict[str, int]:
    """Input patterns of a workload, best documented first, with the number of runs."""
    return dict(store.rows(sql.PATTERNS, [workload]))


def forms(store: Store, workload: str) -> list[FormRun]:
    """Inference runs of a workload's network, changed or not, on its data set."""
    return [FormRun(*row) for row in store.rows(sql.FORMS, [workload, MOST_RUNS])]


def runs_of(store: Store, workload: str, pattern: str, most: int = MOST_RUNS) -> list[Run]:
    """The runs of one workload under one pattern, in order of system and batch."""
    rows = store.rows(sql.RUNS_OF, [workload, pattern, most])
    return [_run(row) for row in rows]


def run(store: Store, run_id: str) -> Run | None:
    """One run, or None where there is no such run (any more)."""
    found = store.rows(sql.RUN, [run_id])
    return _run(found[0]) if found else None


def set_of(store: Store, of: Run) -> ResultSet | None:
    """The result set a run lies in; None where its folder is gone by now."""
    return next((s for s in store.sets if (s.folder, s.slug) == (of.folder, of.set_folder)), None)


def all_columns(store: Store, run_id: str) -> dict[str, Any]:
    """Every summary column of a run that is not NULL, by name."""
    row = store.arrow(sql.ROW, [run_id]).to_pylist()[0]
    return {name: value for name, value in row.items() if value is not None}


def nested(store: Store, run_id: str, name: str) -> list[dict[str, Any]]:
    """The epochs, evaluations or steps of a run; empty where none were kept."""
    found = store.in_place(sql.NESTED_OF[name], run_id).to_pylist()
    return list(found[0][name] or []) if found else []


def epoch_times(store: Store, run_id: str) -> Floats:
    """Seconds of each epoch of a run, shape (epochs,); empty where single ones are not kept."""
    return np.array([e["epoch_s"] for e in nested(store, run_id, "epochs")], dtype=np.float64)


def facets(store: Store, filters: Filters) -> dict[str, dict[str, int]]:
    """Options of every facet with the runs each would show under the other facets' filters."""
    given = _given(filters)
    return {
        facet: dict(store.rows(query, {k: v for k, v in given.items() if k != facet}))
        for facet, query in sql.FACET.items()
    }


def count(store: Store, filters: Filters) -> int:
    """How many runs the filters leave."""
    return int(store.rows(sql.COUNT, _given(filters))[0][0])


def table(store: Store, filters: Filters, most: int = MOST_ROWS) -> pa.Table:
    """The runs the filters leave, one row each, at most `most`."""
    return store.arrow(sql.TABLE, _given(filters) | {"most": most})


def retarget(store: Store, file: str, value: float, *, higher_is_better: bool) -> pa.Table:
    """Steps each run of a file needed to reach `value`, NULL where it never did."""
    query = sql.RETARGET_HIGHER if higher_is_better else sql.RETARGET
    return store.arrow(query, [value, file])


def run_file(store: Store, run_id: str) -> bytes:
    """One run as a sealed parquet file of its own, wherever it is kept."""
    one = store.in_place(sql.WHOLE_ROW, run_id).select(ARROW_SCHEMA.names).cast(ARROW_SCHEMA)
    buffer = io.BytesIO()
    write_parquet(buffer, one, blank_seal(one.to_pylist()))
    return seal_bytes(buffer.getvalue())


def table_file(rows: pa.Table) -> bytes:
    """A shown table as parquet."""
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, compression="zstd")
    return buffer.getvalue()


def _given(filters: Filters) -> dict[str, list[str] | None]:
    return {facet: list(filters.get(facet) or ()) or None for facet in sql.FACETS}


def _run(row: tuple[Any, ...]) -> Run:
    values = dict(zip(sql.RUN_COLUMNS, row, strict=True))
    values["recorded_at"] = values["recorded_at"].replace(tzinfo=UTC)
    return Run(**values)
