"""Typed queries of the store, for pages; the SQL is in `planner.store.sql`."""

import io
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Any, Final, NamedTuple, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.core import UNITS, Floats, Text
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
from planner.store.reader import LimitError, Store
from planner.store.sealed.accept import first_line
from planner.store.sealed.commit import write_parquet
from planner.store.sealed.result_set import ResultSet
from planner.store.sealed.seal import blank_seal, seal_bytes

MOST_ROWS: Final = 500
"""Rows of a table's page; downloads have all of them."""

MOST_RUNS: Final = 2000
"""Runs of one workload under one pattern that a page uses; it reports a cut."""

MOST_TRIALS: Final = 20_000
"""Trials of one set that a page uses; it reports a cut."""

MOST_CHECKED: Final = 20_000
"""Newest runs with times that are checked for faults; pages report a cut."""

MOST_SPEEDS: Final = 50_000
"""Speeds of workloads on systems, the basis of estimates for unmeasured hardware."""

MOST_EXPLORED: Final = 50_000
"""Runs that Explore reads of a store with a summary file; it reports the sample."""

MOST_FILE: Final = 250_000
"""Runs of a filter that can be turned over and downloaded; pages report a cut."""

_TRIES: Final = 5
"""Attempts to read trials whose files change meanwhile."""

Answer = TypeVar("Answer")
Filters = Mapping[str, Sequence[str]]
"""Values by facet; run ids to include under `only`, to exclude under `but`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCount:
    """The count of runs, and the time of the newest."""

    runs: int
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWorkload:
    """Counts of a workload's good runs and accelerator models, and its kind.

    `is_own` is True if some of them are in the user's folders, `is_unofficial` if all of them are
    of unofficial sets.
    """

    runs: int
    accelerators: int
    is_own: bool
    kind: Kind
    is_unofficial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentSet:
    """A result set: its runs, the newest of them (UTC), and accelerators, most runs first.

    `accelerators` are at most four of `accelerator_count`.
    """

    slug: str
    folder: str
    title: str
    runs: int
    newest: datetime
    basis: str
    accelerators: tuple[str, ...]
    accelerator_count: int


class TimedSystem(NamedTuple):
    """A system with step times of a workload under one pattern and software."""

    workload: str
    system_name: str
    devices: int
    system: str
    pattern: str
    software: str
    batches: int


class RankedCase(NamedTuple):
    """A published case without a time: its place by epoch time at its batch, None if not stated.

    `first` to `last` are the places that the text leaves open; None if it says nothing.
    """

    launch: str
    nodes: int
    devices: int
    batch: int
    rank: int | None
    first: int | None
    last: int | None
    result_set: str


def _once(query: Callable[[Store], Answer]) -> Callable[[Store], Answer]:
    """Return a query about all runs, whose answer is cached until any of them changes."""

    @wraps(query)
    def cached(store: Store) -> Answer:
        return store.once(query, partial(query, store))

    return cached


@_once
def totals(store: Store) -> RunCount:
    """Return the number of runs shown and when the newest was recorded (UTC)."""
    count, newest = store.rows(sql.COUNT_ALL)[0]
    return RunCount(runs=count, newest=newest.replace(tzinfo=UTC) if newest else None)


def recent_sets(store: Store, most: int) -> list[RecentSet]:
    """Return the result sets with the newest runs."""
    titles = {(s.folder, s.slug): s.title for s in store.sets}
    return [
        RecentSet(
            slug=slug, folder=folder, title=titles.get((folder, slug), slug), runs=runs,
            newest=newest.replace(tzinfo=UTC), basis=basis, accelerators=tuple(accelerators),
            accelerator_count=count,
        )
        for slug, folder, runs, newest, basis, accelerators, count in store.rows(
            sql.RECENT_SETS, [most]
        )
    ]  # fmt: skip


class _Workload(NamedTuple):
    """Counts of the good runs of a workload; `answers`: it is one of `workloads`."""

    name: str
    good: int
    folders: list[str]
    family: str | None
    hardware: int
    trained: bool
    timed: bool
    checked: int
    runs: int
    answers: bool
    any_trained: bool
    published: bool
    accelerators: int
    systems: int
    unofficial: bool

    @property
    def place(self) -> tuple[bool, bool, int, int, int, str]:
        """The place among others: trained ones first, measured before published ones."""
        counts = (-self.accelerators, -self.systems, -self.runs)
        return (not self.any_trained, self.published, *counts, self.name)


def _workloads(store: Store) -> list[_Workload]:
    """Return all workloads with good runs, in order; cached until any run changes."""

    def again(last: list[_Workload] | None, changed: Collection[str]) -> list[_Workload]:
        rows = store.rows(sql.WORKLOADS, {"among": None if last is None else list(changed)})
        stay = (w for w in last or () if w.name not in changed)
        return sorted([*stay, *map(_Workload._make, rows)], key=lambda w: w.place)

    return store.renewed("workloads", again)


@_once
def workloads(store: Store) -> dict[str, int]:
    """Return workloads with at least one good run, most runs first, with their run counts."""
    return {w.name: w.runs for w in _workloads(store) if w.answers}


@_once
def about_workloads(store: Store) -> dict[str, StoredWorkload]:
    """Return a record of each workload of `workloads`; the user's own first."""
    records = _records(store)
    return dict(sorted(records.items(), key=lambda pair: not pair[1].is_own))


def _records(store: Store) -> dict[str, StoredWorkload]:
    own = {f.label for f in store.folders if f.kind != "shipped"}

    def record(w: _Workload) -> StoredWorkload:
        return StoredWorkload(
            runs=w.good,
            accelerators=w.hardware,
            is_own=not own.isdisjoint(w.folders),
            kind=kind_of(w.name, w.family),
            is_unofficial=w.unofficial,
        )

    def again(
        last: dict[str, StoredWorkload] | None, changed: Collection[str]
    ) -> dict[str, StoredWorkload]:
        stay = {} if last is None else last
        return {
            w.name: stay[w.name] if w.name in stay and w.name not in changed else record(w)
            for w in _workloads(store)
            if w.answers
        }

    return store.renewed("records of workloads", again)


@_once
def trained(store: Store) -> frozenset[str]:
    """Return workloads with a good training run; the others have only inference."""
    return frozenset(w.name for w in _workloads(store) if w.trained)


def patterns(store: Store, workload: str) -> dict[str, int]:
    """Return input patterns of a workload, best documented first, with run counts."""
    return dict(store.rows(sql.PATTERNS, [workload]))


@_once
def every_pattern(store: Store) -> dict[str, list[str]]:
    """Return the names of `patterns` of every workload with good runs, in their order."""
    every: dict[str, list[str]] = {}
    for workload, pattern in store.rows(sql.EVERY_PATTERN):
        every.setdefault(workload, []).append(pattern)
    return every


def forms(store: Store, workload: str) -> list[FormRun]:
    """Return inference runs of a workload's network in every form, on its data set."""
    return [FormRun(*row) for row in store.rows(sql.FORMS, [workload, MOST_RUNS])]


def runs_of(store: Store, workload: str, pattern: str, most: int = MOST_RUNS) -> list[Run]:
    """Return the runs of one workload under one pattern, in order of system and batch."""
    rows = store.rows(sql.RUNS_OF, [workload, pattern, most])
    return [_run(row) for row in rows]


def longest(store: Store, workload: str) -> int:
    """Return the most runs of a workload under one of its `patterns`."""
    return int(store.rows(sql.LONGEST_PATTERN, [workload])[0][0])


def kinds_of_runs(store: Store, workload: str, patterns: Sequence[str]) -> list[Run]:
    """Return runs of a workload that stand for all of `runs_of` these patterns, in its order.

    They are enough for the size of an epoch and for which systems have a curve. In memory they are
    all runs; of a summary file the first of each kind, because there are tens of thousands.
    """
    if not store.in_file:
        return [run for pattern in patterns for run in runs_of(store, workload, pattern)]
    parameters = {"workload": workload, "patterns": list(patterns), "most": MOST_RUNS}
    return [_run(row) for row in store.rows(sql.KINDS_OF_RUNS, parameters)]


def stated_samples(store: Store, workload: str) -> tuple[int, ...]:
    """Return data set sizes stated by a workload's good runs [samples]; at most two."""
    return tuple(row[0] for row in store.rows(sql.TRAIN_SAMPLES, [workload]))


def trial_sets(store: Store) -> list[TrialSet]:
    """Return sets of trials with evaluations, most batch sizes first; cached until one changes."""

    def again(last: list[TrialSet] | None, changed: Collection[str]) -> list[TrialSet]:
        if last is not None and not _have_trials(store, changed, last):
            return last
        return [_trial_set(row) for row in store.rows(sql.TRIAL_SETS)]

    return store.renewed("trial sets", again)


def _have_trials(store: Store, workloads: Collection[str], before: Sequence[TrialSet]) -> bool:
    had = tuple({f"{of.network} · " for of in before})
    return any(f"{name} · ".startswith(had) for name in workloads) or bool(
        store.rows(sql.HAVE_TRIALS, {"among": list(workloads)})
    )


def trials(store: Store, of: TrialSet, most: int = MOST_TRIALS) -> Trials:
    """Return the evaluations of a set of trials, read from their files.

    A file moved by a compaction is found again. An unreadable file is refused from then on, and the
    others are read.
    """
    now: TrialSet | None = of
    for _ in range(_TRIES):
        if now is None:
            break
        try:
            return _trials(now, store.arrow(sql.TRIALS, _place(now, most)))
        except LimitError:
            raise
        except Exception:  # noqa: BLE001 - whatever is wrong is in one of the files
            for file in now.files:
                if reason := _unreadable(store, now, file):
                    store.refuse(file, reason)
        store.refresh(wait=True)
        now = next((s for s in trial_sets(store) if s.key == of.key), None)
    return no_trials(of)


def target_times(store: Store, of: TrialSet, most: int = MOST_ROWS) -> list[dict[str, Any]]:
    """Return stated times to the target [s], by device count, then the fastest first."""
    parameters = {name: value for name, value in _place(of, most).items() if name != "files"}
    return list(store.arrow(sql.TARGET_TIMES, parameters).to_pylist())


def _unreadable(store: Store, of: TrialSet, file: str) -> str | None:
    """Return why the trials in one file cannot be read; None if readable or moved."""
    try:
        _trials(of, store.arrow(sql.TRIALS, _place(replace(of, files=(file,)), MOST_TRIALS)))
    except Exception as error:  # noqa: BLE001 - whatever is wrong is in that file
        return Text(
            "holds evaluations that cannot be read ({first_line}).", first_line=first_line(error)
        )
    return None


@_once
def timed_workloads(store: Store) -> list[str]:
    """Return every workload that has a curve of step times while training, on any system."""
    return sorted(w.name for w in _workloads(store) if w.timed)


def timed_systems(store: Store, workload: str) -> list[TimedSystem]:
    """Return every system that has a curve of step times of a workload while training."""
    return list(map(TimedSystem._make, store.rows(sql.TIMED_SYSTEMS, [workload])))


def placements(store: Store, workload: str, pattern: str) -> dict[str, Placement]:
    """Return device and node counts of the good runs of `runs_of`, by run_id."""
    rows = store.rows(sql.PLACEMENTS, [workload, pattern, MOST_RUNS])
    return {
        run_id: Placement(
            devices=each * nodes,
            nodes=nodes,
            launch=launch,
            peer_to_peer=linked,
            startup_s=startup_s,
        )
        for run_id, each, nodes, launch, linked, startup_s in rows
    }


@_once
def scaled_workloads(store: Store) -> dict[str, int]:
    """Return workloads with step times on several device counts, with their most counts."""
    return dict(store.rows(sql.SCALED_WORKLOADS))


def ranks(store: Store) -> list[RankedCase]:
    """Return the published cases of driver and workers whose text states an order only."""
    return [
        RankedCase(
            launch=str(launch), nodes=nodes, devices=nodes * each, batch=batch,
            rank=stated.get("rank"), first=first, last=last, result_set=str(result_set),
        )
        for launch, nodes, each, batch, extra, result_set in store.rows(sql.RANKS)
        for stated in [json.loads(extra or "{}")]
        for first, last in [stated.get("places", (None, None))]
    ]  # fmt: skip


def run(store: Store, run_id: str) -> Run | None:
    """Return one run; None if it does not exist."""
    rows = store.rows(sql.RUN, [run_id])
    return _run(rows[0]) if rows else None


def set_of(store: Store, of: Run) -> ResultSet | None:
    """Return the result set of a run; None if its folder is gone."""
    return next((s for s in store.sets if (s.folder, s.slug) == (of.folder, of.set_folder)), None)


def all_columns(store: Store, run_id: str) -> dict[str, Any]:
    """Return a run's summary columns that are not NULL, by name; empty if it is gone."""
    rows = store.arrow(sql.ROW, [run_id]).to_pylist()
    return {name: value for row in rows for name, value in row.items() if value is not None}


def nested(store: Store, run_id: str, name: str) -> list[dict[str, Any]]:
    """Return the epochs, evaluations or steps of a run; empty where none were stored.

    A file that contradicts its seal is refused from then on; its lists are empty.
    """

    def read(rows: pa.Table) -> list[dict[str, Any]]:
        [row] = rows.to_pylist()
        if problem := list_problem(name, row[name]):
            raise ValueError(f"{name}: {problem}")
        return list(row[name] or [])

    with suppress(KeyError):
        return store.in_place(sql.NESTED_OF[name], run_id, read)
    return []


def epoch_times(store: Store, run_id: str) -> Floats:
    """Return seconds of each epoch of a run, shape (epochs,); empty without single epochs."""
    return np.array([e["epoch_s"] for e in nested(store, run_id, "epochs")], dtype=np.float64)


def epochs_of(store: Store, run_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Return seconds of each epoch of many runs, by run id; runs without single epochs are missing.

    Unreadable files, or those moved by a compaction, are read run by run.
    """
    ids = list(run_ids)
    files = [sql.literal(row[0]) for row in store.rows(sql.FILES_OF, [ids])] if ids else []
    if not files:
        return {}
    try:
        rows = store.rows(sql.EPOCHS_OF, {"files": files, "ids": ids})
        times_of = {run_id: tuple(map(float, seconds)) for run_id, seconds in rows if seconds}
    except (duckdb.Error, TypeError):
        times_of = {"": (0.0,)}  # impossible, so that runs are read one by one
    if all(s and s in UNITS["s"] for seconds in times_of.values() for s in seconds):
        return times_of
    return {i: times for i in ids if (times := _epochs_alone(store, i))}


def _epochs_alone(store: Store, run_id: str) -> tuple[float, ...]:
    """Return seconds of each epoch of a run; empty for an unreadable file."""
    with suppress(duckdb.Error, KeyError, TypeError):
        return tuple(epoch_times(store, run_id).tolist())
    return ()


def facets(store: Store, filters: Filters) -> dict[str, dict[str, int]]:
    """Return every facet's options with their run counts under the other facets' filters.

    The answer is cached until any run changes.
    """
    parameters = _parameters(filters)
    key = tuple((name, None if some is None else tuple(some)) for name, some in parameters.items())
    return store.once((_facets, key), lambda: _facets(store, parameters))


def _facets(store: Store, parameters: Mapping[str, list[str] | None]) -> dict[str, dict[str, int]]:
    options: dict[str, dict[str, int]] = {facet: {} for facet in sql.FACETS}
    if store.in_file and {n for n, v in parameters.items() if v is not None} <= {"workload"}:
        for facet, option, runs in store.rows(
            sql.FACETS_OF_ALL, {"workload": parameters["workload"]}
        ):
            options[facet][option] = runs
        return options
    if store.in_file:
        counted = store.rows(sql.ALL_FACETS, parameters)
    else:
        counted = _counted(store.arrow(sql.FACETS_OF_RUNS, parameters))
    for facet, option, runs in counted:
        options[facet][option] = runs
    for facet, query in sql.FACET.items():
        if parameters[facet] is not None:  # its options are those under the others' filters
            options[facet] = dict(
                store.rows(query, {k: v for k, v in parameters.items() if k != facet})
            )
    return options


def _counted(rows: pa.Table) -> list[tuple[str, str, int]]:
    """Return the options of facets with their counts, as `sql.ALL_FACETS` does."""
    counted = []
    for facet in rows.column_names:
        counts = pc.value_counts(rows[facet].drop_null())
        pairs = zip(*(counts.field(n).to_pylist() for n in ("values", "counts")), strict=True)
        counted += [(facet, str(option), runs) for option, runs in sorted(pairs)]
    return counted


def count(store: Store, filters: Filters) -> int:
    """Return the count of runs that match the filters."""
    return int(store.rows(sql.COUNT, _parameters(filters))[0][0])


def which(store: Store, filters: Filters) -> list[str]:
    """Return the ids of the runs that match the filters."""
    return [row[0] for row in store.rows(sql.WHICH, _parameters(filters))]


def checked_runs(
    store: Store, most: int = MOST_CHECKED, *, among: Collection[str] | None = None
) -> list[CheckedRun]:
    """Return good runs with times, of some workloads or all, for the checks of suspect runs."""
    if among is None:
        return [checked_run(r) for r in store.arrow(sql.CHECKED, {"most": most}).to_pylist()]
    rows = store.rows(sql.CHECKED_AMONG, {"among": list(among), "most": most})
    return [checked_run(dict(zip(sql.CHECKED_COLUMNS, row, strict=True))) for row in rows]


@_once
def checked_workloads(store: Store) -> dict[str, int]:
    """Return workloads with the total count of their runs for `checked_runs`."""
    return dict(sorted((w.name, w.checked) for w in _workloads(store) if w.checked))


def factor_rows(store: Store, workload: str) -> list[dict[str, Any]]:
    """Return rows of good runs with epochs of a workload in any precision, newest first.

    Unofficial runs are among them only where there are no others.
    """
    rows = list(store.arrow(sql.FACTOR_ROWS, [workload, MOST_RUNS]).to_pylist())
    return [row for row in rows if row["standing"] is None] or rows


def job_rows(store: Store, workload: str, most: int = MOST_RUNS) -> list[dict[str, Any]]:
    """Return a workload's good training runs with their hardware, newest first."""
    return list(store.arrow(sql.JOB_ROWS, [workload, most]).to_pylist())


def library_rows(store: Store, workload: str) -> list[dict[str, Any]]:
    """Return the best samples/s of this and all measured workloads on every system."""
    parameters = {"workload": workload, "most": MOST_SPEEDS}
    return list(store.arrow(sql.LIBRARY_ROWS, parameters).to_pylist())


def work(store: Store, filters: Filters) -> list[tuple[str, int, float]]:
    """Return accelerator, their count and model operations [FLOP/s] of runs that state them.

    At most `MOST_SPEEDS` of them, those with the first ids, which are hashes.
    """
    rows = store.rows(sql.WORK, _parameters(filters) | {"most": MOST_SPEEDS})
    return [(str(name), int(count), float(speed)) for name, count, speed in rows]


def table(store: Store, filters: Filters, most: int = MOST_ROWS, skip: int = 0) -> pa.Table:
    """Return the runs that match the filters, at most `most` after the first `skip`."""
    parameters = _parameters(filters)
    if not store.in_file:
        return store.arrow(sql.TABLE, parameters | {"most": most, "skip": skip})
    names, skip = _part(store.rows(sql.FIRST_NAMES, parameters), most, skip)
    ends = {"first": names[0][0], "last": names[-1][0]} if names else {"first": "", "last": ""}
    return store.arrow(sql.TABLE_PART, parameters | ends | {"most": most, "skip": skip})


def listed(store: Store, filters: Filters, most: int = MOST_ROWS, skip: int = 0) -> pa.Table:
    """Return the runs that match the filters as `table`: own, then measured, then newest first.

    It has the columns from which their MFU follows.
    """
    parameters = _parameters(filters)
    if not store.in_file:
        return store.arrow(sql.LISTED, parameters | {"most": most, "skip": skip})
    days, skip = _part(store.rows(sql.DAYS, parameters), most, skip)
    ends = {name: [d[at] for d in days] for at, name in enumerate(("shipped", "published", "day"))}
    return store.arrow(sql.LISTED_PART, parameters | ends | {"most": most, "skip": skip})


def _part(
    groups: Sequence[tuple[Any, ...]], most: int, skip: int
) -> tuple[list[tuple[Any, ...]], int]:
    """Return the groups that hold the rows from `skip` on, and the rows of them to skip.

    Sorting only these is fast; each group ends with its count of rows.
    """
    ends = np.cumsum([group[-1] for group in groups], dtype=np.int64)
    first = int(np.searchsorted(ends, skip, side="right"))
    last = int(np.searchsorted(ends, skip + most, side="left"))
    before = int(ends[first - 1]) if 0 < first <= len(groups) else 0
    return list(groups[first : last + 1]), skip - before


def all_runs(store: Store) -> pa.Table:
    """Return all runs with their summary columns, in order of workload, system and batch."""
    return store.arrow(sql.EXPLORED)


def sampled_runs(store: Store, filters: Filters, most: int = MOST_EXPLORED) -> pa.Table:
    """Return the filtered runs as `all_runs`, or a random sample of about `most` of them.

    The sample is the same for the same runs: those with the first ids, which are hashes.
    """
    matching = count(store, filters)
    share = 1.0 if matching <= most else most / matching
    below = "g" if share >= 1.0 else f"{int(share * 16**8):08x}"
    return store.arrow(sql.SAMPLED, _parameters(filters) | {"below": below})


def retarget(store: Store, file: str, value: float, *, higher_is_better: bool) -> pa.Table:
    """Return each run's steps to reach `value` in a file of runs, NULL if it never did.

    Steps and values alone are read, a group of runs at a time on every core. A diverged evaluation
    reaches no target.

    Raises:
        KeyError: no run of the store is in the file.
    """
    if not store.rows(sql.IN_FILE, [file]):
        raise KeyError(file)
    metadata = pq.read_metadata(file)

    def of_group(group: int) -> pa.Table:
        with pq.ParquetFile(file, metadata=metadata) as opened:
            # One leaf at a time: Arrow takes longer to read both as one list of structures.
            ids, steps, values = (
                opened.read_row_group(group, columns=[leaf], use_threads=False).column(0)
                for leaf in _EVALUATED
            )
        counted = _steps_to(_chunk(steps), _chunk(values), value, higher_is_better)
        return pa.table({"run_id": ids, "steps_to_target": counted})

    with ThreadPoolExecutor(os.cpu_count()) as cores:
        return pa.concat_tables(cores.map(of_group, range(metadata.num_row_groups)))


_EVALUATED: Final = ["run_id", "evaluations.list.element.step", "evaluations.list.element.value"]


def _chunk(column: pa.ChunkedArray) -> pa.ListArray:
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)


def _steps_to(
    steps_of: pa.ListArray,
    values_of: pa.ListArray,
    target: float,
    higher: bool,  # noqa: FBT001 - one of two
) -> pa.Array:
    """Return the fewest steps of each list whose value reaches the target, NULL where none does."""
    ends = steps_of.offsets.to_numpy()
    steps = pc.struct_field(steps_of.flatten(), "step").fill_null(_NEVER).to_numpy()
    values = pc.struct_field(values_of.flatten(), "value").to_numpy(zero_copy_only=False)
    reached = (
        (target <= values) & (values < np.inf)
        if higher
        else (values <= target) & (values > -np.inf)
    )
    starts = ends[:-1] - ends[0]
    filled = np.diff(ends) > 0
    fewest = np.full(len(steps_of), _NEVER)
    if filled.any():
        fewest[filled] = np.minimum.reduceat(np.where(reached, steps, _NEVER), starts[filled])
    return pa.array(fewest, mask=fewest == _NEVER)


_NEVER: Final = np.iinfo(np.int64).max


def run_file(store: Store, run_id: str) -> bytes:
    """Return one run as a sealed parquet file; empty if it is gone.

    A file that contradicts its seal is refused from then on.
    """

    def read(rows: pa.Table) -> bytes:
        current = as_current(rows, 1)
        if current is None:
            raise ValueError("it does not have the columns of a run")
        [row] = current.to_pylist()
        if problems := check_rows([row]):
            raise ValueError(f"{problems[0].column} {problems[0].message}")
        buffer = io.BytesIO()
        write_parquet(buffer, current, blank_seal([row]))
        return seal_bytes(buffer.getvalue())

    with suppress(KeyError):
        return store.in_place(sql.WHOLE_ROW, run_id, read)
    return b""


def table_file(rows: pa.Table) -> bytes:
    """Return a shown table as parquet."""
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, compression="zstd")
    return buffer.getvalue()


def _parameters(filters: Filters) -> dict[str, list[str] | None]:
    """Return the parameters of a filtered query; an empty facet is no filter."""
    named = {n: list(filters[n]) if n in filters else None for n in ("only", "but")}
    return {facet: list(filters.get(facet) or ()) or None for facet in sql.FACETS} | named


def _trial_set(row: tuple[Any, ...]) -> TrialSet:
    network, dataset, precision, metric, folder, result_set, files, count, *more = row
    target, higher, basis, licence, source, standing = more
    return TrialSet(
        network=network, dataset=dataset, precision=precision, metric=metric, folder=folder,
        result_set=result_set, files=tuple(files), trials=count, target=target,
        higher_is_better=higher, basis=basis, licence=licence, source=source, standing=standing,
    )  # fmt: skip


def _place(of: TrialSet, most: int) -> dict[str, Any]:
    names = ("network", "dataset", "precision", "metric", "folder", "result_set")
    parameters = dict(zip(names, of.key, strict=True))
    return parameters | {"files": [sql.literal(f) for f in of.files], "most": most}


def _trials(of: TrialSet, rows: pa.Table) -> Trials:
    """Return the trials with their evaluations in flat arrays."""
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
    """Return a column of numbers, NaN for NULL."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _run(row: tuple[Any, ...]) -> Run:
    values = dict(zip(sql.RUN_COLUMNS, row, strict=True))
    values["recorded_at"] = values["recorded_at"].replace(tzinfo=UTC)
    return Run(**values)
