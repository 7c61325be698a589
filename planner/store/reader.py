"""Serve verified runs from memory; list what is refused; see a new file within one rerun.

The DuckDB instance lives in memory, holds the summary columns, may open only the result folders
and is then locked. Every query takes a cursor of its own: one connection shared by threads gave
other people's rows. Nested columns are read in place, from the file the run came from.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import pyarrow as pa

from planner.limits import MAX_REASON
from planner.schema import ARROW_SCHEMA, SUMMARY
from planner.store import scan, sql
from planner.store.accept import accepted, first_line, name_problem, text_problem
from planner.store.folders import Folder, as_utf8
from planner.store.kept import Kept
from planner.store.sets import NAME, ResultSet, read_set

LIMITS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": "4GB",
    "threads": 2,
    "temp_directory": "",
}
"""What the in-memory DuckDB may use; the same on every machine so that figures compare."""

_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = LIMITS | {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_TRIES: Final = 50
MOST_KEPT: Final = 4_000
"""Answers about the runs that a store keeps; a workload has about ten, a filter three."""
_SERIAL: Final = itertools.count()
_BROKEN: Final = (duckdb.FatalException, duckdb.InternalException)
"""After one of these an instance answers nobody any more."""
Answer = TypeVar("Answer")
_ROW_SCHEMA: Final = pa.schema(
    [ARROW_SCHEMA.field(n).with_nullable(True) for n in SUMMARY] + [pa.field("file", pa.string())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A file that is not shown, and why."""

    path: str
    folder: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Arrivals:
    """What one refresh found: rows of single runs, files of many with their rows, refusals."""

    single: list[dict[str, Any]] = field(default_factory=list)
    many: dict[str, int] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)

    def take(self, path: str) -> str | None:
        """Add a new file, or say why it is refused."""
        seal = accepted(path)
        if isinstance(seal, str):
            return seal
        if seal.summary is None:
            self.many[path] = seal.rows
        else:
            self.single.append(seal.summary | {"file": path})
        return None

    @property
    def loaded(self) -> set[str]:
        return {row["file"] for row in self.single} | set(self.many)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """What one thread sees of the store: a transaction, and what was true when it began."""

    cursor: duckdb.DuckDBPyConnection
    generation: int
    sets: Mapping[str, ResultSet]
    refused: Mapping[str, Refused]
    versions: Mapping[str, int]
    models: Mapping[str, frozenset[str]]


class Store:
    """The runs of some folders. Safe to share between threads; `refresh` before a page asks.

    `kept` holds what was worked out of these runs; `serial` tells the store from every other.
    """

    def __init__(self, folders: Sequence[Folder]) -> None:
        self.folders = tuple(folders)
        self.kept = Kept(MOST_KEPT)
        self.serial = next(_SERIAL)
        self._roots = {str(f.path) for f in self.folders}
        self._generation = 0
        self._versions: Mapping[str, int] = {}
        self._models: Mapping[str, frozenset[str]] = {}
        self._lock = threading.Lock()
        self._own = threading.local()
        self._poison: dict[tuple[str, scan.Stamp], str] = {}
        self._refused: dict[str, Refused] = {}
        self._sets: dict[str, ResultSet] = {}
        self._reset()
        self._serving = self._base

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Files that were found and not shown, in order of path."""
        refused = self._moment.refused if self._moment else self._refused
        return tuple(refused[p] for p in sorted(refused))

    @property
    def sets(self) -> tuple[ResultSet, ...]:
        """All result sets, in order of folder and slug."""
        sets = self._moment.sets if self._moment else self._sets
        return tuple(sets[p] for p in sorted(sets))

    @property
    def generation(self) -> int:
        """A number that grows whenever anything in the folders has changed."""
        return self._moment.generation if self._moment else self._generation

    def version(self, *workloads: str) -> int:
        """A number that grows whenever a run of these workloads comes, goes or changes.

        It is that of all runs of their models: forms of a network and its precisions are compared.
        """
        moment = self._moment
        versions = moment.versions if moment else self._versions
        models = moment.models if moment else self._models
        return max((versions[m] for w in workloads for m in models.get(w, ())), default=0)

    @property
    def workloads(self) -> Iterable[str]:
        """All workloads that ever had a run here."""
        return (self._moment.models if self._moment else self._models).keys()

    @property
    def is_held(self) -> bool:
        """Whether this thread sees one state of the runs (`at_one_moment`)."""
        return self._moment is not None

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Refresh, then show this thread that one state of the runs until the block ends.

        A page asks many questions; runs that are committed meanwhile must not be in some answers
        and missing in others. Other threads see what is new.
        """
        if self._moment is not None:
            yield
            return
        self.refresh()
        self._begin()
        try:
            yield
        finally:
            self._end()

    def refresh(self) -> int:
        """Take in what is new, let go what is gone; the generation grows if anything changed.

        A thread that sees one state of the runs sees the new one from here on.
        """
        with self._lock:
            for _ in range(_TRIES):
                try:
                    self._base.execute(sql.ALIVE)  # a query may have met a bad file since
                    self._take_in()
                    break
                except _BROKEN:  # one bad file poisons an instance: a new one, without that file
                    self._reset()
        if self._moment is not None:
            self._begin()
        return self.generation

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of one's own for one query; the thread's own where it sees one moment."""
        if self._moment is None:
            with _cursor(self._serving) as cursor:
                yield cursor
            return
        try:
            yield self._moment.cursor
        except duckdb.Error:  # which ends a transaction: the store as it is answers what follows
            self._end()
            raise

    def rows(self, query: str, parameters: object = None) -> list[tuple[Any, ...]]:
        """All rows of a constant query of `planner.store.sql`."""
        return self._asked(lambda cursor: cursor.execute(query, parameters).fetchall())

    def arrow(self, query: str, parameters: object = None) -> pa.Table:
        """The same as an Arrow table."""
        return self._asked(lambda c: c.sql(query, params=parameters).to_arrow_table())

    def _asked(self, ask: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """The answer; asked again of a new instance where another query broke this one."""
        try:
            with self.cursor() as cursor:
                return ask(cursor)
        except _BROKEN:
            self.refresh()
            with self.cursor() as cursor:
                return ask(cursor)

    def in_place(self, query: str, run_id: str) -> pa.Table:
        """`query` on the file that holds `run_id`; once more if a compaction moved the run."""
        for last in (False, True):
            found = self.rows(sql.FILE_OF, [run_id])
            if not found:
                raise KeyError(run_id)
            try:
                return self.arrow(query, [sql.literal(found[0][0]), run_id])
            except (duckdb.IOException, duckdb.InvalidInputException):
                if last:
                    raise
                self.refresh()
        raise AssertionError("unreachable")

    # -- one moment --------------------------------------------------------------------------

    @property
    def _moment(self) -> _Moment | None:
        found: _Moment | None = getattr(self._own, "moment", None)
        return found

    def _begin(self) -> None:
        self._end()
        with self._lock:
            cursor = self._serving.cursor()
            cursor.begin()
            cursor.execute(sql.MOMENT).fetchall()
            self._own.moment = _Moment(
                cursor=cursor,
                generation=self._generation,
                sets=self._sets,
                refused=self._refused,
                versions=self._versions,
                models=self._models,
            )

    def _end(self) -> None:
        moment = self._moment
        self._own.moment = None
        if moment is not None:
            moment.cursor.close()

    # -- taking in ---------------------------------------------------------------------------

    def _reset(self) -> None:
        self._base = duckdb.connect(":memory:", config=_CONFIG)
        places = [str(f.path) for f in self.folders if as_utf8(f.path) == str(f.path)]
        allowed = {p for place in places for p in (place, sql.literal(place))}
        self._base.execute(sql.ALLOW, [sorted(allowed)])
        for statement in (*sql.SETTINGS, *sql.CREATE):
            self._base.execute(statement)
        self._known: scan.Listing | None = None
        self._loaded: set[str] = set()

    def _take_in(self) -> None:
        """One refresh. Starts over when a file vanishes under it: what replaced it is listed."""
        for _ in range(_TRIES):
            now = scan.listing(self.folders, self._known)
            before = self._known or {}
            new = [p for p, stamp in now.items() if before.get(p) != stamp]
            gone = [p for p in before if now.get(p) != before[p]]
            if not new and not gone and self._known is not None:
                return
            try:
                arrivals = self._open([p for p in new if not p.endswith(NAME)], now)
            except FileNotFoundError:
                continue
            touched = self._base.execute(sql.TOUCHED, [gone]).fetchall()
            self._swap(gone)
            stay = {p: r for p, r in self._refused.items() if p in before and p not in gone}
            refused = stay | {r.path: r for r in arrivals.refused}
            self._sets, unnamed = self._read_sets(now)
            self._refused = refused | {r.path: r for r in unnamed}
            self._loaded = (self._loaded - set(gone)) | arrivals.loaded
            self._serving = self._base
            self._known = now
            self._generation += 1
            self._note(touched)
            return

    def _open(self, paths: list[str], now: scan.Listing) -> _Arrivals:
        """Verify new files and load the good ones into `incoming`, which no page reads."""
        self._base.execute(sql.CLEAR_INCOMING)
        arrivals = _Arrivals()
        for path in paths:
            reason = name_problem(path) or scan.kind_problem(now[path])
            reason = reason or self._place_problem(path)
            reason = reason or self._poison.get((path, now[path])) or arrivals.take(path)
            if reason is not None:
                arrivals.refused.append(self._refusal(path, reason))
        arrivals.refused.extend(self._load_rows(arrivals.single))
        for path, rows in arrivals.many.items():
            if reason := self._load_file(path, rows, now[path]):
                arrivals.refused.append(self._refusal(path, reason))
        for folder in self.folders:
            self._base.execute(sql.SET_FOLDER, [folder.label, f"{as_utf8(folder.path)}/"])
        return arrivals

    def _load_rows(self, rows: list[dict[str, Any]]) -> list[Refused]:
        """Load runs told by their seals; where they do not go in together, one by one."""
        if not rows:
            return []
        try:
            with _cursor(self._base) as cursor:
                cursor.register("arrived", pa.Table.from_pylist(rows, schema=_ROW_SCHEMA))
                cursor.execute(sql.LOAD_ROWS)
        except _BROKEN:
            raise
        except (pa.ArrowException, TypeError, ValueError, OverflowError, duckdb.Error) as error:
            if len(rows) == 1:
                reason = f"does not have the columns of a run ({first_line(error)})."
                return [self._refusal(rows[0]["file"], reason)]
            half = len(rows) // 2
            return self._load_rows(rows[:half]) + self._load_rows(rows[half:])
        return []

    def _load_file(self, path: str, rows: int, stamp: scan.Stamp) -> str | None:
        """Load a file of many runs, all of them under its own name, or say why it is refused."""
        try:
            self._base.execute(sql.LOAD_FILES, [[sql.literal(path)]])
        except duckdb.IOException:
            if not Path(path).exists():
                raise FileNotFoundError(path) from None
            return "cannot be read. Restore it from a copy or delete it."
        except _BROKEN:
            self._poison[path, stamp] = "breaks the reader. Restore it from a copy or delete it."
            raise
        except duckdb.Error as error:
            return f"does not have the columns of a run ({first_line(error)})."
        [(held,)] = self._base.execute(sql.HELD, [path]).fetchall()
        if held != rows:
            self._base.execute(sql.DROP_INCOMING, [path])
            return f"says {rows:,} runs but holds {held:,}. Restore it from a copy or delete it."
        broken = self._base.execute(sql.BROKEN_RULE, [path]).fetchone()
        if broken is None:
            return None
        self._base.execute(sql.DROP_INCOMING, [path])
        return f"holds a run that breaks the rules: run {broken[0]}, {broken[1]}. Run `verify`."

    def _swap(self, gone: list[str]) -> None:
        """Old rows out, new rows in, in one transaction: no query sees half of it."""
        paths = [p for p in gone if p in self._loaded]
        with _cursor(self._base) as cursor:
            cursor.begin()
            if paths:
                cursor.execute(sql.DROP_RUNS, [paths])
                cursor.execute(sql.DROP_SPARE, [paths])
            cursor.execute(sql.KEEP_SPARE)
            cursor.execute(sql.KEEP_RUNS)
            if paths:  # else every spare run is still the copy of one that is shown
                cursor.execute(sql.PROMOTE)
                cursor.execute(sql.DROP_PROMOTED)
            cursor.commit()

    def _note(self, touched: Sequence[tuple[str, str]]) -> None:
        """Runs of these workloads and models have changed. New tables: a moment keeps its own."""
        models = dict(self._models)
        for workload, model in touched:
            models[workload] = models.get(workload, frozenset()) | {model}
        self._models = models
        self._versions = {**self._versions, **{m: self._generation for _, m in touched}}

    def _read_sets(self, now: scan.Listing) -> tuple[dict[str, ResultSet], list[Refused]]:
        """All sets by their folder, and what is wrong with their set.toml files."""
        sets, refused = {}, []
        for place in {os.path.dirname(p) for p in now} - self._roots:  # noqa: PTH120 - 10,000 fast
            if reason := text_problem(place):
                refused.append(self._refusal(place, reason))
                continue
            sets[place], problem = read_set(Path(place), self._folder_of(place))
            if problem:
                refused.append(self._refusal(f"{place}/{NAME}", problem))
        return sets, refused

    def _refusal(self, path: str, reason: str) -> Refused:
        cut = reason if len(reason) <= MAX_REASON else f"{reason[: MAX_REASON - 4]} ..."
        return Refused(path=_shown(path), folder=self._folder_of(path), reason=_shown(cut))

    def _folder_of(self, path: str) -> str:
        return next((f.label for f in self.folders if path.startswith(f"{f.path}/")), "")

    def _place_problem(self, path: str) -> str | None:
        if os.path.dirname(path) in self._roots:  # noqa: PTH120 - ten thousand of them, fast
            return "lies outside a result set. Move it into a folder of its own beside set.toml."
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
