"""What pages ask of the store, as typed questions; the SQL is in `planner.store.sql`."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.core import UNITS, Floats
from planner.networks import Kind, kind_of
from planner.runs import (
    CheckedRun,
    FormRun,
    Placement,
    Run,
    Trials,
    TrialSet,
    as_current,
    check_rows,
    checked_run,
    list_problem,
    no_trials,
    trials_of,
)
from planner.store import sql
from planner.store.reader import Store
from planner.store.sealed.accept import first_line
from planner.store.sealed.commit import write_parquet
from planner.store.sealed.result_set import ResultSet
from planner.store.sealed.seal import blank_seal, seal_bytes

MOST_ROWS: Final = 500
"""Rows a table shows at once; more are on its further pages, and the downloads hold all of them."""

MOST_RUNS: Final = 2000
"""Runs of one workload under one pattern that a page reasons about; it says so above that."""

MOST_TRIALS: Final = 20_000
"""Trials of one set that a page reasons about; it says so above that."""

MOST_CHECKED: Final = 20_000
"""Runs with times that are looked at for faults, the newest; pages say so above that."""

MOST_SPEEDS: Final = 50_000
"""Speeds of workloads on systems that estimates of unmeasured hardware rest on."""

_TRIES: Final = 5
"""So often trials are read again where their files change meanwhile."""

Filters = Mapping[str, Sequence[str]]
"""Values by facet; under `only` and `but`, run ids: nothing else is left, or all but these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How much there is, and how fresh."""

    runs: int
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWorkload:
    """How many good runs of a workload there are, on how many accelerator models, and its kind.

    `is_own` where some of them lie in one's own folders.
    """

    runs: int
    accelerators: int
    is_own: bool
    kind: Kind


class TimedSystem(NamedTuple):
    """A system whose step times of a workload are known under one pattern and software."""

    workload: str
    system_name: str
    devices: int
    system: str
    pattern: str
    software: str
    batches: int


def totals(store: Store) -> Totals:
    """Number of runs shown and when the newest was recorded (UTC)."""
    count, newest = store.rows(sql.COUNT_ALL)[0]
    return Totals(runs=count, newest=newest.replace(tzinfo=UTC) if newest else None)


def workloads(store: Store) -> dict[str, int]:
    """Workloads with at least one good run, most runs first, with the number of runs."""
    return dict(store.rows(sql.WORKLOADS))


def about_workloads(store: Store) -> dict[str, KnownWorkload]:
    """What is known of each workload of `workloads`: one's own first, then in their order."""
    own = [f.label for f in store.folders if f.kind != "shipped"]
    told = {row[0]: row[1:] for row in store.rows(sql.ABOUT_WORKLOADS, {"own": own})}
    found = {
        name: KnownWorkload(
            runs=runs, accelerators=cards, is_own=is_own, kind=kind_of(name, family)
        )
        for name in workloads(store)
        for runs, cards, is_own, family in [told[name]]
    }
    return dict(sorted(found.items(), key=lambda pair: not pair[1].is_own))


def trained(store: Store) -> frozenset[str]:
    """Workloads with at least one good training run; of the others only inference was timed."""
    return frozenset(str(row[0]) for row in store.rows(sql.TRAINED))


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


def stated_samples(store: Store, workload: str) -> tuple[int, ...]:
    """Sizes of the data set that the good runs of a workload state [samples]; two at the most."""
    return tuple(row[0] for row in store.rows(sql.TRAIN_SAMPLES, [workload]))


def trial_sets(store: Store) -> list[TrialSet]:
    """Sets of trials that were evaluated on the way, most batch sizes first."""
    return [_trial_set(row) for row in store.rows(sql.TRIAL_SETS)]


def trials(store: Store, of: TrialSet, most: int = MOST_TRIALS) -> Trials:
    """The evaluations of a set of trials, in place.

    Where that fails, a compaction has moved them, or a file cannot be read: that one is refused
    from then on, and the others are read.
    """
    now: TrialSet | None = of
    for _ in range(_TRIES):
        if now is None:
            break
        try:
            return _trials(now, store.arrow(sql.TRIALS, _place(now, most)))
        except Exception:  # noqa: BLE001 - whatever is wrong is in one of the files
            for file in now.files:
                if reason := _unreadable(store, now, file):
                    store.refuse(file, reason)
        store.refresh(wait=True)
        now = next((s for s in trial_sets(store) if s.key == of.key), None)
    return no_trials(of)


def target_times(store: Store, of: TrialSet, most: int = MOST_ROWS) -> list[dict[str, Any]]:
    """Stated times to the target [s] of a set of trials, fewest devices first, then the fastest."""
    asked = {name: value for name, value in _place(of, most).items() if name != "files"}
    return list(store.arrow(sql.TARGET_TIMES, asked).to_pylist())


def _unreadable(store: Store, of: TrialSet, file: str) -> str | None:
    """Why the trials in one file of a set cannot be read; None where they can or have moved."""
    try:
        _trials(of, store.arrow(sql.TRIALS, _place(replace(of, files=(file,)), MOST_TRIALS)))
    except Exception as error:  # noqa: BLE001 - whatever is wrong is in that file
        return f"holds evaluations that cannot be read ({first_line(error)})."
    return None


def timed_workloads(store: Store) -> list[str]:
    """Every workload that has a curve of step times while training, on any system."""
    return [str(row[0]) for row in store.rows(sql.TIMED_WORKLOADS)]


def timed_systems(store: Store, workload: str) -> list[TimedSystem]:
    """Every system that has a curve of step times of a workload while training."""
    return list(map(TimedSystem._make, store.rows(sql.TIMED_SYSTEMS, [workload])))


def placements(store: Store, workload: str, pattern: str) -> dict[str, Placement]:
    """On how many devices and nodes the good runs of `runs_of` were, by run_id."""
    rows = store.rows(sql.PLACEMENTS, [workload, pattern, MOST_RUNS])
    return {
        run_id: Placement(devices=each * nodes, nodes=nodes, launch=launch, peer_to_peer=linked)
        for run_id, each, nodes, launch, linked in rows
    }


def run(store: Store, run_id: str) -> Run | None:
    """One run, or None where there is no such run (any more)."""
    found = store.rows(sql.RUN, [run_id])
    return _run(found[0]) if found else None


def set_of(store: Store, of: Run) -> ResultSet | None:
    """The result set a run lies in; None where its folder is gone by now."""
    return next((s for s in store.sets if (s.folder, s.slug) == (of.folder, of.set_folder)), None)


def all_columns(store: Store, run_id: str) -> dict[str, Any]:
    """Every summary column of a run that is not NULL, by name; none of a run that is gone."""
    rows = store.arrow(sql.ROW, [run_id]).to_pylist()
    return {name: value for row in rows for name, value in row.items() if value is not None}


def nested(store: Store, run_id: str, name: str) -> list[dict[str, Any]]:
    """The epochs, evaluations or steps of a run; empty where none were stored.

    A file that does not hold what its seal says is refused from then on; its lists are empty.
    """

    def read(found: pa.Table) -> list[dict[str, Any]]:
        [row] = found.to_pylist()
        if problem := list_problem(name, row[name]):
            raise ValueError(f"{name}: {problem}")
        return list(row[name] or [])

    with suppress(KeyError):
        return store.in_place(sql.NESTED_OF[name], run_id, read)
    return []


def epoch_times(store: Store, run_id: str) -> Floats:
    """Seconds of each epoch of a run, shape (epochs,); empty where single ones are not kept."""
    return np.array([e["epoch_s"] for e in nested(store, run_id, "epochs")], dtype=np.float64)


def epochs_of(store: Store, run_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Seconds of each epoch of many runs, by run id; runs without single epochs are missing.

    Files that cannot be read, or that a compaction has just moved, are asked run by run.
    """
    ids = list(run_ids)
    files = [sql.literal(row[0]) for row in store.rows(sql.FILES_OF, [ids])] if ids else []
    if not files:
        return {}
    try:
        told = store.rows(sql.EPOCHS_OF, {"files": files, "ids": ids})
        found = {run_id: tuple(map(float, seconds)) for run_id, seconds in told if seconds}
    except (duckdb.Error, TypeError):
        found = {"": (0.0,)}  # which no epoch takes
    if all(s and s in UNITS["s"] for seconds in found.values() for s in seconds):
        return found
    return {i: times for i in ids if (times := _epochs_alone(store, i))}


def _epochs_alone(store: Store, run_id: str) -> tuple[float, ...]:
    """Seconds of each epoch of a run; none where its file cannot be read."""
    with suppress(duckdb.Error, KeyError, TypeError):
        return tuple(epoch_times(store, run_id).tolist())
    return ()


def facets(store: Store, filters: Filters) -> dict[str, dict[str, int]]:
    """Options of every facet with the runs each would show under the other facets' filters."""
    given = _given(filters)
    found: dict[str, dict[str, int]] = {facet: {} for facet in sql.FACETS}
    for facet, option, runs in store.rows(sql.ALL_FACETS, given):
        found[facet][option] = runs
    for facet, query in sql.FACET.items():
        if given[facet] is not None:  # its options are those under the others' filters
            found[facet] = dict(store.rows(query, {k: v for k, v in given.items() if k != facet}))
    return found


def count(store: Store, filters: Filters) -> int:
    """How many runs the filters leave."""
    return int(store.rows(sql.COUNT, _given(filters))[0][0])


def which(store: Store, filters: Filters) -> list[str]:
    """Ids of the runs the filters leave."""
    return [row[0] for row in store.rows(sql.WHICH, _given(filters))]


def checked_runs(
    store: Store, most: int = MOST_CHECKED, *, workload: str | None = None
) -> list[CheckedRun]:
    """The good runs that took a time, as the checks for suspect runs read them."""
    asked = {"workload": workload, "most": most}
    return [checked_run(row) for row in store.arrow(sql.CHECKED, asked).to_pylist()]


def checked_workloads(store: Store) -> dict[str, int]:
    """Workloads with the number of their runs that `checked_runs` reads, all of them counted."""
    return dict(store.rows(sql.CHECKED_WORKLOADS))


def factor_rows(store: Store, workload: str, most: int = MOST_RUNS) -> list[dict[str, Any]]:
    """Whole rows of good runs with epochs, of a workload in any precision, the newest first."""
    return list(store.arrow(sql.FACTOR_ROWS, [workload, most]).to_pylist())


def job_rows(store: Store, workload: str, most: int = MOST_RUNS) -> list[dict[str, Any]]:
    """What the good training runs of a workload say of it and of where they ran, newest first."""
    return list(store.arrow(sql.JOB_ROWS, [workload, most]).to_pylist())


def library_rows(store: Store, workload: str, most: int = MOST_SPEEDS) -> list[dict[str, Any]]:
    """The best samples/s on every system with accelerators, of a workload and all measured ones."""
    return list(store.arrow(sql.LIBRARY_ROWS, [workload, most]).to_pylist())


def table(store: Store, filters: Filters, most: int = MOST_ROWS, skip: int = 0) -> pa.Table:
    """The runs the filters leave, one row each, at most `most` after the first `skip`."""
    return store.arrow(sql.TABLE, _given(filters) | {"most": most, "skip": skip})


def retarget(store: Store, file: str, value: float, *, higher_is_better: bool) -> pa.Table:
    """Steps each run of a file needed to reach `value`, NULL where it never did."""
    query = sql.RETARGET_HIGHER if higher_is_better else sql.RETARGET
    return store.arrow(query, [value, sql.literal(file)])


def run_file(store: Store, run_id: str) -> bytes:
    """One run as a sealed parquet file of its own, wherever it is stored; no bytes if it is gone.

    A file that does not hold what its seal says is refused from then on.
    """

    def read(found: pa.Table) -> bytes:
        one = as_current(found, 1)
        if one is None:
            raise ValueError("it does not have the columns of a run")
        [row] = one.to_pylist()
        if problems := check_rows([row]):
            raise ValueError(f"{problems[0].column} {problems[0].message}")
        buffer = io.BytesIO()
        write_parquet(buffer, one, blank_seal([row]))
        return seal_bytes(buffer.getvalue())

    with suppress(KeyError):
        return store.in_place(sql.WHOLE_ROW, run_id, read)
    return b""


def table_file(rows: pa.Table) -> bytes:
    """A shown table as parquet."""
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, compression="zstd")
    return buffer.getvalue()


def _given(filters: Filters) -> dict[str, list[str] | None]:
    """Parameters of a filtered query: no value of a facet is no filter; no run at all is one."""
    named = {n: list(filters[n]) if n in filters else None for n in ("only", "but")}
    return {facet: list(filters.get(facet) or ()) or None for facet in sql.FACETS} | named


def _trial_set(row: tuple[Any, ...]) -> TrialSet:
    network, dataset, precision, metric, folder, result_set, files, count, *more = row
    target, higher, basis, licence, source = more
    return TrialSet(
        network=network, dataset=dataset, precision=precision, metric=metric, folder=folder,
        result_set=result_set, files=tuple(files), trials=count, target=target,
        higher_is_better=higher, basis=basis, licence=licence, source=source,
    )  # fmt: skip


def _place(of: TrialSet, most: int) -> dict[str, Any]:
    names = ("network", "dataset", "precision", "metric", "folder", "result_set")
    known = dict(zip(names, of.key, strict=True))
    return known | {"files": [sql.literal(f) for f in of.files], "most": most}


def _trials(of: TrialSet, rows: pa.Table) -> Trials:
    """The columns of the trials, and the lists of their evaluations end to end."""
    rows = rows.combine_chunks()
    steps, values = (rows[name].combine_chunks() for name in ("step", "value"))
    step, trial = _floats(pc.list_flatten(steps)), pc.list_parent_indices(steps).to_numpy()
    falls = (step[1:] <= step[:-1]) & (trial[1:] == trial[:-1])
    if falls.any() or not ((step >= 1.0) & (step <= UNITS["steps"].most)).all():
        raise ValueError("the steps of evaluations do not grow from 1")
    return trials_of(
        of,
        optimizer=rows["optimizer"].to_pylist(),
        batch=_floats(rows["batch"]),
        learning_rate=_floats(rows["learning_rate"]),
        noise_scale=_floats(rows["gradient_noise_scale"]),
        status=rows["status"].to_pylist(),
        trial=trial,
        step=step,
        value=_floats(pc.list_flatten(values)),
    )


def _floats(column: pa.ChunkedArray | pa.Array) -> Floats:
    """A column of numbers, NaN where there is none."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _run(row: tuple[Any, ...]) -> Run:
    values = dict(zip(sql.RUN_COLUMNS, row, strict=True))
    values["recorded_at"] = values["recorded_at"].replace(tzinfo=UTC)
    return Run(**values)
