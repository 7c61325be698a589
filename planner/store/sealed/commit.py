"""A run is kept whole or not at all, whatever dies in the middle.

The faults: kill -9 at any instruction, power loss, two writers with the same run, a full or
read-only disk. The protocol, and the lines below follow its numbers:

1. the name is made of the run's content (`<run_id>.parquet`), so the same case has one name;
2. write a hidden temporary in the same folder: no reader lists it;
3. fsync it, open it again and check its seal;
4. link it to the final name: this fails where the name exists, so the first commit wins
   (`planner.store.disk.files` does the same on disks without hard links);
5. fsync the folder, remove the temporary.

A row that names its attempt (`planner.store.sealed.attempts`) takes the attempt's hidden name
first, as in 4: of all runs of an attempt, whatever their names, one is kept.

A file without its final name never happened. Nothing is ever rewritten: a row that contradicts the
first commit of its run is refused, never dropped without a word.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from planner.core import Text, joined, plural
from planner.runs import ARROW_SCHEMA, Row, table_from_rows
from planner.store.disk.bucket import BucketError
from planner.store.disk.files import publish, sync, sync_folder
from planner.store.disk.mirrors import named
from planner.store.sealed.accept import Contradiction, contradictions, fetch, rows_in
from planner.store.sealed.attempts import attempt_id, name_of, of_one_attempt, release
from planner.store.sealed.seal import KEY, SealError, blank_seal, check_seal, fill_seal

STALE_S: Final = 86_400.0
"""Age after which a temporary whose writer is gone is swept away [s]."""
COMPACT: Final = "compact-"
"""How the names of files of many runs begin."""
_MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Where a run lies now; `new` is False where an earlier commit had already won."""

    run_id: str
    path: Path
    new: bool


class CommitError(OSError):
    """The disk did not take the run; what was committed before is safe and stays."""


class ContradictionError(CommitError):
    """Runs lie in the folder already with other numbers; the first commit stays."""


def commit_runs(
    folder: Path,
    rows: Iterable[Row],
    *,
    first_wins: bool = False,
    begin: Callable[[], object] = lambda: None,
) -> list[Committed]:
    """Keep each row as one immutable file in `folder` (a result set's folder, made if absent).

    Rows are checked first: RecordError lists all problems and nothing is written. A run that lies
    there already with equal numbers is `new=False`: a retry after a crash goes on. Who said it,
    when and under which terms (`recorded_at`, `note`, `source` ...) may differ. CommitError says
    how many were saved when the disk refuses; call again with the same rows to go on.

    With `first_wins` the first commit of a run stays in silence, whatever the numbers here are:
    for programs that measure a case anew and do not care whose numbers are kept. `begin` is called
    after all checks and before the first run is written: it writes what the set says of itself, so
    that a set has its id from its first run on.

    Raises:
        RecordError: rows break the rules of the table.
        ContradictionError: runs lie there already with other numbers. All of them are named and no
            row of the call is written. Only a writer that commits the same run at the same moment
            is found later: the message then says how many rows before it are saved.
        CommitError: the disk refused, or a damaged file has the name of a run.
    """
    table = table_from_rows(rows)
    done: list[Committed] = []
    with _in_words(folder, done, table.num_rows):
        folder.mkdir(parents=True, exist_ok=True)
        fetch(folder)
        sweep_temporaries(folder)
        kept = _kept_together(folder, table["run_id"])
        compared = set() if first_wins else _check_numbers(folder, table, kept, 0, table.num_rows)
        begin()
        for i in range(table.num_rows):
            row = table.slice(i, 1)
            committed = _commit_one(folder, row, kept)
            if not (committed.new or first_wins or committed.run_id in compared):
                # another writer was faster
                _check_numbers(folder, row, kept, len(done), table.num_rows)
            done.append(committed)
    return done


def _check_numbers(
    folder: Path, table: pa.Table, kept: dict[str, Path], saved: int, planned: int
) -> set[str]:
    """Return the runs of `table` that lie in `folder` already.

    Raises:
        ContradictionError: some have other numbers there.
    """
    present, contradicting = _compared(folder, table, kept)
    if contradicting:
        more, shown = len(contradicting) - _MOST_NAMED, map(str, contradicting[:_MOST_NAMED])
        names = joined("\n  ", (*shown, Text("and {more} more", more=more) if more > 0 else ""))
        count = plural(len(contradicting), "{count} run is", "{count} runs are")
        files = list(dict.fromkeys(f.path.name for f in contradicting))
        remove = files[0] if len(files) == 1 else "those files"
        if any(name.startswith(COMPACT) for name in files):
            remove = Text(
                "{files} (a merged file holds other runs too: commit these again)", files=remove
            )
        what: str = plural(
            saved,
            "{count} of {planned} rows of this call is saved",
            "{count} of {planned} rows of this call are saved",
            planned=planned,
        )
        if not saved:
            what = "nothing of this call is written"
        raise ContradictionError(
            errno.EEXIST,
            Text(
                "{count} in {folder} already with other numbers; {what}:\n  {names}\n"
                "Give `repeat` another number, or remove {remove}, and run it again.",
                count=count,
                folder=named(folder),
                what=what,
                names=names,
                remove=remove,
            ),
        )
    return present


def compared(folder: Path, table: pa.Table) -> tuple[set[str], list[Contradiction]]:
    """Return the runs of `table` that lie in `folder` already, and those with other numbers there.

    A damaged file counts as empty.

    Raises:
        BucketError: the results are in a bucket that cannot be read.
    """
    fetch(folder)
    kept = _kept_together(folder, table["run_id"])
    return _compared(folder, table, kept)


def _compared(
    folder: Path, table: pa.Table, kept: dict[str, Path]
) -> tuple[set[str], list[Contradiction]]:
    """Which runs of `table` lie in `folder`, and those with other numbers there."""
    row_of = {run: at for at, run in enumerate(table["run_id"].to_pylist())}
    places: dict[Path, list[str]] = {}
    for run in row_of:
        path = kept.get(run, folder / f"{run}.parquet")
        if run in kept or path.exists():
            places.setdefault(path, []).append(run)
    if not places:
        return set(), []
    moved: list[str] = []
    rows, paths, theirs = list[int](), list[Path](), [ARROW_SCHEMA.empty_table()]
    for path, runs in places.items():
        try:
            there = rows_in(path, runs)
        except FileNotFoundError:  # a compaction has just moved it
            moved += runs
            continue
        at_of = {run: at for at, run in enumerate(there["run_id"].to_pylist())}
        shared = [run for run in runs if run in at_of]
        theirs.append(there.take(pa.array([at_of[run] for run in shared], pa.int64())))
        rows += [row_of[run] for run in shared]
        paths += [path] * len(shared)
    present = {run for runs in places.values() for run in runs} - set(moved)
    ours, others = table.take(pa.array(rows, pa.int64())), pa.concat_tables(theirs)
    contradicting = [
        c
        for c in contradictions(ours, others, paths)
        if not of_one_attempt(ours, others, c.run_id)  # measured twice: the first one stays
    ]
    if moved:
        again = _kept_together(folder, pa.chunked_array([pa.array(moved, pa.string())]))
        kept |= again
        rest = table.take(pa.array([row_of[run] for run in moved if run in again], pa.int64()))
        more_present, more = _compared(folder, rest, again)
        return present | more_present, contradicting + more
    return present, contradicting


def try_folder(folder: Path, planned: int) -> None:
    """Write, publish and remove a small hidden file, as a commit of one of `planned` runs would.

    A sweep learns before its first run what the disk of its result set does not do: CommitError.
    """
    name = uuid.uuid4().hex
    written, published = (folder / f".{name}.{os.getpid()}.{k}.tmp" for k in ("try", "name"))
    with _in_words(folder, [], planned):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            written.write_bytes(b"PAR1")
            sync(written)
            publish(written, published)
            sync_folder(folder)
        finally:
            for path in (written, published):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)


def _kept_together(folder: Path, run_ids: pa.ChunkedArray) -> dict[str, Path]:
    """Return the compacted file of each run that is in one; those runs came first."""
    kept: dict[str, Path] = {}
    for path in folder.glob(f"{COMPACT}*.parquet"):
        with contextlib.suppress(pa.ArrowException, OSError):  # a damaged file holds nothing
            rows = pc.field("run_id").isin(run_ids.combine_chunks())
            merged = ds.dataset(path, format="parquet").to_table(columns=["run_id"], filter=rows)
            kept |= dict.fromkeys(merged["run_id"].to_pylist(), path)
    return kept


def commit_table(folder: Path, name: str, table: pa.Table) -> Path:
    """Keep many runs as one file `name` by the same protocol; an equal name is left as it is."""
    with _in_words(folder, [], table.num_rows):
        folder.mkdir(parents=True, exist_ok=True)
        _publish(folder, folder / name, table, table.num_rows)
    return folder / name


def compact_name(run_ids: Iterable[str]) -> str:
    """The file name of many runs kept together: the same runs have the same name in any order."""
    digest = hashlib.sha256("\n".join(sorted(run_ids)).encode()).hexdigest()
    return f"{COMPACT}{digest[:32]}.parquet"


def sweep_temporaries(folder: Path) -> int:
    """Delete temporaries older than a day whose writer is gone; return how many."""
    swept = 0
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError, OverflowError):  # a name with an absurd process id
            old = time.time() - path.lstat().st_mtime > STALE_S
            if old and not _alive(path.name):
                path.unlink()
                swept += 1
    return swept


def _commit_one(folder: Path, run: pa.Table, kept: dict[str, Path]) -> Committed:
    row = run.to_pylist()
    run_id = str(row[0]["run_id"])
    final = folder / f"{run_id}.parquet"  # 1
    if run_id in kept or final.exists():
        first = kept.get(run_id, final)
        _check_first(first)
        return Committed(run_id=run_id, path=first, new=False)
    if (attempt := attempt_id(row[0])) is not None:
        mine = _publish(folder, name_of(folder, attempt), run, row)
        return _of_attempt(folder, attempt, is_mine=mine)
    return Committed(run_id=run_id, path=final, new=_publish(folder, final, run, row))


def run_of(folder: Path, attempt: str) -> Row | None:
    """Return the run of an attempt, committed now where that was cut off; None if it has none.

    Raises:
        CommitError: the disk refuses.
    """
    if not name_of(folder, attempt).exists():
        return None
    with _in_words(folder, [], 1):
        return stored(folder, _of_attempt(folder, attempt, is_mine=False).run_id)


def stored(folder: Path, run: str) -> Row | None:
    """Return a run that lies in `folder`; None where it does not, or its file is damaged."""
    with contextlib.suppress(FileNotFoundError):  # none, or a compaction has just moved it
        return next(iter(rows_in(_place(folder, run), [run]).to_pylist()), None)
    return None


def _place(folder: Path, run: str) -> Path:
    together = _kept_together(folder, pa.chunked_array([[run]]))
    return together.get(run, folder / f"{run}.parquet")


def _of_attempt(folder: Path, attempt: str, *, is_mine: bool) -> Committed:
    """Commit the run that has the name of an attempt, unless that was done."""
    name = name_of(folder, attempt)
    run_id = str((check_seal(name).summary or {})["run_id"])
    final = _place(folder, run_id)
    copy = folder / f".{run_id}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp"
    new = False
    try:
        if not final.exists():
            shutil.copyfile(name, copy)
            sync(copy)
            check_seal(copy)
            new = publish(copy, final)
            sync_folder(folder)
    finally:
        with contextlib.suppress(OSError):
            copy.unlink(missing_ok=True)
    if is_mine and not new and attempt_id(stored(folder, run_id) or {}) != attempt:
        release(folder, attempt)  # another case has just taken the id
    return Committed(run_id=run_id, path=final, new=new and is_mine)


def _check_first(path: Path) -> None:
    """Never call a run saved because a damaged file has its name."""
    try:
        check_seal(path)
    except SealError as error:
        raise CommitError(
            errno.EEXIST, Text("{path} is in the way: it {error}", path=path, error=error)
        ) from error
    except FileNotFoundError:
        return  # a compaction has just moved it


def _publish(folder: Path, final: Path, table: pa.Table, rows: list[dict[str, Any]] | int) -> bool:
    temporary = folder / f".{final.stem}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        write_parquet(temporary, table, blank_seal(rows))  # 2
        fill_seal(temporary)
        sync(temporary)  # 3
        check_seal(temporary)
        if not publish(temporary, final):  # 4
            return False
        sync_folder(folder)  # 5
        return True
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_parquet(path: Path | BinaryIO, table: pa.Table, seal: str) -> None:
    """Write `table` with a blank seal. Single runs skip dictionaries and statistics (smaller)."""
    many = table.num_rows > 1
    # A sink of our own is closed even where a full disk does not let the writer end its file.
    sink = pa.OSFile(str(path), "w") if isinstance(path, Path) else contextlib.nullcontext(path)
    with (
        sink as file,
        pq.ParquetWriter(
            file,
            table.schema,
            compression="zstd",
            store_schema=False,
            use_dictionary=many,
            write_statistics=["run_id"] if many else False,
        ) as writer,
    ):
        writer.write_table(table, row_group_size=4096)
        writer.add_key_value_metadata({KEY.decode(): seal})


def _alive(name: str) -> bool:
    """Whether the process that wrote the temporary `name` still runs (on this machine)."""
    with contextlib.suppress(ValueError, IndexError):
        pid = int(name.rsplit(".", 3)[1])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    return False


def _unforeseen(error: Exception) -> str:
    """What went wrong where the code has no words of its own for it."""
    if isinstance(error, SealError):
        return Text(
            "the disk gave back other bytes than were written (the file {error})", error=error
        )
    return str(error.strerror if isinstance(error, CommitError) else error)


@contextlib.contextmanager
def _in_words(folder: Path, done: list[Committed], planned: int) -> Iterator[None]:
    """Turn the disk's refusals into a sentence: what, where, how much is safe, what to do."""
    why = {
        errno.ENOSPC: ("disk full", "Free some space"),
        errno.EDQUOT: ("disk quota reached", "Free some space"),
        errno.EROFS: ("read-only disk", "Choose another folder with EPOCHWISE_RESULTS"),
        errno.EACCES: ("no permission to write", "Choose another folder with EPOCHWISE_RESULTS"),
        errno.EPERM: ("no permission to write", "Choose another folder with EPOCHWISE_RESULTS"),
    }
    try:
        yield
    except ContradictionError:
        raise
    except (OSError, SealError) as error:
        code = error.errno or errno.EIO if isinstance(error, OSError) else errno.EIO
        what, then = why.get(code, (_unforeseen(error), "Fix this"))
        if isinstance(error, BucketError):
            what, then = error.what, error.then
        saved = Text("{done} of {planned} runs are saved", done=len(done), planned=planned)
        raise CommitError(
            code,
            Text(
                "{what} at {folder}: {saved}, nothing is half-written. {then} and run it again.",
                what=what,
                folder=named(folder),
                saved=saved,
                then=then,
            ),
        ) from error
