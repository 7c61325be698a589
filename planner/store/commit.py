"""A run is kept whole or not at all, whatever dies in the middle.

The faults: kill -9 at any instruction, power loss, two writers with the same run, a full or
read-only disk. The protocol, and the lines below follow its numbers:

1. the name is made of the run's content (`<run_id>.parquet`), so the same case has one name;
2. write a hidden temporary in the same folder: no reader lists it;
3. fsync it, open it again and check its seal;
4. link it to the final name: this fails where the name exists, so the first commit wins
   (`planner.store.publish` does the same on disks without hard links);
5. fsync the folder, remove the temporary.

A file without its final name never happened. Nothing is ever rewritten.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from planner.records import Row, table_from_rows
from planner.store.publish import publish
from planner.store.seal import KEY, SealError, blank_seal, check_seal, fill_seal

STALE_S: Final = 86_400.0
"""Age after which a temporary whose writer is gone is swept away [s]."""
COMPACT: Final = "compact-"
"""How the names of files of many runs begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Where a run lies now; `new` is False where an earlier commit had already won."""

    run_id: str
    path: Path
    new: bool


class CommitError(OSError):
    """The disk did not take the run; what was committed before is safe and stays."""


def commit_runs(folder: Path, rows: Iterable[Row]) -> list[Committed]:
    """Keep each row as one immutable file in `folder` (a result set's folder, made if absent).

    Rows are checked first: RecordError lists all problems and nothing is written. CommitError
    says how many were saved when the disk refuses; call again with the same rows to go on.
    """
    table = table_from_rows(rows)
    done: list[Committed] = []
    with _told(folder, done, table.num_rows):
        folder.mkdir(parents=True, exist_ok=True)
        sweep_temporaries(folder)
        kept = _kept_together(folder, table["run_id"])
        for i in range(table.num_rows):
            done.append(_commit_one(folder, table.slice(i, 1), kept))  # noqa: PERF401 - see _told
    return done


def try_folder(folder: Path, planned: int) -> None:
    """Write, publish and remove a small hidden file, as a commit of one of `planned` runs would.

    A sweep learns before its first run what the disk of its result set does not do: CommitError.
    """
    name = uuid.uuid4().hex
    written, published = (folder / f".{name}.{os.getpid()}.{k}.tmp" for k in ("try", "name"))
    with _told(folder, [], planned):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            written.write_bytes(b"PAR1")
            _fsync(written)
            publish(written, published)
            _fsync_folder(folder)
        finally:
            for path in (written, published):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)


def _kept_together(folder: Path, run_ids: pa.ChunkedArray) -> dict[str, Path]:
    """Where those runs lie that a compaction has merged: they were first, and they win."""
    kept: dict[str, Path] = {}
    for path in folder.glob(f"{COMPACT}*.parquet"):
        with contextlib.suppress(pa.ArrowException, OSError):  # a damaged file holds nothing
            wanted = pc.field("run_id").isin(run_ids.combine_chunks())
            found = ds.dataset(path, format="parquet").to_table(columns=["run_id"], filter=wanted)
            kept |= dict.fromkeys(found["run_id"].to_pylist(), path)
    return kept


def commit_table(folder: Path, name: str, table: pa.Table) -> Path:
    """Keep many runs as one file `name` by the same protocol; an equal name is left as it is."""
    with _told(folder, [], table.num_rows):
        folder.mkdir(parents=True, exist_ok=True)
        _publish(folder, folder / name, table, table.num_rows)
    return folder / name


def compact_name(run_ids: Iterable[str]) -> str:
    """The file name of many runs kept together: the same runs have the same name in any order."""
    digest = hashlib.sha256("\n".join(sorted(run_ids)).encode()).hexdigest()
    return f"{COMPACT}{digest[:32]}.parquet"


def sweep_temporaries(folder: Path, now_s: float | None = None) -> int:
    """Delete temporaries older than a day whose writer is gone; return how many."""
    now_s = time.time() if now_s is None else now_s
    swept = 0
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError, OverflowError):  # a name with an absurd process id
            old = now_s - path.lstat().st_mtime > STALE_S
            if old and not _alive(path.name):
                path.unlink()
                swept += 1
    return swept


def _commit_one(folder: Path, one: pa.Table, kept: dict[str, Path]) -> Committed:
    row = one.to_pylist()
    run_id = str(row[0]["run_id"])
    final = folder / f"{run_id}.parquet"  # 1
    if run_id in kept or final.exists():
        first = kept.get(run_id, final)
        _check_first(first)
        return Committed(run_id=run_id, path=first, new=False)
    return Committed(run_id=run_id, path=final, new=_publish(folder, final, one, row))


def _check_first(path: Path) -> None:
    """Never call a run saved because a damaged file has its name."""
    try:
        check_seal(path)
    except SealError as error:
        raise CommitError(errno.EEXIST, f"{path} is in the way: it {error}") from error
    except FileNotFoundError:
        return  # a compaction has just moved it


def _publish(folder: Path, final: Path, table: pa.Table, rows: list[dict[str, Any]] | int) -> bool:
    temporary = folder / f".{final.stem}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        write_parquet(temporary, table, blank_seal(rows))  # 2
        fill_seal(temporary)
        _fsync(temporary)  # 3
        check_seal(temporary)
        if not publish(temporary, final):  # 4
            return False
        _fsync_folder(folder)  # 5
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


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fsync_folder(folder: Path) -> None:
    """As `_fsync`; some disks without hard links know no fsync of a folder either."""
    try:
        _fsync(folder)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EISDIR}:
            raise


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
        return f"the disk gave back other bytes than were written (the file {error})"
    return str(error.strerror if isinstance(error, CommitError) else error)


@contextlib.contextmanager
def _told(folder: Path, done: list[Committed], planned: int) -> Iterator[None]:
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
    except (OSError, SealError) as error:
        code = error.errno or errno.EIO if isinstance(error, OSError) else errno.EIO
        what, then = why.get(code, (_unforeseen(error), "Fix this"))
        saved = f"{len(done)} of {planned} runs are saved"
        raise CommitError(
            code,
            f"{what} at {folder}: {saved}, nothing is half-written. {then} and run it again.",
        ) from error
