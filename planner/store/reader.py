"""Serve verified runs, list refused files, and notice new files at each rerun.

The DuckDB instance has the summary columns, may open only the result folders and is then locked. It
is in memory, or beyond `MOST_IN_MEMORY` runs in a file (`planner.store._runs_file`). Every query
has its own cursor: a connection shared by threads mixed up rows. Nested columns are read from the
run's file.
"""

import errno
import itertools
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import pyarrow as pa

from planner.core import MAX_REASON, MAX_TEXT, Text
from planner.core.slugs import UNOFFICIAL
from planner.networks import kind_of
from planner.runs import ARROW_SCHEMA, SCHEMA_VERSION, SUMMARY
from planner.store import _runs_file as runs_file
from planner.store import _totals as totals
from planner.store import sql
from planner.store.disk.access import ACCESS, OWNER, Access, Viewer
from planner.store.disk.folders import Folder, as_utf8
from planner.store.kept import Kept, has_room, memory_limit_bytes
from planner.store.sealed import accept
from planner.store.sealed.accept import (
    accepted,
    body_problem,
    first_line,
    name_problem,
    text_problem,
)
from planner.store.sealed.result_set import NAME, WITHDRAWN, ResultSet, SetFiles, withdrawal
from planner.store.sealed.seal import Seal, SealError, stated_hash

PATIENCE_S: Final = 0.5
"""Time a page waits for another page's refresh before it shows the previous state [s]."""
CHUNK: Final = 20_000
"""Runs that are verified and loaded together: the most in Python at once."""

_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_THREADS: Final = 1
"""A second thread makes queries of 10,000 rows slower."""
_TRIES: Final = 50
MOST_KEPT: Final = 4_000
"""Answers that a store keeps; a workload has about ten, a filter three."""
GENERATIONS_KEPT: Final = 3
"""Generations of the store whose answers about all runs are kept."""
_SERIAL: Final = itertools.count()
MOST_IN_MEMORY: Final = 250_000
"""Runs beyond which a store uses a file: questions about all runs then rest on kept totals."""
_MOST_FAILURES: Final = 3
"""Failures of summary files after which a store stays in memory."""
_MOST_RENEWED: Final = 200
"""Workloads whose totals and results are renewed; of more, all are computed anew."""
_FULL: Final = ("No space left", "Could not write", "could not write", "disk is full", "Disk full")
"""Words of DuckDB's errors that mean a full disk."""
_VANISHED: Final = 3
"""A file listed this often that cannot be opened is refused: it was not moved."""
_BROKEN: Final = (duckdb.FatalException, duckdb.InternalException)
"""Errors after which an instance cannot be used any more."""
Answer = TypeVar("Answer")
_Touched = tuple[str, str, str, str]
"""Workload, network, result set and model of runs that a refresh changes."""
_CHANGED: Final = accept.Stamp(-1, -1, 0, 0)
"""The stamp of a file that has other bytes than when it was loaded; no file has it."""
_MORE_MEMORY: Final = "Raise EPOCHWISE_MEMORY_GB, or move result sets away."
_FILE_SCHEMA: Final = pa.schema(
    [("path", pa.string()), ("size", pa.int64()), ("mtime_ns", pa.int64()), ("inode", pa.uint64()),
     ("mode", pa.int64()), ("seal", pa.string()), ("held", pa.int64()), ("single", pa.bool_())]
)  # fmt: skip
_TASK_SCHEMA: Final = pa.schema({name: pa.string() for name in ("workload", "family", "task")})
_ROW_SCHEMA: Final = pa.schema(
    [ARROW_SCHEMA.field(n).with_nullable(True) for n in SUMMARY]
    + [
        ("file", pa.string()),
        ("folder", pa.string()),
        ("precedence", pa.int32()),
        ("standing", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A file that is not shown, with the reason."""

    path: str
    folder: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Arrivals:
    """Part of a refresh: rows of single-run files, seals of multi-run files, refusals."""

    single: list[dict[str, Any]] = field(default_factory=list)
    many: dict[str, Seal] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def take(self, path: str, seal: Seal | str) -> None:
        """Add a checked file: its seal, or the reason of its refusal."""
        if isinstance(seal, str):
            self.refused[path] = seal
            return
        self.hashes[path] = seal.sha256
        if seal.summary is None:
            self.many[path] = seal
        else:
            self.single.append(seal.summary | {"file": path})

    @property
    def runs(self) -> int:
        return len(self.single) + sum(seal.rows for seal in self.many.values())

    @property
    def loaded(self) -> set[str]:
        files = {row["file"] for row in self.single} | self.many.keys()
        return files - self.refused.keys()


class _NoRoomError(Exception):
    """The memory for runs, or the disk, is full: loaded runs stay, the others wait."""


class LimitError(RuntimeError):
    """A question needs more memory or disk than there is; the message says what to do next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """One thread's view of the store: a transaction, and the state when it began."""

    cursor: duckdb.DuckDBPyConnection
    generation: int
    sets: Mapping[str, ResultSet]
    refused: tuple[Refused, ...]
    versions: Mapping[str, int]
    models: Mapping[str, frozenset[str]]


class Store:
    """The runs of some folders. Thread-safe; call `refresh` before queries.

    `kept` caches answers about some of these runs, `once` those about all of them; `serial`
    identifies the store. The store of a `viewer` never lists, loads or names what that viewer
    may not see (docs/decisions/0061).
    """

    def __init__(
        self,
        folders: Sequence[Folder],
        memory_bytes: int | None = None,
        *,
        viewer: Viewer = OWNER,
        now_s: Callable[[], float] = time.time,
        most_in_memory: float = MOST_IN_MEMORY,
    ) -> None:
        self.folders = tuple(folders)
        self._most_in_memory = most_in_memory
        self._place: runs_file.HeldFolder | None = None
        self._in_memory_because = ""
        self._failures = 0
        self._audience = accept.Audience(viewer=viewer, now_s=now_s)
        self.kept = Kept(MOST_KEPT)
        self._about_all: dict[int, Kept] = {}
        self._results: dict[str, tuple[int, Any]] = {}
        self._looked_s = -math.inf
        self.serial = next(_SERIAL)
        self.memory_bytes = memory_bytes or memory_limit_bytes(os.environ)
        self._roots = {str(f.path) for f in self.folders}
        self._begins = [(f"{f.path}/", f"{as_utf8(f.path)}/") for f in self.folders]
        self._generation = 0
        self._versions: Mapping[str, int] = {}
        self._models: Mapping[str, frozenset[str]] = {}
        self._lock = threading.Lock()
        self._state = threading.Lock()
        self._is_loaded = False
        self._one_by_one = False
        self._own = threading.local()
        self._idle: list[_Moment] = []
        self._poison: dict[tuple[str, accept.Stamp], str] = {}
        self._refused: dict[str, Refused] = {}
        self._partly: tuple[Refused, ...] = ()
        self._set_files = SetFiles()
        self._sets: dict[str, ResultSet] = {}
        self._unofficial: frozenset[str] = frozenset()
        self._titled: Mapping[str, Access] = {}
        self._begin_where_it_ended()
        self._serving = self._base

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Files that are not shown, or only in part, in order of path."""
        return self._moment.refused if self._moment else self._all_refused()

    def _all_refused(self) -> tuple[Refused, ...]:
        refusals = [*self._refused.values(), *self._partly]
        return tuple(sorted(refusals, key=lambda r: r.path))

    @property
    def sets(self) -> tuple[ResultSet, ...]:
        """All result sets, in order of folder and slug."""
        sets = self._moment.sets if self._moment else self._sets
        return tuple(sets[p] for p in sorted(sets))

    @property
    def viewer(self) -> Viewer:
        """For whom this store is."""
        return self._audience.viewer

    @property
    def restricted(self) -> Mapping[str, Access]:
        """Every set that is not open to everyone, by its folder, also those not shown here.

        For the choice of a viewer's store only: pages and answers read `sets`.
        """
        return self._audience.restricted

    @property
    def hidden(self) -> frozenset[str]:
        """Slugs of existing sets that this viewer may not see."""
        shown = self._moment.sets if self._moment else self._sets
        return frozenset(p.rsplit("/", 1)[-1] for p in self.restricted if p not in shown)

    def hides(self, slug: str) -> bool:
        """Return whether this viewer may not see a set of that slug, which exists."""
        return slug in self.hidden

    @property
    def generation(self) -> int:
        """A number that grows with every change in the folders."""
        return self._moment.generation if self._moment else self._generation

    def once(self, question: Hashable, work: Callable[[], Answer]) -> Answer:
        """Return a result about all runs, cached until any of them changes.

        Results of the last generations stay, for pages that are still being drawn. Those of older
        ones are dropped: they are not needed any more, and each may hold a row for every run.
        The work sees the runs of the generation under which its result is kept.
        """
        if self._moment is None:
            self._begin()
            try:
                return self.once(question, work)
            finally:
                self._end()
        with self._state:
            kept = self._about_all.setdefault(self.generation, Kept(MOST_KEPT))
            for old in sorted(self._about_all)[:-GENERATIONS_KEPT]:
                del self._about_all[old]
        return kept.once(question, work)

    def renewed(
        self, question: str, again: Callable[[Answer | None, Collection[str]], Answer]
    ) -> Answer:
        """Return a result about all runs as `once`, made from the last one.

        Args:
            question: name of the result.
            again: makes it from the last one, None at first, and the workloads of which runs have
                changed since. It must not change the last one.
        """

        def work() -> Answer:
            results = self._results
            generation, last = results.get(question, (-1, None))
            changed = self._changed_since(generation)
            earlier = generation > self.generation  # this thread sees other runs than the last one
            result = again(None if earlier or len(changed) > _MOST_RENEWED else last, changed)
            results[question] = self.generation, result
            return result

        return self.once(question, work)

    def _changed_since(self, generation: int) -> frozenset[str]:
        """Return the workloads of which runs have changed; see `version`."""
        moment = self._moment
        versions = moment.versions if moment else self._versions
        models = moment.models if moment else self._models
        changed = {model for model, at in versions.items() if at > generation}
        return frozenset(w for w, own in models.items() if not own.isdisjoint(changed))

    def once_for_good(self, question: str, work: Callable[[], str]) -> str:
        """Return a text about all runs; with a summary file it is kept for the next start.

        It must follow from the runs, the standing of their sets and this program only: `question`
        is its name.
        """
        if not self.in_file:
            return work()
        root = runs_file.places_folder(os.environ)
        files = [(str(path), str(seal)) for path, seal in self.rows(sql.SEALS)]
        files += [(str(place), UNOFFICIAL) for (place,) in self.rows(sql.MARKED)]
        name = runs_file.answer_key(runs_file.key_of(self.folders, self.viewer), question, files)
        text = runs_file.kept_answer(root, name)
        if text is None:
            text = work()
            runs_file.keep_answer(root, name, text)
        return text

    def forget(self) -> None:
        """Forget all cached answers."""
        with self._state:
            self._about_all.clear()
            self._results = {}
        self.kept.clear()

    def version(self, *workloads: str) -> int:
        """Return a number that grows with every change of these workloads' runs.

        It covers all runs of their models: forms of a network and its precisions are compared.
        """
        moment = self._moment
        versions = moment.versions if moment else self._versions
        models = moment.models if moment else self._models
        return max((versions[m] for w in workloads for m in models.get(w, ())), default=0)

    @property
    def workloads(self) -> Iterable[str]:
        """All workloads that ever had a run in this store."""
        return (self._moment.models if self._moment else self._models).keys()

    @property
    def is_held(self) -> bool:
        """Whether this thread sees one state of the runs (`at_one_moment`)."""
        return self._moment is not None

    @contextmanager
    def at_one_moment(self, since_s: float | None = None) -> Iterator[None]:
        """Refresh, then show this thread one state of the runs until the block ends.

        All queries of a page see the same runs, even if others are committed meanwhile. Other
        threads see the new state.

        Args:
            since_s: time of the request by the monotonic clock [s]; a refresh since then by
                another thread is enough. None is now.
        """
        if self._moment is not None:
            yield
            return
        self.look(since_s)
        self._begin()
        try:
            yield
        finally:
            self._end()

    def look(self, since_s: float | None = None) -> None:
        """Refresh, unless this thread holds a moment or a refresh came after `since_s`."""
        if self._moment is None and (since_s is None or self._looked_s < since_s):
            self.refresh()

    def refresh(self, *, wait: bool = False) -> int:
        """Load new files and drop deleted ones; the generation grows with any change.

        One thread at a time verifies files. Another one waits a moment, then continues with the
        previous runs, unless there are none or it has to `wait`. A thread inside `at_one_moment`
        sees the new state afterwards.
        """
        if self._lock.acquire(timeout=-1 if wait or not self._is_loaded else PATIENCE_S):
            try:
                self._bring_up_to_date()
            finally:
                self._lock.release()
        if self._moment is not None:
            self._begin()
        return self.generation

    def _bring_up_to_date(self) -> None:
        began_s = time.monotonic()
        for _ in range(_TRIES):
            try:
                if not self._idle:  # a query may have hit a bad file since
                    self._base.execute(sql.ALIVE)
                self._take_in()
                self._looked_s = began_s
                break
            except _BROKEN as error:  # a bad file breaks an instance: make a new one without it
                self._recover(error)
            except duckdb.Error as error:  # a full disk has many names
                if self._place is None:
                    raise
                self._recover(error)

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor for one query; that of the thread's moment if it has one."""
        if self._moment is None:
            with _cursor(self._serving) as cursor:
                yield cursor
            return
        try:
            yield self._moment.cursor
        except duckdb.Error:  # ends the transaction: later queries see the present state
            self._end(failed=True)
            raise

    @property
    def in_file(self) -> bool:
        """Whether the runs are in a summary file: too many for questions that read them all."""
        return self._place is not None

    def rows(self, query: str, parameters: object = None) -> list[tuple[Any, ...]]:
        """Return all rows of a constant query of `planner.store.sql`."""
        return self._answer(lambda cursor: cursor.execute(query, parameters).fetchall())

    def arrow(self, query: str, parameters: object = None) -> pa.Table:
        """Return the same as an Arrow table."""
        return self._answer(lambda c: c.sql(query, params=parameters).to_arrow_table())

    def _answer(self, ask: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """Return the answer; repeated on a new instance if another query broke this one."""
        try:
            with self.cursor() as cursor:
                return ask(cursor)
        except duckdb.OutOfMemoryException:
            raise LimitError(self._too_much("memory")) from None
        except duckdb.Error as error:  # a damaged block of a summary file has no type of its own
            if not isinstance(error, _BROKEN):
                if _is_full(error):
                    raise LimitError(self._too_much("disk")) from None
                if not self._is_damaged(error):
                    raise
                with self._lock:
                    self._recover(error)
            self.refresh(wait=True)
            with self.cursor() as cursor:
                return ask(cursor)

    def _too_much(self, what: str) -> str:
        if what == "disk":
            return Text(
                "The disk of EPOCHWISE_CACHE is full, so this question has no answer. Free some "
                "gigabytes there, or filter the runs."
            )
        return Text(
            "This question needs more than the {memory_bytes:.3g} GB of memory for runs and "
            "queries. Filter the runs, or raise EPOCHWISE_MEMORY_GB.",
            memory_bytes=self.memory_bytes / 1e9,
        )

    def in_place(self, query: str, run_id: str, read: Callable[[pa.Table], Answer]) -> Answer:
        """Return the result of `read` for `query` on the file with `run_id`.

        A run moved by a compaction is read from its new file. A file with an unreadable body is
        refused from then on, and another copy of the run is read if there is one.

        Raises:
            KeyError: no shown file has the run.
        """
        for _ in range(_TRIES):
            files = self.rows(sql.FILE_OF, [run_id])
            if not files:
                break
            file = str(files[0][0])
            if (reason := self._body_read(file)) is None:
                try:
                    return read(self.arrow(query, [sql.literal(file), run_id]))
                except LimitError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever is wrong is in that file
                    reason = Text(
                        "holds run {run_id}, which cannot be read ({first_line}).",
                        run_id=run_id,
                        first_line=first_line(error),
                    )
            self.refuse(file, reason)
        raise KeyError(run_id)

    def refuse(self, file: str, reason: str) -> None:
        """Stop showing a file, unless it has been replaced since it was listed."""
        listed = self._listed
        stamp = None if listed is None else listed.get(file)
        if stamp is not None and accept.stamp_of(file) == stamp:
            with self._lock:
                self._poison[file, stamp] = Text(
                    "{reason} Restore it from a copy or delete it.", reason=reason
                )
                self._again.add(file)
        self.refresh(wait=True)

    def _body_read(self, file: str) -> str | None:
        """Return why the body of a single-run file is unreadable; None otherwise."""
        if file not in self._single:
            return None
        try:
            return body_problem(file)
        except FileNotFoundError:
            return "has gone."

    # -- one moment --------------------------------------------------------------------------

    @property
    def _moment(self) -> _Moment | None:
        moment: _Moment | None = getattr(self._own, "moment", None)
        return moment

    def _begin(self) -> None:
        self._end()
        with self._state:
            self._own.moment = self._idle.pop() if self._idle else self._new_moment()

    def _new_moment(self) -> _Moment:
        cursor = self._serving.cursor()
        cursor.begin()
        cursor.execute(sql.MOMENT).fetchall()
        return _Moment(
            cursor=cursor,
            generation=self._generation,
            sets=self._sets,
            refused=self._all_refused(),
            versions=self._versions,
            models=self._models,
        )

    def _end(self, *, failed: bool = False) -> None:
        """End this thread's moment; a later page takes it over while nothing has changed."""
        moment = self._moment
        self._own.moment = None
        if moment is None:
            return
        with self._state:
            if failed:
                self._close_idle()  # the next look asks whether the instance still answers
            elif moment.generation == self._generation:
                self._idle.append(moment)
                return
        moment.cursor.close()

    def _close_idle(self) -> None:
        """Close the moments that no page holds: the state changes."""
        while self._idle:
            self._idle.pop().cursor.close()

    # -- taking in ---------------------------------------------------------------------------

    def _instance(self, threads: int, file: Path | None = None) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB in memory or in a file, that may open the result folders only."""
        config = _CONFIG | {"memory_limit": f"{self.memory_bytes // 1_000_000}MB"}
        if file is not None and self._place is not None:
            config |= {"temp_directory": str(self._place.scratch)}
        base = duckdb.connect(str(file or ":memory:"), config=config | {"threads": threads})
        places = [str(f.path) for f in self.folders if as_utf8(f.path) == str(f.path)]
        allowed = {p for place in places for p in (place, sql.literal(place))}
        base.execute(sql.ARRIVALS)
        base.execute(sql.ALLOW, [sorted(allowed)])
        for statement in sql.SETTINGS:
            base.execute(statement)
        return base

    def _reset(self) -> None:
        """Start without a run, in memory or in a new file."""
        self._results = {}
        self._listed: accept.Listing | None = None
        self._loaded: set[str] = set()
        self._single: set[str] = set()
        self._waiting: set[str] = set()
        self._again: set[str] = set()
        self._marked: frozenset[str] = frozenset()
        self._is_new = True
        if self._place is None:
            self._base = self._instance(_THREADS)
            made: tuple[str, ...] = totals.VIEWS
        else:
            self._base = self._instance(os.cpu_count() or 1, self._place.anew())
            made = (*sql.CREATE_FILES, *totals.TABLES)
        for statement in (*sql.CREATE, *made):
            self._base.execute(statement)

    def _begin_where_it_ended(self) -> None:
        """Open the summary file of an earlier process, or start without a run."""
        key = runs_file.key_of(self.folders, self.viewer)
        root = runs_file.places_folder(os.environ)
        self._place = runs_file.used_place(root, key)
        if self._place is None:
            if not self._begun_with_other_viewer(root, key):
                self._reset()
            return
        try:
            file = self._place.take_over(key)
            if file is None or not self._opened(file):
                self._reset()
        except (duckdb.Error, OSError, UnicodeError):
            self._leave_file("it cannot be read")

    def _begun_with_other_viewer(self, root: Path, key: str) -> bool:
        """Open a copy of another viewer's file; return whether both see every set.

        They do where no set is restricted, and then a command and the pages load once.
        """
        if not runs_file.others_places(root, key):
            return False
        seen = accept.listing(self.folders, None, self._audience)
        if self._audience.restricted:
            return False
        self._place = place = runs_file.new_place(root, key)
        if place is None:
            return False
        with suppress(duckdb.Error, OSError, UnicodeError):
            file = place.copy_of(runs_file.others_places(root, key))
            if file is not None and self._opened(file, seen):
                return True
        self._place = None
        with suppress(OSError):
            place.leave()
        return False

    def _opened(self, file: Path, seen: accept.Listing | None = None) -> bool:
        """Take the runs of a summary file; return whether they are those of its list of files.

        With `seen` each of its files must be among these too.
        """
        self._reset_state_for(self._instance(os.cpu_count() or 1, file))
        try:
            self._base.execute(sql.CLEAR_INCOMING)
            if self._base.execute(sql.UNSOUND).fetchall() != [(0,)]:
                return False
            rows = self._base.execute(sql.LOADED_FILES).fetchall()
            names = self._base.execute(sql.NAMES).fetchall()
            self._marked = frozenset(p for (p,) in self._base.execute(sql.MARKED).fetchall())
        except duckdb.Error:
            return False
        if seen is not None and any(path not in seen for path, *_ in rows):
            return False
        for path, size, mtime_ns, inode, mode, seal, _, single in rows:
            stamp = accept.Stamp(size, mtime_ns, inode, mode)
            self._listed[path] = stamp if _has_hash(path, stamp, seal) else _CHANGED  # type: ignore[index]
            self._loaded.add(path)
            if single:
                self._single.add(path)
        self._generation += 1
        self._note(names)
        return True

    def _reset_state_for(self, base: duckdb.DuckDBPyConnection) -> None:
        self._results = {}
        self._base = base
        self._listed = {}
        self._loaded, self._single, self._waiting, self._again = set(), set(), set(), set()
        self._is_new = True

    def _move_to_file(self) -> bool:
        """Start anew in a summary file; return whether there is a place for one."""
        if self._place is not None or self._in_memory_because:
            return False
        key = runs_file.key_of(self.folders, self.viewer)
        self._place = runs_file.new_place(runs_file.places_folder(os.environ), key)
        if self._place is None:
            self._in_memory_because = "cannot be written"
            return False
        try:
            file = self._place.take_over(key)  # another server may have one by now
            if file is None or not self._opened(file):
                self._reset()
        except (duckdb.Error, OSError):
            self._leave_file("cannot be written")
        return True

    def _leave_file(self, why: str) -> None:
        """Go on in memory, without the runs that do not fit."""
        place, self._place, self._in_memory_because = self._place, None, why
        self._reset()
        if place is not None:
            with suppress(OSError):
                place.leave()

    def _recover(self, error: Exception) -> None:
        """Make a new instance after one has failed; keep the summary file unless it is damaged."""
        if self._place is None:
            self._reset()
            return
        self._failures += 1
        if _is_full(error):
            self._leave_file("is on a full disk")
            return
        try:
            if self._failures > _MOST_FAILURES:
                self._leave_file("failed several times")
            elif self._is_damaged(error) or not self._opened(self._place.again()):
                self._reset()
        except (duckdb.Error, OSError):
            self._leave_file("cannot be written")

    def _is_damaged(self, error: Exception) -> bool:
        """Return whether an error is about the summary file rather than a result file."""
        place, text = self._place, str(error)
        return place is not None and ("database file" in text or str(place.folder) in text)

    def _take_in(self) -> None:
        """Refresh once; start over if a file vanishes, to list its replacement."""
        looked_at: dict[tuple[str, accept.Stamp], Seal | str] = {}
        vanished: dict[str, int] = {}
        for _ in range(_TRIES):
            now = accept.listing(self.folders, self._listed, self._audience)
            before = self._listed or {}
            titled = self._audience.restricted == self._titled
            if now == before and not self._again and titled and not self._is_new:
                return
            gone = {p for p in before if now.get(p) != before[p]}
            again = self._again | (self._waiting if gone or self._again else set())
            new = [p for p, stamp in now.items() if before.get(p) != stamp or p in again]
            try:
                with self._place.writing() if self._place is not None else nullcontext():
                    is_loaded = self._change(new, gone | again, now, looked_at)
                if not is_loaded:
                    continue
            except FileNotFoundError as error:
                path = str(error.filename)
                vanished[path] = vanished.get(path, 0) + 1
                if vanished[path] >= _VANISHED and path in now:
                    looked_at[path, now[path]] = "cannot be opened: the disk lists it only."
                continue
            self._again -= again
            self._is_loaded = True
            self._is_new = False
            return

    def _change(
        self,
        new: list[str],
        gone: set[str],
        now: accept.Listing,
        looked_at: dict[tuple[str, accept.Stamp], Seal | str],
    ) -> bool:
        """Load new files in parts, one transaction each; the last one drops deleted files.

        A replacement is loaded before its file is dropped, so no count ever falls. If the memory
        for runs is full, the remaining files wait until others go. Return False if some have just
        gone and everything has to be loaded anew.
        """
        files = [p for p in new if not p.endswith((f"/{NAME}", f"/{WITHDRAWN}", f"/{ACCESS}"))]
        files.sort(key=self._order)
        sets = self._read_sets(now)
        self._unofficial = frozenset(place for place, s in sets[0].items() if s.is_unofficial)
        touched: set[_Touched] = set()
        drop = {p for p in gone if p in now}  # changed in place: never beside themselves
        self._waiting = (self._waiting & now.keys()) - gone - set(files)
        left = set(files)
        for part, last in self._parts(files, now, looked_at):
            going = sorted(gone if last else drop)
            try:
                self._load(part, now)
                query, parameters = _touching(going)
                touched |= set(self._base.execute(query, parameters).fetchall())
                if other := sorted(self._unofficial ^ self._marked):
                    marked = self._base.execute(sql.TOUCHED_IN, {"places": other}).fetchall()
                    touched |= set(marked)
                with self._state:
                    self._close_idle()
                    self._swap(set(going), part, now, touched if last else None)
                    self._settle(part.refused, part.loaded | part.refused.keys(), now, going)
                    self._loaded |= part.loaded
                    self._single |= {row["file"] for row in part.single} & part.loaded
                    self._grow(touched, now if last else None, sets)
                if self._has_outgrown_memory() and self._move_to_file():
                    return False
            except (_NoRoomError, duckdb.OutOfMemoryException):
                if self._move_to_file():
                    return False
                if (
                    gone & self._loaded and self._place is None
                ):  # DuckDB returns no memory of deleted rows: a new instance
                    self._reset()
                    return False
                self._waiting |= left - part.refused.keys()
                with self._state:
                    self._close_idle()
                    self._settle(part.refused, left, now, gone)
                    self._grow(touched, now, sets)
                return True
            left -= part.loaded | part.refused.keys()
            drop = set()
        return True

    def _order(self, path: str) -> tuple[int, bool, str]:
        """Return the place of a file among others: of two files with a run the first one counts.

        It is that of one statement (`sql`), so it does not matter how many parts are loaded.
        """
        return self._rank(path), "/compact-" not in path, path

    def _has_outgrown_memory(self) -> bool:
        """Return whether memory holds more runs than it should."""
        if self._place is not None or self._in_memory_because:
            return False
        [(runs, _)] = self._base.execute(sql.COUNT_ALL).fetchall()
        return bool(runs > self._most_in_memory)

    def _grow(
        self,
        touched: Iterable[_Touched],
        now: accept.Listing | None,
        sets: tuple[dict[str, ResultSet], dict[str, str]],
    ) -> None:
        """Start the next generation; the last of a refresh serves the listing `now`."""
        if now is not None:
            self._sets = sets[0]
            self._titled = self._audience.restricted
            self._refused |= {p: self._refusal(p, r) for p, r in sets[1].items()}
            self._partly = (*self._contradictions(), *self._without_room())
            self._serving = self._base
            self._listed = now
        self._generation += 1
        self._note((workload, model) for workload, _, _, model in touched)

    def _settle(
        self,
        refused: Mapping[str, str],
        files: Iterable[str],
        now: accept.Listing,
        gone: Iterable[str],
    ) -> None:
        """Record the state of files, so that a refresh that starts over continues from here."""
        drop = set(gone)
        stay = {p: s for p, s in (self._listed or {}).items() if p not in drop}
        self._listed = stay | {p: now[p] for p in files}
        self._refused = {p: r for p, r in self._refused.items() if p in stay}
        self._refused |= {p: self._refusal(p, reason) for p, reason in refused.items()}

    def _parts(
        self,
        files: Sequence[str],
        now: accept.Listing,
        looked_at: dict[tuple[str, accept.Stamp], Seal | str],
    ) -> Iterator[tuple[_Arrivals, bool]]:
        """Yield verified new files in parts of about `CHUNK` runs; at least one, marked last."""
        part = _Arrivals()
        for i, path in enumerate(files, 1):
            key = path, now[path]
            if key not in looked_at:
                looked_at[key] = self._looked_at(*key)
            part.take(path, looked_at[key])
            if part.runs >= CHUNK and i < len(files):
                yield part, False
                part = _Arrivals()
        yield part, True

    def _looked_at(self, path: str, stamp: accept.Stamp) -> Seal | str:
        reason = name_problem(path) or accept.kind_problem(stamp) or self._place_problem(path)
        return reason or self._poison.get((path, stamp)) or accepted(path)

    def _load(self, part: _Arrivals, now: accept.Listing) -> None:
        """Load the files of a part into the table `incoming`, which no page reads."""
        self._base.execute(sql.CLEAR_INCOMING)
        if part.runs and not self._has_room():
            raise _NoRoomError
        rows = [
            row | self._located(row["file"]) | {"standing": self._standing(row["file"])}
            for row in part.single
        ]
        self._load_rows(rows, part.refused)
        alike: dict[tuple[int, int], list[str]] = {}
        for path, seal in part.many.items():
            alike.setdefault((version_of(seal), self._rank(path)), []).append(path)
        together: list[str] = []
        for (version, _), paths in alike.items():
            if self._load_together(version, paths):
                together += paths
                continue
            reasons = ((p, self._load_file(p, part.many[p], now[p])) for p in paths)
            part.refused.update({path: reason for path, reason in reasons if reason})
        if together:
            part.refused.update(self._wrong(together, part.many))
        self._set_tasks()

    def _has_room(self) -> bool:
        if self._place is not None:
            return self._place.free_bytes() > runs_file.LEAST_FREE_BYTES
        return has_room(self._base, self.memory_bytes)

    def _set_tasks(self) -> None:
        """Set the kind of work of every run in `incoming`, for filters."""
        with _cursor(self._base) as cursor:
            families = cursor.execute(sql.WITHOUT_TASK).fetchall()
            rows = [{"workload": w, "family": f, "task": kind_of(w, f)} for w, f in families]
            cursor.register("tasks", pa.Table.from_pylist(rows, schema=_TASK_SCHEMA))
            cursor.execute(sql.SET_TASK)

    def _load_rows(self, rows: list[dict[str, Any]], refused: dict[str, str]) -> None:
        """Load runs from their seals; halve the list after an error."""
        if not rows:
            return
        try:
            with _cursor(self._base) as cursor:
                cursor.register("arrived", pa.Table.from_pylist(rows, schema=_ROW_SCHEMA))
                cursor.execute(sql.LOAD_ROWS)
        except (*_BROKEN, duckdb.OutOfMemoryException):
            raise
        except Exception as error:  # noqa: BLE001 - one file must never stop the others
            if len(rows) == 1:
                refused[rows[0]["file"]] = _without_columns(error)
                return
            half = len(rows) // 2
            self._load_rows(rows[:half], refused)
            self._load_rows(rows[half:], refused)

    def _load_together(self, version: int, paths: list[str]) -> bool:
        """Load files in one statement, all or nothing; return whether it succeeded."""
        if len(paths) == 1 or self._one_by_one:
            return False
        try:
            if too_long(self._base, paths, version):
                return False
            self._base.execute(sql.LOAD_FILES[version], self._arriving(paths))
        except _BROKEN:  # the bad file is found by loading one by one
            self._one_by_one = True
            raise
        except Exception:  # noqa: BLE001 - one file must never stop the others
            return False
        return True

    def _wrong(self, paths: list[str], seals: Mapping[str, Seal]) -> dict[str, str]:
        """Return why loaded files are refused, and drop their runs."""
        held = dict(self._base.execute(sql.HELD_BY, [paths]).fetchall())
        rules = self._base.execute(sql.BROKEN_RULES, [paths]).fetchall()
        broken = {path: (run, rule) for path, run, rule in rules}
        reasons = {p: _contents(seals[p], held.get(p, 0), broken.get(p)) for p in paths}
        for path in (p for p, reason in reasons.items() if reason):
            self._base.execute(sql.DROP_INCOMING, [path])
        return {path: reason for path, reason in reasons.items() if reason}

    def _load_file(self, path: str, seal: Seal, stamp: accept.Stamp) -> str | None:
        """Load a multi-run file; return why it is refused, or None."""
        try:
            if reason := too_long(self._base, [path], version_of(seal)):
                return reason
            self._base.execute(sql.LOAD_FILES[version_of(seal)], self._arriving([path]))
            [(held,)] = self._base.execute(sql.HELD, [path]).fetchall()
            broken = self._base.execute(sql.BROKEN_RULE, [path]).fetchone()
        except _BROKEN:
            self._poison[path, stamp] = "breaks the reader. Restore it from a copy or delete it."
            raise
        except duckdb.OutOfMemoryException:
            return Text(
                "needs more memory than is left for runs. {more_memory}", more_memory=_MORE_MEMORY
            )
        except Exception as error:  # noqa: BLE001 - one file must never stop the others
            if not os.path.lexists(path):
                raise FileNotFoundError(errno.ENOENT, "gone", path) from None
            return _without_columns(error)
        if reason := _contents(seal, held, broken):
            self._base.execute(sql.DROP_INCOMING, [path])
        return reason

    def _swap(
        self,
        gone: set[str],
        part: _Arrivals,
        now: accept.Listing,
        touched: Iterable[_Touched] | None,
    ) -> None:
        """Replace old rows by new ones in one transaction.

        A summary file notes the files in the same transaction. Its totals are renewed with the
        last part, whose `touched` are those of all parts; until then it notes what is stale.
        """
        paths = sorted(gone & self._loaded)
        with _cursor(self._base) as cursor:
            cursor.begin()
            if touched is not None:
                self._mark(cursor)
            if self._place is not None and touched is None:
                cursor.execute(sql.KEEP_STALE, [paths])
            if paths:
                cursor.execute(sql.DROP_RUNS, [paths])
                cursor.execute(sql.DROP_SPARE, [paths])
            [(all_new,)] = cursor.execute(sql.ALL_NEW).fetchall()
            for statement in (sql.keep_new(part.runs),) if all_new else sql.MERGE:
                cursor.execute(statement)
            if paths:  # otherwise every spare run is still a copy of a shown one
                cursor.execute(sql.PROMOTE)
                cursor.execute(sql.DROP_PROMOTED)
            if self._place is not None:
                cursor.execute(sql.DROP_FILES, [paths])
                self._keep_files(cursor, part, now)
                if touched is not None:
                    _renew(cursor, {*touched, *cursor.execute(sql.STALE).fetchall()})
                    cursor.execute(sql.CLEAR_STALE)
            cursor.commit()
        if touched is not None:
            self._marked = self._unofficial
        self._loaded -= gone
        self._single -= gone

    def _mark(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Give the loaded runs of sets that were checked, or no longer are, their standing."""
        for standing, places in (
            (UNOFFICIAL, self._unofficial - self._marked),
            (None, self._marked - self._unofficial),
        ):
            for statement in sql.MARK if places else ():
                cursor.execute(statement, {"standing": standing, "places": sorted(places)})

    def _keep_files(
        self, cursor: duckdb.DuckDBPyConnection, part: _Arrivals, now: accept.Listing
    ) -> None:
        """Note the loaded files of a part with their stamps, hashes and counts of runs."""
        single = {row["file"] for row in part.single}
        rows = [
            (path, s.size, s.mtime_ns, s.inode, s.mode, part.hashes[path],
             1 if path in single else part.many[path].rows, path in single)
            for path in sorted(part.loaded)
            for s in [now[path]]
        ]  # fmt: skip
        columns = [list(values) for values in zip(*rows, strict=True)] or [[] for _ in _FILE_SCHEMA]
        cursor.register("arrived_files", pa.table(columns, schema=_FILE_SCHEMA))
        cursor.execute(sql.KEEP_FILES)

    def _note(self, touched: Iterable[tuple[str, str]]) -> None:
        """Record changes of these workloads and models, in new tables: a moment keeps its own."""
        models, touched = dict(self._models), list(touched)
        for workload, model in touched:
            models[workload] = models.get(workload, frozenset()) | {model}
        self._models = models
        self._versions = {**self._versions, **{m: self._generation for _, m in touched}}

    # -- what is said of it ------------------------------------------------------------------

    def contradictions(self) -> tuple[Refused, ...]:
        """Return the files whose runs are shown from another file with other numbers."""
        with self._lock:
            return tuple(self._contradictions())

    def _contradictions(self) -> Iterator[Refused]:
        """Yield runs that are shown from another file, with other numbers."""
        for file, count, run, shown in self._base.execute(sql.CONTRADICTIONS).fetchall():
            where = f"{self._folder_of(shown)}: {'/'.join(shown.rsplit('/', 2)[-2:])}"
            what = (
                f"run {run}"
                if count == 1
                else Text("{count:,} runs, one of them {run}", count=count, run=run)
            )
            reason = Text(
                "same run, other numbers, in {where}. That file is shown; of this "
                "one not {what}. Delete one of the two, or commit the run again "
                "under another `repeat`.",
                where=where,
                what=what,
            )
            yield self._refusal(file, reason)

    def _without_room(self) -> Iterator[Refused]:
        """Yield the files that wait for memory, one entry per folder."""
        places = Counter(os.path.dirname(p) for p in self._waiting)  # noqa: PTH120 - many, fast
        for place, count in places.items():
            yield self._refusal(place, self._why_without_room(count))

    def _why_without_room(self, count: int) -> str:
        if self._place is not None:
            return Text(
                "{count:,} of its files are not loaded: the disk of EPOCHWISE_CACHE has less than "
                "{least:.3g} GB left. Free some space there.",
                count=count,
                least=runs_file.LEAST_FREE_BYTES / 1e9,
            )
        reason = Text(
            "{count:,} of its files are not loaded: the memory for runs is full "
            "({memory_bytes:.3g} GB). {more_memory}",
            count=count,
            memory_bytes=self.memory_bytes / 1000000000.0,
            more_memory=_MORE_MEMORY,
        )
        if self._in_memory_because:
            return Text(
                "{reason} Or let EPOCHWISE_CACHE name a folder with room, and restart: the file "
                "for runs there {because}.",
                reason=reason,
                because=self._in_memory_because,
            )
        return reason

    def _read_sets(self, now: accept.Listing) -> tuple[dict[str, ResultSet], dict[str, str]]:
        sets, problems = {}, {}
        for place in {os.path.dirname(p) for p in now} - self._roots:  # noqa: PTH120 - 10,000 fast
            if reason := text_problem(place):
                problems[place] = reason
                continue
            set_file = f"{place}/{NAME}"
            sets[place], problem = self._set_files.read(
                Path(place), self._folder_of(place), now.get(set_file)
            )
            if f"{place}/{WITHDRAWN}" in now:
                sets[place] = replace(sets[place], withdrawn=withdrawal(Path(place)))
            if (access := self._audience.restricted.get(place)) is not None:
                title = f"{sets[place].title} ({access.note})"
                sets[place] = replace(sets[place], title=title, access=access.note)
            if problem:
                problems[set_file] = problem
        self._set_files.forget(set(sets))
        return sets, problems

    def _refusal(self, path: str, reason: str) -> Refused:
        cut = reason if len(reason) <= MAX_REASON else f"{reason[: MAX_REASON - 4]} ..."
        return Refused(path=_shown(path), folder=self._folder_of(path), reason=_shown(cut))

    def _rank(self, path: str) -> int:
        """Return the number of the folder that holds a path; the first one counts."""
        ranks = (rank for rank, begins in enumerate(self._begins) if path.startswith(begins))
        return next(ranks, len(self.folders))

    def _folder_of(self, path: str) -> str:
        rank = self._rank(path)
        return self.folders[rank].label if rank < len(self.folders) else ""

    def _located(self, path: str) -> dict[str, Any]:
        """Return the columns that follow from the folder of a file."""
        return {"folder": self._folder_of(path), "precedence": self._rank(path)}

    def _arriving(self, paths: Sequence[str]) -> dict[str, Any]:
        """Return the parameters to load files of one folder of results."""
        unofficial = {"unofficial": sorted(self._unofficial)}
        return _files(paths) | self._located(paths[0]) | unofficial

    def _standing(self, path: str) -> str | None:
        return UNOFFICIAL if os.path.dirname(path) in self._unofficial else None  # noqa: PTH120

    def _place_problem(self, path: str) -> str | None:
        if os.path.dirname(path) in self._roots:  # noqa: PTH120 - ten thousand of them, fast
            return "lies outside a result set. Move it into a folder of its own beside set.toml."
        return None


def _touching(gone: Sequence[str]) -> tuple[str, list[Any]]:
    """Return the query of what a refresh touches, and its parameters."""
    return (sql.TOUCHED, [gone]) if gone else (sql.ARRIVED, [])


def _renew(cursor: duckdb.DuckDBPyConnection, touched: set[_Touched]) -> None:
    """Compute the totals of these workloads, networks and result sets anew."""
    if len({workload for workload, *_ in touched}) > _MOST_RENEWED:
        for statement in totals.REFILL:
            cursor.execute(statement)
        return
    for at, key in enumerate(totals.KEYS):
        keys = sorted({row[at] for row in touched})
        for statement in totals.RENEW[key] if keys else ():
            cursor.execute(statement, [keys])


def _has_hash(path: str, stamp: accept.Stamp, seal: str) -> bool:
    """Return whether a file still has the stamp and the hash with which it was loaded."""
    try:
        return accept.stamp_of(path) == stamp and stated_hash(Path(path)) == seal
    except (OSError, SealError):
        return False


def _is_full(error: Exception) -> bool:
    return any(words in str(error) for words in _FULL)


def version_of(seal: Seal) -> int:
    """Return the schema version used to read a multi-run file."""
    return min(max(seal.schema_version, 1), SCHEMA_VERSION)


def too_long(base: duckdb.DuckDBPyConnection, paths: list[str], version: int) -> str | None:
    """Return why files with texts above the limit are refused, before their runs are read.

    Args:
        base: any connection.
        paths: files of one schema version.
        version: from `version_of`.
    """
    lengths = base.execute(sql.LONGEST[version], _files(paths)).fetchone() or ()
    for name, letters in zip(sql.TEXTS, lengths, strict=True):
        if (letters or 0) > MAX_TEXT:
            kept = Text("at most {max_text:,} are kept", max_text=MAX_TEXT)
            return Text(
                "breaks the rules: {name} has {letters:,} characters; {kept}. Shorten it.",
                name=name,
                letters=letters,
                kept=kept,
            )
    return None


def _files(paths: Iterable[str]) -> dict[str, Any]:
    """Return the parameter of a query that reads these files."""
    return {"files": [sql.literal(path) for path in paths]}


def _without_columns(error: Exception) -> Text:
    return Text("does not have the columns of a run ({first_line}).", first_line=first_line(error))


def _contents(seal: Seal, held: int, broken: tuple[str, str] | None) -> str | None:
    """Return why a loaded file is refused: its run count or a broken rule; None if fine."""
    if broken is not None:
        return Text(
            "holds a run that breaks the rules: run {run}, {rule}. Run `verify`.",
            run=broken[0],
            rule=broken[1],
        )
    if held != seal.rows:
        return Text(
            "says {rows:,} runs but holds {held:,}. Restore it or delete it.",
            rows=seal.rows,
            held=held,
        )
    return None


def _shown(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


@contextmanager
def _cursor(base: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    cursor = base.cursor()
    try:
        yield cursor
    finally:
        cursor.close()
