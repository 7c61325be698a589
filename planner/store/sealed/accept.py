"""What a file must be before its runs are loaded: a plain name, a whole seal, the columns, limits.

Nothing that a file holds may raise here: whatever is wrong with it becomes the reason why it is
refused, and the other files are shown (docs/decisions/0028).
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.core import MAX_FILE_RUNS, MAX_ROW_GROUPS, Text
from planner.runs import (
    ARROW_SCHEMA,
    COLUMNS,
    NESTED,
    SUMMARY,
    Row,
    as_current,
    check_rows,
    has_kinds,
    run_id,
)
from planner.store.disk.access import ACCESS, OWNER, Access, Viewer, read_access, strictest
from planner.store.disk.folders import Folder
from planner.store.disk.locks import locked
from planner.store.disk.mirrors import MARK, mirror_of
from planner.store.sealed.result_set import NAME, WITHDRAWN, read_set
from planner.store.sealed.seal import Seal, SealError, check_seal, check_sealed, open_plain

SUFFIX: Final = ".parquet"
_PATTERN: Final = frozenset("*?[]\\")
"""In a file's name DuckDB takes these for a pattern of other names."""


def accepted(path: str) -> Seal | str:
    """The seal of a file whose runs may be loaded, or why they may not; never raises but one.

    Raises:
        FileNotFoundError: the file has gone since it was listed.
    """
    try:
        with open_plain(Path(path)) as file:
            seal = check_sealed(file)
            return (_one_problem(seal.summary) if seal.summary else _many_problem(file, seal)) or (
                seal
            )
    except SealError as error:
        return str(error)
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - one file must never stop the others
        return unreadable(error)


def text_problem(path: str) -> str | None:
    """Why a path cannot travel through queries and pages."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8. Rename it."
    return None


def name_problem(path: str) -> str | None:
    """Why a file of that name is not opened."""
    if reason := text_problem(path):
        return reason
    if path.lower().endswith(SUFFIX) and not path.endswith(SUFFIX):
        return Text("ends in capital letters. Rename it to end in {suffix}.", suffix=SUFFIX)
    if odd := _PATTERN & set(path.rsplit("/", 1)[-1]):
        listed = " ".join(sorted(odd))
        return Text(
            "has {listed} in its name, which stands for other names. Rename it.", listed=listed
        )
    return None


def body_problem(path: str, rows: int = 1) -> str | None:
    """Why the body of a file may not be opened: other rows than its seal says, or too many.

    The seal of a file of one run is checked when it is listed; its footer is not.
    """
    try:
        with open_plain(Path(path)) as file:
            return _rows_problem(pq.ParquetFile(file).metadata, rows)
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - one file must never stop the others
        return unreadable(error)


def unreadable(error: Exception) -> Text:
    """Return why a file that fails to be read is refused."""
    return Text(
        "cannot be read ({first_line}). Restore it from a copy or delete it.",
        first_line=first_line(error),
    )


def first_line(error: Exception) -> str:
    """The first line of what an error says, or its name."""
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _one_problem(summary: Row) -> str | None:
    """A seal is no secret: what it says must obey the rules of every run."""
    problems = check_rows([summary])
    if problems:
        return Text(
            "breaks the rules: {column} {message}",
            column=problems[0].column,
            message=problems[0].message,
        )
    if run_id(summary) != summary["run_id"]:
        return "has a run_id that is not the hash of its identity. Commit the run again."
    return None


def _many_problem(file: object, seal: Seal) -> str | None:
    """What separates the columns of a file of many from those of a run; DuckDB would cast text."""
    parquet = pq.ParquetFile(file)
    if reason := _rows_problem(parquet.metadata, seal.rows):
        return reason
    types = {f.name: f.type for f in parquet.schema_arrow}
    for column in COLUMNS:
        if column.since > seal.schema_version and column.name not in types:
            continue
        if types.get(column.name) != column.type:
            what = f"is {types[column.name]}" if column.name in types else "is missing"
            return Text(
                "does not have the columns of a run ({column} {what}).",
                column=column.name,
                what=what,
            )
    return None


def _rows_problem(metadata: pq.FileMetaData, rows: int) -> str | None:
    """The rows that a reader would load, before it does: those of every row group."""
    groups = metadata.num_row_groups
    if groups > MAX_ROW_GROUPS:
        return Text(
            "has {groups:,} row groups; at most {max_row_groups:,} are read. Delete it.",
            groups=groups,
            max_row_groups=MAX_ROW_GROUPS,
        )
    each = [metadata.row_group(i).num_rows for i in range(groups)]
    held = sum(each)
    if min(each, default=0) < 0 or held > MAX_FILE_RUNS or {held, metadata.num_rows} != {rows}:
        return Text(
            "says {rows:,} runs but holds {held:,}. Restore it from a copy or delete it.",
            rows=rows,
            held=held,
        )
    return None


_TRIES = 20


class Stamp(NamedTuple):
    """What tells one version of a file from another without opening it."""

    size: int
    mtime_ns: int
    inode: int
    mode: int
    unreadable: str = ""
    """Why a folder could not be listed; empty for all that could."""
    behind: str = ""
    """Why a bucket could not be read; its copies of before are listed."""


Listing = dict[str, Stamp]


@dataclass(slots=True, kw_only=True)
class Audience:
    """For whom folders are listed; a listing notes in `restricted` which sets are not for all.

    The access of a set is read again only when its access.json changes.
    """

    viewer: Viewer = OWNER
    now_s: Callable[[], float] = time.time
    restricted: dict[str, Access] = field(default_factory=dict)
    """Restricted sets by folder: those shown to this viewer and those not, without ended embargoes.
    """
    shipped: dict[str, tuple[int, list[os.DirEntry[str]]]] = field(default_factory=dict)
    """Entries of shipped sets, with the time at which one last came or went [ns]."""
    _access_of: dict[str, tuple[Stamp, Access]] = field(default_factory=dict)

    def access(self, sets: Mapping[str, Listing]) -> Access | None:
        """Return who sees the sets of a name, by folder; None if everyone does. Notes it."""
        if self.restricted.keys().isdisjoint(sets) and not any(sets.values()):
            return None
        each = (self._access(place, inside) for place, inside in sets.items())
        access = strictest(each, self.now_s())
        if access is not None:
            self.restricted = {**self.restricted, **dict.fromkeys(sets, access)}
        elif not self.restricted.keys().isdisjoint(sets):
            self.restricted = {p: a for p, a in self.restricted.items() if p not in sets}
        return access

    def sees(self, places: Iterable[str], access: Access) -> bool:
        """Return whether the viewer sees the restricted sets of a name, by their folders."""
        linked = bool(self.viewer.sets)  # else no set.toml needs to be read
        references = [read_set(Path(p), "")[0].reference for p in places] if linked else []
        return self.viewer.sees(references, access, self.now_s())

    def forget(self, but: set[str]) -> None:
        """Keep the sets of these folders only."""
        self.restricted = {p: a for p, a in self.restricted.items() if p in but}
        self._access_of = {p: access for p, access in self._access_of.items() if p in but}

    def _access(self, place: str, inside: Listing) -> Access | None:
        if place in inside:  # it cannot be listed, so its viewers are not known
            return Access()
        stamp = inside.get(f"{place}/{ACCESS}")
        if stamp is None:
            return None
        kept = self._access_of.get(place)
        if kept is None or kept[0] != stamp:
            try:
                kept = self._access_of[place] = (stamp, read_access(Path(place)))
            except OSError:
                return Access()
        return kept[1]


def listing(
    folders: tuple[Folder, ...], before: Listing | None = None, audience: Audience | None = None
) -> Listing:
    """All parquet files, set.toml files and records of withdrawals, as path -> stamp.

    The runs of a withdrawn set are not listed. Of a set that the audience may not see, nothing is
    listed at all: a reader of the listing cannot tell that it exists. Copies of a
    bucket are brought up to date first.

    A listing that shows every file of `known` is believed at once. One that misses a file (a
    compaction may have replaced it, see `planner.store.disk.files`) is made again while no
    compaction removes anything.
    """
    whose = audience or Audience()
    behind = _look(folders)
    now = behind | _list_once(folders, whose)
    if before is not None and before.keys() <= now.keys():
        return now
    with ExitStack() as locks:
        for folder in folders:
            locks.enter_context(locked(folder.path, shared=True))
        return behind | _settled(folders, now if before is None else before, whose)


def fetch(folder: Path) -> None:
    """Bring a folder of copies of a bucket up to date; nothing is done for others.

    Raises:
        BucketError: the bucket cannot be read.
    """
    if (mirror := mirror_of(folder)) is not None:
        mirror.sync(folder, _is_sealed)


def _look(folders: tuple[Folder, ...]) -> Listing:
    """Bring copies of buckets up to date; return the buckets that cannot be read."""
    listed: Listing = {}
    for folder in folders:
        if (mirror := mirror_of(folder.path)) is None:
            continue
        mirror.look(folder.path, _is_sealed)
        if (error := mirror.behind) is not None:
            listed[f"{folder.path}/{MARK}"] = Stamp(0, 0, 0, stat.S_IFREG, behind=str(error))
    return listed


def _is_sealed(path: Path) -> bool:
    try:
        check_seal(path)
    except (SealError, OSError):
        return False
    return True


def _settled(folders: tuple[Folder, ...], before: Listing, audience: Audience) -> Listing:
    """A listing that misses no more files than the one before: for disks that know no locks."""
    missing: set[str] | None = None
    now: Listing = {}
    for _ in range(_TRIES):
        now = _list_once(folders, audience)
        gone = before.keys() - now.keys()
        if gone <= (missing or set()):
            break
        missing = gone
    return now


_ABOUT: Final = frozenset({NAME, WITHDRAWN, ACCESS})
"""Files that say something of a set."""


def _list_once(folders: tuple[Folder, ...], audience: Audience) -> Listing:
    listed: Listing = {}
    named: dict[tuple[bool, str], dict[str, _Set]] = {}
    for folder in folders:
        for entry in _entries(str(folder.path), listed):
            if _is_parquet(entry.name) or _is_linked_folder(entry):
                _note(entry, listed)
            elif entry.is_dir() and not entry.name.startswith("."):
                key = (shipped := folder.kind == "shipped"), entry.name
                kept = audience.shipped if shipped else None
                named.setdefault(key, {})[entry.path] = _set_in(entry.path, kept)
    for sets in named.values():
        access = audience.access({place: of.inside for place, of in sets.items()})
        if access is None or audience.sees(sets, access):
            for of in sets.values():
                _note_files(of, listed)
    audience.forget({place for sets in named.values() for place in sets})
    return listed


class _Set(NamedTuple):
    """The entries of a set's folder; `inside` has what says who sees it."""

    entries: list[os.DirEntry[str]]
    inside: Listing


_TICK_NS: Final = 5_000_000_000
"""Time after a change in which a disk may give another one the same time."""


def _set_in(place: str, kept: dict[str, tuple[int, list[os.DirEntry[str]]]] | None) -> _Set:
    """The entries of a set; with `kept` they are listed again only once one has come or gone."""
    inside: Listing = {}
    changed = 0 if kept is None else _changed_ns(place)
    if kept is not None and kept.get(place, (0,))[0] == changed != 0:
        entries = kept[place][1]
    else:
        is_settled = time.time_ns() - changed > _TICK_NS
        entries = _entries(place, inside)
        if kept is not None and changed and is_settled and not inside:
            kept[place] = changed, entries
    for entry in entries:
        if entry.name == ACCESS:
            _note(entry, inside)
    return _Set(entries, inside)


def _note_files(of: _Set, listed: Listing) -> None:
    """Add the files of one set; of a withdrawn one no runs."""
    listed |= of.inside
    withdrawn = any(entry.name == WITHDRAWN for entry in of.entries)
    for entry in of.entries:
        if entry.name in _ABOUT or (_is_parquet(entry.name) and not withdrawn):
            _note(entry, listed)


def _changed_ns(folder: str) -> int:
    """When an entry of a folder last came or went, or its rights changed [ns]; 0 where unknown."""
    try:
        return os.stat(folder).st_ctime_ns  # noqa: PTH116 - faster
    except OSError:
        return 0


def _is_linked_folder(entry: os.DirEntry[str]) -> bool:
    """A link to a folder: listed to be refused, for DuckDB may open only the folders given."""
    return entry.is_symlink() and entry.is_dir() and not entry.name.startswith(".")


def _entries(path: str, listed: Listing) -> list[os.DirEntry[str]]:
    """The entries of a folder; none where it is absent or not a folder.

    One that cannot be read is `found` itself, so that it is refused and its runs are missed.
    """
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        listed[path] = Stamp(0, 0, 0, stat.S_IFDIR, error.strerror or str(error))
        return []


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(SUFFIX) and name[0] != "."


def _note(entry: os.DirEntry[str], listed: Listing) -> None:
    """Add the entry's stamp by its path; nothing where it is gone, so that it counts as missing."""
    try:
        s = os.lstat(entry.path)  # the entry's own stamp is of its first listing
    except FileNotFoundError:
        return
    except OSError:
        listed[entry.path] = Stamp(0, 0, 0, 0)
        return
    listed[entry.path] = Stamp(s.st_size, s.st_mtime_ns, s.st_ino, s.st_mode)


def stamp_of(path: str) -> Stamp | None:
    """The stamp of a file as it is now; None where it is gone."""
    try:
        s = Path(path).lstat()
    except OSError:
        return None
    return Stamp(s.st_size, s.st_mtime_ns, s.st_ino, s.st_mode)


def kind_problem(stamp: Stamp) -> str | None:
    """Why something named *.parquet is no file one should open; None for a plain file."""
    if stamp.behind:
        return Text(
            "names a bucket that cannot be read; its runs may be out of date. {why}",
            why=stamp.behind,
        )
    if stat.S_ISREG(stamp.mode):
        return None
    if stamp.unreadable:
        why = Text("cannot be listed ({unreadable})", unreadable=stamp.unreadable)
        return Text("{why}, so none of its runs is shown. Allow reading it.", why=why)
    if stat.S_ISLNK(stamp.mode):
        return (
            "is a symbolic link; only plain files and folders are read. Copy it here, or name "
            "the folder it points to in EPOCHWISE_FURTHER_RESULTS."
        )
    if stat.S_ISDIR(stamp.mode):
        return "is a folder, not a file. Move it out of the result set."
    return "is not a plain file. Remove it."


APART: Final = frozenset({
    "run_id", "schema_version", "recorded_at", "submitted_by", "note", "licence", "source",
    "source_url", "repository", "source_commit", "published_on", "suspect_reason",
})  # fmt: skip
"""Two copies of a run may differ in these: who said it, when and under which terms."""
NUMBERS: Final = tuple(n for n in SUMMARY if n not in APART)
"""Summary columns in which two copies of a run must be equal; the reader compares these."""
_MOST_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A row whose run lies in `path` with other numbers; `column` is the first that differs."""

    run_id: str
    path: Path
    column: str
    here: object
    there: object

    def __str__(self) -> str:
        what = f"other {self.column}"
        if self.column not in NESTED:
            what = Text(
                "{column} {actual} instead of {expected}",
                column=self.column,
                actual=_short(self.there),
                expected=_short(self.here),
            )
        return Text(
            "run {run_id} lies in {path} with {what}",
            run_id=self.run_id,
            path=self.path.name,
            what=what,
        )


def contradictions(ours: pa.Table, theirs: pa.Table, paths: Sequence[Path]) -> list[Contradiction]:
    """Return the rows of `ours` that have other numbers than the row of `theirs` beside them.

    Both have the columns of a run; row i of `theirs` lies in the file `paths[i]`. Epochs,
    evaluations and steps count too.
    """
    problems = []
    for at in unequal_rows(ours, theirs):
        here, there = ours.slice(at, 1), theirs.slice(at, 1)
        columns = (
            n for n in (*NUMBERS, *NESTED) if unequal_rows(here.select([n]), there.select([n]))
        )
        column = next(columns)
        problems.append(
            Contradiction(
                run_id=here["run_id"][0].as_py(),
                path=paths[at],
                column=column,
                here=here[column][0].as_py(),
                there=there[column][0].as_py(),
            )
        )
    return problems


def unequal_rows(first: pa.Table, other: pa.Table) -> list[int]:
    """Return the positions at which two tables of equal length and columns hold other numbers."""
    differs: set[int] = set()
    for name in (n for n in NUMBERS if n in first.column_names):
        differs |= set(pc.indices_nonzero(_unequal(first[name], other[name])).to_pylist())
    if nested := [n for n in NESTED if n in first.column_names]:
        differs |= {
            at
            for at in set(range(first.num_rows)) - differs
            if any(
                first[n].slice(at, 1).to_pylist() != other[n].slice(at, 1).to_pylist()
                for n in nested
            )
        }
    return sorted(differs)


def rows_in(path: Path, runs: Sequence[str]) -> pa.Table:
    """Return the rows of those runs in a file of any schema version; none where it is damaged.

    Raises:
        FileNotFoundError: the file has gone.
    """
    none = ARROW_SCHEMA.empty_table()
    try:
        seal = check_seal(path)
        if body_problem(str(path), seal.rows):
            return none
        among = pc.field("run_id").isin(pa.array(runs, pa.string()))
        table = pq.read_table(path, filters=among, partitioning=None, use_threads=False)
        current = as_current(table, seal.schema_version) if has_kinds(table) else None
    except FileNotFoundError:
        raise
    except (SealError, pa.ArrowException, OSError):
        return none
    return none if current is None else current


def _short(value: object) -> str:
    """A value in a sentence, cut where it is long."""
    text = "no value" if value is None else repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def _unequal(first: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where two columns differ: nothing equals nothing, and NaN equals NaN, as in DuckDB."""
    equal = pc.fill_null(pc.equal(first, other), fill_value=False)
    equal = pc.or_(equal, pc.and_(pc.is_null(first), pc.is_null(other)))
    if pa.types.is_floating(first.type):
        nan = pc.and_(pc.is_nan(first), pc.is_nan(other))
        equal = pc.or_(equal, pc.fill_null(nan, fill_value=False))
    return pc.invert(equal)
